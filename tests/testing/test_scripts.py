"""Which files of a folder are tests, and how each is started."""

import os
from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.testing.scripts import Script, find_scripts, shown_folders


def write(file: Path, text: str = "", *, runs: bool = False) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if runs:
        file.chmod(0o755)
    return file


def names(*paths: Path, patterns: tuple[str, ...] = ()) -> list[str]:
    return [script.name for script in find_scripts(paths, patterns)]


def test_a_packetdrill_script_is_a_test_for_each_version_of_ip(tmp_path: Path) -> None:
    write(tmp_path / "b.pkt")
    write(tmp_path / "a.pkt", "// comment\n--ip_version=ipv6\n")
    assert names(tmp_path) == ["a.pkt ipv6", "b.pkt ipv4", "b.pkt ipv6"]
    assert names(tmp_path / "b.pkt") == ["b.pkt ipv4", "b.pkt ipv6"]


def test_shell_scripts_beside_packetdrill_scripts_are_their_helpers(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "a.pkt")
    write(tmp_path / "deep" / "defaults.sh", "#!/bin/sh\n", runs=True)
    write(tmp_path / "other" / "b.sh", "#!/bin/sh\n", runs=True)
    write(tmp_path / "other" / "lib.sh", "#!/bin/sh\n")
    assert names(tmp_path) == ["deep/a.pkt ipv4", "deep/a.pkt ipv6", "other/b.sh"]
    # A file that the user names is a test.
    assert names(tmp_path / "deep" / "defaults.sh") == ["defaults.sh"]


def test_a_makefile_tells_tests_from_helpers(tmp_path: Path) -> None:
    text = "TEST_PROGS := a.sh \\\n\tb.sh\nTEST_PROGS += c.sh d.py\nTEST_PROGS_EXTENDED := in_netns.sh\n"
    write(tmp_path / "Makefile", text)
    for name in ("a.sh", "b.sh", "c.sh", "in_netns.sh"):
        write(tmp_path / name, "#!/bin/sh\n", runs=True)
    assert names(tmp_path) == ["a.sh", "b.sh", "c.sh"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ipv4", ["a.pkt ipv4", "b.pkt ipv4"]),
        ("a.", ["a.pkt ipv4", "a.pkt ipv6"]),
        ("b*6", ["b.pkt ipv6"]),
        ("?.pkt ipv6", ["a.pkt ipv6", "b.pkt ipv6"]),
    ],
)
def test_a_pattern_is_a_part_or_the_whole_of_a_name(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    write(tmp_path / "a.pkt")
    write(tmp_path / "b.pkt")
    assert names(tmp_path, patterns=(pattern,)) == expected


def test_a_test_named_twice_runs_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.pkt")
    assert names(tmp_path, file, tmp_path) == ["a.pkt ipv4", "a.pkt ipv6"]


@pytest.mark.parametrize(
    ("path", "patterns", "message"),
    [
        ("nothing", (), r"nothing: no such file or folder$"),
        ("empty", (), r"empty: no tests; a folder with \.pkt or executable \.sh files"),
        ("notes.txt", (), r"notes\.txt: not a test; a packetdrill script \(\.pkt\) or a shell script \(\.sh\)"),
        ("a.pkt", ("quic",), r"--match: none of the 2 tests matches, got 'quic'; --list without --match"),
    ],
)
def test_what_is_no_test_is_refused(tmp_path: Path, path: str, patterns: tuple[str, ...], message: str) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "notes.txt")
    write(tmp_path / "a.pkt")
    with pytest.raises(ExperimentError, match=message):
        find_scripts([tmp_path / path], patterns)


def test_pipes_and_names_with_control_characters_are_no_tests(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pkt")
    write(tmp_path / "a\nok 1 b.pkt")
    write(tmp_path / "c.pkt")
    assert names(tmp_path) == ["c.pkt ipv4", "c.pkt ipv6"]
    with pytest.raises(ExperimentError, match=r"pipe\.pkt: not a test"):
        find_scripts([tmp_path / "pipe.pkt"])
    with pytest.raises(ExperimentError, match="characters that can't be printed"):
        find_scripts([tmp_path / "a\nok 1 b.pkt"])


def test_arguments_are_those_of_the_kernel_s_runner(tmp_path: Path) -> None:
    script = Script(tmp_path / "a.pkt", "a.pkt ipv6", "ipv6")
    command = script.command(Path("/opt/packetdrill"), 200, verbose=True)
    assert command[0] == "/opt/packetdrill"
    assert command[-1] == "a.pkt"
    assert {"--ip_version=ipv6", "--mtu=1520", "CMSG_TYPE_RECVERR=IPV6_RECVERR"} < set(command)
    assert {"--tolerance_usecs=200", "-v"} < set(command)
    plain = script.command(Path("/opt/packetdrill"), None, verbose=False)
    assert not {"--tolerance_usecs=200", "-v"} & set(plain)


def test_a_shell_script_without_permission_is_given_to_bash(tmp_path: Path) -> None:
    runs = write(tmp_path / "a.sh", "#!/bin/sh\n", runs=True)
    assert Script(runs, "a.sh").command(None, None, verbose=False) == ["./a.sh"]
    for text, permitted in (("#!/bin/sh\n", False), ("echo\n", True)):
        other = write(tmp_path / f"b{permitted}.sh", text, runs=permitted)
        assert Script(other, "b").command(None, None, verbose=False) == ["bash", f"./{other.name}"]


def test_all_selftests_of_a_kernel_tree_are_shown_to_a_test(tmp_path: Path) -> None:
    tree = tmp_path / "linux/tools/testing/selftests"
    files = [tree / "net/packetdrill/a.pkt", tmp_path / "own/b.pkt", tmp_path / "own/deep/c.pkt"]
    assert shown_folders(files) == [str(tree), str(tmp_path / "own")]
