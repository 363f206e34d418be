"""Checks what documentation and comments say against the tree: `make docs-check`.

    python scripts/docs_check.py [NAME...]

    links        links, anchors, and each page in the menu
    names        modules, files and make targets that comments and pages name exist
    claims       figures about quality agree with committed results (docs/claims.toml)
    generated    pages that scripts make of declarations and manifests are up to date
    transcripts  console blocks show what their commands print (scripts/transcripts.py)
    site         the site builds without a warning and loads nothing from another host

NAME selects checks; without one all run. Each problem is a line `FILE:LINE: what is wrong`.
Exit status: 0 no problem, 1 some.
"""

import bisect
import csv
import functools
import io
import json
import re
import subprocess
import sys
import time
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from docs import FENCE
from generated import ROOT

Problems = Iterable[str]


def links() -> Problems:
    """What `scripts/docs.py --check` reports."""
    return failed("scripts/docs.py", "--check")


def generated() -> Problems:
    """Pages and files that are out of date, with the command that updates them."""
    for script in ("schemas.py", "reference.py", "model.py", "provenance.py", "licences.py"):
        yield from failed(f"scripts/{script}", "--check")
    yield from failed("-m", "studies", "evaluations", "--check")


def site() -> Problems:
    """Build the site, and look for scripts, images and styles of other hosts."""
    problems = failed("scripts/docs.py")
    yield from problems
    if not problems:
        built = ROOT / "target" / "site"
        for page in built.rglob("*.html"):
            for external in EXTERNAL.finditer(page.read_text(encoding="utf-8")):
                yield f"{page.relative_to(ROOT)}: loads {external[0]}; put the file below docs/"


def transcripts() -> Problems:
    """Console blocks whose commands print something else."""
    return failed("scripts/transcripts.py", "--check")


EXTERNAL = re.compile(r"""<(?:script|img|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


def failed(*command: str) -> list[str]:
    """The lines of standard error of a script that failed; none if it succeeded."""
    process = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return process.stderr.splitlines() or [f"{command[0]}:1: failed without a message"] if process.returncode else []


# Names of modules and files

HISTORY = ("CHANGELOG.md", "validation/test-runs.md")
"""Files that may name what was deleted."""
FOREIGN = (
    "examples/tcp/",
    "flent/",
    "gtests/",
    "ksft_runner.sh",
    "scripts/kconfig/",
    "tools/testing/",
    "TcpTxBuffer::",
)
"""Files and names of other programs: ns-3, Flent, Google's tests, Linux."""
STEADY = ("crates/net/src/cc/steady.rs", "docs/controllers/steady.md")
"""The reader writes these when they follow CONTRIBUTING.md."""
PACKAGE = ROOT / "python" / "dumbbell"
MODULE = re.compile(r"(?<![\w/.-])dumbbell((?:\.[a-z]\w*)+)(?![\w/-])")
SHORT = re.compile(
    rf"`(?:{'|'.join(path.name for path in PACKAGE.iterdir() if path.is_dir())})\.(?!(?:json|toml|py)`)[a-z]\w*`"
)
SOURCE = re.compile(r"(?<![\w/.$*{}%+-])(?:[\w.+-]+/)*[\w+-]+\.(?:py|rs|tsx?|sh|mjs)\b(?![\w(*-])")
TRACKED = re.compile(
    r"(?<![\w/.$*{}%+-])(?:bench|crates|docs|examples|packaging|python|scenarios|scripts|studies|tests|ui|validation)/[\w.+/-]*\w"
    r"\.(?:toml|md|json|csv|c|config|html|cc)\b(?![\w(*-])"
)
TARGET = re.compile(r"`make [a-z][\w-]*")
RUST_PATH = re.compile(r"(?<![\w:])[a-zA-Z_]\w*(?:::[a-zA-Z_]\w*)+")
COMMENTS = {
    **dict.fromkeys((".rs", ".ts", ".tsx"), re.compile(r"(?<!\S)//[^\n]*|(?<!\S)/\*.*?\*/", re.DOTALL)),
    **dict.fromkeys((".toml", ".sh", ".yml"), re.compile(r"(?<!\S)#[^\n]*")),
}


def names() -> Problems:
    """Modules and files that are named and do not exist."""
    for file in tracked():
        if file not in HISTORY and Path(file).suffix in (*COMMENTS, ".py", ".md"):
            yield from stale_names(file, (ROOT / file).read_text(encoding="utf-8"))


def stale_names(file: str, text: str) -> Iterator[str]:
    """The stale names in a file's comments, or in a page."""
    for start, prose in prose_of(file, text):
        line = text.count("\n", 0, start) + 1
        for pattern, is_known, what in (
            (MODULE, lambda name: is_python(name.split(".")[1:]), "Python module or name"),
            (SHORT, functools.partial(is_short, file), "Python module or name"),
            (SOURCE, functools.partial(is_file, text), "file"),
            (TRACKED, functools.partial(is_file, text), "file"),
            (RUST_PATH, functools.partial(is_rust, file), "Rust module or name"),
            (TARGET, lambda name: name.removeprefix("`make ") in targets(), "target of the Makefile"),
        ):
            for found in pattern.finditer(prose):
                if not is_known(found[0]):
                    yield f"{file}:{line + prose.count(chr(10), 0, found.start())}: no {what} {found[0]}"


def prose_of(file: str, text: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings with their positions; of a page all but its code blocks."""
    suffix = Path(file).suffix
    if suffix == ".py":
        lines = [0, *(found.end() for found in re.finditer("\n", text))]
        begins = True
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
                yield lines[token.start[0] - 1] + token.start[1], token.string
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    elif suffix == ".md":
        yield 0, FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    else:
        for found in COMMENTS[suffix].finditer(text):
            yield found.start(), found[0]


def is_python(parts: list[str]) -> bool:
    """Whether `dumbbell.PARTS` is a module, or a name that a module defines or a package has."""
    folder = PACKAGE
    for position, part in enumerate(parts):
        if (folder / part).is_dir():
            folder /= part
        elif (folder / f"{part}.py").is_file():
            code = (folder / f"{part}.py").read_text(encoding="utf-8")
            rest = parts[position + 1 : position + 2]
            return not rest or bool(re.search(rf"^(?:(?:async )?def |class )?{rest[0]}\b", code, re.MULTILINE))
        else:
            package = (folder / "__init__.py").read_text(encoding="utf-8")
            # `dumbbell.format` is a key of Parquet's metadata.
            return part in ("_sim", "conf", "format") or bool(re.search(rf"\b{part}\b", package))
    return True


def is_short(file: str, name: str) -> bool:
    """Whether `package.module` is one of ours; pages name keys of experiments in this way."""
    return file.endswith(".md") or is_python(name.strip("`").split("."))


def is_file(page: str, name: str) -> bool:
    """Whether a tracked file has this path or ends in it.

    A name in capitals is for the reader to fill in. A bare name that a code block of the same page has is the reader's.
    """
    name = re.sub(r"^(\.\./)+", "", name)
    if name in STEADY or name.startswith(FOREIGN) or re.search(r"\b[A-Z]+[./]", name):
        return True
    blocks = "".join(block[0] for block in FENCE.finditer(page)) if "/" not in name else ""
    return name in blocks or name in endings()


def is_rust(file: str, path: str) -> bool:
    """Whether Rust code has every name of a path; Python, shell and TypeScript have other uses of `::`."""
    return not file.endswith((".rs", ".md")) or path.startswith(FOREIGN) or set(path.split("::")) <= rust_words()


@functools.cache
def rust_words() -> set[str]:
    """All words of Rust code, and names of its files and folders."""
    found: set[str] = set()
    for file in tracked():
        if file.endswith(".rs"):
            found |= set(Path(file).with_suffix("").parts)
            found |= set(re.findall(r"\w+", COMMENTS[".rs"].sub("", (ROOT / file).read_text(encoding="utf-8"))))
    return found


@functools.cache
def targets() -> set[str]:
    """Targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@functools.cache
def endings() -> set[str]:
    """The paths of all files, whole and without their first folders."""
    return {file.split("/", count)[-1] for file in tracked() for count in range(file.count("/") + 1)}


@functools.cache
def tracked() -> tuple[str, ...]:
    """Files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(file for file in listed.split("\0") if file and (ROOT / file).is_file())


# Claims

CLAIMS = ROOT / "docs" / "claims.toml"
STATED = re.compile(r"\b\d+ of (?:the )?\d+ [^.|]{0,60}?(?:are within tolerance|experiments no compared|pass\b)")
"""Sentences that state agreement: each of them needs a claim."""
SKIPPED = re.compile(r"\*\*|`|\s+")


class Text:
    """A page without emphasis and line breaks, and the line of each position."""

    def __init__(self, file: Path) -> None:
        source = file.read_text(encoding="utf-8")
        pieces, self._starts, self._lines, last = [], [0], [1], 0
        length = 0
        for found in SKIPPED.finditer(source):
            pieces += [source[last : found.start()], " " if found[0].isspace() else ""]
            length += len(pieces[-2]) + len(pieces[-1])
            last = found.end()
            if "\n" in found[0]:
                self._starts.append(length)
                self._lines.append(self._lines[-1] + found[0].count("\n"))
        self.text = "".join([*pieces, source[last:]])

    def line(self, position: int) -> int:
        """The line of a position in `text`."""
        return self._lines[bisect.bisect_right(self._starts, position) - 1]


def claims() -> Problems:
    """Figures that differ from the committed results, claims without a sentence, and sentences without a claim."""
    listed = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))["claims"]
    files = [ROOT / "README.md", *(file for folder in ("docs", "validation") for file in (ROOT / folder).rglob("*.md"))]
    pages = {file.relative_to(ROOT).as_posix(): Text(file) for file in files}
    claimed: dict[str, list[tuple[int, int]]] = {page: [] for page in pages}
    for claim in listed:
        values = [value_of(ROOT / claim["source"], expression) for expression in claim["values"]]
        count = 0
        for page in [claim["page"]] if "page" in claim else pages:
            for found in re.finditer(claim["pattern"], pages[page].text):
                count += 1
                claimed[page].append(found.span())
                if not all(shows(text, value) for text, value in zip(found.groups(), values, strict=True)):
                    measured = f"{claim['source']} has {', '.join(map(str, values))}"
                    yield f"{page}:{pages[page].line(found.start())}: {found[0][:120]!r}: {measured}"
        if not count:
            yield f"docs/claims.toml:1: no page has the sentence {claim['pattern']!r}; remove the claim"
    for page, text in pages.items():
        for found in STATED.finditer(text.text):
            if not any(start <= found.start() < end for start, end in claimed[page]):
                yield f"{page}:{text.line(found.start())}: {found[0]!r} has no claim; add it to docs/claims.toml"


def value_of(source: Path, expression: str) -> Decimal:
    """The value of "a.b.c" or, in a CSV, "key,key.column", with an optional factor."""
    path, _, factor = expression.partition(" * ")
    steps = [step.replace("\\.", ".") for step in re.split(r"(?<!\\)\.", path)]
    if source.suffix == ".csv":
        keys, column = steps[0].split(","), steps[-1]
        with source.open(encoding="utf-8", newline="") as file:
            (row,) = [row for row in csv.DictReader(file) if list(row.values())[: len(keys)] == keys]
        found: Any = row[column]
    else:
        found = json.loads(source.read_text(encoding="utf-8"))
        for step in steps:
            found = found[step]
    return Decimal(str(found)) * Decimal(factor or "1")


def shows(text: str, value: Decimal) -> bool:
    """Whether the text is the value, rounded to the text's decimals."""
    number = Decimal(text.replace(",", ""))
    step = Decimal(1).scaleb(int(number.as_tuple().exponent))
    return number in {value.quantize(step, rounding) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)}


CHECKS: dict[str, Callable[[], Problems]] = {
    each.__name__: each for each in (links, names, claims, generated, transcripts, site)
}


def main() -> int:
    """Run the checks, and print what each found and its time."""
    selected = sys.argv[1:] or list(CHECKS)
    if unknown := [name for name in selected if name not in CHECKS]:
        sys.stderr.write(f"no check {', '.join(unknown)}; there is {', '.join(CHECKS)}\n")
        return 2
    number = 0
    for name in selected:
        start = time.monotonic()
        problems = list(CHECKS[name]())
        number += len(problems)
        sys.stdout.writelines(f"{problem}\n" for problem in problems)
        sys.stdout.write(f"{name}: {len(problems) or 'no'} problems, {time.monotonic() - start:.1f} s\n")
        sys.stdout.flush()
    return int(number > 0)


if __name__ == "__main__":
    sys.exit(main())
