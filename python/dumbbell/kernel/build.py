"""From source to a kernel that can be run: the whole way, once.

```text
<cache>/build/<name>.lock           held by the process that builds
<cache>/build/<name>/package/       what is downloaded, until it is extracted
                    /tree/          the source and its objects: stays, for the next build
                    /build.log      everything that every program said
                    /result/        becomes <cache>/kernels/<name>/ by one rename
```

Whatever interrupts a build, the next call goes on from there. What is the
machine's own (user, host, date, environment) is fixed or kept out: the kernel
mixes its banner into its random pool, so a run would feel the difference.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernel import process, store, tools
from dumbbell.kernel.configure import FRAGMENT, MAKE, configure
from dumbbell.kernel.process import Progress
from dumbbell.kernel.source import Source, fetch, identify
from dumbbell.kernel.store import Kernel

__all__ = ["build"]


def build(
    name: str | None = None,
    *,
    source: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Kernel:
    """Build a kernel, or return the one that is already built from the same source and recipe.

    `name` is made from the version by default, `source` is the distribution's
    package, `jobs` is one for each CPU. `progress` hears the phases download and
    extract (in bytes or files), configure (0 or 1) and build (in files compiled).
    Raises ToolMissing or KernelError; a KeyboardInterrupt leaves nothing running.
    """
    origin = identify(source)
    name = store.check_name(name or origin.name)
    if ready := _already(name, origin):
        return ready
    tools.check()
    work = store.cache_dir() / "build" / name
    try:
        with _lock(work):
            return _already(name, origin) or _build(name, origin, work, jobs or _cpus(), progress or process.silence)
    except OSError as error:
        raise KernelError(f"{error.filename or work}: the kernel can't be kept there: {error.strerror}") from error


def _already(name: str, origin: Source) -> Kernel | None:
    """The stored kernel, when building it again would give the same; a damaged one is not."""
    manifest = store.kernels_dir() / name / store.MANIFEST
    try:
        told = json.loads(manifest.read_text(encoding="utf-8"))
        return store.find(name) if (told["source"], told["recipe"]) == (origin.identity, _recipe()) else None
    except (OSError, ValueError, KeyError, KernelError):
        return None


def _recipe() -> str:
    """Changes when a build of the same source would come out differently."""
    hashed = hashlib.sha256(" ".join([RECIPE, *MAKE]).encode())
    for file in (FRAGMENT, SEEDED_GETRANDOM):
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:16]


def _build(name: str, origin: Source, work: Path, jobs: int, progress: Progress) -> Kernel:
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    log.write_text(f"{name}: {origin.identity}\n", encoding="utf-8")
    tree = fetch(origin, work, log=log, progress=progress)
    progress("configure", 0, 1)
    absent = configure(tree, work, log=log, env=_environment())
    progress("configure", 1, 1)
    _compile(tree, jobs, log=log, progress=progress)
    result = work / "result"
    shutil.rmtree(result, ignore_errors=True)
    result.mkdir()
    _collect(tree, result, log=log)
    _describe(name, origin, absent, tree, result)
    _install(result, store.kernels_dir() / name, work / "replaced")
    return store.find(name)


def _compile(tree: Path, jobs: int, *, log: Path, progress: Progress) -> None:
    """Run make; what an interrupted one compiled is counted as done."""
    done = sum(1 for path in tree.rglob("*.o") if "scripts" not in path.parts)

    def heard(line: str) -> None:
        nonlocal done
        if line.startswith("  CC "):
            done += 1
            progress("build", done, max(done, COMPILATIONS))

    progress("build", done, max(done, COMPILATIONS))
    process.stream([*MAKE, f"-j{jobs}", "linux"], log=log, cwd=tree, env=_environment(), heard=heard)
    progress("build", done, done)


def _collect(tree: Path, result: Path, *, log: Path) -> None:
    shutil.copy2(tree / "linux", result / store.BINARY)
    shutil.copyfile(tree / ".config", result / store.CONFIG)
    library = result / store.PRELOAD
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(SEEDED_GETRANDOM)]
    process.stream(command, log=log, cwd=result, env=_environment(), heard=lambda _: None)
    store.check_binary(result / store.BINARY)


def _describe(name: str, origin: Source, absent: tuple[str, ...], tree: Path, result: Path) -> None:
    """The kernel's birth certificate."""
    version = store.banner(result / store.BINARY)[1]
    certificate = {
        "name": name,
        "release": (tree / "include/config/kernel.release").read_text(encoding="utf-8").strip(),
        "version": version,
        "config_sha256": store.sha256(result / store.CONFIG),
        "binary_sha256": store.sha256(result / store.BINARY),
        "source": origin.identity,
        "recipe": _recipe(),
        "absent": absent,
        "built_at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "builders": tools.versions(),
    }
    (result / store.MANIFEST).write_text(json.dumps(certificate, indent=2) + "\n", encoding="utf-8")


def _install(result: Path, home: Path, replaced: Path) -> None:
    """A kernel appears whole; one of the same name but of another recipe makes room."""
    home.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(replaced, ignore_errors=True)
    if home.exists():
        home.rename(replaced)
    result.rename(home)
    shutil.rmtree(replaced, ignore_errors=True)


@contextmanager
def _lock(work: Path) -> Iterator[None]:
    """One build of a name at a time. Raises KernelError that names the process that has the lock."""
    path = work.with_name(f"{work.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            file.seek(0)
            holder = file.read().strip() or "another"
            raise KernelError(f"'{work.name}' is being built by process {holder} already (lock: {path})") from problem
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _environment() -> dict[str, str]:
    """Fixed, so that the banner, and with it the kernel's dice, is the same on every machine."""
    return process.environment(
        KBUILD_BUILD_TIMESTAMP="Thu Jan  1 00:00:00 UTC 1970",
        KBUILD_BUILD_USER="dumbbell",
        KBUILD_BUILD_HOST="dumbbell",
        KBUILD_BUILD_VERSION="1",
    )


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


SEEDED_GETRANDOM = Path(__file__).with_name("seeded_getrandom.c")
RECIPE = "4"
"""Counts the changes to these modules that change what comes out of a build."""
COMPILATIONS = 715
"""Files that Linux 6.12 compiles with our fragment: progress needs a total before make knows it."""
