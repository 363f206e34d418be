"""Compile the user's congestion control, one C file, into a new kernel: `dumbbell kernel add`.

```text
the file ─ features ─▶ its names ─ tree_copy ─▶ a tree like the kernel's, the file in net/ipv4 ─ make ─▶ linux
                                                                                               │ boot: is it registered?
<cache>/kernels/<kernel>+<name>/added/tcp_<name>.c  ◀── the store, by one rename ◀─────────────┘

<cache>/build/<name>/<name>+/tree/   the copied tree, with the files added last; kept for the next time
                            /of      the hash of the original kernel
                            /build.log
```

The original kernel is not changed. Files added earlier are taken from the store, so the next call overwrites the
remains of a failure. In the copied tree, source files are hard links (in a user's folder, the same symbolic links),
since nothing writes to them; build output is copied. So the original remains usable for builds, and the copy takes a
quarter of its space.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from dumbbell.errors import KernelError
from dumbbell.kernels import features, process, store
from dumbbell.kernels.boot import BootReport, boot
from dumbbell.kernels.build import collect, cpus, environment, install, locked
from dumbbell.kernels.configure import MAKE
from dumbbell.kernels.features import REGISTER, controllers_in
from dumbbell.kernels.patches import patched_content, patched_file
from dumbbell.kernels.process import Progress
from dumbbell.kernels.source import SourceRequest, identify
from dumbbell.kernels.store import Added, Kernel
from dumbbell.publish.cache import cache_folder

__all__ = [
    "FOLDER",
    "Addition",
    "add",
    "tree_copy",
    "work_of",
    "write_sources",
]


@dataclass(frozen=True)
class Addition:
    """The result of adding a file."""

    kernel: Kernel
    added: Added
    fresh: bool
    """Was anything compiled?"""
    warnings: str = ""
    """Compiler warnings."""


def add(
    file: Path, *, to: str | None = None, name: str | None = None, replace: str | None = None, patch: bool = False,
    progress: Progress | None = None,
) -> Addition:  # fmt: skip
    """Compile a file into the kernel `to` (by default the default kernel) and store the result as a new kernel.

    With `replace` the file stands for that of a controller of Linux; with `patch` it is a patch of such a file. `name`
    is `<to>+<controller>` by default; a kernel that already has the controller is replaced if its file changed.
    `progress` gets the phases copy (files), build (files compiled) and boot. Raises KernelError for a file that
    registers no congestion control, for a name in use, and for compiler errors.
    """
    content = _content(file, ".patch" if patch else ".c")
    base = store.find(to)
    root = store.find(base.base) if base.base else base
    if patch:
        patched = patched_file(content.decode("latin-1"), str(file))
        content = patched_content(_source_of(base, root, patched), content, patched, str(file))
    names = controllers_in(content.decode("latin-1"), str(file))
    if replace is not None and replace != names[0]:
        raise KernelError(f"{file}: registers {' and '.join(names)}, not '{replace}', which it shall replace")
    added = Added(names, file.name, store.hash_of(content), replaces=patch or replace is not None)
    files = _files_to_add(base, root, added, str(file))
    called = store.check_name(name or (base.name if _has(base, added) else f"{base.name}+{added.name}"))
    known = _known(called)
    if known and (known.base_sha256, _plain(known.added)) == (root.binary_sha256, _plain(files)):
        return Addition(known, added, fresh=False)
    process.check_tools()
    sources = {each.module_file: _stored(base, each) for each in files if each != added}
    sources[added.module_file] = content
    replaced = {each.module_file for each in files if each.replaces}
    try:
        with locked(work_of(root), "built"):
            return _build(called, root, files, (sources, replaced), added, file, progress or process.silence)
    except OSError as error:
        raise KernelError(f"{error.filename or called}: the kernel can't be stored: {error.strerror}") from error


def _content(file: Path, suffix: str) -> bytes:
    right = (
        "use a C file that registers a congestion control, such as examples/tcp_target.c"
        if suffix == ".c"
        else "use what `git diff` or `git format-patch` writes"
    )
    if suffix == ".c" and file.suffix != ".c":
        raise KernelError(f"{file}: not a .c file; {right}")
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise KernelError(f"{file}: can't be read ({problem.strerror}); {right}") from problem
    if b"\0" in content:
        raise KernelError(f"{file}: not a text file; {right}")
    return content


def _files_to_add(base: Kernel, root: Kernel, added: Added, file: str) -> tuple[Added, ...]:
    """All files to add to the root kernel; this file replaces its predecessor, or comes last."""
    others = [each for each in base.added if not set(each.names) & set(added.names)]
    original = cache_folder("build") / root.name / "tree" / FOLDER / added.module_file
    if added.replaces:
        if not original.is_file():
            raise KernelError(f"{file}: kernel '{root.name}' has no {FOLDER / added.module_file} to replace")
        return (*others, added)
    names_in_use = {*(features.controllers(root) or ()), *(name for each in others for name in each.names)}
    if clash := [name for name in added.names if name in names_in_use]:
        raise KernelError(
            f"{file}: kernel '{base.name}' already has a congestion control '{clash[0]}'; "
            f'choose another name, such as .name = "{clash[0][:10]}_mine", or replace it: --replace {clash[0]}'
        )
    if original.exists():
        raise KernelError(
            f"{file}: '{added.name}' would overwrite Linux's {FOLDER / added.module_file}; choose another name"
        )
    replaced = [added if set(each.names) & set(added.names) else each for each in base.added]
    return tuple(dict.fromkeys(replaced if added in replaced else [*replaced, added]))


def _has(kernel: Kernel, added: Added) -> bool:
    return any(set(each.names) & set(added.names) for each in kernel.added)


def _plain(added: tuple[Added, ...]) -> list[tuple[str, ...]]:
    return [(*each.names, each.sha256) for each in added]


def _known(called: str) -> Kernel | None:
    """The existing kernel of that name. Raises KernelError if it has no added files, so that it isn't replaced."""
    if not (store.kernels_dir() / called / store.MANIFEST).is_file():
        return None
    try:
        known = store.find(called)
    except KernelError:
        # A damaged kernel is rebuilt.
        return None
    if not known.added:
        raise KernelError(f"'{called}' is a kernel without added files and is not replaced; choose another --name")
    return known


def _source_of(base: Kernel, root: Kernel, name: str) -> bytes:
    """A file of net/ipv4, as an earlier addition has it, or as Linux has it."""
    if any(each.module_file == name for each in base.added):
        return _stored(base, next(each for each in base.added if each.module_file == name))
    original = cache_folder("build") / root.name / "tree" / FOLDER / name
    try:
        return original.read_bytes()
    except OSError as problem:
        raise KernelError(f"{original}: can't be read ({problem.strerror}); {_REBUILD} {root.name}") from problem


def _stored(kernel: Kernel, added: Added) -> bytes:
    try:
        content = (kernel.folder / SOURCES / added.module_file).read_bytes()
    except OSError as problem:
        raise KernelError(f"{problem.filename}: the added file can't be read: {problem.strerror}") from problem
    return content


def _build(
    called: str, root: Kernel, files: tuple[Added, ...], written: tuple[Mapping[str, bytes], Set[str]], added: Added,
    file: Path, progress: Progress,
) -> Addition:  # fmt: skip
    work, (sources, replaced) = work_of(root), written
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    log.write_text(f"{called}: {', '.join(sources)}\n", encoding="utf-8")
    tree = tree_copy(root, progress=progress)
    write_sources(tree, sources, replaced)
    warnings = _compile(tree, added, file, log=log, progress=progress)
    progress("boot", 0, 1)
    report = _boot_report(tree, root, files, added, file)
    progress("boot", 1, 1)
    result = work / "result"
    shutil.rmtree(result, ignore_errors=True)
    (result / SOURCES).mkdir(parents=True)
    collect(tree, result, log=log)
    for name, content in sources.items():
        (result / SOURCES / name).write_bytes(content)
    complete = tuple(changed(each, parameters=report.parameters.get(each.module, {})) for each in files)
    _describe(called, root, complete, result)
    store.keep_default()
    install(result, store.kernels_dir() / called, work / "replaced")
    kernel = store.find(called)
    return Addition(kernel, next(each for each in kernel.added if each.names == added.names), True, warnings)


def _compile(tree: Path, added: Added, file: Path, *, log: Path, progress: Progress) -> str:
    """Run make; returns the compiler's messages, with the user's file name."""
    messages: list[str] = []
    compiled = 0

    def on_line(line: str) -> None:
        nonlocal compiled
        if _STEP.match(line):
            compiled += 1
            progress("build", compiled, max(compiled, STEPS))
        elif line.strip() and not _MAKE_MESSAGE.match(line):
            messages.append(line)

    progress("build", 0, STEPS)
    try:
        process.stream([*MAKE, f"-j{cpus()}", "linux"], log=log, cwd=tree, env=environment(), on_line=on_line)
    except KernelError as problem:
        if not any(added.module_file in line or added.module in line for line in messages):
            raise
        how = "compiles, but doesn't link" if any(line.startswith("ld:") for line in messages) else "does not compile"
        raise KernelError(f"{file}: {how}\n{_with_user_path(messages, added, file)}") from problem
    finally:
        progress("build", compiled, compiled)
    return _with_user_path(messages, added, file)


def _with_user_path(messages: list[str], added: Added, file: Path) -> str:
    inside = re.escape(str(FOLDER / added.module_file))
    return re.sub(rf"(?<![\w/]){inside}(?=:)", lambda _: str(file), "\n".join(messages))


def _boot_report(tree: Path, root: Kernel, files: tuple[Added, ...], added: Added, file: Path) -> BootReport:
    """Boot the kernel and check that all congestion controls are registered. Raises KernelError if one is missing."""
    store.check_binary(tree / store.BINARY)
    try:
        report = boot(tree / store.BINARY, root.arguments)
    except KernelError as problem:
        raise KernelError(f"{file}: compiles, but {problem}") from problem
    absent = [name for each in files for name in each.names if name not in report.controllers]
    if not absent:
        return report
    missing = f"the booted kernel has no '{absent[0]}'"
    undefined = process.output(["nm", "-u", str(tree / FOLDER / f"{added.module}.o")])
    if REGISTER not in undefined:
        raise KernelError(
            f"{file}: compiles, but never calls {REGISTER}, so {missing}; "
            "call it from an init function, and pass that to module_init()"
        )
    why = "; kernel log: " + " ".join(report.complaints) if report.complaints else ""
    raise KernelError(
        f"{file}: compiles and calls {REGISTER}, but {missing}{why}; the structure needs ssthresh, undo_cwnd and "
        "cong_avoid or cong_control, and the function passed to module_init() must return the result of the call"
    )


def _describe(called: str, root: Kernel, added: tuple[Added, ...], result: Path) -> None:
    """Write the manifest: the root's, with the changes."""
    report: dict[str, Any] = json.loads((root.folder / store.MANIFEST).read_text(encoding="utf-8"))
    report |= {
        "name": called,
        "version": store.banner(result / store.BINARY)[1],
        "config_sha256": store.sha256(result / store.CONFIG),
        "binary_sha256": store.sha256(result / store.BINARY),
        "built_at": store.now(),
        "base": root.name,
        "base_sha256": root.binary_sha256,
        "added": [asdict(each) for each in added],
        "builders": process.tool_versions(),
    }
    (result / store.MANIFEST).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


SOURCES = "added"
_REBUILD = "build the kernel again with: dumbbell kernel build --name"
STEPS = 12
"""Steps of make for one file: compile it, rebuild four archives, link, and some small ones."""
_STEP = re.compile(r"  [A-Z]+ ")
_MAKE_MESSAGE = re.compile(r"make(\[\d+\])?: ")


FOLDER = Path("net/ipv4")
"""The folder of Linux's congestion controls, where files are added."""
MARK = "# added: "
ARCHIVE = "built-in.a"


def work_of(root: Kernel) -> Path:
    """The folder of a kernel's copied tree, which may not exist."""
    return cache_folder("build") / root.name / f"{root.name}+"


def tree_copy(root: Kernel, *, progress: Progress) -> Path:
    """Copy the kernel's tree if there is no copy, or if the kernel was rebuilt; returns the copy.

    The caller holds the lock of both trees. Raises KernelError if the kernel's tree is missing or has changed since the
    build.
    """
    work = work_of(root)
    tree, of = work / "tree", work / "of"
    original = work.parent / "tree"
    _check(root, original)
    if of.is_file() and of.read_text(encoding="utf-8") == root.binary_sha256:
        return tree
    of.unlink(missing_ok=True)
    shutil.rmtree(tree, ignore_errors=True)
    _copy(original, tree, (work.parent / "tree.begun").stat().st_mtime_ns, progress)
    _use_archives(tree)
    of.write_text(root.binary_sha256, encoding="utf-8")
    return tree


def write_sources(tree: Path, sources: Mapping[str, bytes], replaced: Set[str] = frozenset()) -> None:
    """Make these files the only additions to the tree; unchanged files are not written.

    The `replaced` of them stand for files of Linux, which make already knows; all others get a line in the Makefile.
    """
    makefile = tree / FOLDER / "Makefile"
    text = makefile.read_text(encoding="utf-8")
    bare, _, _ = text.partition(MARK)
    for old in re.findall(rf"^{re.escape(MARK)}(\S+)$", text, re.MULTILINE):
        if old not in sources:
            _restore(tree, old)
    for name, content in sources.items():
        file = tree / FOLDER / name
        if not file.is_file() or file.read_bytes() != content:
            _write(file, content)
    lines = ((name, "" if name in replaced else f"obj-y += {Path(name).stem}.o\n") for name in sources)
    extended = bare + "".join(f"{MARK}{name}\n{line}" for name, line in lines)
    if extended != text:
        _write(makefile, extended.encode())


def _restore(tree: Path, name: str) -> None:
    """Linux's file, if there is one; a copy, whose time is now, so that make compiles it again."""
    file, original = tree / FOLDER / name, tree.parents[1] / "tree" / FOLDER / name
    if original.is_file():
        _write(file, original.read_bytes())
    else:
        file.unlink(missing_ok=True)


def _check(root: Kernel, original: Path) -> None:
    rebuild = f"build it again with: dumbbell kernel build --name {root.name}"
    if folder := _folder_of(root):
        rebuild += f" --source {folder}"
        # The tree has links to the user's folder, which may have been edited since.
        if not f"{root.source} ".startswith(f"{identify(SourceRequest(path=Path(folder))).identity} "):
            raise KernelError(f"{folder}: has changed since kernel '{root.name}' was built; {rebuild}")
    binary = original / "linux"
    if not binary.is_file():
        if root.folder.parent != store.kernels_dir():
            raise KernelError(
                f"kernel '{root.name}' is from the package dumbbell-kernel, which has no source tree; "
                "build a kernel with: dumbbell kernel build"
            )
        raise KernelError(f"{original}: the tree that kernel '{root.name}' was built in no longer exists; {rebuild}")
    if store.sha256(binary) != root.binary_sha256:
        raise KernelError(f"{original}: has changed since kernel '{root.name}' was built; {rebuild}")


def _folder_of(root: Kernel) -> str:
    """The user's folder from which a kernel was built; empty for a package or a tarball."""
    match = re.match(r"(/.*?) (?:commit|files):", root.source)
    return match[1] if match else ""


def _use_archives(tree: Path) -> None:
    """Make `make` use existing archives instead of descending into unrelated folders, which takes most of its time.

    Linux lists its folders in ./Kbuild since 6.1; in older trees `make` descends.
    """
    for makefile, kept in ((tree / "Kbuild", "net"), (tree / "net/Makefile", "ipv4")):
        text = makefile.read_text(encoding="utf-8") if makefile.is_file() else ""
        lines = [_with_archives(line, makefile.parent, kept) for line in text.splitlines(keepends=True)]
        if "".join(lines) != text:
            _write(makefile, "".join(lines).encode())


def _with_archives(line: str, folder: Path, kept: str) -> str:
    """`obj-y += fs/` becomes `obj-y += fs/built-in.a` where there is one."""
    if not re.match(r"obj-\S+\s*[:+]?=", line):
        return line

    def archive(match: re.Match[str]) -> str:
        built = match[1] != kept and (folder / match[1] / ARCHIVE).is_file()
        return f"{match[1]}/{ARCHIVE}" if built else match[0]

    return re.sub(r"(?<=\s)([\w-]+)/(?=\s)", archive, line)


def _write(file: Path, content: bytes) -> None:
    """Replace the file; writing in place could change the original, a hard link."""
    fresh = file.with_name(f".{file.name}.fresh")
    fresh.write_bytes(content)
    fresh.replace(file)


def _copy(original: Path, tree: Path, begun_ns: int, progress: Progress) -> None:
    """Copy a tree; files changed after `begun_ns` are build output."""
    done = 0
    for folder, _, files in os.walk(original):
        target = tree / Path(folder).relative_to(original)
        target.mkdir(parents=True, exist_ok=True)
        for name in files:
            _copy_file(f"{folder}/{name}", f"{target}/{name}", begun_ns)
        done += len(files)
        progress("copy", done, 0)
    progress("copy", done, done)


def _copy_file(source: str, target: str, begun_ns: int) -> None:
    facts = os.lstat(source)
    if facts.st_mtime_ns < begun_ns:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:
            # A file system without hard links, or too many of them.
            shutil.copy2(source, target, follow_symlinks=False)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
