"""Imports between the Rust modules of a crate: sibling modules form no cycle.

A module and the modules below it count as one: a parent's file holds what its children implement. A name that a module
re-exports counts as used from where it is defined.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[1] / "crates"

NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']*|[^'\\])'""", re.DOTALL)
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*([;{])")
DECLARED = re.compile(r"\bmod\s+(\w+)\s*;")
USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
PATH = re.compile(r"\b\w+(?:\s*::\s*\w+)+")

Module = tuple[str, ...]
"""Names from the crate's root."""


def without_noise(text: str) -> str:
    """The code without comments, strings and test modules."""
    text = NOISE.sub("", text)
    while found := TEST_MODULE.search(text):
        end = found.end()
        depth = int(found[1] == "{")
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def words(path: str) -> Module:
    return tuple(word for word in re.split(r"\s*::\s*", path.strip()) if word)


def branches(tree: str) -> Iterator[str]:
    """The parts of a list that no brace holds."""
    depth, start = 0, 0
    for at, letter in enumerate(tree):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield tree[start:at]
            start = at + 1
    yield tree[start:]


def imported(tree: str, prefix: Module = ()) -> Iterator[tuple[str, Module]]:
    """Names that a `use` brings, and their paths."""
    for branch in filter(str.strip, branches(tree)):
        head, brace, rest = branch.partition("{")
        if brace:
            yield from imported(rest.rpartition("}")[0], prefix + words(head))
            continue
        path, _, alias = branch.partition(" as ")
        names = prefix + words(path)
        names = names[:-1] if names[-1] in ("self", "*") else names
        yield alias.strip() or names[-1], names


@dataclass
class Crate:
    """The modules of a crate, without tests."""

    code: dict[Module, str] = field(default_factory=dict)
    names: dict[Module, dict[str, Module]] = field(default_factory=dict)

    def load(self, file: Path, module: Module = ()) -> None:
        """Read a module and those that it declares."""
        code = without_noise(file.read_text())
        uses = [imported(found[2]) for found in USE.finditer(code)]
        self.names[module] = {name: path for use in uses for name, path in use}
        self.code[module] = code
        folder = file.with_suffix("") if module else file.parent
        for found in DECLARED.finditer(code):
            self.load(folder / f"{found[1]}.rs", (*module, found[1]))

    def home(self, module: Module, path: Module, seen: frozenset[tuple[Module, Module]] = frozenset()) -> Module | None:
        """The module that defines what a path in `module` names; None: another crate."""
        if not path or (module, path) in seen:
            return None
        seen |= {(module, path)}
        roots = {"crate": (), "self": module, "super": module[:-1]}
        head, *rest = path
        at = roots.get(head)
        if at is None and (*module, head) in self.code:
            at = (*module, head)
        if at is None:
            known = self.names[module].get(head)
            if known and known[0] == head:
                return None  # A crate's item of the crate's own name.
            return self.home(module, (*known, *rest), seen) if known else None
        for number, name in enumerate(rest):
            if name == "super":
                at = at[:-1]
            elif (*at, name) in self.code:
                at = (*at, name)
            elif name in self.names[at]:
                return self.home(at, (*self.names[at][name], *rest[number + 1 :]), seen) or at
            else:
                break
        return at

    def paths(self, module: Module) -> Iterator[Module]:
        """Every path in a module's code. A re-export counts only if the module itself uses the name."""
        body = USE.sub("", self.code[module])
        for found in USE.finditer(self.code[module]):
            for name, path in imported(found[2]):
                if not found[1] or re.search(rf"\b{name}\b", body):
                    yield path
        yield from (words(found[0]) for found in PATH.finditer(body))

    def between_siblings(self) -> dict[Module, dict[str, set[str]]]:
        """For every module: which of its children use which."""
        graphs: dict[Module, dict[str, set[str]]] = {}
        for module in self.code:
            for target in filter(None, (self.home(module, path) for path in self.paths(module))):
                common = next((at for at, (a, b) in enumerate(zip(module, target, strict=False)) if a != b), None)
                if common is not None:
                    graph = graphs.setdefault(module[:common], {})
                    graph.setdefault(module[common], set()).add(target[common])
        return graphs


def cycles(root: Path) -> list[str]:
    crate = Crate()
    crate.load(root)
    found = []
    for parent, graph in crate.between_siblings().items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            found.append(f"{'::'.join(('crate', *parent))}: {' <- '.join(error.args[1])}")
    return found


NAMES = sorted(folder.name for folder in CRATES.iterdir() if (folder / "src").is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_sibling_modules_form_no_cycle(name: str) -> None:
    source = CRATES / name / "src"
    roots = [file for file in (source / "lib.rs", source / "main.rs") if file.exists()]
    assert roots
    assert not [cycle for root in roots for cycle in cycles(root)]


def test_a_cycle_through_a_re_export_is_found(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod low;\nmod high;\npub use high::Name;\n#[cfg(test)]\nmod tests { use high::X; }\n",
        "low.rs": "use crate::{Name as Other, nothing::{A, B}};\n",
        "high.rs": "mod part;\npub use part::Name;\n",
        "high/part.rs": "pub struct Name;\nfn call() { super::super::low::call(); }\n",
    }
    (tmp_path / "high").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert cycles(tmp_path / "lib.rs") == ["crate: low <- high <- low"]
    (tmp_path / "low.rs").write_text("// use crate::Name;\n")
    assert not cycles(tmp_path / "lib.rs")
