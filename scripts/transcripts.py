"""Runs the console blocks of the pages and writes what they print: `make transcripts`.

    python scripts/transcripts.py [--check] [PAGE...]

A block is a fence of ```` ```console ````. Its lines that begin with `$ ` are commands for bash, those below a command
are its output, standard error included. Each page has a folder of its own (`target/transcripts`), in which its commands
run in their order, in one shell. `docs`, `examples` and `scenarios` are there, and every other block of the page that
has a title (```` ```toml title="my.toml" ````) is a file. The cache has the default kernel and nothing else.

A line `…` or `...` in an output is a cut and stays one: what is above and below it is found in the new output. `…` in a
line cuts words. Wall times, dates, paths, releases of Linux and digits of virtual times below a millisecond are not
compared; if nothing else differs, a line stays.

Comments right above a block change what is done with it:

    <!-- transcript: not run, REASON -->    it needs root, another host, hours, a network, a terminal: not compared
    <!-- transcript: not compared, REASON -->
                                            `--check` leaves it out: it is another one with other versions of programs
    <!-- transcript: needs NAME... -->      not run where one of the programs (or files of the checkout) is missing
    <!-- transcript: setup COMMAND -->      run before the block, for what a page doesn't show

`--check` writes nothing and reports stale blocks. Exit status: 1 for stale blocks, and for commands that don't exist or
end with a traceback.
"""

import difflib
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from generated import ROOT

from dumbbell.kernels import find, kernels
from dumbbell.kernels.store import kernels_dir

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
COLUMNS = "100"
PAGE_LIMIT_S = 600
WORK = ROOT / "target" / "transcripts"
SHARED = ("docs", "examples", "scenarios")

MARKS = r"(?P<marks>(?:^<!-- transcript: [^\n]* -->\n+)*)"
BLOCK = re.compile(MARKS + r"^```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- transcript: (not run|not compared|needs|setup),? (.+?) -->")
FILE = re.compile(r'^```\w+ title="(?P<name>[^"]+)"\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
CUT = ("…", "...")


@dataclass
class Command:
    """A command with the output that its page shows, and what it prints now."""

    text: str
    shown: list[str] = field(default_factory=list)
    printed: list[str] | None = None
    status: int | None = None


@dataclass
class Block:
    """A console block: its commands, its marks, and its place in the page."""

    line: int
    span: tuple[int, int]
    commands: list[Command]
    setup: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    not_run: str = ""
    not_compared: str = ""

    @property
    def skipped(self) -> str:
        """Why it is not run, if it is not."""
        missing = [name for name in self.needs if not is_here(name)]
        return self.not_run or (f"no {', '.join(missing)} here" if missing else "")


# Pages


def blocks(page: str) -> list[Block]:
    """The console blocks of a page."""
    found = []
    for match in BLOCK.finditer(page):
        span = match.span("body")
        block = Block(page.count("\n", 0, span[0]), span, commands(match["body"]))
        for kind, text in MARK.findall(match["marks"]):
            if kind == "setup":
                block.setup.append(text)
            elif kind == "needs":
                block.needs += text.split()
            elif kind == "not run":
                block.not_run = text
            else:
                block.not_compared = text
        found.append(block)
    return found


def commands(body: str) -> list[Command]:
    """The commands of a block. A command with an open quote or a backslash at its end goes on in the next line."""
    found: list[Command] = []
    is_open = False
    for line in body.splitlines():
        if is_open:
            found[-1].text += f"\n{line}"
        elif line.startswith("$ "):
            found.append(Command(line[2:]))
        elif found:
            found[-1].shown.append(line)
        else:
            raise ValueError(f"a console block begins with '$ COMMAND', not with {line!r}")
        is_open = (is_open or line.startswith("$ ")) and is_unfinished(found[-1].text)
    return found


def is_unfinished(command: str) -> bool:
    """Whether a shell would ask for another line."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return command.endswith("\\")


def rendered(block: Block) -> str:
    """The body of a block with what its commands print, cut as in the page."""
    lines: list[str] = []
    for command in block.commands:
        new = fitted(command.shown, command.printed) if command.printed is not None else command.shown
        lines += [f"$ {command.text}", *kept(command.shown, new)]
    return "".join(f"{line}\n" for line in lines)


# Comparison

MASKS = [
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\bin [\d.]+ s \([\d.,]+× real time\)", "in WALL"),
        (r"(?<=runs on )([\w, ]+), [\d.]+ s$", r"\1, WALL"),
        (r"\b[\d.]+ s of real time", "WALL of real time"),
        (r"\b(took|in|after) [\d.]+ (s|min) of wall time", r"\1 WALL"),
        (r"-\d{8}-\d{6}(?:-\d+)?\b", "-DATE"),
        (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::[\d.]+)?(?:\+00:00|Z)?)?", "DATE"),
        (r"\b6\.12\.\d+\b", "6.12"),
        (r"\s+", " "),
    )
]
VIRTUAL = re.compile(r"\b\d+\.\d{5,}\b|\b\d[\d.]*e-\d+\b")
"""Virtual times in seconds: the host's libraries, which programs load in guests, change them by microseconds."""
NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?")
SIMILAR = 0.6
"""A line is found again below a cut if it resembles the old one at least so much, numbers left out."""


def masked(line: str) -> str:
    """A line without what differs between runs and hosts."""
    for pattern, text in MASKS:
        line = pattern.sub(text, line)
    return VIRTUAL.sub(lambda time: f"{float(time[0]):.3f}", line).strip()


def kept(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines, but old ones where only masked parts differ."""
    matcher = difflib.SequenceMatcher(None, [*map(masked, old)], [*map(masked, new)], autojunk=False)
    lines: list[str] = []
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        lines += old[old_from:old_to] if kind == "equal" else new[new_from:new_to]
    return lines


def fitted(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new output with the cuts of the old one. Raises ValueError if what a cut leaves is not found."""
    lines: list[str] = []
    at = 0
    pieces = list(segments(old))
    for number, piece in enumerate(pieces):
        is_first, is_last = number == 0, number == len(pieces) - 1
        if is_first and is_last:
            return shortened(old, new) if len(old) == len(new) else list(new)
        if is_first:
            start = 0
        elif is_last:
            start = max(at, len(new) - len(piece))
        else:
            start = position(piece, new, at)
        if start > at:
            lines.append(next(line for line in old if line.strip() in CUT))
        found = new[start : start + len(piece)]
        lines += shortened(piece, found)
        at = start + len(found)
    return lines


def segments(old: Sequence[str]) -> Iterator[list[str]]:
    """The lines between cuts."""
    piece: list[str] = []
    for line in old:
        if line.strip() in CUT:
            yield piece
            piece = []
        else:
            piece.append(line)
    yield piece


def position(piece: Sequence[str], new: Sequence[str], at: int) -> int:
    """Where the new output, from `at` on, resembles some lines most."""
    best, where = 0.0, at
    for start in range(at, len(new) - len(piece) + 1):
        found = sum(map(similarity, piece, new[start:])) / len(piece)
        if found > best:
            best, where = found, start
    if best < SIMILAR:
        raise ValueError(f"the output has no longer a line like {piece[0]!r}; cut the block anew by hand")
    return where


@functools.cache
def similarity(old: str, new: str) -> float:
    """Likeness of two lines without their numbers, 0 to 1."""
    head, cut, tail = NUMBER.sub("0", masked(old)).partition("…")
    other = NUMBER.sub("0", masked(new))
    if cut and "…" not in other:
        other = f"{other[: len(head)]}…{other[len(other) - len(tail) :] if tail else ''}"
    return difflib.SequenceMatcher(None, head + cut + tail, other).ratio()


def shortened(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines, cut where `…` cuts words of the old ones."""
    lines = []
    for before, line in zip(old, new, strict=False):
        head, cut, tail = before.partition("…")
        if cut and "…" not in line:
            words = line.split(" ")
            first = words[: head.count(" ")]
            last = words[len(words) - tail.count(" ") :] if tail.strip() else []
            lines.append(" ".join([*first, f"{cut}", *last]))
        else:
            lines.append(line)
    return lines + list(new[len(lines) :])


# Running


def run(page: Path, text: str, found: Sequence[Block]) -> list[str]:
    """Run the blocks of a page in a folder of its own; returns errors."""
    folder = WORK / name_of(page).replace("/", "-").removesuffix(".md")
    shutil.rmtree(folder, ignore_errors=True)
    own = folder.with_name(f"{folder.name}.cache")
    shutil.rmtree(own, ignore_errors=True)
    private_cache(own)
    folder.mkdir(parents=True)
    for shared in SHARED:
        (folder / shared).symlink_to(ROOT / shared)
    for file in FILE.finditer(text):
        (folder / file["name"]).parent.mkdir(parents=True, exist_ok=True)
        (folder / file["name"]).write_text(file["text"], encoding="utf-8")
    script = folder.with_name(f"{folder.name}.sh")
    script.write_text("".join(script_lines(found)), encoding="utf-8")
    # Only this: programs in guests get it, and each search for a program in PATH takes virtual time.
    environment = {
        "COLUMNS": COLUMNS,
        "DUMBBELL_CACHE": str(own),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PATH": search_path(),
        "PYTHONUNBUFFERED": "1",
        "ROOT": str(ROOT),
        "TERM": "dumb",
        "TZ": "UTC",
    }
    output = shell(script, folder, environment)
    shutil.rmtree(own, ignore_errors=True)
    for before, after in ((f"{folder}/", ""), (str(own), "~/.cache/dumbbell"), (f"{ROOT}/", ""), (f"{script}", "bash")):
        output = output.replace(before, after)
    return assign(page, found, output)


def script_lines(found: Sequence[Block]) -> Iterator[str]:
    """A script of all commands. Each output is between a line of its own with a number, and one with its status."""
    yield "trap 'kill -KILL 0' EXIT\n"  # ends programs in the background, too
    for number, block in enumerate(found):
        if not block.skipped:
            for setup in block.setup:
                yield f"eval {shlex.quote(setup)} >&2 </dev/null\n"
            for position, command in enumerate(block.commands):
                yield f"printf '\\n{BEGIN}{number}.{position}\\n'\n"
                yield f"eval {shlex.quote(command.text)} </dev/null\n"
                yield f"printf '\\n{END}%d\\n' $?\n"


BEGIN, END = "@@transcript ", "@@status "
OUTPUT = re.compile(rf"^{BEGIN}(\d+)\.(\d+)\n(.*?)\n{END}(\d+)$", re.MULTILINE | re.DOTALL)


def shell(script: Path, folder: Path, environment: dict[str, str]) -> str:
    """The output of a script, standard error included; the whole group of processes ends with it."""
    process = subprocess.Popen(
        ["bash", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=PAGE_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    return output.decode(errors="replace")


def assign(page: Path, found: Sequence[Block], output: str) -> list[str]:
    """Give the commands their outputs; returns those that did not end, do not exist or crashed."""
    for match in OUTPUT.finditer(output):
        command = found[int(match[1])].commands[int(match[2])]
        command.printed = [line.rstrip() for line in match[3].splitlines()]
        command.status = int(match[4])
    errors = []
    for block in found:
        for command in block.commands if not block.skipped else ():
            text = "\n".join(command.printed or ())
            what = (
                "did not end" if command.printed is None
                else "does not exist" if re.search(r": line \d+: .*: command not found$", text, re.MULTILINE)
                else "crashed" if "Traceback (most recent call last)" in text
                else ""
            )  # fmt: skip
            if what:
                command.printed = None
                errors.append(f"{name_of(page)}:{block.line}: `{command.text}` {what}")
    return errors


def is_here(name: str) -> bool:
    """Whether there is a program, or for a name with a slash a file of the checkout."""
    return (ROOT / name).exists() if "/" in name else shutil.which(name, path=search_path()) is not None


def search_path() -> str:
    """Dumbbell of this checkout first."""
    return f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def private_cache(cache: Path) -> None:
    """Make a cache with the default kernel alone, and its build tree, to which `kernel add` adds."""
    (cache / "kernels").mkdir(parents=True)
    (cache / "build").mkdir()
    if kernels():
        default = find().name
        shutil.copytree(kernels_dir() / default, cache / "kernels" / default)
        (cache / "kernels" / "default").write_text(default, encoding="utf-8")
        tree = kernels_dir().with_name("build") / default
        if tree.is_dir():
            (cache / "build" / default).symlink_to(tree)


# Results


def name_of(page: Path) -> str:
    """A page's path in the repository."""
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else str(page)


def renewed(page: Path, text: str, found: Sequence[Block]) -> tuple[str, list[str]]:
    """The page with new outputs, and its stale blocks."""
    stale = []
    for block in reversed(found):
        start, end = block.span
        try:
            body = rendered(block)
        except ValueError as error:
            stale.append(f"{name_of(page)}:{block.line}: {error}")
            continue
        if body != text[start:end]:
            line, old, new = first_difference(text[start:end], body)
            stale.append(
                f"{name_of(page)}:{block.line + line}: shows {old!r}, the command prints {new!r}; run make transcripts"
            )
            text = text[:start] + body + text[end:]
    return text, stale[::-1]


def first_difference(old: str, new: str) -> tuple[int, str, str]:
    """The first line that differs, counted from 1, in both texts."""
    ours, theirs = old.splitlines(), new.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    return at + 1, "".join(ours[at : at + 1]), "".join(theirs[at : at + 1])


def main() -> int:
    """Run the pages side by side, and write or compare them."""
    is_check = "--check" in sys.argv[1:]
    named = [Path(name).resolve() for name in sys.argv[1:] if name != "--check"]
    pages = {page: page.read_text(encoding="utf-8") for page in named or PAGES}
    found = {page: blocks(text) for page, text in pages.items() if BLOCK.search(text)}
    for block in (block for each in found.values() for block in each if is_check):
        block.not_run = block.not_run or block.not_compared
    problems: list[str] = []

    def one(page: Path) -> tuple[list[str], float]:
        start = time.monotonic()
        to_run = any(not block.skipped for block in found[page])
        return run(page, pages[page], found[page]) if to_run else [], time.monotonic() - start

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for page, (errors, seconds) in zip(found, pool.map(one, found), strict=True):
            text, stale = renewed(page, pages[page], found[page])
            problems += errors + (stale if is_check else [line for line in stale if "make transcripts" not in line])
            number = sum(not block.skipped for block in found[page])
            done = f"{name_of(page)}: {number} of {len(found[page])} blocks run, {len(stale)} stale, {seconds:.1f} s"
            sys.stdout.write(f"{done}\n")
            sys.stdout.flush()
            if not is_check and text != pages[page]:
                page.write_text(text, encoding="utf-8")
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
