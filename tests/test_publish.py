"""Results appear complete or not at all."""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.errors import OutputError
from dumbbell.publish import staged, temporary

CONTENT = "a result"


def write(out: Path, action: Callable[[Path], None] = lambda _folder: None) -> None:
    with staged(out) as folder:
        (folder / "run.json").write_text(CONTENT)
        action(folder)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_result_appears_complete(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "er" / "run"
    with staged(out) as folder:
        (folder / "run.json").write_text(CONTENT)
        assert not out.exists()
        assert folder.samefile(out.parent / f".{out.name}.running" / out.name)
    assert names_in(out) == ["run.json"]
    assert names_in(out.parent) == ["run"]


@pytest.mark.parametrize("kind", ["folder", "full folder", "file", "dead link"])
def test_an_existing_folder_is_never_changed(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "run"
    if kind == "file":
        out.write_text("mine")
    elif kind == "dead link":
        out.symlink_to(tmp_path / "nowhere")
    else:
        out.mkdir()
        if kind == "full folder":
            (out / "mine").write_text("mine")
    with pytest.raises(
        OutputError, match="exists already; results are never overwritten: choose another folder with --out"
    ):
        write(out)
    assert names_in(tmp_path) == ["run"]
    assert kind != "full folder" or (out / "mine").read_text() == "mine"


def test_a_second_run_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with staged(out) as folder:
        (folder / "run.json").write_text(CONTENT)
        with pytest.raises(OutputError, match="being written by another run"):
            write(out)
        assert (folder / "run.json").exists()
    assert names_in(tmp_path) == ["run"]


def test_a_folder_created_during_the_run_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "run"

    def appear(_folder: Path) -> None:
        out.mkdir()
        (out / "mine").write_text("mine")

    with pytest.raises(OutputError, match="was created by another program during the run"):
        write(out, appear)
    assert names_in(tmp_path) == ["run"]
    assert names_in(out) == ["mine"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_crash_leaves_no_files(tmp_path: Path, error: type[BaseException]) -> None:
    def crash(folder: Path) -> None:
        (folder / "half").mkdir()
        (folder / "half" / "table").write_text("half")
        raise error

    with pytest.raises(error):
        write(tmp_path / "run", crash)
    assert names_in(tmp_path) == []


def test_the_folder_of_a_killed_run_is_reused(tmp_path: Path) -> None:
    """After SIGKILL no cleanup runs; the kernel releases the lock."""
    out = tmp_path / "run"
    script = (
        "import os, sys; from pathlib import Path; from dumbbell.publish import staged\n"
        "with staged(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').mkdir(); (folder / 'half' / 'x').write_text('x'); (folder / 'table').write_text('x')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, out], check=False).returncode == -9
    assert names_in(tmp_path) == [".run.running"]
    write(out)
    assert names_in(tmp_path) == ["run"]
    assert names_in(out) == ["run.json"]


def test_a_locked_folder_with_the_staging_name_is_not_changed(tmp_path: Path) -> None:
    staging = tmp_path / ".run.running"
    staging.mkdir()
    with (staging / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write(tmp_path / "run")
    assert names_in(tmp_path) == [".run.running", "run"]
    assert names_in(staging) == [".lock"]


def test_an_unwritable_path_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file" / "run", Path("/proc/nowhere/run")):
        with pytest.raises(OutputError, match="can't be written: "):
            write(out)
    assert names_in(tmp_path) == ["file"]


def test_a_name_may_have_the_system_s_maximum_length(tmp_path: Path) -> None:
    write(tmp_path / ("a" * 255))
    assert names_in(tmp_path) == ["a" * 255]


def test_a_name_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write(tmp_path / ("a" * 300))


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    out = tmp_path / "run"

    def fill(_folder: Path) -> None:
        # Every write to /dev/full fails like one to a full disk.
        with Path("/dev/full").open("wb", buffering=0) as full:
            full.write(b"x")

    with pytest.raises(OutputError, match="the disk is full; nothing was written"):
        write(out, fill)
    assert names_in(tmp_path) == []


@pytest.mark.usefixtures("as_root")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    "inner",
    [
        pytest.param("run", id="in a folder that can't be written"),
        pytest.param(
            "closed/run",
            id="in a folder that can't be read",
        ),
    ],
)
def test_a_missing_permission_is_an_error(inner: str) -> None:
    """A child process gives up its privileges."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "closed").mkdir(mode=0o700)
        folder.chmod(0o755)
        assert status_as_other_user(lambda: write(folder / inner)) == "Permission denied"
        assert names_in(folder) == ["closed"]


def status_as_other_user(attempt: Callable[[], None]) -> str:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        error_text = "nothing was raised"
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            attempt()
        except OutputError as error:
            error_text = str(error).rpartition(": ")[2]
        except BaseException as error:
            error_text = repr(error)
        finally:
            os.write(write_end, error_text.encode())
            os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end) as pipe:
        return pipe.read()


def killed_run(out: Path) -> Path:
    """The folder of a run to `out` whose process was killed."""
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom dumbbell.publish import staged\n"
        "with staged(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'deep').mkdir()\n    (folder / 'deep' / 'x').write_text('x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, out], check=False).returncode == -9
    return out.with_name(f".{out.name}.running")


def test_the_next_run_removes_the_folder_of_a_killed_run(tmp_path: Path) -> None:
    assert killed_run(tmp_path / "killed").is_dir()
    write(tmp_path / "next")
    assert names_in(tmp_path) == ["next"]


def test_a_run_removes_no_folder_of_a_running_run_or_another_program(tmp_path: Path) -> None:
    foreign = tmp_path / ".foreign.running"
    foreign.mkdir()
    (foreign / ".lock").write_text("mine")
    (tmp_path / ".plain.running").mkdir()
    with staged(tmp_path / "living") as folder:
        (folder / "half").write_text("half")
        write(tmp_path / "next")
        assert (folder / "half").exists()
    assert names_in(tmp_path) == [".foreign.running", ".plain.running", "living", "next"]


def test_an_interrupt_just_before_the_block_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`staged` releases a lock just before the block starts."""
    close = os.close

    def interrupted(descriptor: int) -> None:
        monkeypatch.undo()
        close(descriptor)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "run")
    assert names_in(tmp_path) == []


KILLED_INSIDE = """
import os, signal
from dumbbell.publish import temporary
with temporary("evaluate") as folder:
    (folder / "run").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_temporary_folder_of_a_killed_command_is_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    subprocess.run([sys.executable, "-c", KILLED_INSIDE], check=False)
    (left,) = names_in(tmp_path)
    with temporary("evaluate") as one, temporary("evaluate") as other:
        assert not one.samefile(other)
        assert len(set(names_in(tmp_path)) - {left}) == 2
        assert left not in names_in(tmp_path)
    assert names_in(tmp_path) == []
