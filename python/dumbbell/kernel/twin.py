"""A kernel's tree once more, to add files to: its source shared, its objects its own.

```text
<cache>/build/<name>/<name>+/tree/   the twin, and what was added last; stays, for the next time
                            /of      the hash of the kernel that it is the twin of
                            /build.log
```

Files that `make` has not touched are the same files by hard links (of a person's folder: the same symbolic links), for
nothing writes to them; everything that a build made is copied. So the original stays as it is and goes on building,
and a twin costs a quarter of its room. What is compiled in a twin is `added`'s affair.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernel import store
from dumbbell.kernel.process import Progress
from dumbbell.kernel.source import identify
from dumbbell.kernel.store import Kernel
from dumbbell.publish import cache_dir

__all__ = ["FOLDER", "lay", "twin", "work_of"]

FOLDER = Path("net/ipv4")
"""Where Linux has its congestion controls, and where added files go."""
MARK = "# added: "
ARCHIVE = "built-in.a"


def work_of(root: Kernel) -> Path:
    """Where the twin of a kernel is, whether it is there or not."""
    return cache_dir() / "build" / root.name / f"{root.name}+"


def twin(root: Kernel, *, progress: Progress) -> Path:
    """The twin of this kernel's tree, made where there is none or where the kernel has been built anew.

    The caller keeps others from building either tree. Raises KernelError when the kernel's own tree is not there, or
    not as it was when the kernel was built.
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
    _spare_walks(tree)
    of.write_text(root.binary_sha256, encoding="utf-8")
    return tree


def lay(tree: Path, sources: Mapping[str, bytes]) -> None:
    """Let these files, by their names, be what the tree has beyond its original; an unchanged one is not written."""
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
    wanted = bare + "".join(f"{MARK}{name}\nobj-y += {Path(name).stem}.o\n" for name in sources)
    if wanted != text:
        _write(makefile, wanted)


def _check(root: Kernel, original: Path) -> None:
    again = f"build it again with: dumbbell kernel build --name {root.name}"
    if folder := _folder_of(root):
        again += f" --source {folder}"
        # The tree's links lead into the person's folder, which may have been edited since.
        if not f"{root.source} ".startswith(f"{identify(Path(folder)).identity} "):
            raise KernelError(f"{folder}: has changed since kernel '{root.name}' was built; {again}")
    binary = original / "linux"
    if not binary.is_file():
        raise KernelError(f"{original}: the tree that kernel '{root.name}' was built in is gone; {again}")
    if store.sha256(binary) != root.binary_sha256:
        raise KernelError(f"{original}: is not as it was when kernel '{root.name}' was built; {again}")


def _folder_of(root: Kernel) -> str:
    """The person's folder that a kernel was made from; nothing for a package or a tarball."""
    match = re.match(r"(/.*?) (?:commit|files):", root.source)
    return match[1] if match else ""


def _spare_walks(tree: Path) -> None:
    """Let make take every folder's archive as it is, but for those on the way to ours: most of its time goes in walks.

    Linux lists its folders in ./Kbuild since 6.1; older trees are walked.
    """
    for makefile, kept in ((tree / "Kbuild", "net"), (tree / "net/Makefile", "ipv4")):
        text = makefile.read_text(encoding="utf-8") if makefile.is_file() else ""
        lines = [_spared(line, makefile.parent, kept) for line in text.splitlines(keepends=True)]
        if "".join(lines) != text:
            _write(makefile, "".join(lines))


def _spared(line: str, folder: Path, kept: str) -> str:
    """`obj-y += fs/` becomes `obj-y += fs/built-in.a` where there is one."""
    if not re.match(r"obj-\S+\s*[:+]?=", line):
        return line

    def archive(match: re.Match[str]) -> str:
        built = match[1] != kept and (folder / match[1] / ARCHIVE).is_file()
        return f"{match[1]}/{ARCHIVE}" if built else match[0]

    return re.sub(r"(?<=\s)([\w-]+)/(?=\s)", archive, line)


def _write(file: Path, text: str) -> None:
    """Never in place: the file may be the original's too."""
    fresh = file.with_name(f".{file.name}.fresh")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


def _copy(original: Path, tree: Path, begun_ns: int, progress: Progress) -> None:
    """`begun_ns`: what has changed since then was made by a build."""
    done = 0
    for folder, _, files in os.walk(original):
        here = tree / Path(folder).relative_to(original)
        here.mkdir(parents=True, exist_ok=True)
        for name in files:
            _one(f"{folder}/{name}", f"{here}/{name}", begun_ns)
        done += len(files)
        progress("copy", done, 0)
    progress("copy", done, done)


def _one(source: str, target: str, begun_ns: int) -> None:
    facts = os.lstat(source)
    if facts.st_mtime_ns < begun_ns:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:
            # A file system without hard links, or too many of them.
            shutil.copy2(source, target, follow_symlinks=False)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
