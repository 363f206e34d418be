"""A folder from a stranger is harmless: whatever stands where a command writes, nothing outside is changed.

For each command the names are found that it makes or opens for writing (calls.c lists them). Then at each of these
names a link to a precious file, to a precious folder, to nothing, a pipe, or a hard link is planted, and the command
runs again: what is precious stays byte for byte, nothing appears beside it, no command waits for a pipe, and each
either does its work or says what is wrong. Further: what a killed command left is removed, and only that; a planted
rollback journal of SQLite; locks.
"""

import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dumbbell import publish
from dumbbell.errors import OutputError, ResultError
from dumbbell.publish.private import opened_file, private
from dumbbell.publish.staging_records import MARK, RECORDS
from dumbbell.sweeps.journal import Journal
from hostile.calls import Calls, listed, preloaded
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
    "map": ["map", "swept", "--value", "utilisation", "--x", "path.rtt", "-o", "m.svg"],
    "export": ["export", "ok", "-o", "e.csv"],
    "export lines": ["export", "ok", "-o", "e.jsonl"],
    "export of a sweep": ["export", "swept", "-o", "t.parquet"],
    "sql": ["sql", "swept", "select * from runs", "-o", "q.csv"],
    "import": ["import", "ok.jsonl", "-o", "imp"],
}
SWEEP = """
metrics = ["utilisation"]
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
"""Names with a random part, or a moment and a process."""
FEW = 1
"""So many plants are tried with each command in `make test`; all of them in `make nightly`."""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    with preloaded(tmp_path_factory.mktemp("library")) as found:
        yield found


@pytest.fixture(scope="module")
def field(calls: Calls, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all commands find: a result, an export, a sweep, and a sweep that is half done."""
    folder = tmp_path_factory.mktemp("field")
    (folder / "here").mkdir()
    (folder / "here/sw.toml").write_text(SWEEP)
    for words in (
        [*RUN, "--out", "ok"],
        ["export", "ok", "-o", "ok.jsonl"],
        ["sweep", "sw.toml", "--no-cache", "--jobs", "1", "--out", "swept"],
    ):
        done = calls.run(words, folder / "here", folder / "cache")
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


@pytest.mark.parametrize("name", COMMANDS)
def test_fuzz_no_name_leads_a_command_astray(name: str, calls: Calls, field: Path, tmp_path: Path) -> None:
    here = fresh(field, tmp_path / "clean")
    done = calls.run(COMMANDS[name], here, field / "cache", under=here, log=tmp_path / "log")
    assert done.returncode == 0, done.stderr
    names = written_names(tmp_path / "log", here)
    assert names
    trials = [(each, kind) for each in names for kind in KINDS]
    if not SECONDS:
        trials = random.Random(name).sample(trials, FEW)
    for number, planted in enumerate(trials):
        try_with(planted, name, calls, field, tmp_path / str(number))
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


@pytest.mark.parametrize(("command", "name", "kind"), HISTORICAL)
def test_what_once_led_a_command_astray(
    command: str, name: str, kind: str, calls: Calls, field: Path, tmp_path: Path
) -> None:
    try_with((Path(name), kind), command, calls, field, tmp_path)


def fresh(field: Path, folder: Path) -> Path:
    shutil.copytree(field / "here", folder / "here")
    return folder / "here"


def written_names(log: Path, here: Path) -> list[Path]:
    """Every name below `here` that was made or opened for writing and can be foreseen, and the folders on the way."""
    found = {path.relative_to(here) for kind, path in listed(log) if kind != "open" and path.is_relative_to(here)}
    found |= {parent for path in found for parent in path.parents}
    return sorted(path for path in found if path.parts and not UNGUESSABLE.search(str(path)))


def try_with(planted: tuple[Path, str], command: str, calls: Calls, field: Path, folder: Path) -> None:
    here = fresh(field, folder)
    precious = folder / "precious"
    (precious / "folder").mkdir(parents=True)
    # A journal that would be accepted where a link leads to it.
    shutil.copyfile(field / "here/half/rows.sqlite", precious / "file")
    (precious / "folder/flows.parquet").write_text("precious")
    plant(here / planted[0], planted[1], precious)
    before = told(precious)
    done = calls.run(COMMANDS[command], here, field / "cache", under=here)
    what = f"{command} with a {planted[1]} at {planted[0]}: {done.returncode}: {done.stderr[-500:]}"
    assert told(precious) == before, what
    assert done.returncode in (0, 2), what
    assert "Traceback" not in done.stderr, what
    assert done.returncode == 0 or done.stderr.startswith("dumbbell: "), what


def plant(at: Path, kind: str, precious: Path) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    if at.is_dir() and not at.is_symlink():
        shutil.rmtree(at)
    at.unlink(missing_ok=True)
    match kind:
        case "link to a file":
            at.symlink_to(precious / "file")
        case "link to a folder":
            at.symlink_to(precious / "folder")
        case "link to nothing":
            at.symlink_to(precious / "folder/nothing")
        case "pipe":
            os.mkfifo(at)
        case "hard link":
            at.hardlink_to(precious / "file")


def told(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that is in a folder: content, mode, time."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        about = path.lstat()
        found[str(path)] = (about.st_mode, about.st_mtime_ns, path.read_bytes() if path.is_file() else None)
    return found


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "cache"


def cut_off(out: Path) -> Path:
    """The staging folder of a command that was killed."""
    child = os.fork()
    if child == 0:
        with publish.staged(out) as folder:
            (folder / "half").write_text("half")
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    left = out.with_name(f".{out.name}.running")
    assert (left / out.name / "half").exists()
    return left


@pytest.mark.usefixtures("cache")
def test_a_copy_of_what_a_killed_command_left_is_not_removed(tmp_path: Path) -> None:
    """A stranger who has seen such a folder brings one along: nothing in the user's private folder knows it."""
    left = cut_off(tmp_path / "there/res")
    shutil.copytree(left, tmp_path / "here/.res.running")
    with publish.staged(tmp_path / "here/res") as folder:
        (folder / "done").touch()
    assert (tmp_path / "here/.res.running/res/half").exists()
    assert (tmp_path / "here/res/done").exists()
    with publish.staged(tmp_path / "there/other"):
        pass
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["other"]


@pytest.mark.usefixtures("cache")
def test_a_folder_that_took_the_place_of_what_was_left_is_not_removed(tmp_path: Path) -> None:
    left = cut_off(tmp_path / "res")
    left.rename(tmp_path / "aside")
    (left / "res").mkdir(parents=True)
    (left / "res/precious").write_text("precious")
    with publish.staged(tmp_path / "res"):
        pass
    assert (left / "res/precious").exists()


@pytest.mark.usefixtures("cache")
def test_cleaning_follows_no_link_and_enters_no_mount_point(tmp_path: Path, as_root: None) -> None:
    del as_root
    precious = tmp_path / "precious"
    (precious / "deep").mkdir(parents=True)
    (precious / "deep/file").write_text("precious")
    before = told(precious)
    left = cut_off(tmp_path / "res")
    (left / "res/link").symlink_to(precious)
    (left / "link").symlink_to(precious / "deep/file")
    (left / "res/mounted").mkdir()
    subprocess.run(["mount", "--bind", precious, left / "res/mounted"], check=True)
    try:
        with publish.staged(tmp_path / "other"):
            pass
        assert told(precious) == before
    finally:
        # It was mounted once, and may have been moved with the folder that it is in.
        places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for place in (place for place in places if place.startswith(str(tmp_path))):
            subprocess.run(["umount", place], check=True)


@pytest.mark.usefixtures("cache")
def test_folders_as_deep_as_can_be_are_removed(tmp_path: Path) -> None:
    left = cut_off(tmp_path / "res")
    folder = os.open(left / "res", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deeper", dir_fd=folder)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    with publish.staged(tmp_path / "other"):
        pass
    assert not left.exists()


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def replaced_by_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")


@pytest.mark.parametrize("spoil", [open_to_all, replaced_by_a_link])
def test_a_private_folder_that_others_may_have_made_is_not_used(spoil: Callable[[Path], None], cache: Path) -> None:
    with private(RECORDS) as folder:
        assert folder is not None
        assert os.path.samestat(os.fstat(folder), (cache / RECORDS).stat())
    spoil(cache / RECORDS)
    with private(RECORDS) as folder:
        assert folder is not None
        assert not os.path.samestat(os.fstat(folder), (cache / RECORDS).stat())


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_is_no_link_and_no_pipe(kind: str, tmp_path: Path) -> None:
    (tmp_path / "precious/folder").mkdir(parents=True)
    (tmp_path / "precious/file").write_text("precious")
    plant(tmp_path / "lock", kind, tmp_path / "precious")
    before = told(tmp_path / "precious")
    with pytest.raises(OSError, match=r"symbolic link|Is a directory|not a plain file"):
        opened_file(tmp_path / "lock")
    assert told(tmp_path / "precious") == before


@pytest.mark.usefixtures("cache")
def test_a_planted_mark_is_another_user_s_or_no_file(tmp_path: Path) -> None:
    """The mark that a killed command left was replaced by a pipe: the folder stays, and nothing waits."""
    left = cut_off(tmp_path / "res")
    (left / MARK).unlink()
    os.mkfifo(left / MARK)
    with publish.staged(tmp_path / "res"):
        pass
    assert (left / "res/half").exists()


def hot_journal(names: bytes, page: int) -> bytes:
    """A rollback journal of several databases, as sqlite.org/fileformat.html says, that names another to delete."""
    magic = bytes.fromhex("d9d505f920a163d7")
    head = struct.pack(">8sIIIII", magic, 0, 1, 1, 512, page)
    lock_page = 0x40000000 // page + 1
    tail = struct.pack(">I", lock_page) + names + struct.pack(">II", len(names), sum(names)) + magic
    return head.ljust(512, b"\0") + tail


@pytest.mark.usefixtures("cache")
def test_a_planted_journal_deletes_nothing(tmp_path: Path) -> None:
    """SQLite deletes the file that stands at the end of a journal that a killed transaction left."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    file = tmp_path / "rows.sqlite"
    Journal.create(file, {"asked": "x"})
    file.with_name("rows.sqlite-journal").write_bytes(hot_journal(str(precious).encode(), 4096))
    with pytest.raises(ResultError, match="names another file to delete; remove it"):
        Journal(file)
    assert precious.exists()


@pytest.mark.usefixtures("cache")
def test_a_page_into_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    with pytest.raises(OutputError, match=r"page.html: can't be written: it is a folder; choose a file"):
        publish.write(tmp_path / "page.html", b"")
