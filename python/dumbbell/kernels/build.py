"""Build a kernel from source.

```text
<cache>/build/<name>.lock           held by the process that builds; an error names it
<cache>/build/<name>/package/       what is downloaded, until it is extracted
                    /tree/          the source and its objects, kept for the next build
                    /build.log      output of all programs
                    /result/        becomes <cache>/kernels/<name>/ by one rename
```

An interrupted build is resumed by the next call. User, host, date and environment
are fixed or excluded: the kernel mixes its banner into its random pool, so they
would change the results of runs.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import BuildFailed, KernelError
from dumbbell.kernels import process, store
from dumbbell.kernels.configure import FRAGMENT, MAKE, Fragment, configure, read_fragment
from dumbbell.kernels.edits import arguments, edit
from dumbbell.kernels.named_streams import add_streams, streams_identity
from dumbbell.kernels.process import Progress
from dumbbell.kernels.source import Source, SourceRequest, fetch, identify
from dumbbell.kernels.store import Kernel
from dumbbell.kernels.versions import untried
from dumbbell.publish import folders
from dumbbell.publish.cache import cache_folder

__all__ = [
    "KernelSpec",
    "build",
    "build_at",
    "collect",
    "cpus",
    "environment",
    "install",
    "kernel_spec",
    "locked",
]


def build(  # noqa: PLR0913 — a source, and what to do with it
    name: str | None = None,
    *,
    version: str | None = None,
    source: Path | None = None,
    package: str | None = None,
    git: str | None = None,
    ref: str | None = None,
    config: Path | None = None,
    named_streams: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> Kernel:
    """Build a kernel, or return an existing one of the same source and recipe.

    The source is a `version` (`7.3`, `7.3.4`, `latest`), a `source` (a folder or a tarball), a `package`, a `ref` of a
    repository (`git`), or by default the distribution's preferred package. `name` derives from the version, `jobs` is
    one per CPU. `config` is a fragment applied over ours; with `named_streams` the kernel draws the simulator's random
    numbers. `progress` gets the phases download and extract (in bytes or
    files), configure (0 or 1) and build (in files compiled), `notice` a message about a version that nobody tried. The
    default kernel changes only in a call without arguments.
    Raises ToolMissing or KernelError; a KeyboardInterrupt leaves nothing running.
    """
    request = SourceRequest(version, source, package, git, ref)
    spec = kernel_spec(request, config, progress or process.silence, named_streams=named_streams)
    if spec.origin.version and (message := untried(spec.origin.version)):
        notice(message)
    called = store.check_name(name or spec.name)
    home = store.kernels_dir() / called
    if not name:
        _refuse_to_replace_another(home, spec)
    plain = request.is_default and (name, config, named_streams) == (None, None, False)

    def keep_default() -> None:
        if not plain:
            store.keep_default()

    work = cache_folder("build") / called
    kernel, built = build_at(home, spec, work, jobs=jobs, progress=progress, ready=keep_default)
    if plain and built:
        store.mark_default(called)
    return kernel


@dataclass(frozen=True)
class KernelSpec:
    """The source and configuration of a kernel to build."""

    origin: Source
    fragment: Fragment | None
    named_streams: bool = False
    """Whether it draws the simulator's random numbers."""

    @property
    def identity(self) -> str:
        """Changes when the resulting kernel would change."""
        configured = self.origin.identity + (f" {self.fragment.identity}" if self.fragment else "")
        return configured + (f" {streams_identity()}" if self.named_streams else "")

    @property
    def name(self) -> str:
        """The default name."""
        configured = self.origin.name + (f"-{self.fragment.file.stem}" if self.fragment else "")
        return configured + ("-streams" if self.named_streams else "")


def kernel_spec(
    request: SourceRequest, config: Path | None, progress: Progress = process.silence, *, named_streams: bool = False
) -> KernelSpec:
    """Identify source and configuration. Raises KernelError."""
    return KernelSpec(identify(request, progress), read_fragment(config), named_streams)


def build_at(
    home: Path,
    spec: KernelSpec,
    work: Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    ready: Callable[[], None] = lambda: None,
) -> tuple[Kernel, bool]:
    """Build into the folder `home`, using `work` for intermediate files; also returns whether a build was needed.

    `ready` is called just before a new kernel is installed. Raises as `build` does.
    """
    if found := _existing_kernel(home, spec):
        return found, False
    process.check_tools()
    try:
        with locked(work, "built"):
            if found := _existing_kernel(home, spec):
                return found, False
            _build(home, spec, work, jobs or cpus(), progress or process.silence)
            ready()
            install(work / "result", home, work / "replaced")
            return store.kept_in(home), True
    except OSError as error:
        raise KernelError(f"{error.filename or work}: the kernel can't be stored: {error.strerror}") from error


def _existing_kernel(home: Path, spec: KernelSpec) -> Kernel | None:
    """The stored kernel, if it is intact and a new build would give the same."""
    try:
        manifest = json.loads((home / store.MANIFEST).read_text(encoding="utf-8"))
        return store.kept_in(home) if (manifest["source"], manifest["recipe"]) == (spec.identity, _recipe()) else None
    except (OSError, ValueError, KeyError, KernelError):
        return None


def _refuse_to_replace_another(home: Path, spec: KernelSpec) -> None:
    """Refuse a default name that a kernel from another source has; only an explicit name may replace it."""
    try:
        known = str(json.loads((home / store.MANIFEST).read_text(encoding="utf-8"))["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    if not f"{known} ".startswith(f"{spec.origin.origin} "):
        raise KernelError(
            f"kernel '{home.name}' already exists, built from {known}; "
            f"choose another name, such as --name {home.name}-mine"
        )


def _recipe() -> str:
    """Changes when a build of the same source would give another result."""
    hashed = hashlib.sha256(" ".join([RECIPE, *MAKE]).encode())
    for file in (FRAGMENT, SEEDED_GETRANDOM):
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:16]


def _build(home: Path, spec: KernelSpec, work: Path, jobs: int, progress: Progress) -> None:
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    log.write_text(f"{home.name}: {spec.identity}\n", encoding="utf-8")
    tree = fetch(spec.origin, work, log=log, progress=progress)
    progress("configure", 0, 1)
    edited = edit(tree)
    streams = (add_streams(tree),) if spec.named_streams else ()
    absent = configure(tree, work, log=log, env=environment(), fragment=spec.fragment)
    progress("configure", 1, 1)
    try:
        _compile(tree, jobs, log=log, progress=progress)
    except KernelError as error:
        raise BuildFailed(str(error)) from error
    result = work / "result"
    shutil.rmtree(result, ignore_errors=True)
    result.mkdir()
    collect(tree, result, log=log)
    _describe(
        {
            "name": home.name,
            "source": spec.identity,
            "absent": absent,
            "edits": (*edited.applied, *streams),
            "unedited": edited.missing,
            "arguments": arguments(tree),
        },
        tree,
        result,
    )


def _compile(tree: Path, jobs: int, *, log: Path, progress: Progress) -> None:
    """Run make. Progress counts files compiled by an interrupted build; after a complete one, only new files."""
    built_before = (tree / "linux").is_file()
    done = 0 if built_before else sum(1 for path in tree.rglob("*.o") if "scripts" not in path.parts)
    expected = 0 if built_before else COMPILATIONS

    def on_line(line: str) -> None:
        nonlocal done
        if line.startswith("  CC "):
            done += 1
            progress("build", done, max(done, expected))

    progress("build", done, max(done, expected))
    process.stream([*MAKE, "-L", f"-j{jobs}", "linux"], log=log, cwd=tree, env=environment(), on_line=on_line)
    progress("build", done, done)


def collect(tree: Path, result: Path, *, log: Path) -> None:
    """Copy the files that a run needs from a built tree, and check them. Raises KernelError."""
    shutil.copy2(tree / "linux", result / store.BINARY)
    shutil.copyfile(tree / ".config", result / store.CONFIG)
    library = result / store.PRELOAD
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(SEEDED_GETRANDOM)]
    process.stream(command, log=log, cwd=result, env=environment(), on_line=lambda _: None)
    store.check_binary(result / store.BINARY)


def _describe(known: dict[str, Any], tree: Path, result: Path) -> None:
    """Write the kernel's manifest."""
    version = store.banner(result / store.BINARY)[1]
    manifest = known | {
        "unseeded": _has_unseeded_netem(tree / NETEM_OPTIONS),
        "release": (tree / "include/config/kernel.release").read_text(encoding="utf-8").strip(),
        "version": version,
        "config_sha256": store.sha256(result / store.CONFIG),
        "binary_sha256": store.sha256(result / store.BINARY),
        "recipe": _recipe(),
        "built_at": store.now(),
        "builders": process.tool_versions(),
    }
    (result / store.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _has_unseeded_netem(options: Path) -> bool:
    """Does netem lack the option that sets its seed (Linux before 6.6)?"""
    return options.is_file() and NETEM_SEED not in options.read_text(encoding="utf-8")


def install(result: Path, home: Path, replaced: Path) -> None:
    """Install a kernel atomically, replacing one of the same name."""
    home.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(replaced, ignore_errors=True)
    if home.exists():
        home.rename(replaced)
    result.rename(home)
    shutil.rmtree(replaced, ignore_errors=True)


def environment() -> dict[str, str]:
    """A fixed environment, so that the banner, which seeds the kernel's RNG, is the same on every host."""
    return process.environment(
        KBUILD_BUILD_TIMESTAMP="Thu Jan  1 00:00:00 UTC 1970",
        KBUILD_BUILD_USER="dumbbell",
        KBUILD_BUILD_HOST="dumbbell",
        KBUILD_BUILD_VERSION="1",
    )


def cpus() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


NETEM_OPTIONS, NETEM_SEED = "include/uapi/linux/pkt_sched.h", "TCA_NETEM_PRNG_SEED"
SEEDED_GETRANDOM = Path(__file__).with_name("seeded_getrandom.c")
RECIPE = "7"
"""Increased with every change to these modules that affects the built kernel."""
COMPILATIONS = 715
"""Files that Linux 6.12 compiles with our fragment; the estimated total for progress."""


@contextmanager
def locked(work: Path, doing: str) -> Iterator[None]:
    """Hold `<work>.lock`. Raises KernelError with the other process and what it does."""
    path = work.with_name(f"{work.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = folders.opened_file(path)
    except OSError as problem:
        raise KernelError(f"{path}: can't be locked: {problem.strerror}; remove it") from problem
    try:
        if not folders.locked(lock, wait=False):
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "another"
            raise KernelError(f"'{work.name}' is already being {doing} by process {holder} (lock: {path})")
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)
