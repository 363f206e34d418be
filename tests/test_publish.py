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
from dumbbell.publish import staged

CONTENT = "a result"


def write(out: Path, and_then: Callable[[Path], None] = lambda _folder: None) -> None:
    with staged(out) as folder:
        (folder / "run.json").write_text(CONTENT)
        and_then(folder)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_result_appears_whole(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "er" / "run"
    with staged(out) as folder:
        (folder / "run.json").write_text(CONTENT)
        assert not out.exists()
        assert folder.samefile(out.parent / f".{out.name}.running" / out.name)
    assert left(out) == ["run.json"]
    assert left(out.parent) == ["run"]


@pytest.mark.parametrize("kind", ["folder", "full folder", "file", "dead link"])
def test_a_folder_that_exists_is_never_touched(tmp_path: Path, kind: str) -> None:
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
    assert left(tmp_path) == ["run"]
    assert kind != "full folder" or (out / "mine").read_text() == "mine"


def test_two_runs_into_one_folder_one_of_them_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with staged(out) as folder:
        (folder / "run.json").write_text(CONTENT)
        with pytest.raises(OutputError, match="being written by another run"):
            write(out)
        assert (folder / "run.json").exists()
    assert left(tmp_path) == ["run"]


def test_what_appears_during_the_run_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "run"

    def appear(_folder: Path) -> None:
        out.mkdir()
        (out / "mine").write_text("mine")

    with pytest.raises(OutputError, match="was created by another program during the run"):
        write(out, appear)
    assert left(tmp_path) == ["run"]
    assert left(out) == ["mine"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_crash_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def crash(folder: Path) -> None:
        (folder / "half").mkdir()
        (folder / "half" / "table").write_text("half")
        raise error

    with pytest.raises(error):
        write(tmp_path / "run", crash)
    assert left(tmp_path) == []


def test_the_folder_of_a_run_that_was_killed_is_used_again(tmp_path: Path) -> None:
    """Killed outright: nothing could clean up, and the lock went with the process."""
    out = tmp_path / "run"
    script = (
        "import os, sys; from pathlib import Path; from dumbbell.publish import staged\n"
        "with staged(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').mkdir(); (folder / 'half' / 'x').write_text('x'); (folder / 'table').write_text('x')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, out], check=False).returncode == -9
    assert left(tmp_path) == [".run.running"]
    write(out)
    assert left(tmp_path) == ["run"]
    assert left(out) == ["run.json"]


def test_what_is_called_like_a_running_folder_is_left_alone(tmp_path: Path) -> None:
    staging = tmp_path / ".run.running"
    staging.mkdir()
    with (staging / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write(tmp_path / "run")
    assert left(tmp_path) == [".run.running", "run"]
    assert left(staging) == [".lock"]


def test_a_place_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file" / "run", Path("/proc/nowhere/run")):
        with pytest.raises(OutputError, match="can't be written: "):
            write(out)
    assert left(tmp_path) == ["file"]


def test_a_name_may_be_as_long_as_the_system_lets_it(tmp_path: Path) -> None:
    write(tmp_path / ("a" * 255))
    assert left(tmp_path) == ["a" * 255]


def test_a_name_that_is_too_long_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write(tmp_path / ("a" * 300))


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    out = tmp_path / "run"

    def fill(_folder: Path) -> None:
        # /dev/full answers every write as a full disk does.
        with Path("/dev/full").open("wb", buffering=0) as full:
            full.write(b"x")

    with pytest.raises(OutputError, match="the disk is full; nothing was written"):
        write(out, fill)
    assert left(tmp_path) == []


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
def test_an_ordinary_user_sees_where_writing_is_forbidden(inner: str) -> None:
    """A child of ours gives its rights away."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "closed").mkdir(mode=0o700)
        folder.chmod(0o755)
        assert status_as_other_user(lambda: write(folder / inner)) == "Permission denied"
        assert left(folder) == ["closed"]


def status_as_other_user(attempt: Callable[[], None]) -> str:
    read, sent = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing was raised"
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            attempt()
        except OutputError as error:
            said = str(error).rpartition(": ")[2]
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(sent, said.encode())
            os._exit(0)
    os.close(sent)
    os.waitpid(child, 0)
    with os.fdopen(read) as told:
        return told.read()


def cut_off(out: Path) -> Path:
    """The folder of a run to `out` whose process was killed."""
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom dumbbell.publish import staged\n"
        "with staged(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'deep').mkdir()\n    (folder / 'deep' / 'x').write_text('x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, out], check=False).returncode == -9
    return out.with_name(f".{out.name}.running")


def test_the_next_run_removes_what_one_that_was_killed_left(tmp_path: Path) -> None:
    assert cut_off(tmp_path / "killed").is_dir()
    write(tmp_path / "next")
    assert left(tmp_path) == ["next"]


def test_a_run_removes_nothing_that_lives_or_is_another_program_s(tmp_path: Path) -> None:
    foreign = tmp_path / ".foreign.running"
    foreign.mkdir()
    (foreign / ".lock").write_text("mine")
    (tmp_path / ".plain.running").mkdir()
    with staged(tmp_path / "living") as folder:
        (folder / "half").write_text("half")
        write(tmp_path / "next")
        assert (folder / "half").exists()
    assert left(tmp_path) == [".foreign.running", ".plain.running", "living", "next"]


def test_an_interrupt_just_before_the_block_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last thing of the making is to let others begin here."""
    close = os.close

    def interrupted(descriptor: int) -> None:
        monkeypatch.undo()
        close(descriptor)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "run")
    assert left(tmp_path) == []
