"""The architecture: the order of packages, who prints and exits, the tree of errors, documented experiment keys."""

import ast
import functools
import re
from graphlib import TopologicalSorter
from pathlib import Path

from dumbbell import _sim, errors

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "dumbbell"
PYTHON = sorted(path for path in PACKAGE.rglob("*.py") if "drivers" not in path.parts)
"""All but the drivers of QUIC stacks, which are programs of their own."""

LAYERS = [
    {"control_characters", "late"},
    {"errors"},
    {"publish", "limits"},
    {"spec"},
    {"plan"},
    {"results"},
    {"linux", "qlog"},
    {"engines", "kernels", "host", "stacks"},
    {"importers"},
    {"analysis"},
    {"transfer", "sweeps", "testing"},
    {"search", "evaluation", "identification"},
    {"twin"},
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
    assert {package(path) for path in PYTHON} >= set(LAYER)


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
    # `Wrong` is about a value, which no user may have given: a command never ends with it.
    assert sorted([*real, "Wrong"]) == sorted(errors.__all__)


ABOUT_SWEEPS = {"Sweep", "Until", "Refine", "Search", "Validation", "Map", "Origin"}
MODEL_KEYS = sorted(
    (table, key) for table, keys in _sim.keys_by_table().items() if table not in ABOUT_SWEEPS for key in keys
)


def test_the_documentation_names_every_experiment_key() -> None:
    manual = (ROOT / "docs" / "experiment.md").read_text()
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`+([^`]+)`+", manual))))
    assert [f"{cls}.{key}" for cls, key in MODEL_KEYS if key not in documented] == []


def imports_of(file: Path, modules: set[str]) -> set[str]:
    """The modules of the package that a module imports, also late; those for types only are left out."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(file.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{each.name}" for each in node.names]
            found.update(name if name in modules else node.module for name in names)
        elif isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        waiting.extend(ast.iter_child_nodes(node))
    return found & modules


def test_modules_import_in_no_circle() -> None:
    names = {".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts): file for file in PYTHON}
    files = {name.removesuffix(".__init__"): file for name, file in names.items()}
    graph = {name: imports_of(file, set(files)) - {name} for name, file in files.items()}
    TopologicalSorter(graph).prepare()
