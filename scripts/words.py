"""Finds words that docs/glossary.md excludes: retired words in any text, and vague words as names in code.

    python scripts/words.py [--count] [--rev COMMIT]

Both lists and their exceptions are tables of that page. `--count` prints the number of uses of each word instead of
their locations; `--rev` reads the tree of a commit instead of the working tree, with the lists of the present page.
tests/test_words.py applies the lists to the tree.
Exit status: 0 no use, 1 some.
"""

import argparse
import ast
import collections
import fnmatch
import functools
import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "glossary.md"
NOT_READ = (
    "CHANGELOG.md",  # history
    "docs/glossary.md",  # the lists themselves
    "LICENSE",
    "Cargo.lock",
    "requirements.lock",
    "ui/package-lock.json",
)
CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'|`(?:\\.|[^`\\])*`""",
    re.DOTALL | re.VERBOSE,
)
RUST_NAMES = re.compile(r"\b(?:struct|enum|trait|type|union|fn|mod|macro_rules!)\s+([A-Za-z_]\w*)")
TYPESCRIPT_NAMES = re.compile(
    r"\b(?:class|interface|type|enum|function\*?)\s+([A-Za-z_$][\w$]*)"
    r"|\b(?:const|let)\s+([A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:\([^()]*\)|[A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?=>"
    r"|^\s+(?:(?:private|public|protected|static|async|get|set|readonly)\s+)*"
    r"(?!(?:if|for|while|switch|catch|return|function)\b)([A-Za-z_$][\w$]*)\([^()\n]*\)(?::[^{;\n]+)?\s*\{",
    re.MULTILINE,
)
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Name:
    """A word that names must not use: alone, or as any part of a name."""

    word: str
    any_part: bool


@dataclass(frozen=True)
class Exemption:
    """A use that stays: `word` in files that match `files`, in lines that contain `text` (all, when it is empty)."""

    word: str
    files: str
    text: str

    def covers(self, use: "Use") -> bool:
        """True if the use may stay."""
        return self.word == use.word and fnmatch.fnmatch(use.file, self.files) and self.text in use.text


@dataclass(frozen=True)
class Use:
    """One use of a word."""

    word: str
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.word}: {self.text.strip()[:100]}"


@dataclass(frozen=True)
class Lists:
    """The words that the glossary excludes."""

    never: tuple[str, ...]
    names: tuple[Name, ...]
    exemptions: tuple[Exemption, ...]


def main() -> int:
    """Print uses, or their numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", action="store_true", help="print the number of uses of each word")
    parser.add_argument("--rev", help="read the tree of this commit")
    arguments = parser.parse_args()
    lists = read_lists(PAGE.read_text(encoding="utf-8"))
    files = committed(arguments.rev) if arguments.rev else working_tree()
    in_text, in_names = (forbidden(found, lists) for found in uses(files, lists))
    if arguments.count:
        for title, found in (("words never used", in_text), ("names not used", in_names)):
            numbers = collections.Counter(use.word for use in found)
            sys.stdout.write(f"{title}: {len(found)}\n")
            sys.stdout.writelines(f"{number:7d} {word}\n" for word, number in numbers.most_common())
    else:
        sys.stdout.writelines(f"{use}\n" for use in (*in_text, *in_names))
    return 1 if in_text or in_names else 0


def read_lists(page: str) -> Lists:
    """Read the three tables below their headings."""
    never = [cells[0] for cells in rows(page, "Words never used")]
    names = [Name(cells[0], cells[1] == "any part") for cells in rows(page, "Names not used")]
    exemptions = [Exemption(cells[0], cells[1], cells[2]) for cells in rows(page, "Exceptions")]
    return Lists(
        tuple(word for words in never for word in words.split(", ")),
        tuple(Name(word, each.any_part) for each in names for word in each.word.split(", ")),
        tuple(Exemption(word, each.files, each.text) for each in exemptions for word in each.word.split(", ")),
    )


def rows(page: str, heading: str) -> Iterator[list[str]]:
    """The cells of each row of the table below a heading, without backquotes."""
    below = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if below is None:
        raise ValueError(f"{PAGE} has no section '{heading}'")
    lines = [line for line in below[1].splitlines() if line.startswith("|")]
    for line in lines[2:]:
        yield [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]


def working_tree() -> Iterator[tuple[str, str]]:
    """Every tracked text file with its content."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for file in listed.decode().split("\0"):
        path = ROOT / file
        if file and path.is_file() and not path.is_symlink():
            yield from as_text(file, path.read_bytes())


def committed(revision: str) -> Iterator[tuple[str, str]]:
    """Every text file of a commit with its content."""
    archived = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archived)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield from as_text(member.name, content.read())


def as_text(file: str, content: bytes) -> Iterator[tuple[str, str]]:
    """The text of a file; nothing for binary files and for those that are not read."""
    if file in NOT_READ or b"\0" in content[:8192]:
        return
    try:
        yield file, content.decode()
    except UnicodeDecodeError:
        return


def uses(files: Iterable[tuple[str, str]], lists: Lists) -> tuple[list[Use], list[Use]]:
    """Uses of retired words in texts, and of vague words in names, including the exceptions."""
    in_text: list[Use] = []
    in_names: list[Use] = []
    for file, text in files:
        lower = f"{file}\n{text}".lower()
        present = tuple(word for word in lists.never if all(each in lower for each in word.split()))
        if present:
            in_text += words_in(file, text, pattern_of(present))
        in_names += names_in(file, text, lists.names)
    return in_text, in_names


def forbidden(found: Iterable[Use], lists: Lists) -> list[Use]:
    """The uses that no exception covers."""
    return [use for use in found if not any(each.covers(use) for each in lists.exemptions)]


@functools.cache
def pattern_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Whole words in any case, in phrases with any space between them, and parts of snake_case and camelCase names."""
    ordered = sorted(words, key=len, reverse=True)
    any_case = "|".join(r"[\s_-]+".join(map(re.escape, word.split())) for word in ordered)
    single = [word for word in ordered if " " not in word] or ["(no single word)"]
    capitalized = "|".join(re.escape(word.capitalize()) for word in single)
    lower = "|".join(map(re.escape, single))
    return re.compile(
        rf"(?<![A-Za-z])(?i:{any_case})(?![A-Za-z])"
        rf"|(?<![A-Z])(?:{capitalized})(?=[A-Z])|(?<=[a-z])(?:{capitalized})(?![a-z])"
        rf"|(?<![A-Za-z])(?:{lower})(?=[A-Z])"
    )


def words_in(file: str, text: str, pattern: re.Pattern[str]) -> Iterator[Use]:
    """Uses in the text of a file, and in its path."""
    for found in pattern.finditer(file):
        yield Use(normal(found[0]), file, 0, file)
    for found in pattern.finditer(text):
        yield use_at(normal(found[0]), file, text, found.start())


def normal(found: str) -> str:
    """A found word as the list spells it."""
    return " ".join(re.split(r"[\s_-]+", found)).lower()


def use_at(word: str, file: str, text: str, position: int) -> Use:
    """A use with its line."""
    begin = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return Use(word, file, text.count("\n", 0, position) + 1, text[begin : end if end >= 0 else len(text)])


def names_in(file: str, text: str, names: Iterable[Name]) -> Iterator[Use]:
    """Uses in the names of a file's module, types, functions and methods."""
    kind = Path(file).suffix
    if kind not in (".py", ".rs", ".ts", ".tsx") or file.startswith("tests/") or ".test." in file:
        return
    excluded = {name.word: name for name in names}
    for part in (*Path(file).parts[:-1], Path(file).stem):
        yield from (Use(word, file, 0, file) for word in judged(part, excluded))
    if kind == ".py":
        for name, line in python_names(text):
            yield from (Use(word, file, line, name) for word in judged(name, excluded))
        return
    blank = CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in (RUST_NAMES if kind == ".rs" else TYPESCRIPT_NAMES).finditer(blank):
        name = next(group for group in found.groups() if group)
        line = text.count("\n", 0, found.start()) + 1 + found[0].count("\n", 0, found[0].find(name))
        yield from (Use(word, file, line, name) for word in judged(name, excluded))


def python_names(text: str) -> Iterator[tuple[str, int]]:
    """Types, functions and methods of a Python module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def judged(name: str, excluded: Mapping[str, Name]) -> Iterator[str]:
    """The excluded words of a name; names of test functions are sentences, which may use them."""
    if name.startswith("test_"):
        return
    parts = [part.lower() for part in PARTS.findall(name)]
    for word in dict.fromkeys(parts):
        if word in excluded and (excluded[word].any_part or len(parts) == 1):
            yield word


if __name__ == "__main__":
    sys.exit(main())
