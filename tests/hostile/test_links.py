"""A folder from an untrusted author is harmless: whatever is at the paths that a command writes, nothing else changes.

For each command, calls.c records the paths that it creates or opens for writing. Then at each of these paths a link to
a protected file, to a protected folder, to nothing, a pipe, or a hard link is planted, and the command runs again: the
protected files keep every byte, no file is added, no command waits for a pipe, and each command succeeds or reports an
error. Further tests: only the staging folder of a killed command is removed; a planted rollback journal of SQLite;
locks.
"""

import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dumbbell import publish
from dumbbell.errors import OutputError, ResultError
from dumbbell.publish.folders import opened_file, private
from dumbbell.publish.staging import MARK, RECORDS
from dumbbell.sweeps.workdir import Journal
from hostile.calls import Calls, recorded_calls
from hostile.fuzzing import SECONDS

RUN = ["run", "cyclic", "--set", "duration=1s"]
COMMANDS = {
    "run": [*RUN, "--out", "res"],
    "run here": RUN,
    "runs": [*RUN, "--seed", "1..2", "--out", "res"],
    "pcap": [*RUN, "--out", "res", "--pcap", "p.pcap"],
    "sweep": ["sweep", "sw.toml", "--no-cache", "--jobs", "1"],
    "resume": ["sweep", "sw.toml", "--no-cache", "--jobs", "1", "--out", "half", "--resume"],
    "plot": ["plot", "ok", "-o", "f.svg"],
    "report": ["report", "ok", "-o", "r.html"],
    "report of a sweep": ["report", "swept", "-o", "s.html", "--runs"],
    "compare": ["compare", "ok", "too", "-o", "c.html"],
    "map": ["map", "swept", "--value", "utilization", "--x", "path.rtt", "-o", "m.svg"],
    "export": ["export", "ok", "-o", "e.csv"],
    "export lines": ["export", "ok", "-o", "e.jsonl"],
    "export of a sweep": ["export", "swept", "-o", "t.parquet"],
    "sql": ["sql", "swept", "select * from runs", "-o", "q.csv"],
    "import": ["import", "ok.jsonl", "--out", "imp"],
}
SWEEP = """
metrics = ["utilization"]
keep = "runs"
[experiment]
duration = "1s"
[experiment.path]
rtt = "20ms"
[experiment.path.bottleneck]
rate = "10mbit"
[[experiment.flows]]
cc = "cubic"
[[axes]]
"path.rtt" = ["5ms", "20ms"]
"""
KINDS = ("link to a file", "link to a folder", "link to nothing", "pipe", "hard link")
UNGUESSABLE = re.compile(r"[0-9a-f]{16}|\d{8}-\d{6}|run-[a-z0-9_]{8}")
"""Names with a random number, or a time and a process."""
ATTEMPTS = 1
"""Planted files tried with each command in `make test`; `make nightly` tries all."""


@pytest.fixture(scope="module")
def template(calls: Calls, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the commands read: a result, an export, a sweep, and an incomplete sweep."""
    folder = tmp_path_factory.mktemp("field")
    (folder / "here").mkdir()
    (folder / "here/sw.toml").write_text(SWEEP)
    for arguments in (
        [*RUN, "--out", "ok"],
        ["export", "ok", "-o", "ok.jsonl"],
        ["sweep", "sw.toml", "--no-cache", "--jobs", "1", "--out", "swept"],
    ):
        done = calls.run(arguments, folder / "here", folder / "cache")
        assert done.returncode == 0, done.stderr
    shutil.copytree(folder / "here/ok", folder / "here/too")
    half = folder / "here/half"
    shutil.copytree(folder / "here/swept", half)
    for name in ("sweep.json", "runs.parquet"):
        (half / name).unlink()
    shutil.rmtree(half / "runs/point-0-seed-1")
    with closing(sqlite3.connect(half / "rows.sqlite")) as link:
        link.execute("DELETE FROM rows WHERE point = 0")
        link.commit()
    return folder


@pytest.mark.slow(keep="run here")
@pytest.mark.parametrize("name", COMMANDS)
def test_fuzz_no_planted_link_misleads_a_command(name: str, calls: Calls, template: Path, tmp_path: Path) -> None:
    working_folder = copy_of(template, tmp_path / "clean")
    done = calls.run(COMMANDS[name], working_folder, template / "cache", under=working_folder, log=tmp_path / "log")
    assert done.returncode == 0, done.stderr
    names = written_names(tmp_path / "log", working_folder)
    assert names
    attempts = [(each, kind) for each in names for kind in KINDS]
    if not SECONDS:
        attempts = random.Random(name).sample(attempts, ATTEMPTS)
    for number, planted in enumerate(attempts):
        run_with_planted(planted, name, calls, template, tmp_path / str(number))
        shutil.rmtree(tmp_path / str(number))


HISTORICAL = [
    ("sweep", "runs/.sweep-sw.running", "link to a folder"),
    ("run", ".res.running", "link to a folder"),
    ("run", ".res.running/.lock", "link to a file"),
    ("pcap", ".p.pcap.running", "link to a file"),
    ("plot", "f.svg", "link to a file"),
    ("resume", "half/.work", "link to a folder"),
    ("resume", "half/.lock", "link to nothing"),
    ("resume", "half/rows.sqlite", "link to a file"),
    ("resume", "half/runs", "link to a folder"),
    ("report", "r.html", "pipe"),
]


@pytest.mark.slow(keep="sweep-runs/.sweep-sw.running-link to a folder")
@pytest.mark.parametrize(("command", "name", "kind"), HISTORICAL)
def test_a_link_that_once_misled_a_command_is_harmless(
    command: str, name: str, kind: str, calls: Calls, template: Path, tmp_path: Path
) -> None:
    run_with_planted((Path(name), kind), command, calls, template, tmp_path)


def copy_of(template: Path, folder: Path) -> Path:
    shutil.copytree(template / "here", folder / "here")
    return folder / "here"


def written_names(log: Path, working_folder: Path) -> list[Path]:
    """Every predictable path below the folder that was created or opened for writing, and its parent folders."""
    found = {
        path.relative_to(working_folder)
        for kind, path in recorded_calls(log)
        if kind != "open" and path.is_relative_to(working_folder)
    }
    found |= {parent for path in found for parent in path.parents}
    return sorted(path for path in found if path.parts and not UNGUESSABLE.search(str(path)))


def run_with_planted(planted: tuple[Path, str], command: str, calls: Calls, template: Path, folder: Path) -> None:
    working_folder = copy_of(template, folder)
    protected = folder / "precious"
    (protected / "folder").mkdir(parents=True)
    # A valid journal, which the command would accept through a link.
    shutil.copyfile(template / "here/half/rows.sqlite", protected / "file")
    (protected / "folder/flows.parquet").write_text("precious")
    plant(working_folder / planted[0], planted[1], protected)
    before = snapshot(protected)
    done = calls.run(COMMANDS[command], working_folder, template / "cache", under=working_folder)
    message = f"{command} with a {planted[1]} at {planted[0]}: {done.returncode}: {done.stderr[-500:]}"
    assert snapshot(protected) == before, message
    assert done.returncode in (0, 2), message
    assert "Traceback" not in done.stderr, message
    assert done.returncode == 0 or done.stderr.startswith("dumbbell: "), message


def plant(at: Path, kind: str, protected: Path) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    if at.is_dir() and not at.is_symlink():
        shutil.rmtree(at)
    at.unlink(missing_ok=True)
    match kind:
        case "link to a file":
            at.symlink_to(protected / "file")
        case "link to a folder":
            at.symlink_to(protected / "folder")
        case "link to nothing":
            at.symlink_to(protected / "folder/nothing")
        case "pipe":
            os.mkfifo(at)
        case "hard link":
            at.hardlink_to(protected / "file")


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Content, mode and time of every file in a folder."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        info = path.lstat()
        found[str(path)] = (info.st_mode, info.st_mtime_ns, path.read_bytes() if path.is_file() else None)
    return found


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "cache"


def killed_command(out: Path) -> Path:
    """The staging folder of a command that was killed."""
    child = os.fork()
    if child == 0:
        with publish.staged(out) as folder:
            (folder / "half").write_text("half")
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    staging = out.with_name(f".{out.name}.running")
    assert (staging / out.name / "half").exists()
    return staging


@pytest.mark.usefixtures("cache")
def test_a_copy_of_a_killed_command_s_staging_folder_is_not_removed(tmp_path: Path) -> None:
    """An untrusted author copies such a folder: the user's private folder has no record of it."""
    staging = killed_command(tmp_path / "there/res")
    shutil.copytree(staging, tmp_path / "here/.res.running")
    with publish.staged(tmp_path / "here/res") as folder:
        (folder / "done").touch()
    assert (tmp_path / "here/.res.running/res/half").exists()
    assert (tmp_path / "here/res/done").exists()
    with publish.staged(tmp_path / "there/other"):
        pass
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["other"]


@pytest.mark.usefixtures("cache")
def test_a_replacement_of_a_staging_folder_is_not_removed(tmp_path: Path) -> None:
    staging = killed_command(tmp_path / "res")
    staging.rename(tmp_path / "aside")
    (staging / "res").mkdir(parents=True)
    (staging / "res/precious").write_text("precious")
    with publish.staged(tmp_path / "res"):
        pass
    assert (staging / "res/precious").exists()


@pytest.mark.usefixtures("cache")
def test_the_clean_up_follows_no_link_and_enters_no_mount_point(tmp_path: Path, as_root: None) -> None:
    del as_root
    protected = tmp_path / "precious"
    (protected / "deep").mkdir(parents=True)
    (protected / "deep/file").write_text("precious")
    before = snapshot(protected)
    staging = killed_command(tmp_path / "res")
    (staging / "res/link").symlink_to(protected)
    (staging / "link").symlink_to(protected / "deep/file")
    (staging / "res/mounted").mkdir()
    subprocess.run(["mount", "--bind", protected, staging / "res/mounted"], check=True)
    try:
        with publish.staged(tmp_path / "other"):
            pass
        assert snapshot(protected) == before
    finally:
        # The mount may have been moved with its parent folder.
        mount_points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for mount_point in (mount_point for mount_point in mount_points if mount_point.startswith(str(tmp_path))):
            subprocess.run(["umount", mount_point], check=True)


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_very_deep_folders_are_removed(tmp_path: Path) -> None:
    staging = killed_command(tmp_path / "res")
    folder = os.open(staging / "res", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deeper", dir_fd=folder)
        subfolder = os.open("deeper", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = subfolder
    os.close(folder)
    with publish.staged(tmp_path / "other"):
        pass
    assert not staging.exists()


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def replaced_by_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")


@pytest.mark.parametrize("change", [open_to_all, replaced_by_a_link])
def test_a_private_folder_that_others_may_have_created_is_not_used(change: Callable[[Path], None], cache: Path) -> None:
    with private(RECORDS) as folder:
        assert folder is not None
        assert os.path.samestat(os.fstat(folder), (cache / RECORDS).stat())
    change(cache / RECORDS)
    with private(RECORDS) as folder:
        assert folder is not None
        assert not os.path.samestat(os.fstat(folder), (cache / RECORDS).stat())


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_is_a_link_or_a_pipe_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "precious/folder").mkdir(parents=True)
    (tmp_path / "precious/file").write_text("precious")
    plant(tmp_path / "lock", kind, tmp_path / "precious")
    before = snapshot(tmp_path / "precious")
    with pytest.raises(OSError, match=r"symbolic link|Is a directory|not a plain file"):
        opened_file(tmp_path / "lock")
    assert snapshot(tmp_path / "precious") == before


@pytest.mark.usefixtures("cache")
def test_a_staging_folder_whose_mark_is_a_pipe_is_not_removed(tmp_path: Path) -> None:
    """A pipe replaces the mark of a killed command: the folder stays, and no command blocks."""
    staging = killed_command(tmp_path / "res")
    (staging / MARK).unlink()
    os.mkfifo(staging / MARK)
    with publish.staged(tmp_path / "res"):
        pass
    assert (staging / "res/half").exists()


def hot_journal(names: bytes, page: int) -> bytes:
    """A rollback journal of several databases (sqlite.org/fileformat.html) that names another file to delete."""
    magic = bytes.fromhex("d9d505f920a163d7")
    head = struct.pack(">8sIIIII", magic, 0, 1, 1, 512, page)
    lock_page = 0x40000000 // page + 1
    tail = struct.pack(">I", lock_page) + names + struct.pack(">II", len(names), sum(names)) + magic
    return head.ljust(512, b"\0") + tail


@pytest.mark.usefixtures("cache")
def test_a_planted_journal_deletes_nothing(tmp_path: Path) -> None:
    """SQLite deletes the file named at the end of a killed transaction's journal."""
    protected = tmp_path / "precious"
    protected.write_bytes(b"precious")
    file = tmp_path / "rows.sqlite"
    Journal.create(file, {"asked": "x"})
    file.with_name("rows.sqlite-journal").write_bytes(hot_journal(str(protected).encode(), 4096))
    with pytest.raises(ResultError, match="names another file to delete; remove it"):
        Journal(file)
    assert protected.exists()


@pytest.mark.usefixtures("cache")
def test_a_page_is_not_written_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    with pytest.raises(OutputError, match=r"page.html: can't be written: it is a folder; choose a file"):
        publish.write(tmp_path / "page.html", b"")
