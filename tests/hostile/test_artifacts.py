"""Files of every kind in a program's working folder: kept within limits, or listed as lost."""

import json
import stat
import textwrap
from pathlib import Path

import pytest

from dumbbell.engines import KernelEngine, Request
from dumbbell.errors import ExperimentError
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import parse
from engines.measured import PYTHON, experiment

MOST_FILES = 1000
MOST_BYTES = 64 << 20


def run_script(folder: Path, script: str) -> Run:
    """Run a program with this script; checks that only the result is left."""
    text = textwrap.dedent(script)
    program = (
        f'[[programs]]\nname = "maker"\nhost = "sender"\nrun = ["{PYTHON}", "main.py"]\n'
        f"[programs.files]\n\"main.py\" = '''\n{text}'''\n"
    )
    case = parse(experiment(program), folder / "x.toml")[0]
    out = KernelEngine().run(Request("experiment", case, 1, folder / "run"), lambda _seconds: None)
    assert [each.name for each in folder.iterdir()] == ["run"]
    run = result.load(out)
    assert run.manifest.invalid == []
    return run


def kept_files(run: Run) -> list[Path]:
    return [each for each in (run.folder / "programs" / "maker").rglob("*") if not each.is_dir()]


SHAPES = """
    import os, socket
    os.umask(0)
    os.symlink("/etc", "folder-link")
    os.symlink("/etc/shadow", "link")
    os.symlink("../../../../../../tmp", "up")
    os.mkfifo("pipe")
    os.link("main.py", "hard")
    socket.socket(socket.AF_UNIX).bind("socket")
    for name, mode in (("setuid", 0o6755), ("secret", 0), ("plain", 0o644)):
        open(name, "w").write("x")
        os.chmod(name, mode)
    os.mkdir("closed")
    open("closed/inside", "w").write("x")
    os.chmod("closed", 0)
    for name in (b"n" * 255, b"new\\nline", b"not utf-8 \\xff\\xfe", b"\\x1b[31mred", b"-rf", b"<script>"):
        open(name, "w").write("x")
    with open("sparse", "wb") as file:
        file.truncate(1 << 40)
    try:
        os.mknod("device", 0o20666, os.makedev(1, 1))
    except PermissionError:
        print("no devices")
"""


@pytest.mark.kernel
def test_files_of_every_kind_are_kept_as_plain_files_or_omitted(tmp_path: Path) -> None:
    run = run_script(tmp_path, SHAPES)
    files = {bytes(each).rpartition(b"/")[2]: each for each in kept_files(run)}
    names = [b"n" * 255, b"new\nline", b"not utf-8 \xff\xfe", b"\x1b[31mred", b"-rf", b"<script>"]
    assert set(files) == {b"hard", b"setuid", b"secret", b"plain", b"inside", *names}
    for each in files.values():
        mode = each.lstat().st_mode
        assert stat.S_ISREG(mode)
        assert stat.S_IMODE(mode) & (stat.S_ISUID | stat.S_ISGID) == 0, "it would give the user's privileges to others"
        assert each.read_text()
    (entry,) = run.manifest["programs"]
    assert entry["lost_files"] == ["sparse"]
    assert (run.folder / entry["stdout"]).read_text() == "no devices\n"


@pytest.mark.slow
@pytest.mark.kernel
def test_deep_folders_are_kept_up_to_the_depth_limit(tmp_path: Path) -> None:
    """Once the agent failed, and the run with it."""
    run = run_script(
        tmp_path,
        """
        import os
        for name, depth in (("d", 2000), ("n" * 255, 30)):
            back = os.open(".", os.O_RDONLY)
            for _ in range(depth):
                os.mkdir(name)
                os.chdir(name)
                open("f", "w").write("x")
            os.fchdir(back)
        """,
    )
    assert len(kept_files(run)) == 64 + 3
    (entry,) = run.manifest["programs"]
    assert len(entry["lost_files"]) == 3
    assert any("copied up to 64 levels deep" in warning for warning in run.manifest["warnings"])


@pytest.mark.slow
@pytest.mark.kernel
def test_lost_files_are_listed_up_to_a_limit_and_counted(tmp_path: Path) -> None:
    run = run_script(
        tmp_path,
        """
        made = 0
        try:
            for number in range(5_000):
                open(f"{number:07}", "w").write("x")
                made += 1
        except OSError as error:
            print(error.strerror)
        print(made)
        """,
    )
    made = int((run.folder / "programs" / "maker.out").read_text().split()[-1])
    (entry,) = run.manifest["programs"]
    assert made > 2 * MOST_FILES
    assert (len(kept_files(run)), len(entry["lost_files"])) == (MOST_FILES, MOST_FILES)
    assert entry["lost_more"] == made - 2 * MOST_FILES
    assert (run.folder / "run.json").stat().st_size < 1 << 20
    assert f"and {made - MOST_FILES - 3:,} more" in json.dumps(run.manifest.warnings)


@pytest.mark.kernel
def test_a_remaining_process_can_not_redirect_the_copy_by_a_link(tmp_path: Path) -> None:
    """The process has left its process group and swaps a file for a link, and a folder too."""
    run = run_script(
        tmp_path,
        """
        import os, time
        os.mkdir("folder")
        open("folder/hostname", "w").write("ours")
        open("hostname", "w").write("ours")
        if os.fork():
            raise SystemExit
        os.setsid()
        os.symlink("/etc/hostname", "link")
        os.symlink("/etc", "links")
        open("other", "w").write("ours")
        os.mkdir("others")
        while True:
            time.sleep(1e-4)
            for one, other in (("hostname", "link"), ("folder", "links")):
                os.rename(one, "t")
                os.rename(other, one)
                os.rename("t", other)
        """,
    )
    assert {each.read_text() for each in kept_files(run)} <= {"ours", ""}


@pytest.mark.kernel
def test_large_files_are_kept_up_to_a_total_size(tmp_path: Path) -> None:
    run = run_script(
        tmp_path,
        """
        for number in range(9):
            open(f"{number}", "wb").write(b"x" * (9 << 20))
        """,
    )
    assert sum(each.stat().st_size for each in kept_files(run)) == 7 * (9 << 20) <= MOST_BYTES
    assert run.manifest["programs"][0]["lost_files"] == ["7", "8"]


def test_a_program_with_the_name_of_another_s_output_is_refused(tmp_path: Path) -> None:
    """Its folder would have the path of the output; once the complete run was discarded for it."""
    programs = "".join(
        f'[[programs]]\nname = "{name}"\nhost = "sender"\nrun = ["true"]\n' for name in ("server", "server.out")
    )
    with pytest.raises(ExperimentError, match=r"'server\.out' is called like the output of program 'server'"):
        parse(experiment(programs), tmp_path / "x.toml")
