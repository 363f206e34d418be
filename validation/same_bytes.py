"""Runs all built-in scenarios on the kernel engine in clean roots of two Debian versions: the tables must be the same.

    python validation/same_bytes.py [--duration 2s] [--scenarios NAME …] [--roots DIR] [-o FILE]

Needs root and rustup. A root has Debian's Python and iproute2 and nothing else of this host; the packages
for its Python are those of requirements.lock. The agent is built with the oldest supported Rust and with the newest.
Of the eight combinations of root, user and agent four run, so that each pair of values occurs once. The first run is
what the others are compared with; the exit status is 1 if a table differs.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dumbbell.engines import KernelEngine

REPOSITORY = Path(__file__).parent.parent
WORK = REPOSITORY / "target" / "same-bytes"
TARGET = f"{os.uname().machine}-unknown-linux-gnu"
SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
RUSTS = ("1.88", "stable")
USER_ID = 1_000
INSIDE = "/opt/dumbbell"
"""Where the package is in a root: paths are in some messages."""
ENTER = """
mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" && root=$0 && shift 0 &&
exec chroot "$root" "$@"
"""


@dataclass(frozen=True)
class Combination:
    """Where and as whom the scenarios run."""

    suite: str
    user_id: int
    rust: str


COMBINATIONS = [
    Combination("bookworm", 0, "1.88"),
    Combination("bookworm", USER_ID, "stable"),
    Combination("trixie", 0, "stable"),
    Combination("trixie", USER_ID, "1.88"),
]


def main() -> int:
    """Build, run, compare; returns the exit status."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--duration", default="2s")
    options.add_argument("--scenarios", nargs="+", default=[])
    options.add_argument("--roots", type=Path, default=WORK / "roots")
    options.add_argument("-o", "--output", type=Path)
    given = options.parse_args()
    agents = {rust: agent(rust) for rust in RUSTS}
    rows, first, status = [], None, 0
    for combination in COMBINATIONS:
        root = clean_root(given.roots, combination.suite)
        tables = run(root, combination, agents[combination.rust], given.duration, given.scenarios)
        first = first or tables
        differing = [case for case in first if first[case] != tables.get(case)]
        for case in differing:
            sys.stdout.write(f"{combination}: {case} differs\n")
        status |= bool(differing)
        rows.append(row(root, combination, tables, len(first) - len(differing)))
    text = page(rows, given.duration)
    sys.stdout.write(text)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    return status


def clean_root(roots: Path, suite: str) -> Path:
    """A root with Debian's Python and iproute2, and the packages of `requirements.lock` for that Python."""
    root = roots / suite
    call("scripts/clean-root.sh", suite, str(root))
    packages = root / "opt" / "packages"
    if not packages.exists():
        version = output("chroot", str(root), "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        where = ("--target", str(packages), "--python-version", version, "--only-binary", ":all:")
        what = ("-r", "pyproject.toml", "--constraint", "requirements.lock")
        call(str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", *where, *what)
    return root


def agent(rust: str) -> Path:
    """The agent, built by this version of Rust."""
    folder = WORK / f"rust-{rust}"
    cargo = ("rustup", "run", rust, "cargo", "build", "--locked", "--quiet", "--release", "-p", "dumbbell-agent")
    # As in build_native.py.
    static = {"RUSTFLAGS": "-C target-feature=+crt-static"}
    if subprocess.run(("rustup", "run", rust, "true"), check=False, capture_output=True).returncode:
        call("rustup", "toolchain", "install", "--profile", "minimal", "--no-self-update", rust)
    call(*cargo, "--target", TARGET, "--target-dir", str(folder), **static)
    return folder / TARGET / "release" / "dumbbell-agent"


def run(root: Path, combination: Combination, binary: Path, duration: str, scenarios: list[str]) -> dict[str, object]:
    """The hashes of all tables."""
    package, cache = root / INSIDE[1:], root / "opt" / "cache"
    for folder in (package, cache):
        shutil.rmtree(folder, ignore_errors=True)
    without = shutil.ignore_patterns("__pycache__", "dumbbell-agent", "*.parquet")
    for name in ("python", "scenarios"):
        shutil.copytree(REPOSITORY / name, package / name, ignore=without)
    shutil.copy2(REPOSITORY / "studies" / "tables" / "__init__.py", package / "tables.py")
    (package / "python" / "dumbbell" / "bin").mkdir(exist_ok=True)
    shutil.copy2(binary, package / "python" / "dumbbell" / "bin" / "dumbbell-agent")
    kernel = KernelEngine().kernel.folder
    shutil.copytree(kernel, cache / "kernels" / kernel.name)
    (cache / "kernels" / "default").write_text(kernel.name, encoding="utf-8")
    for path in (cache, *cache.rglob("*")):
        os.chown(path, combination.user_id, combination.user_id)
    identity = f"--reuid={combination.user_id} --regid={combination.user_id} --clear-groups".split()
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/opt/cache",
        "DUMBBELL_CACHE": "/opt/cache",
        "PYTHONPATH": f"{INSIDE}/python:/opt/packages",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    tables = f"{INSIDE}/tables.py --engine kernel --duration {duration} -o /opt/cache/tables.json".split()
    chosen = ["--scenarios", *scenarios] if scenarios else []
    command = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, str(root), "setpriv", *identity]
    subprocess.run([*command, "python3", *tables, *chosen], env=environment, check=True)
    found: dict[str, object] = json.loads((cache / "tables.json").read_text(encoding="utf-8"))
    return found


def row(root: Path, combination: Combination, tables: dict[str, object], same: int) -> str:
    """One line of the page."""
    digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()
    user = "root" if combination.user_id == 0 else "ordinary"
    libc = output("chroot", str(root), "ldd", "--version").splitlines()[0].rsplit(" ", 1)[1]
    python = output("chroot", str(root), "python3", "--version").split(" ")[1]
    iproute2 = output("chroot", str(root), "tc", "-V").split("iproute2-")[1].split(",")[0]
    rust = output("rustup", "run", combination.rust, "rustc", "--version").split(" ")[1]
    run_in = f"{SUITES[combination.suite]} | {libc} | {python} | {iproute2} | {user} | {rust}"
    return f"| {run_in} | {same} of {len(tables)} | `{digest[:16]}` |\n"


def page(rows: list[str], duration: str) -> str:
    """The table with its explanation."""
    return (
        "# The same bytes everywhere\n\n"
        f"`python validation/same_bytes.py --duration {duration}` runs all built-in scenarios on the kernel engine\n"
        "with seed 1 in clean roots and hashes every table. Equal digests mean equal tables in all cases.\n\n"
        "| root | glibc | Python | iproute2 | user | agent's Rust | cases as in the first | digest |\n"
        "| --- | --- | --- | --- | --- | --- | ---: | --- |\n" + "".join(rows)
    )


def call(*command: str, **environment: str) -> None:
    """Run a command."""
    subprocess.run(command, cwd=REPOSITORY, env=os.environ | environment, check=True)


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
