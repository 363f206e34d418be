"""Linux's own TCP tests: packetdrill scripts and shell selftests in files and folders, and how each is started.

A packetdrill script runs once with IPv4 and once with IPv6, with the arguments of the kernel's own runner
(tools/testing/selftests/net/packetdrill/ksft_runner.sh), unless a line `--ip_version=` in it names the versions. In a
folder of the kernel's selftests the variable TEST_PROGS of its Makefile tells tests from helpers.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dumbbell.errors import ExperimentError

__all__ = ["Script", "find_scripts", "matches", "shown_folders"]

PACKETDRILL, SHELL = ".pkt", ".sh"
MOST_BYTES = 1 << 20
MOST_TESTS = 10_000
"""More files are hardly meant."""

_VERSIONS = {
    "ipv4": (
        "--ip_version=ipv4", "--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0",
        "--remote_ip=192.0.2.1", "-D", "CMSG_LEVEL_IP=SOL_IP", "-D", "CMSG_TYPE_RECVERR=IP_RECVERR",
    ),
    "ipv6": (
        "--ip_version=ipv6", "--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1", "--gateway_ip=fd3d:0a0b:17d6:8888::1",
        "--remote_ip=fd3d:fa7b:d17d::1", "-D", "CMSG_LEVEL_IP=SOL_IPV6", "-D", "CMSG_TYPE_RECVERR=IPV6_RECVERR",
    ),
}  # fmt: skip
"""Arguments as in ksft_runner.sh."""


@dataclass(frozen=True)
class Script:
    """One test: a file, and for packetdrill a version of IP."""

    file: Path
    """Absolute."""
    name: str
    """Its path in the folder that the user named, and the version of IP."""
    ip_version: str = ""
    """`ipv4` or `ipv6` for packetdrill."""

    @property
    def is_packetdrill(self) -> bool:
        """Does packetdrill run it?"""
        return self.file.suffix == PACKETDRILL

    def command(self, packetdrill: Path | None, tolerance_us: int | None, *, verbose: bool) -> list[str]:
        """The command, for the current folder `file.parent`; `verbose`: packetdrill prints each packet's time."""
        if not self.is_packetdrill:
            # The kernel's runner does the same where the permission was lost, as in an archive.
            runs = os.access(self.file, os.X_OK) and _beginning(self.file).startswith(b"#!")
            return [f"./{self.file.name}"] if runs else ["bash", f"./{self.file.name}"]
        tolerance = [] if tolerance_us is None else [f"--tolerance_usecs={tolerance_us}"]
        return [
            str(packetdrill), *_VERSIONS[self.ip_version], *tolerance, *(["-v"] if verbose else []), self.file.name
        ]  # fmt: skip


def find_scripts(paths: Sequence[Path], patterns: Sequence[str] = ()) -> list[Script]:
    """The tests of these files and folders whose name matches one of the patterns, sorted within each folder.

    A pattern is part of a name, or has `*`, `?` or `[` and is the whole. Raises `ExperimentError` for a missing file,
    one that is no test, and if there is no test at all.
    """
    found: dict[tuple[Path, str], Script] = {}
    for path in paths:
        for script in _tests_of(path):
            found.setdefault((script.file, script.ip_version), script)
            if len(found) > MOST_TESTS:
                raise ExperimentError(
                    f"more than {MOST_TESTS:,} tests", file=str(path), right="name a smaller folder"
                )  # fmt: skip
    chosen = [script for script in found.values() if matches(script.name, patterns)]
    if found and not chosen:
        raise ExperimentError(
            f"none of the {len(found)} tests matches", key="--match", value=", ".join(patterns),
            right="--list without --match shows their names",
        )  # fmt: skip
    if not chosen:
        where = ", ".join(str(path) for path in paths)
        raise ExperimentError(f"{where}: no tests", right=f"a folder with {PACKETDRILL} or executable {SHELL} files")
    return chosen


def shown_folders(files: Iterable[Path]) -> list[str]:
    """The folders that tests need of the host: their own, and of a kernel's selftests all.

    A script sources the helpers of other folders, such as those in tools/testing/selftests/kselftest.
    """
    folders = {_tree_of(file) for file in files}
    return sorted(str(folder) for folder in folders if not any(other in folder.parents for other in folders))


def _tree_of(file: Path) -> Path:
    selftests = (parent for parent in file.parents if parent.parts[-3:] == ("tools", "testing", "selftests"))
    return next(selftests, file.parent)


def _tests_of(path: Path) -> Iterator[Script]:
    if not path.exists():
        raise ExperimentError("no such file or folder", file=str(path))
    absolute = path.resolve()
    if not str(absolute).isprintable():
        raise ExperimentError("the path has characters that can't be printed", file=str(path), right="rename it")
    if absolute.is_dir():
        for file in _files_in(absolute):
            yield from _variants(file, str(file.relative_to(absolute)))
    elif absolute.suffix in (PACKETDRILL, SHELL) and absolute.is_file():
        yield from _variants(absolute, absolute.name)
    else:
        raise ExperimentError(
            "not a test", file=str(path), right=f"a packetdrill script ({PACKETDRILL}) or a shell script ({SHELL})"
        )


def _files_in(folder: Path) -> Iterator[Path]:
    """The tests below a folder; links to folders are not followed."""
    for at, folders, names in os.walk(folder):
        folders.sort()
        here = Path(at)
        scripts = sorted(name for name in names if name.endswith(PACKETDRILL))
        listed = _listed_tests(here)
        if listed is None:
            # Beside packetdrill scripts, shell scripts are what these call.
            shell = [] if scripts else [name for name in names if _is_runnable(here / name)]
        else:
            shell = [name for name in names if name in listed]
        for name in (*scripts, *sorted(shell)):
            if str(here / name).isprintable() and (here / name).is_file():
                yield here / name


def _is_runnable(file: Path) -> bool:
    return file.suffix == SHELL and os.access(file, os.X_OK)


def _listed_tests(folder: Path) -> set[str] | None:
    """The shell scripts in TEST_PROGS of a folder's Makefile; None without that variable."""
    try:
        text = _beginning(folder / "Makefile").decode(errors="replace")
    except OSError:
        return None
    values = re.findall(r"^TEST_PROGS\s*[:+?]?=(.*)$", re.sub(r"\\\n", " ", text), re.MULTILINE)
    return {word for value in values for word in value.split() if word.endswith(SHELL)} if values else None


def _beginning(file: Path) -> bytes:
    """A file's first part: as much as a script's header or a Makefile has."""
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES)


def _variants(file: Path, name: str) -> Iterator[Script]:
    if file.suffix != PACKETDRILL:
        yield Script(file, name)
        return
    for version in _ip_versions(file):
        yield Script(file, f"{name} {version}", version)


def _ip_versions(file: Path) -> list[str]:
    """The versions that the script names, else all."""
    text = _beginning(file).decode(errors="replace")
    named = re.findall(r"^--ip_version=(\S+)", text, re.MULTILINE)
    return [version for version in _VERSIONS if version in named] or list(_VERSIONS)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a test with this name is meant; without patterns each is."""
    return not patterns or any(
        fnmatchcase(name, pattern) if re.search(r"[*?\[]", pattern) else pattern in name for pattern in patterns
    )
