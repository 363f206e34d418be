"""Writes THIRD-PARTY-LICENSES.md: third-party packages that are linked into our binaries or bundled into our pages.

    python scripts/licences.py [--check]

cargo lists the packages that are linked (normal dependencies of the extension and the agent, not those of builds and
tests) and the licence expressions of their manifests; cargo-deny confirms the licences. `make page` calls this.
`--check` compares the list without cargo-deny.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from generated import ROOT, write_or_check

PAGE = ROOT / "THIRD-PARTY-LICENSES.md"
TOOLS = ROOT / "target" / "tools"
CARGO_DENY = "cargo-deny@0.20.2"
BINARIES = {
    "dumbbell-python": "the simulator (`_sim`)",
    "dumbbell-agent": "the agent",
    "dumbbell-wasm": "the npm package",
}


@dataclass
class Linked:
    """A package that is linked: its licence expression, and into which binaries."""

    licence: str
    into: list[str]


def main() -> int:
    """Write the page, or compare its lists."""
    rust = linked()
    if "--check" not in sys.argv[1:]:
        confirm(rust)
    return write_or_check({PAGE: page_text(rust, bundled())}, "`make page NAME=licences`")


def page_text(rust: dict[str, Linked], page: dict[str, str]) -> str:
    """The page as Markdown."""
    lines = [
        "# Third-party licences",
        "",
        "Packages of others that are linked into Dumbbell's binaries or bundled into its pages, with the SPDX",
        "expressions of their manifests (`A/B` is `A OR B`). `make page NAME=licences` makes this list and confirms",
        "it by cargo-deny. The texts of the licences are in the packages.",
        "",
        "## Rust",
        "",
        "| package | licence | linked into |",
        "| --- | --- | --- |",
        *(f"| {name} | {each.licence} | {', '.join(each.into)} |" for name, each in rust.items()),
        "",
        "## JavaScript, in the workbench's page",
        "",
        "| package | licence |",
        "| --- | --- |",
        *(f"| {name} | {licence} |" for name, licence in page.items()),
    ]
    return "\n".join(lines) + "\n"


def linked() -> dict[str, Linked]:
    """Packages of the registry by name and version."""
    found: dict[str, Linked] = {}
    for package, binary in BINARIES.items():
        options = ["--package", package, "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]
        for line in output(["cargo", "tree", *options, "--format", "{p}|{l}|"]).splitlines():
            name, licence, _ = line.split("|")
            match = re.match(r"(\S+) v(\S+)(?P<local> \(/)?", name)
            if match and not match["local"]:
                each = found.setdefault(f"{match[1]} {match[2]}", Linked(licence, []))
                each.into += [binary] if binary not in each.into else []
    return dict(sorted(found.items()))


def confirm(packages: dict[str, Linked]) -> None:
    """Compare the identifiers of each expression with those that cargo-deny finds. Exits if they differ."""
    install = ["cargo", "install", "--quiet", "--locked", CARGO_DENY, "--root", str(TOOLS)]
    subprocess.run(install, cwd=ROOT, check=True)
    listed = json.loads(output([TOOLS / "bin" / "cargo-deny", "-L", "error", "list", "-f", "json", "-l", "crate"]))
    licences = {" ".join(name.split()[:2]): set(each["licenses"]) for name, each in listed.items()}
    for name, each in packages.items():
        stated = set(re.split(r"\s+(?:AND|OR)\s+|/|[()]", each.licence)) - {""}
        if stated != licences[name]:
            sys.exit(
                f"{name}: its manifest states {each.licence}, cargo-deny finds {', '.join(sorted(licences[name]))}"
            )


def bundled() -> dict[str, str]:
    """Packages of the page by name and version, with their licences: all that are no tools of development."""
    packages = json.loads((ROOT / "ui" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {
        f"{path.removeprefix('node_modules/')} {each['version']}": each.get("license", "not stated")
        for path, each in sorted(packages.items())
        if path and not each.get("dev") and not each.get("devOptional") and not each.get("optional")
    }


def output(command: list[str | Path]) -> str:
    """The output of a program."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
