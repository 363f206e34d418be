"""CONTRIBUTING's recipe "add a controller", applied exactly in a copy of the crates."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECIPE = (
    (ROOT / "CONTRIBUTING.md")
    .read_text(encoding="utf-8")
    .partition("**Add a controller.**")[2]
    .partition("\n**Add a")[0]
)
NEW_FILES = re.compile(r"`(crates/\S+\.rs)`[^\n]*\n\n```rust\n(//! .*?)```\n", re.DOTALL)
INSERTIONS = re.compile(r"In `(crates/\S+\.rs)`, below `([^`]+)`:\n\n```rust\n(.*?)```\n", re.DOTALL)


@pytest.fixture
def copy() -> Path:
    """A copy at a fixed path, built into the repository's target folder, where its dependencies are already built.

    Its crates have another version: with the same one, cargo would confuse their objects with the repository's.
    """
    folder = ROOT / "target" / "recipe"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    version, copy_version = 'version = "0.1.0"', 'version = "0.1.0-recipe"'
    for name in ("Cargo.toml", "Cargo.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert version in text
        (folder / name).write_text(text.replace(version, copy_version), encoding="utf-8")
    for name in ("clippy.toml", "rustfmt.toml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "crates", folder / "crates")
    return folder


@pytest.mark.slow
def test_the_recipe_adds_a_controller(copy: Path) -> None:
    new_files, insertions = NEW_FILES.findall(RECIPE), INSERTIONS.findall(RECIPE)
    assert (len(new_files), len(insertions)) == (1, 3)
    for file, text in new_files:
        (copy / file).write_text(text, encoding="utf-8")
    for file, line, text in insertions:
        lines = (copy / file).read_text(encoding="utf-8").splitlines(keepends=True)
        index = lines.index(f"{line}\n") + 1
        (copy / file).write_text("".join([*lines[:index], text, *lines[index:]]), encoding="utf-8")
    process = subprocess.run(
        ["cargo", "test", "--locked", "-p", "dumbbell-net", "cc::"],
        cwd=copy,
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target"), "PROPTEST_CASES": "50"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "test cc::steady::tests::a_loss_changes_nothing ... ok" in process.stdout
    assert "test cc::controller::tests::every_name_has_its_controller ... ok" in process.stdout
