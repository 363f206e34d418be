"""Checks of the source: module docs, the order of packages, file sizes, and keys and columns in the documentation."""

import ast
import dataclasses
import functools
import json
import re
from pathlib import Path

from dumbbell import errors
from dumbbell.spec import model

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "dumbbell"
PYTHON = sorted(PACKAGE.rglob("*.py"))
RUST = sorted(path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts)
SOURCES = PYTHON + RUST
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path.name != "__init__.py")

MOST_LINES = 400
LONGER: dict[str, int] = {}
"""Files that may be longer for now, with their limits: the list and its limits only shrink."""

LAYERS = [
    {"control_characters"},
    {"errors"},
    {"publish", "limits"},
    {"spec"},
    {"plan"},
    {"results"},
    {"linux"},
    {"engines", "kernels", "host"},
    {"importers"},
    {"analysis"},
    {"transfer", "sweeps"},
    {"search", "evaluation", "identification"},
    {"exporters"},
    {"plots"},
    {"reports"},
    {"notebook"},
    {"web"},
    {"api", "cli"},
]
"""Packages from the bottom up. A package imports itself and its own and lower layers."""
LAYER = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def where(path: Path, node: ast.AST) -> str:
    at = node.value if isinstance(node, ast.keyword) else node
    return f"{name(path)}:{getattr(at, 'lineno', 0)}: {ast.unparse(node)}"


def package(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Packages of Dumbbell that a module imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(tree(path)):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "dumbbell" else [node.module]
            )
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        found |= {parts[1] for module in modules if (parts := module.split("."))[0] == "dumbbell" and len(parts) > 1}
    return found & set(LAYER)


def test_sources_are_found() -> None:
    assert len(PYTHON) > 50
    assert len(RUST) > 10
    assert {package(path) for path in PYTHON} >= set(LAYER)


def test_every_file_starts_with_a_docstring() -> None:
    docs = {path: ast.get_docstring(tree(path)) or "" for path in (*PYTHON, *TESTS)}
    assert [name(path) for path, doc in docs.items() if not doc or doc.splitlines()[0][-1] not in ".?:"] == []
    assert [name(path) for path in RUST if not path.read_text().startswith("//! ")] == []


def test_a_package_imports_no_higher_layer() -> None:
    higher = {
        name(path): others
        for path in PYTHON
        if package(path) in LAYER
        and (others := {other for other in imported(path) if LAYER[other] > LAYER[package(path)]})
    }
    assert higher == {}


def test_kernels_import_no_engine_and_no_experiment() -> None:
    packages = set().union(*(imported(path) for path in PYTHON if package(path) == "kernels"))
    assert packages <= {"errors", "kernels", "publish"}


BANNED = frozenset("print input exit quit breakpoint eval exec sys.exit os._exit os.abort os.system".split())


def prints_or_exits(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in BANNED
    if isinstance(node, ast.Raise) and node.exc is not None:
        return ast.unparse(node.exc).startswith("SystemExit")
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr")


def test_only_the_command_prints_and_exits() -> None:
    """`cli` prints; every other package returns and raises."""
    others = [path for path in PYTHON if package(path) != "cli"]
    assert [where(path, node) for path in others for node in ast.walk(tree(path)) if prints_or_exits(node)] == []


def test_no_program_is_started_through_a_shell() -> None:
    keywords = [(path, node) for path in PYTHON for node in ast.walk(tree(path)) if isinstance(node, ast.keyword)]
    assert [where(path, node) for path, node in keywords if node.arg == "shell"] == []


def test_no_file_exceeds_the_line_limit() -> None:
    lines = {name(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {file: count for file, count in lines.items() if count > LONGER.get(file, MOST_LINES)} == {}


def test_the_list_of_longer_files_only_shrinks() -> None:
    for path, limit in LONGER.items():
        lines = len((ROOT / path).read_text().splitlines())
        assert lines > MOST_LINES, f"{path} is short enough: remove it from the list"
        assert lines > limit - 20, f"{path} has {lines} lines: update the list"


def test_no_task_markers_are_left() -> None:
    markers = re.compile(rf"\b(?:{'|'.join(('FIX' + 'ME', 'TO' + 'DO', 'XX' + 'X', 'HA' + 'CK'))})\b")
    found = {name(path): markers.findall(path.read_text()) for path in (*SOURCES, *TESTS)}
    assert {file: matches for file, matches in found.items() if matches} == {}


def test_every_error_is_in_the_documented_tree() -> None:
    """One line per class, indented below its parent, with its exit status."""
    listed: dict[str, tuple[str | None, int]] = {}
    ancestors: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"(?P<branch>[ │├└─]*)(?P<name>[A-Z]\w+)\s+(?P<status>\d)  \S", line):
            depth = len(match["branch"]) // 4
            ancestors[depth:] = [match["name"]]
            listed[match["name"]] = (ancestors[depth - 1] if depth else None, int(match["status"]))
    real = {
        cls.__name__: (None if cls is errors.DumbbellError else cls.__mro__[1].__name__, cls.exit_status)
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.DumbbellError)
    }
    assert listed == real
    assert sorted(real) == sorted(errors.__all__)


MODELS = [
    value
    for value in vars(model).values()
    if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == model.__name__
]
MODEL_KEYS = sorted({(cls.__name__, field.name) for cls in MODELS for field in dataclasses.fields(cls)})


def test_the_documentation_names_every_experiment_key() -> None:
    manual = (ROOT / "docs" / "experiment.md").read_text()
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`+([^`]+)`+", manual))))
    assert [f"{cls}.{key}" for cls, key in MODEL_KEYS if key not in documented] == []


def test_the_lock_of_the_page_s_packages_names_no_registry() -> None:
    lock = json.loads((ROOT / "ui" / "package-lock.json").read_text())
    assert lock["packages"]
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
