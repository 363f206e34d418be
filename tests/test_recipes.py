"""CONTRIBUTING's walk "add a controller", followed to the letter in a copy of the crates."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WALK = (
    (ROOT / "CONTRIBUTING.md")
    .read_text(encoding="utf-8")
    .partition("**Add a controller.**")[2]
    .partition("\n**Add a")[0]
)
NEW = re.compile(r"`(crates/\S+\.rs)`[^\n]*\n\n```rust\n(//! .*?)```\n", re.DOTALL)
BELOW = re.compile(r"In `(crates/\S+\.rs)`, below `([^`]+)`:\n\n```rust\n(.*?)```\n", re.DOTALL)


@pytest.fixture
def copy() -> Path:
    """Always in one place, and built into our own target folder: what it depends on is built already.

    Its crates have a version of their own: cargo would else take its objects for ours of the same path in a workspace.
    """
    folder = ROOT / "target" / "walk"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ours, walk = 'version = "0.1.0"', 'version = "0.1.0-walk"'
    for name in ("Cargo.toml", "Cargo.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert ours in text
        (folder / name).write_text(text.replace(ours, walk), encoding="utf-8")
    for name in ("clippy.toml", "rustfmt.toml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "crates", folder / "crates")
    return folder


def test_a_controller_is_added_as_the_walk_says(copy: Path) -> None:
    made, changed = NEW.findall(WALK), BELOW.findall(WALK)
    assert (len(made), len(changed)) == (1, 3)
    for file, text in made:
        (copy / file).write_text(text, encoding="utf-8")
    for file, line, text in changed:
        lines = (copy / file).read_text(encoding="utf-8").splitlines(keepends=True)
        place = lines.index(f"{line}\n") + 1
        (copy / file).write_text("".join([*lines[:place], text, *lines[place:]]), encoding="utf-8")
    done = subprocess.run(
        ["cargo", "test", "--locked", "-p", "dumbbell-core", "cc::"],
        cwd=copy,
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target"), "PROPTEST_CASES": "50"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test cc::steady::tests::a_loss_changes_nothing ... ok" in done.stdout
    assert "test cc::controller::tests::every_name_has_its_controller ... ok" in done.stdout
