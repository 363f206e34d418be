"""A person's congestion control, one C file, in a kernel of its own: `dumbbell kernel add`.

```text
the file ── csource ──▶ its names ── twin ──▶ a tree like the kernel's, the file in net/ipv4 ── make ──▶ linux
                                                                                                 │ boot: is it there?
<cache>/kernels/<kernel>+<name>/added/tcp_<name>.c  ◀── the store, by one rename ◀───────────────┘
```

The kernel that it is added to stays as it is. Files that were added before go along, from the store: so the twin of a
kernel is only a place to work in, and what a failure leaves there is overwritten by the next call.
"""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dumbbell.errors import KernelError
from dumbbell.kernel import offers, process, store, tools
from dumbbell.kernel.boot import Told, boot
from dumbbell.kernel.build import collect, cpus, environment, install
from dumbbell.kernel.configure import MAKE
from dumbbell.kernel.csource import REGISTER, controllers_in
from dumbbell.kernel.lock import locked
from dumbbell.kernel.process import Progress
from dumbbell.kernel.store import Added, Kernel
from dumbbell.kernel.twin import FOLDER, lay, twin, work_of
from dumbbell.publish import cache_dir

__all__ = ["Addition", "add"]


@dataclass(frozen=True)
class Addition:
    """What came of adding a file."""

    kernel: Kernel
    added: Added
    fresh: bool
    """Was anything compiled?"""
    warnings: str = ""
    """What the compiler said of a file that it took."""


def add(file: Path, *, to: str | None = None, name: str | None = None, progress: Progress | None = None) -> Addition:
    """Compile one file into the kernel `to` (by default the one that a run gets) and keep the result as another.

    `name` is `<to>+<controller>` by default; a kernel that has the controller already is replaced when its file has
    changed. `progress` hears the phases copy (files), build (files compiled) and boot. Raises KernelError: for a file
    that registers no congestion control, for names that are taken, with the compiler's own words when it refuses.
    """
    content = _content(file)
    names = controllers_in(content.decode("latin-1"), str(file))
    onto = store.find(to)
    root = store.find(onto.base) if onto.base else onto
    added = Added(names, file.name, store.hash_of(content))
    wanted = _wanted(onto, root, added, str(file))
    called = store.check_name(name or (onto.name if _has(onto, added) else f"{onto.name}+{added.name}"))
    known = _known(called)
    if known and (known.base_sha256, _plain(known.added)) == (root.binary_sha256, _plain(wanted)):
        return Addition(known, added, fresh=False)
    tools.check()
    sources = {each.module_file: _stored(onto, each) for each in wanted if each != added}
    sources[added.module_file] = content
    try:
        with locked(work_of(root), "built"):
            return _build(called, root, wanted, sources, added, file, progress or process.silence)
    except OSError as error:
        raise KernelError(f"{error.filename or called}: the kernel can't be kept there: {error.strerror}") from error


def _content(file: Path) -> bytes:
    right = "right: a C file that registers a congestion control, such as examples/tcp_target.c"
    if file.suffix != ".c":
        raise KernelError(f"{file}: is not a C file by its name; {right}")
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise KernelError(f"{file}: can't be read ({problem.strerror}); {right}") from problem
    if b"\0" in content:
        raise KernelError(f"{file}: is not text; {right}")
    return content


def _wanted(onto: Kernel, root: Kernel, added: Added, file: str) -> tuple[Added, ...]:
    """Everything that the new kernel shall have beyond its root, this file at its old place or at the end."""
    others = [each for each in onto.added if not set(each.names) & set(added.names)]
    taken = {*(offers.controllers(root) or ()), *(name for each in others for name in each.names)}
    if clash := [name for name in added.names if name in taken]:
        raise KernelError(
            f"{file}: kernel '{onto.name}' has a congestion control called '{clash[0]}' already; "
            f'right: a name of its own, such as .name = "{clash[0][:10]}_mine"'
        )
    if (cache_dir() / "build" / root.name / "tree" / FOLDER / added.module_file).exists():
        raise KernelError(
            f"{file}: '{added.name}' would be {FOLDER / added.module_file}, which is Linux's own; right: another name"
        )
    places = [added if set(each.names) & set(added.names) else each for each in onto.added]
    return tuple(dict.fromkeys(places if added in places else [*places, added]))


def _has(kernel: Kernel, added: Added) -> bool:
    return any(set(each.names) & set(added.names) for each in kernel.added)


def _plain(added: tuple[Added, ...]) -> list[tuple[str, ...]]:
    return [(*each.names, each.sha256) for each in added]


def _known(called: str) -> Kernel | None:
    """The kernel that has the name now. Raises KernelError when it isn't one with added files: it would be lost."""
    if not (store.kernels_dir() / called / store.MANIFEST).is_file():
        return None
    try:
        known = store.find(called)
    except KernelError:
        # A damaged one is made anew.
        return None
    if not known.added:
        raise KernelError(f"'{called}' is a kernel to which nothing was added, and stays so; right: another --name")
    return known


def _stored(kernel: Kernel, added: Added) -> bytes:
    try:
        content = (kernel.folder / SOURCES / added.module_file).read_bytes()
    except OSError as problem:
        raise KernelError(f"{problem.filename}: what was added can't be read: {problem.strerror}") from problem
    return content


def _build(
    called: str, root: Kernel, wanted: tuple[Added, ...], sources: Mapping[str, bytes], added: Added, file: Path,
    progress: Progress,
) -> Addition:  # fmt: skip
    work = work_of(root)
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    log.write_text(f"{called}: {', '.join(sources)}\n", encoding="utf-8")
    tree = twin(root, progress=progress)
    lay(tree, sources)
    warnings = _compile(tree, added, file, log=log, progress=progress)
    progress("boot", 0, 1)
    told = _ask(tree, root, wanted, added, file)
    progress("boot", 1, 1)
    result = work / "result"
    shutil.rmtree(result, ignore_errors=True)
    (result / SOURCES).mkdir(parents=True)
    collect(tree, result, log=log)
    for name, content in sources.items():
        (result / SOURCES / name).write_bytes(content)
    complete = tuple(replace(each, parameters=told.parameters.get(each.module, {})) for each in wanted)
    _describe(called, root, complete, result)
    store.keep_default()
    install(result, store.kernels_dir() / called, work / "replaced")
    kernel = store.find(called)
    return Addition(kernel, next(each for each in kernel.added if each.names == added.names), True, warnings)


def _compile(tree: Path, added: Added, file: Path, *, log: Path, progress: Progress) -> str:
    """Run make; what the compiler said of the file, under the name that its owner knows it by."""
    said: list[str] = []
    compiled = 0

    def heard(line: str) -> None:
        nonlocal compiled
        if _STEP.match(line):
            compiled += 1
            progress("build", compiled, max(compiled, STEPS))
        elif line.strip() and not _MAKES_OWN.match(line):
            said.append(line)

    progress("build", 0, STEPS)
    try:
        process.stream([*MAKE, f"-j{cpus()}", "linux"], log=log, cwd=tree, env=environment(), heard=heard)
    except KernelError as problem:
        if not any(added.module_file in line or added.module in line for line in said):
            raise
        how = "compiles, but can't be linked" if any(line.startswith("ld:") for line in said) else "does not compile"
        raise KernelError(f"{file}: {how}\n{_by_its_own_name(said, added, file)}") from problem
    finally:
        progress("build", compiled, compiled)
    return _by_its_own_name(said, added, file)


def _by_its_own_name(said: list[str], added: Added, file: Path) -> str:
    inside = re.escape(str(FOLDER / added.module_file))
    return re.sub(rf"(?<![\w/]){inside}(?=:)", lambda _: str(file), "\n".join(said))


def _ask(tree: Path, root: Kernel, wanted: tuple[Added, ...], added: Added, file: Path) -> Told:
    """Boot the kernel: does it have everything that it shall have? Raises KernelError that says what is missing."""
    store.check_binary(tree / store.BINARY)
    try:
        told = boot(tree / store.BINARY, root.arguments)
    except KernelError as problem:
        raise KernelError(f"{file}: compiles, but {problem}") from problem
    absent = [name for each in wanted for name in each.names if name not in told.controllers]
    if not absent:
        return told
    missing = f"the kernel has no '{absent[0]}' when it is up"
    undefined = process.output(["nm", "-u", str(tree / FOLDER / f"{added.module}.o")])
    if REGISTER not in undefined:
        raise KernelError(
            f"{file}: compiles, but never calls {REGISTER}, so {missing}; "
            "right: an init function that calls it, and module_init() with its name"
        )
    why = "; the kernel said: " + " ".join(told.complaints) if told.complaints else ""
    raise KernelError(
        f"{file}: compiles and calls {REGISTER}, but {missing}{why}; right: a structure with ssthresh, undo_cwnd and "
        "cong_avoid or cong_control, and an init function that module_init() names and that returns what the call does"
    )


def _describe(called: str, root: Kernel, added: tuple[Added, ...], result: Path) -> None:
    """The root's birth certificate, with what has become different."""
    told: dict[str, Any] = json.loads((root.folder / store.MANIFEST).read_text(encoding="utf-8"))
    told |= {
        "name": called,
        "version": store.banner(result / store.BINARY)[1],
        "config_sha256": store.sha256(result / store.CONFIG),
        "binary_sha256": store.sha256(result / store.BINARY),
        "built_at": store.now(),
        "base": root.name,
        "base_sha256": root.binary_sha256,
        "added": [asdict(each) for each in added],
        "builders": tools.versions(),
    }
    (result / store.MANIFEST).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


SOURCES = "added"
STEPS = 12
"""What make does for one file: compile it, put four archives together, link, and the small things around that."""
_STEP = re.compile(r"  [A-Z]+ ")
_MAKES_OWN = re.compile(r"make(\[\d+\])?: ")
