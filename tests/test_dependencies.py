"""Dependencies: pyproject.toml and its lock agree, and deny.toml accepts the licences of Rust packages.

Known vulnerabilities need databases on the network: `make audit`.
"""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MISMATCH = "pyproject.toml and requirements.lock disagree: run `make lock`"


def required() -> list[Requirement]:
    """Every requirement of pyproject.toml."""
    project = PROJECT["project"]
    groups = [
        PROJECT["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
        PROJECT["dependency-groups"]["dev"],
    ]
    every = [Requirement(text) for group in groups for text in group]
    # Extras include each other by the project's own name.
    return [each for each in every if each.name != project["name"]]


def locked() -> Iterator[tuple[Requirement, list[str], bool]]:
    """Each entry of the lock with its hashes, and whether pyproject.toml requires it by name."""
    entries = re.split(r"\n(?=[a-z0-9])", LOCK.read_text().partition("\n#    make lock\n")[2])
    for entry in entries:
        lines = entry.replace("\\\n", "\n").splitlines()
        hashes = [line.strip() for line in lines if line.strip().startswith("--hash=sha256:")]
        yield Requirement(lines[0].strip()), hashes, "dumbbell (pyproject.toml" in entry


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_each_required_package_is_locked_at_a_permitted_version(python: str, architecture: str) -> None:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_machine": architecture,
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }
    versions: dict[str, str] = {}
    for entry, _, _ in locked():
        if entry.marker is None or entry.marker.evaluate(environment):
            assert entry.name not in versions, f"{entry.name} is locked twice for Python {python}"
            (exactly,) = entry.specifier
            versions[entry.name] = exactly.version
    for requirement in required():
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{MISMATCH} ({requirement.name} is not locked)"
        assert requirement.specifier.contains(version), f"{MISMATCH} ({requirement}, locked is {version})"


def test_no_package_is_locked_that_is_no_longer_required() -> None:
    by_name = {entry.name for entry, _, is_direct in locked() if is_direct}
    assert by_name <= {canonicalize_name(requirement.name) for requirement in required()}, MISMATCH


def test_each_locked_file_has_a_hash_and_no_registry_is_named() -> None:
    assert all(hashes for _, hashes, _ in locked())
    assert "://" not in LOCK.read_text()


def licensed(expression: str, accepted: set[str]) -> bool:
    """Whether the accepted licences satisfy the expression. Crates also write `A/B` for `A OR B`."""
    tokens = re.findall(r"[()]|/|\b(?:AND|OR)\b|[\w.+-]+(?: WITH [\w.+-]+)?", expression)
    operators = {"(": "(", ")": ")", "AND": "and", "OR": "or", "/": "or"}
    return bool(eval(" ".join(operators.get(token) or str(token in accepted) for token in tokens)))


@pytest.mark.parametrize(
    ("expression", "is_accepted"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("(X OR MIT) AND MIT", True),
    ],
)
def test_a_licence_expression_is_read_as_spdx_reads_it(expression: str, is_accepted: bool) -> None:
    assert licensed(expression, {"MIT"}) is is_accepted


def test_rust_packages_have_accepted_licences() -> None:
    accepted = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    arguments = ["--workspace", "--locked", "--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}|{l}|"]
    output = subprocess.run(["cargo", "tree", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    licences = {line.split("|")[0]: line.split("|")[1] for line in output.splitlines() if line}
    assert len(licences) > 50
    assert [found for found in licences.items() if not licensed(found[1] or "None", accepted)] == []


def test_rust_packages_come_from_the_registry() -> None:
    sources = [package.get("source") for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]]
    assert sources.count(None) == len(list((ROOT / "crates").glob("*/Cargo.toml")))
    assert all(source.startswith("registry+") for source in sources if source)


def test_the_tool_around_the_module_has_the_version_of_its_library() -> None:
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    (library,) = (package["version"] for package in packages if package["name"] == "wasm-bindgen")
    tool = tomllib.loads((ROOT / "crates" / "wasm" / "glue" / "Cargo.toml").read_text())
    assert tool["dependencies"]["wasm-bindgen-cli-support"] == f"={library}"


def test_npm_locks_name_no_registry() -> None:
    for folder in ("ui", "crates/wasm/package"):
        assert '"resolved"' not in (ROOT / folder / "package-lock.json").read_text(), folder
