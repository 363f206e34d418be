"""Where a kernel's source comes from: the distribution, a tarball or a folder.

A `Source` says what it is before anything heavy is done, so that a kernel that is
already built costs nothing. `fetch` then brings it, as a tree that can be built
in. How a tree is laid out is `tree`'s affair, what is done in it `configure`'s.
"""

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dumbbell.errors import KernelError
from dumbbell.kernel import process, store, tools, tree
from dumbbell.kernel.process import Progress

__all__ = ["Source", "fetch", "identify"]


@dataclass(frozen=True)
class Source:
    """What a kernel will be made from."""

    kind: Literal["package", "tarball", "folder"]
    identity: str
    """Changes when the source does; goes into the kernel's birth certificate."""
    name: str
    """What a kernel made from it is called by default."""
    path: Path
    """The tarball or folder; of a package, the file name that apt gives it."""
    size: int = 0
    """Bytes to download."""

    @property
    def origin(self) -> str:
        """What stays the same when the source changes: with it the identity begins."""
        return {"folder": str(self.path), "tarball": self.path.name}.get(self.kind, self.identity.split(" ")[0])


def identify(path: Path | None, package: str | None = None) -> Source:
    """The distribution's package, of this name or the one that we know best; or what is at `path`.

    Raises KernelError when there is no such thing, or when it isn't Linux.
    """
    if path is not None and package is not None:
        raise KernelError(f"{path}: and the package {package} are two sources; right: --source or --package, not both")
    if path is None:
        return _package(package)
    path = path.expanduser().resolve()
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        name = re.sub(r"\.tar(\.\w+)?$|\.t[gx]z$", "", path.name)
        return Source("tarball", f"{path.name} sha256:{store.sha256(path)}", name, path)
    raise KernelError(f"{path}: is neither a folder nor a file; right: a tree of Linux, or a tarball of one")


def fetch(source: Source, work: Path, *, log: Path, progress: Progress) -> Path:
    """Bring the source below `work` and return the tree to build in.

    A tree that is complete and of the same source is left as it is. An interrupted
    download is taken up by apt, an interrupted extraction is done again.
    """
    laid_out, done = work / "tree", work / "tree.done"
    _start_afresh_unless_same(source, work)
    if source.kind == "folder":
        tree.shadow(source.path, tree.files_of(source.path), laid_out, progress=progress)
    elif not done.is_file():
        tarball = source.path if source.kind == "tarball" else _download(source, work, log=log, progress=progress)
        tree.extract(tarball, laid_out, log=log, progress=progress)
        done.touch()
        shutil.rmtree(work / "package", ignore_errors=True)
    return laid_out


def _package(wanted: str | None) -> Source:
    """The kernel source that the distribution carries; needs apt's lists, not root."""
    for program in ("apt-cache", "apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise KernelError(f"'{program}' is not on this machine, so it isn't Debian or Ubuntu; {_WAY_OUT}")
    found = process.output(["apt-cache", "search", "--names-only", r"^linux-source-[0-9]"])
    package = _chosen(re.findall(r"^(linux-source-[0-9.]+) ", found, re.MULTILINE), wanted)
    told = process.output(["apt-get", "download", "--print-uris", package]).strip()
    match = re.search(r"^'[^']+' (\S+_([^_]+)_\S+\.deb) (\d+)", told, re.MULTILINE)
    if not match:
        raise KernelError(
            f"apt-get knows {package} but can't download it ({told}); run sudo apt-get update, {_WAY_OUT}"
        )
    file, version, size = match.group(1), match.group(2).replace("%3a", ":"), int(match.group(3))
    return Source("package", f"{package} {version}", f"linux-{_upstream(version)}", Path(file), size)


def _chosen(packages: list[str], wanted: str | None) -> str:
    """The one that is asked for, by name or version; else 6.12, which our results were checked with, or the newest."""
    if wanted is not None:
        if (full := f"linux-source-{wanted.removeprefix('linux-source-')}") in packages:
            return full
        raise KernelError(
            f"apt has no package {full}; there is: {', '.join(sorted(packages)) or 'no linux-source at all'}; "
            f"its lists are brought with: sudo apt-get update; {_WAY_OUT}"
        )
    by_version = {tuple(int(part) for part in name.split("-")[-1].split(".")): name for name in packages}
    good = {version: name for version, name in by_version.items() if version >= (5, 15)}
    if not good:
        raise KernelError(
            f"apt has no package linux-source-5.15 or later ({', '.join(packages) or 'and no other'}); "
            f"its lists are brought with: sudo apt-get update; {_WAY_OUT}"
        )
    return next((name for version, name in good.items() if version[:2] == (6, 12)), good[max(good)])


def _upstream(version: str) -> str:
    """6.12.117-1~deb12u1 is 6.12.117."""
    return version.rpartition(":")[2].rpartition("-")[0] or version


def _download(source: Source, work: Path, *, log: Path, progress: Progress) -> Path:
    """The tarball in the package; both stay in `work/package` until it is extracted."""
    private = work / "package"
    private.mkdir(parents=True, exist_ok=True)
    ready = private / "ready"
    if not ready.is_file():
        package, version = source.identity.split(" ")
        file = private / source.path
        command = ["apt-get", "download", f"{package}={version}"]
        process.watch(command, log=log, cwd=private, tick=lambda: progress("download", _size(file), source.size))
        progress("download", source.size, source.size)
        process.watch(["dpkg-deb", "-x", str(file), "contents"], log=log, cwd=private, tick=lambda: None)
        file.unlink()
        ready.touch()
    tarballs = [path for path in (private / "contents").rglob("linux-source-*.tar*") if not path.is_symlink()]
    if not tarballs:
        raise KernelError(f"{source.identity}: holds no linux-source-*.tar.*; {_WAY_OUT}")
    return tarballs[0]


def _folder(path: Path) -> Source:
    tree.check_tree(path, called=path)
    makefile = (path / "Makefile").read_text(encoding="utf-8")
    told = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S+)", makefile, re.MULTILINE))
    numbers = [told[key] for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL") if key in told]
    name = f"linux-{'.'.join(numbers)}{told.get('EXTRAVERSION', '')}"
    return Source("folder", f"{path} {_state(path)}", name, path)


def _state(path: Path) -> str:
    """What the tree is just now: its commit if git knows it, and all that differs."""
    if not (path / ".git").exists():
        return f"files:{_fingerprint(path, tree.files_of(path))}"
    tools.require_git()
    git = ["git", "-C", str(path)]
    commit = process.output([*git, "rev-parse", "HEAD"]).strip()
    others = process.output([*git, "ls-files", "-z", "-mo", "--exclude-standard"]).split("\0")
    changed = process.output([*git, "diff", "--name-only", "-z", "HEAD"]).split("\0")
    touched = sorted({*others, *changed} - {""})
    return f"commit:{commit}" + (f" changed:{_contents(path, touched)}" if touched else "")


def _contents(path: Path, files: list[str]) -> str:
    """Names and contents: few files, and an editor that saves what was there changes nothing."""
    hashed = hashlib.sha256()
    for file in files:
        at = path / file
        content = bytes(at.readlink()) if at.is_symlink() else at.read_bytes() if at.is_file() else b""
        hashed.update(f"{file}\0{at.is_file()}\0{len(content)}\0".encode() + content)
    return hashed.hexdigest()[:16]


def _fingerprint(path: Path, files: list[str]) -> str:
    """Names, sizes and times: reading 1.5 GB to learn that nothing changed is too slow."""
    hashed = hashlib.sha256()
    for file in sorted(files):
        at = path / file
        facts = at.stat() if at.exists() else None
        hashed.update(f"{file}\0{facts.st_size if facts else ''}\0{facts.st_mtime_ns if facts else ''}\n".encode())
    return hashed.hexdigest()[:16]


def _start_afresh_unless_same(source: Source, work: Path) -> None:
    """Objects of another source must not survive in the tree; a folder that changes is one source."""
    begun = work / "tree.begun"
    what = f"folder {source.path}" if source.kind == "folder" else f"{source.identity} without {tree.BULK}"
    if not begun.is_file() or begun.read_text(encoding="utf-8") != what:
        for old in ("tree", "package"):
            shutil.rmtree(work / old, ignore_errors=True)
        (work / "tree.done").unlink(missing_ok=True)
        (work / "tree").mkdir()
        begun.write_text(what, encoding="utf-8")


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


_WAY_OUT = "or give the source of Linux yourself with: dumbbell kernel build --source FOLDER|TARBALL"
