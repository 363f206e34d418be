"""The documentation: every link, anchor and menu entry is checked, and the site builds in strict mode."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_site_builds_without_a_warning() -> None:
    process = subprocess.run([sys.executable, "scripts/docs.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    site = ROOT / "target" / "site"
    assert (site / "index.html").is_file()
    assert "db.run" in (site / "python.html").read_text(encoding="utf-8")
    for page in site.rglob("*.html"):
        external = re.findall(
            r"""<(?:script|img|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""", page.read_text()
        )
        assert external == [], page
    assert "dumbbell compare" in (site / "reference" / "commands.html").read_text(encoding="utf-8")


def test_the_readme_fits_on_two_screens() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 160
    assert len(re.findall(r"^!\[", "\n".join(lines), re.MULTILINE)) == 1
