"""A copy of a kernel's tree, to which files are added: shared sources, separate objects.

```text
<cache>/build/<name>/<name>+/tree/   the copy, with the files added last; kept for the next time
                            /of      the hash of the original kernel
                            /build.log
```

Source files are hard links (in a user's folder, the same symbolic links), since nothing writes to them; build output is
copied. So the original remains usable for builds, and the copy takes a quarter of its space.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import store
from dumbbell.kernels.process import Progress
from dumbbell.kernels.source import SourceRequest, identify
from dumbbell.kernels.store import Kernel
from dumbbell.publish.cache import cache_folder

__all__ = ["FOLDER", "tree_copy", "work_of", "write_sources"]

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


def write_sources(tree: Path, sources: Mapping[str, bytes]) -> None:
    """Make these files the only additions to the tree; unchanged files are not written."""
    makefile = tree / FOLDER / "Makefile"
    text = makefile.read_text(encoding="utf-8")
    bare, _, _ = text.partition(MARK)
    for old in re.findall(rf"^{re.escape(MARK)}(\S+)$", text, re.MULTILINE):
        if old not in sources:
            (tree / FOLDER / old).unlink(missing_ok=True)
    for name, content in sources.items():
        file = tree / FOLDER / name
        if not file.is_file() or file.read_bytes() != content:
            file.write_bytes(content)
    extended = bare + "".join(f"{MARK}{name}\nobj-y += {Path(name).stem}.o\n" for name in sources)
    if extended != text:
        _write(makefile, extended)


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
            _write(makefile, "".join(lines))


def _with_archives(line: str, folder: Path, kept: str) -> str:
    """`obj-y += fs/` becomes `obj-y += fs/built-in.a` where there is one."""
    if not re.match(r"obj-\S+\s*[:+]?=", line):
        return line

    def archive(match: re.Match[str]) -> str:
        built = match[1] != kept and (folder / match[1] / ARCHIVE).is_file()
        return f"{match[1]}/{ARCHIVE}" if built else match[0]

    return re.sub(r"(?<=\s)([\w-]+)/(?=\s)", archive, line)


def _write(file: Path, text: str) -> None:
    """Replace the file; writing in place could change the original, a hard link."""
    fresh = file.with_name(f".{file.name}.fresh")
    fresh.write_text(text, encoding="utf-8")
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
