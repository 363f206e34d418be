"""Builds the npm package `dumbbell`, with the simulator as WebAssembly, into `target/npm/dumbbell`.

    python scripts/wasm.py

Rust to WebAssembly, wasm-bindgen's JavaScript and types, Binaryen's optimizer, TypeScript to JavaScript. `make wasm`
calls this. Fast if nothing changed. Exit status: 0 built, 1 something is missing or failed, with a line that names it.
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "crates" / "wasm" / "package"
GLUE = ROOT / "crates" / "wasm" / "glue" / "Cargo.toml"
STAGED = ROOT / "target" / "npm" / "source"
PACKAGE = ROOT / "target" / "npm" / "dumbbell"
TRIPLE = "wasm32-unknown-unknown"
MODULE = ROOT / "target" / TRIPLE / "web" / "dumbbell_wasm.wasm"
NPM = ROOT / ".venv" / "bin" / "npm"
WASM_OPT = SOURCE / "node_modules" / ".bin" / "wasm-opt"
TSC = ROOT / "ui" / "node_modules" / ".bin" / "tsc"
MOST_MEMORY = 2**31
"""Bytes that a module may grow to: more than that, and the browser ends the tab instead of the run."""
FEATURES = "bulk-memory mutable-globals nontrapping-float-to-int multivalue reference-types sign-ext".split()
"""What Rust's target uses; every browser since 2022 has it."""
SMALL_LIBRARY = ["-Z", "build-std=std,panic_abort", "-Z", "build-std-features=optimize_for_size"]
"""Compiles Rust's library with the module: small sorts, and no texts of panics, which nobody reads in a browser."""
SMALL_ENVIRONMENT = {"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": "-Zunstable-options -Cpanic=immediate-abort"}
"""Permits these options to a stable compiler, for this build only."""
METRICS = ("summary", "queue", "spread", "cycle", "cycle/movement")
"""Sources in `crates/metrics` whose types a run's metrics in JSON have."""
BEGAN = time.monotonic()


def main() -> int:
    """Build, step by step."""
    if missing := what_is_missing():
        sys.stderr.write(f"wasm: {missing}\n")
        return 1
    try:
        module()
        if not is_up_to_date():
            package()
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"wasm: {' '.join(map(str, error.cmd[:3]))} … failed with status {error.returncode}\n")
        return 1
    built = (PACKAGE / "dumbbell_wasm_bg.wasm").read_bytes()
    step(f"{PACKAGE.relative_to(ROOT)}: {len(built):,} bytes, {len(gzip.compress(built, 9, mtime=0)):,} with gzip")
    return 0


def what_is_missing() -> str:
    """What must be installed first; empty: nothing."""
    if not NPM.exists() or not TSC.exists():
        return "no virtual environment with Node.js; run: make setup"
    folder = output("rustc", "--print", "target-libdir", "--target", TRIPLE)
    if Path(folder).is_dir():
        return ""
    if shutil.which("rustup"):
        step(f"installing the Rust target {TRIPLE}")
        if subprocess.run(["rustup", "target", "add", TRIPLE], capture_output=True, check=False).returncode == 0:
            return ""
        return (
            f"the Rust target {TRIPLE} can't be installed; is the registry reachable? Run: rustup target add {TRIPLE}"
        )
    return f"this Rust lacks the target {TRIPLE}; install Rust by https://rustup.rs, then: rustup target add {TRIPLE}"


def module() -> None:
    """Compile the module."""
    step("compiling the simulator for WebAssembly (some minutes at first)")
    linked = ["-C", f"link-arg=--max-memory={MOST_MEMORY}"]
    command = ["rustc", "--profile", "web", "--package", "dumbbell-wasm", "--target", TRIPLE]
    if has_library_source():
        cargo(*command, *SMALL_LIBRARY, "--", *linked, environment=SMALL_ENVIRONMENT)
    else:
        step(
            "without the source of Rust's library the module is larger by an eighth; run: rustup component add rust-src"
        )
        cargo(*command, "--", *linked)


def has_library_source() -> bool:
    """Whether the source of Rust's standard library is there; rustup gets it."""
    source = Path(output("rustc", "--print", "sysroot")) / "lib" / "rustlib" / "src" / "rust" / "library" / "std"
    if not source.is_dir() and shutil.which("rustup"):
        subprocess.run(["rustup", "component", "add", "rust-src"], capture_output=True, check=False)
    return source.is_dir()


def package() -> None:
    """Make the package of the module and of the TypeScript sources."""
    step("compiling the tool that writes the JavaScript around it")
    cargo("build", "--release", "--manifest-path", str(GLUE))
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(SOURCE / "src", STAGED)
    metrics = [ROOT / "crates" / "metrics" / "src" / f"{name}.rs" for name in METRICS]
    run(ROOT / "target" / "release" / "dumbbell-wasm-glue", MODULE, STAGED, *metrics)
    installed, wanted = SOURCE / "node_modules" / ".package-lock.json", SOURCE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        step("installing npm packages")
        run(NPM, "--prefix", SOURCE, "--silent", "ci", "--ignore-scripts")
    shutil.rmtree(PACKAGE, ignore_errors=True)
    PACKAGE.mkdir(parents=True)
    step("optimizing the module")
    wasm = "dumbbell_wasm_bg.wasm"
    features = [f"--enable-{feature}" for feature in FEATURES]
    run(WASM_OPT, "-O3", *features, "--strip-debug", "--strip-producers", STAGED / wasm, "-o", PACKAGE / wasm)
    step("compiling TypeScript")
    shutil.copy2(SOURCE / "tsconfig.json", STAGED)
    run(TSC, "--project", STAGED, "--outDir", PACKAGE)
    for file in (STAGED / "dumbbell_wasm.js", STAGED / "dumbbell_wasm.d.ts", ROOT / "LICENSE"):
        shutil.copy2(file, PACKAGE)
    description = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))
    del description["devDependencies"]
    (PACKAGE / "package.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    stamp().write_text(inputs(), encoding="utf-8")


def is_up_to_date() -> bool:
    """Whether the package was made of these inputs."""
    return stamp().is_file() and stamp().read_text(encoding="utf-8") == inputs()


def stamp() -> Path:
    """Names the inputs of the package that exists."""
    return PACKAGE.with_suffix(".made-from")


def inputs() -> str:
    """A digest of all that the package is made of."""
    files = [MODULE, Path(__file__), *GLUE.parent.rglob("*.rs"), *SOURCE.glob("*.json"), *SOURCE.glob("src/*.ts")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def cargo(command: str, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})) -> None:
    """Build with Rust's own progress, on a terminal."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    run("cargo", command, "--locked", "--target-dir", ROOT / "target", *quiet, *arguments, environment=environment)


def run(*command: str | Path, environment: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run a program that must succeed. npm's tools find Node.js in the virtual environment."""
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ.get('PATH', '')}"
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path, **environment}, check=True)


def output(*command: str) -> str:
    """The first line that a program prints; empty if it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def step(text: str) -> None:
    """Show what is done, with the time so far."""
    sys.stderr.write(f"wasm: {time.monotonic() - BEGAN:3.0f} s  {text}\n")


if __name__ == "__main__":
    sys.exit(main())
