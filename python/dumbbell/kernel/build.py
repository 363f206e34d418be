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

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import BuildFailed, KernelError
from dumbbell.kernel import fragment, process, store, tools
from dumbbell.kernel.configure import FRAGMENT, MAKE, configure
from dumbbell.kernel.edits import arguments, edit
from dumbbell.kernel.fragment import Fragment
from dumbbell.kernel.lock import locked
from dumbbell.kernel.process import Progress
from dumbbell.kernel.source import Source, fetch, identify
from dumbbell.kernel.store import Kernel
from dumbbell.publish import cache_dir

__all__ = ["Wish", "build", "build_at", "collect", "cpus", "environment", "install", "wish"]


def build(
    name: str | None = None,
    *,
    source: Path | None = None,
    package: str | None = None,
    config: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Kernel:
    """Build a kernel, or return the one that is already built from the same source and recipe.

    `name` is made from the version by default, `source` (a folder or a tarball) or `package` is the distribution's
    best, `config` a fragment that is laid over ours, `jobs` is one for each CPU. `progress` hears the phases download
    and extract (in bytes or files), configure (0 or 1) and build (in files compiled). What a run gets by default
    changes only when nothing at all is asked for.
    Raises ToolMissing or KernelError; a KeyboardInterrupt leaves nothing running.
    """
    wanted = wish(source, package, config)
    called = store.check_name(name or wanted.name)
    home = store.kernels_dir() / called
    if not name:
        _refuse_to_replace_another(home, wanted)
    plain = (name, source, package, config) == (None,) * 4

    def before_it_appears() -> None:
        if not plain:
            store.keep_default()

    work = cache_dir() / "build" / called
    kernel, built = build_at(home, wanted, work, jobs=jobs, progress=progress, ready=before_it_appears)
    if plain and built:
        store.mark_default(called)
    return kernel


@dataclass(frozen=True)
class Wish:
    """What a kernel is to be made from."""

    origin: Source
    fragment: Fragment | None

    @property
    def identity(self) -> str:
        """Changes when the kernel would."""
        return self.origin.identity + (f" {self.fragment.identity}" if self.fragment else "")

    @property
    def name(self) -> str:
        """What it is called by default."""
        return self.origin.name + (f"-{self.fragment.file.stem}" if self.fragment else "")


def wish(source: Path | None, package: str | None, config: Path | None) -> Wish:
    """What is asked for, identified. Raises KernelError when it can't be."""
    return Wish(identify(source, package), fragment.read(config))


def build_at(
    home: Path,
    wanted: Wish,
    work: Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    ready: Callable[[], None] = lambda: None,
) -> tuple[Kernel, bool]:
    """Build into the folder `home`, with everything in progress below `work`; and whether it had to be built.

    `ready` is called just before a new kernel appears. Raises as `build` does.
    """
    if found := _already(home, wanted):
        return found, False
    tools.check()
    try:
        with locked(work, "built"):
            if found := _already(home, wanted):
                return found, False
            _build(home, wanted, work, jobs or cpus(), progress or process.silence)
            ready()
            install(work / "result", home, work / "replaced")
            return store.kept_in(home), True
    except OSError as error:
        raise KernelError(f"{error.filename or work}: the kernel can't be kept there: {error.strerror}") from error


def _already(home: Path, wanted: Wish) -> Kernel | None:
    """The stored kernel, when building it again would give the same; a damaged one is not."""
    try:
        told = json.loads((home / store.MANIFEST).read_text(encoding="utf-8"))
        return store.kept_in(home) if (told["source"], told["recipe"]) == (wanted.identity, _recipe()) else None
    except (OSError, ValueError, KeyError, KernelError):
        return None


def _refuse_to_replace_another(home: Path, wanted: Wish) -> None:
    """Two trees of one version have one default name; only an explicit one may take another's place."""
    try:
        known = str(json.loads((home / store.MANIFEST).read_text(encoding="utf-8"))["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    if not f"{known} ".startswith(f"{wanted.origin.origin} "):
        raise KernelError(
            f"a kernel is called '{home.name}' already, made from {known}; "
            f"right: another name for this one, such as --name {home.name}-mine"
        )


def _recipe() -> str:
    """Changes when a build of the same source would come out differently."""
    hashed = hashlib.sha256(" ".join([RECIPE, *MAKE]).encode())
    for file in (FRAGMENT, SEEDED_GETRANDOM):
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:16]


def _build(home: Path, wanted: Wish, work: Path, jobs: int, progress: Progress) -> None:
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    log.write_text(f"{home.name}: {wanted.identity}\n", encoding="utf-8")
    tree = fetch(wanted.origin, work, log=log, progress=progress)
    progress("configure", 0, 1)
    unedited = edit(tree)
    absent = configure(tree, work, log=log, env=environment(), fragment=wanted.fragment)
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
            "source": wanted.identity,
            "absent": absent,
            "unedited": unedited,
            "arguments": arguments(tree),
        },
        tree,
        result,
    )


def _compile(tree: Path, jobs: int, *, log: Path, progress: Progress) -> None:
    """Run make; what an interrupted one compiled is counted as done, after a complete one only what is new."""
    again = (tree / "linux").is_file()
    done = 0 if again else sum(1 for path in tree.rglob("*.o") if "scripts" not in path.parts)
    expected = 0 if again else COMPILATIONS

    def heard(line: str) -> None:
        nonlocal done
        if line.startswith("  CC "):
            done += 1
            progress("build", done, max(done, expected))

    progress("build", done, max(done, expected))
    process.stream([*MAKE, "-L", f"-j{jobs}", "linux"], log=log, cwd=tree, env=environment(), heard=heard)
    progress("build", done, done)


def collect(tree: Path, result: Path, *, log: Path) -> None:
    """What a run needs of a built tree, checked. Raises KernelError."""
    shutil.copy2(tree / "linux", result / store.BINARY)
    shutil.copyfile(tree / ".config", result / store.CONFIG)
    library = result / store.PRELOAD
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(SEEDED_GETRANDOM)]
    process.stream(command, log=log, cwd=result, env=environment(), heard=lambda _: None)
    store.check_binary(result / store.BINARY)


def _describe(known: dict[str, Any], tree: Path, result: Path) -> None:
    """The kernel's birth certificate."""
    version = store.banner(result / store.BINARY)[1]
    certificate = known | {
        "unseeded": _takes_no_seed(tree / NETEM_OPTIONS),
        "release": (tree / "include/config/kernel.release").read_text(encoding="utf-8").strip(),
        "version": version,
        "config_sha256": store.sha256(result / store.CONFIG),
        "binary_sha256": store.sha256(result / store.BINARY),
        "recipe": _recipe(),
        "built_at": store.now(),
        "builders": tools.versions(),
    }
    (result / store.MANIFEST).write_text(json.dumps(certificate, indent=2) + "\n", encoding="utf-8")


def _takes_no_seed(options: Path) -> bool:
    """Do netems lack what the agent seeds them by (Linux before 6.6)?"""
    return options.is_file() and NETEM_SEED not in options.read_text(encoding="utf-8")


def install(result: Path, home: Path, replaced: Path) -> None:
    """A kernel appears whole; one of the same name but of another recipe makes room."""
    home.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(replaced, ignore_errors=True)
    if home.exists():
        home.rename(replaced)
    result.rename(home)
    shutil.rmtree(replaced, ignore_errors=True)


def environment() -> dict[str, str]:
    """Fixed, so that the banner, and with it the kernel's dice, is the same on every machine."""
    return process.environment(
        KBUILD_BUILD_TIMESTAMP="Thu Jan  1 00:00:00 UTC 1970",
        KBUILD_BUILD_USER="dumbbell",
        KBUILD_BUILD_HOST="dumbbell",
        KBUILD_BUILD_VERSION="1",
    )


def cpus() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


NETEM_OPTIONS, NETEM_SEED = "include/uapi/linux/pkt_sched.h", "TCA_NETEM_PRNG_SEED"
SEEDED_GETRANDOM = Path(__file__).with_name("seeded_getrandom.c")
RECIPE = "6"
"""Counts the changes to these modules that change what comes out of a build."""
COMPILATIONS = 715
"""Files that Linux 6.12 compiles with our fragment: progress needs a total before make knows it."""
