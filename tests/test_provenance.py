"""Sources of our files in Linux, and licences of packages that are linked or bundled, are listed."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_provenance_table_is_up_to_date() -> None:
    checked = subprocess.run(
        [sys.executable, "scripts/provenance.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_the_page_describes_files_that_exist() -> None:
    page = (ROOT / "docs" / "design" / "provenance.md").read_text(encoding="utf-8")
    files = {word for word in page.replace("|", " ").split("`") if word.endswith(".rs")}
    assert len(files) > 40
    assert not {name for name in files if not (ROOT / "crates" / name).is_file()}


def test_the_list_of_third_party_licences_is_current() -> None:
    checked = subprocess.run(
        [sys.executable, "scripts/licences.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
