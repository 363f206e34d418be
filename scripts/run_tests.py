"""Runs the tests in parts: the one place that says which test runs when.

    python scripts/run_tests.py quick | test | all | list | PART...

`make quick` and `make test` run the tiers of these names after formatting, lints and types; `make test-all` runs all
parts, or those in PARTS. A part that passed on a clean working tree notes its commit in target/tested.json, and
`list` shows these notes: after a change, run the parts that it touches.

Marks: `kernel` (runs a guest), `browser` (opens a page in Chromium), `slow` (in test-all only). A test without a mark
belongs to `make test`; `make quick` runs those of UNITS. `--slowest N` lists the slowest tests of what ran.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTES = ROOT / "target" / "tested.json"
BIN = ROOT / ".venv" / "bin"

UNITS = (
    "tests/analysis tests/importers tests/plan tests/plots tests/qlog tests/reports tests/spec tests/test_columns.py "
    "tests/test_corrections.py tests/test_dependencies.py tests/test_manifest.py tests/test_members.py "
    "tests/test_result.py tests/test_rust_modules.py tests/test_stacks.py tests/test_tidy.py"
)
"""Tests that need no guest, browser, compiler or network."""
CRATES = "--workspace --exclude dumbbell-python --exclude dumbbell-wasm"
"""`dumbbell-python` has no tests of its own in Rust; those of `dumbbell-wasm` belong to the part `wasm`."""
FEW = {"PROPTEST_CASES": "64", "HYPOTHESIS_PROFILE": "few"}
PYTEST = "pytest -n auto --dist worksteal"
TYPESCRIPT = "npm --prefix ui --silent test"


@dataclass(frozen=True)
class Part:
    """Commands in their order; the first failure ends the part."""

    what: str
    commands: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


TIERS = {
    "quick": Part(
        "units and properties of Rust, TypeScript and Python",
        (
            f"cargo test --quiet {CRATES} --lib --bins",
            TYPESCRIPT,
            f"{PYTEST} -m 'not kernel and not browser and not slow' {UNITS}",
        ),
        FEW,
    ),
    "test": Part(
        "what must pass before a change lands",
        (f"cargo test --quiet {CRATES}", TYPESCRIPT, f"{PYTEST} -m 'not slow'"),
        FEW,
    ),
}


def python(what: str, *arguments: str, before: tuple[str, ...] = ()) -> Part:
    """All tests of these folders and files, slow ones included, with all their examples."""
    return Part(what, (*before, f"{PYTEST} {' '.join(arguments)}"))


PARTS = {
    "rust": Part("all crates with all cases of their properties", (f"cargo test --quiet {CRATES}",)),
    "units": python(
        "units of Python with all examples, and tests of scripts",
        UNITS,
        "tests/test_docs_check.py tests/test_figure_experiments.py tests/test_run_tests.py tests/test_schemas.py",
        "tests/test_published_scenarios.py tests/test_skips.py tests/test_studies.py tests/test_transcripts.py",
    ),
    "engines": python(
        "engines: effects, the agent's set-up, tc, programs, recordings, hosts",
        "tests/engines tests/host tests/testing tests/transfer tests/identification tests/twin",
        "--ignore tests/engines/test_remote.py --ignore tests/engines/test_remote_kills.py",
        "--ignore tests/engines/test_host_kills.py",
    ),
    "kills": python(
        "runs, sweeps and hosts that are killed or interrupted",
        "tests/engines/test_host_kills.py tests/engines/test_remote_kills.py tests/hostile/test_interrupt.py",
        "tests/sweeps/test_survival.py tests/test_publish.py tests/hostile/test_publication.py",
    ),
    "remote": python("hosts over ssh", "tests/engines/test_remote.py tests/engines/test_remote_parts.py"),
    "kernels": python("kernels: sources, builds, bisection, a controller of one's own", "tests/kernels"),
    "clusters": python(
        "sweeps, pools, Dask and Slurm", "tests/sweeps tests/test_api_sweep.py tests/test_load_sweep.py"
    ),
    "commands": python(
        "commands and their output", "tests/cli tests/search tests/evaluation tests/test_api.py tests/test_reports.py"
    ),
    "web": python("pages in Chromium", "tests/web tests/reports tests/plots"),
    "hostile": python(
        "hostile and damaged input, with all examples", "tests/hostile --ignore tests/hostile/test_links.py"
    ),
    "links": python("planted links", "tests/hostile/test_links.py"),
    "recipes": python(
        "recipes that compile: a controller, the crate, the extension",
        "tests/test_recipes.py tests/test_rust_crate.py tests/test_extension.py tests/test_examples.py",
    ),
    "guard": python("instructions of the simulator", "tests/bench"),
    "wheels": python("wheels without a compiler", "tests/wheels", before=("python scripts/wheels.py --for-tests",)),
    "validation": python("both engines: kinds, random experiments, theory, published results", "validation"),
    "scenarios": Part(
        "every scenario on the simulator, twice the same bytes",
        (
            "python -m studies tables --duration 10s -o target/tables.json",
            "python -m studies tables --duration 10s --against target/tables.json",
        ),
    ),
    "docs": Part("documentation: links, figures, transcripts, the site", ("python scripts/docs_check.py",)),
    "audit": Part("licences, sources and known vulnerabilities of packages", ("python scripts/audit.py",)),
    "workflows": Part("the workflows, by actionlint", ("go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12",)),
    "lowest": Part(
        "the oldest Python packages that pyproject.toml allows", (f"scripts/lowest.sh -m 'not slow' {UNITS}",)
    ),
    "fuzz": Part(
        "parsers and state machines, many random cases",
        (
            "cargo test --release --quiet -p dumbbell-net -p dumbbell-tc -p dumbbell-sim -- --skip allocations",
            "pytest -k 'any_text or any_value or any_bytes or or_wrong or harmless' -p no:cacheprovider tests/spec",
        ),
        {"PROPTEST_CASES": "2000", "HYPOTHESIS_PROFILE": "long"},
    ),
    "wasm": Part(
        "the npm package, and its tables against the native simulator's",
        (
            "cargo test --quiet -p dumbbell-wasm",
            "python scripts/wasm.py",
            "sh -c 'node --test crates/wasm/package/test/*.test.mjs'",
            "python validation/webassembly.py",
            "pytest tests/web/test_static_page.py tests/web/test_static_site.py",
        ),
        {"DUMBBELL_TEST_STATIC": "1"},
    ),
    "clean-roots": Part(
        "the wheels of dist/ in clean roots of Debian 12 and 13 (make wheels first)",
        ("pytest tests/wheels", "scripts/clean-roots.sh"),
        {"DUMBBELL_TEST_WHEELS": "dist"},
    ),
    "same-bytes": Part("the same tables in clean roots, by two users", ("python -m studies same-bytes",)),
}


def run(name: str, part: Part, slowest: int) -> int:
    """Run a part; returns the exit status of the command that failed, or 0."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **part.environment}
    began_s = time.monotonic()
    for text in part.commands:
        command = shlex.split(text)
        if command[0] == "pytest" and slowest:
            command += [f"--durations={slowest}", "--durations-min=0.5"]
        at_s = time.monotonic()
        sys.stderr.write(f"{name}: {text}\n")
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        sys.stderr.write(f"{name}: {time.monotonic() - at_s:.0f} s\n")
        if status:
            return status
    _note(name, time.monotonic() - began_s)
    return 0


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _noted() -> dict[str, dict[str, str | float]]:
    return json.loads(NOTES.read_text(encoding="utf-8")) if NOTES.is_file() else {}


def _note(name: str, took_s: float) -> None:
    """Note the commit at which a part passed; not with uncommitted changes, which no commit holds."""
    if _git("status", "--porcelain", "--untracked-files=no") or not (commit := _git("rev-parse", "HEAD")):
        return
    notes = _noted() | {name: {"commit": commit, "seconds": round(took_s, 1)}}
    NOTES.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")


def show(parts: Mapping[str, Part]) -> None:
    """List the parts with the commits since they last passed."""
    noted = _noted()
    for name, part in parts.items():
        note = noted.get(name)
        when = "not yet passed here"
        if note:
            since = _git("rev-list", "--count", f"{note['commit']}..HEAD") or "?"
            when = f"passed in {note['seconds']:.0f} s at {str(note['commit'])[:9]}, {since} commits ago"
        sys.stdout.write(f"{name:12}{part.what}; {when}\n")


def main(arguments: Sequence[str]) -> int:
    """Run what was named; a failed part does not keep the next from running."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="PART")
    parser.add_argument("--slowest", type=int, default=20, metavar="N", help="list the N slowest tests (default: 20)")
    options = parser.parse_args(arguments)
    known = TIERS | PARTS
    if options.names == ["list"]:
        show(known)
        return 0
    names = ["test", *PARTS] if options.names == ["all"] else options.names
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no part is named {', '.join(unknown)}; the parts are {', '.join(known)}")
    failed = {name: status for name in names if (status := run(name, known[name], options.slowest))}
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return max(failed.values(), default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
