"""Checks of the source: module docs, the order of packages, file sizes, and keys and columns in the documentation."""

import ast
import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from dumbbell import errors
from dumbbell.results.result import TABLES
from dumbbell.spec import model

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "dumbbell"
PYTHON = sorted(PACKAGE.rglob("*.py"))
RUST = sorted(path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts)
SOURCES = PYTHON + RUST

MOST_LINES = 400
LONGER: dict[str, int] = {}
"""Files that are longer for now, with how long they may be: this list only shrinks, and so do its numbers."""

LAYERS = [
    {"control_characters", "csv_cells"},
    {"errors", "signals"},
    {"publish", "limits"},
    {"spec"},
    {"plan"},
    {"results"},
    {"linux"},
    {"engines", "kernels", "host"},
    {"importers"},
    {"analysis"},
    {"transfer", "sweeps"},
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


def package(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Packages of ours that a module imports, at its head or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "dumbbell" else [node.module]
            )
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        found |= {parts[1] for module in modules if (parts := module.split("."))[0] == "dumbbell" and len(parts) > 1}
    return found & set(LAYER)


def test_there_is_something_to_read() -> None:
    assert len(PYTHON) > 50
    assert len(RUST) > 10
    assert {package(path) for path in PYTHON} >= set(LAYER)


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_every_python_module_opens_with_a_doc(path: Path) -> None:
    doc = ast.get_docstring(ast.parse(path.read_text()))
    assert doc
    assert doc.splitlines()[0][-1] in ".?:"


@pytest.mark.parametrize("path", RUST, ids=name)
def test_every_rust_file_opens_with_a_doc(path: Path) -> None:
    assert path.read_text().startswith("//! ")


@pytest.mark.parametrize("path", [path for path in PYTHON if package(path) in LAYER], ids=name)
def test_a_package_imports_no_higher_layer(path: Path) -> None:
    here = package(path)
    higher = {other for other in imported(path) if LAYER[other] > LAYER[here]}
    assert higher == set()


def test_kernels_import_no_engine_and_no_experiment() -> None:
    packages = set().union(*(imported(path) for path in PYTHON if package(path) == "kernels"))
    assert packages <= {"errors", "kernels", "publish"}


@pytest.mark.parametrize("path", [path for path in PYTHON if package(path) != "cli"], ids=name)
def test_only_the_command_prints_and_exits(path: Path) -> None:
    """`cli` prints; every other package returns and raises."""
    banned = {
        "print",
        "input",
        "exit",
        "quit",
        "breakpoint",
        "eval",
        "exec",
        "sys.exit",
        "os._exit",
        "os.abort",
        "os.system",
    }
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in banned, f"line {node.lineno}: {ast.unparse(node.func)}"
        if isinstance(node, ast.Raise) and node.exc is not None:
            assert not ast.unparse(node.exc).startswith("SystemExit"), f"line {node.lineno}"
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) not in ("sys.stdout", "sys.stderr"), f"line {node.lineno}"


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_no_program_is_started_through_a_shell(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.keyword):
            assert node.arg != "shell", f"line {node.value.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_is_short_enough_to_read(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LONGER.get(name(path), MOST_LINES)


def test_the_list_of_longer_files_only_shrinks() -> None:
    for path, most in LONGER.items():
        lines = len((ROOT / path).read_text().splitlines())
        assert lines > MOST_LINES, f"{path} is short enough now: take it off the list"
        assert lines > most - 20, f"{path} has {lines} lines now: write that down"


@pytest.mark.parametrize("path", SOURCES + sorted((ROOT / "tests").rglob("*.py")), ids=name)
def test_nothing_is_left_to_do(path: Path) -> None:
    words = "|".join(("FIX" + "ME", "TO" + "DO", "XX" + "X", "HA" + "CK"))
    assert re.findall(rf"\b(?:{words})\b", path.read_text()) == []


def test_every_error_is_drawn_in_its_tree() -> None:
    """One line a class, indented below its parent, with its exit status."""
    drawn: dict[str, tuple[str | None, int]] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"(?P<branch>[ │├└─]*)(?P<name>[A-Z]\w+)\s+(?P<status>\d)  \S", line):
            depth = len(match["branch"]) // 4
            above[depth:] = [match["name"]]
            drawn[match["name"]] = (above[depth - 1] if depth else None, int(match["status"]))
    real = {
        cls.__name__: (None if cls is errors.DumbbellError else cls.__mro__[1].__name__, cls.exit_status)
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.DumbbellError)
    }
    assert drawn == real
    assert sorted(real) == sorted(errors.__all__)


UNWRITTEN = {"experiment.seeds": "seed"}
MODELS = [
    value
    for value in vars(model).values()
    if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == model.__name__
]
MODEL_KEYS = sorted({(cls.__name__, key) for cls in MODELS for key in cls.model_fields})


@pytest.mark.parametrize(("cls", "key"), MODEL_KEYS)
def test_the_documentation_names_every_experiment_key(cls: str, key: str) -> None:
    manual = (ROOT / "docs" / "experiment.md").read_text()
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`+([^`]+)`+", manual))))
    assert key in words, f"{cls}.{key}"


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in TABLES.items() for column in columns]
)
def test_the_documentation_names_every_column(table: str, column: str) -> None:
    manual = (ROOT / "docs" / "result.md").read_text()
    section = manual.split(f"## `{table}.parquet`")[1].split("\n## ")[0]
    assert f"`{column}`" in section


def test_the_documented_columns_are_the_columns_with_their_types() -> None:
    manual = (ROOT / "docs" / "result.md").read_text()
    for table, columns in TABLES.items():
        section = manual.split(f"## `{table}.parquet`")[1].split("\n## ")[0]
        rows = re.findall(r"^\| `([a-z_]+)` \| (\w+) \|", section, re.MULTILINE)
        assert rows == [(column, str(kind)) for column, kind in columns.items()]


def test_the_page_s_packages_come_from_whichever_registry_a_user_has() -> None:
    lock = json.loads((ROOT / "ui" / "package-lock.json").read_text())
    assert lock["packages"]
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
