"""Kernel sources: a package of the distribution, a release of kernel.org, a tarball, a folder, a git repository.

`identify` is fast, so that an existing kernel isn't built again. `fetch` then
provides a tree to build in. A git repository is cloned without history:

```text
<cache>/git/<hash of URL and ref>/     one commit; updated by the next build of the same ref
```
"""

import hashlib
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dumbbell.errors import KernelError
from dumbbell.kernels import kernel_org, process, store, tree
from dumbbell.kernels.process import Progress
from dumbbell.kernels.versions import OLDEST, find_version, upstream
from dumbbell.publish.cache import cache_folder

__all__ = [
    "Source",
    "SourceRequest",
    "clone",
    "fetch",
    "identify",
]


@dataclass(frozen=True)
class Source:
    """A kernel's source."""

    kind: Literal["package", "release", "tarball", "folder"]
    identity: str
    """Changes with the source; stored in the kernel's manifest."""
    name: str
    """The default name of the kernel."""
    path: Path
    """The tarball or folder; for a package, apt's file name."""
    size: int = 0
    """Bytes to download."""
    config: Path | None = None
    """APT_CONFIG of the lists that have the package; None for the system's."""
    repository: str = ""
    """URL and ref, if the folder is a clone of them."""

    @property
    def origin(self) -> str:
        """The part of the identity that stays the same when the source changes; its prefix."""
        if self.repository:
            return self.repository
        return {"folder": str(self.path), "tarball": self.path.name}.get(self.kind, self.identity.split(" ")[0])

    @property
    def version(self) -> str:
        """The version of Linux at the start of its name, if it has one: 6.12.117 of linux-6.12.117."""
        matched = re.match(r"linux-(?:source-)?(\d+(?:\.\d+)+)", self.name)
        return matched[1] if matched else ""


@dataclass(frozen=True)
class SourceRequest:
    """The source that the user asks for: at most one of them, with `ref` for `git`."""

    version: str | None = None
    """`7.3`, `7.3.4` or `latest`."""
    path: Path | None = None
    """A folder or a tarball."""
    package: str | None = None
    """A package of the system's lists, by name or version."""
    git: str | None = None
    ref: str | None = None

    @property
    def is_default(self) -> bool:
        """Is it the distribution's preferred package?"""
        return self == SourceRequest()

    def check(self) -> None:
        """Raises KernelError for options that exclude each other."""
        options = {"VERSION": self.version, "--source": self.path, "--package": self.package, "--git": self.git}
        given = [
            f"{name} {value}" if name != "VERSION" else f"version {value}" for name, value in options.items() if value
        ]
        if len(given) > 1:
            raise KernelError(f"{' and '.join(given)} exclude each other; use one of them")
        if (self.git is None) != (self.ref is None):
            raise KernelError("--git URL and --ref REF need each other, as in --git URL --ref v7.3")


def identify(request: SourceRequest, progress: Progress = process.silence) -> Source:
    """Identify the source; of a git repository, after fetching it.

    Raises KernelError if it doesn't exist or isn't Linux.
    """
    request.check()
    if request.version is not None:
        return _version(request.version)
    if request.git is not None and request.ref is not None:
        folder, commit = clone(request.git, request.ref, progress=progress)
        repository = f"{request.git}#{request.ref}"
        return replace(_folder(folder), identity=f"{repository} commit:{commit}", repository=repository)
    if request.path is None:
        return _package(request.package)
    path = request.path.expanduser().resolve()
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        name = re.sub(r"\.tar(\.\w+)?$|\.t[gx]z$", "", path.name)
        return Source("tarball", f"{path.name} sha256:{store.sha256(path)}", name, path)
    raise KernelError(f"{path}: neither a folder nor a file; use a Linux source tree or a tarball of one")


def fetch(source: Source, work: Path, *, log: Path, progress: Progress) -> Path:
    """Provide the source below `work` and return the tree to build in.

    A complete tree of the same source is reused. apt resumes an interrupted download;
    an interrupted extraction is repeated.
    """
    laid_out, done = work / "tree", work / "tree.done"
    _discard_other_source(source, work)
    if source.kind == "folder":
        tree.shadow(source.path, tree.files_of(source.path), laid_out, progress=progress)
    elif not done.is_file():
        _check_space(work)
        tarball = _tarball(source, work, log=log, progress=progress)
        tree.extract(tarball, laid_out, log=log, progress=progress)
        done.touch()
        shutil.rmtree(work / "package", ignore_errors=True)
    return laid_out


def _tarball(source: Source, work: Path, *, log: Path, progress: Progress) -> Path:
    if source.kind == "tarball":
        return source.path
    private = work / "package"
    private.mkdir(parents=True, exist_ok=True)
    if source.kind == "release":
        return kernel_org.download(source.version, private, progress=progress)
    return _download(source, private, log=log, progress=progress)


def _check_space(work: Path) -> None:
    free = shutil.disk_usage(work).free
    if free < SPACE_BYTES:
        raise KernelError(
            f"{work}: a build needs {SPACE_BYTES / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; free some, or set "
            "DUMBBELL_CACHE to a folder on another disk"
        )


def _version(version: str) -> Source:
    found = find_version(version)
    if not found.package:
        return Source("release", f"kernel.org {found.release}", f"linux-{found.release}", Path())
    return _packaged(found.package, found.config)


def _package(requested: str | None) -> Source:
    """The distribution's kernel source package; needs apt's package lists, not root."""
    for program in ("apt-cache", "apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise KernelError(f"'{program}' is not installed, so this isn't Debian or Ubuntu; {_WAY_OUT}")
    found = process.output(["apt-cache", "search", "--names-only", r"^linux-source-[0-9]"])
    package = _chosen(re.findall(r"^(linux-source-[0-9.]+) ", found, re.MULTILINE), requested)
    return _packaged(package, None)


def _packaged(package: str, config: Path | None) -> Source:
    """A package, or one of its versions: `linux-source-7.3=7.3.4-1~bpo13+1`."""
    values = process.output(["apt-get", "download", "--print-uris", package], env=_apt(config)).strip()
    package = package.partition("=")[0]
    match = re.search(r"^'[^']+' (\S+_([^_]+)_\S+\.deb) (\d+)", values, re.MULTILINE)
    if not match:
        raise KernelError(
            f"apt-get knows {package} but can't download it ({values}); run sudo apt-get update, {_WAY_OUT}"
        )
    file, version, size = match.group(1), match.group(2).replace("%3a", ":"), int(match.group(3))
    return Source("package", f"{package} {version}", f"linux-{upstream(version)}", Path(file), size, config)


def _apt(config: Path | None) -> dict[str, str]:
    return {"APT_CONFIG": str(config)} if config else {}


def _chosen(packages: list[str], requested: str | None) -> str:
    """The requested package, by name or version; else 6.12, which validated our results, or the newest."""
    if requested is not None:
        if (full := f"linux-source-{requested.removeprefix('linux-source-')}") in packages:
            return full
        raise KernelError(
            f"apt has no package {full}; available: {', '.join(sorted(packages)) or 'none'}; "
            f"update the package lists with: sudo apt-get update; {_WAY_OUT}"
        )
    by_version = {tuple(int(part) for part in name.split("-")[-1].split(".")): name for name in packages}
    good = {version: name for version, name in by_version.items() if version >= OLDEST}
    if not good:
        oldest = ".".join(str(part) for part in OLDEST)
        raise KernelError(
            f"apt has no package linux-source-{oldest} or later; available: {', '.join(packages) or 'none'}; "
            f"update the package lists with: sudo apt-get update; {_WAY_OUT}"
        )
    return next((name for version, name in good.items() if version[:2] == (6, 12)), good[max(good)])


def _download(source: Source, private: Path, *, log: Path, progress: Progress) -> Path:
    """The tarball in the package; both stay in the folder `private` until it is extracted."""
    ready = private / "ready"
    if not ready.is_file():
        package, version = source.identity.split(" ")
        file = private / source.path
        command = ["apt-get", "download", f"{package}={version}"]
        env = _apt(source.config)
        tick = lambda: progress("download", _size(file), source.size)  # noqa: E731
        process.watch(command, log=log, cwd=private, tick=tick, env=env)
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
    values = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S+)", makefile, re.MULTILINE))
    numbers = [values[key] for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL") if key in values]
    name = f"linux-{'.'.join(numbers)}{values.get('EXTRAVERSION', '')}"
    return Source("folder", f"{path} {_state(path)}", name, path)


def _state(path: Path) -> str:
    """The state of a tree: its git commit, and a hash of changed files."""
    if not (path / ".git").exists():
        return f"files:{_fingerprint(path, tree.files_of(path))}"
    process.require_git()
    git = ["git", "-C", str(path)]
    commit = process.output([*git, "rev-parse", "HEAD"]).strip()
    others = process.output([*git, "ls-files", "-z", "-mo", "--exclude-standard"]).split("\0")
    changed = process.output([*git, "diff", "--name-only", "-z", "HEAD"]).split("\0")
    touched = sorted({*others, *changed} - {""})
    return f"commit:{commit}" + (f" changed:{_contents(path, touched)}" if touched else "")


def _contents(path: Path, files: list[str]) -> str:
    """A hash of names and contents, for few files; saving a file without changes doesn't affect it."""
    hashed = hashlib.sha256()
    for file in files:
        at = path / file
        content = bytes(at.readlink()) if at.is_symlink() else at.read_bytes() if at.is_file() else b""
        hashed.update(f"{file}\0{at.is_file()}\0{len(content)}\0".encode() + content)
    return hashed.hexdigest()[:16]


def _fingerprint(path: Path, files: list[str]) -> str:
    """A hash of names, sizes and times; reading 1.5 GB would be too slow."""
    hashed = hashlib.sha256()
    for file in sorted(files):
        at = path / file
        facts = at.stat() if at.exists() else None
        hashed.update(f"{file}\0{facts.st_size if facts else ''}\0{facts.st_mtime_ns if facts else ''}\n".encode())
    return hashed.hexdigest()[:16]


def _discard_other_source(source: Source, work: Path) -> None:
    """Delete the tree if it belongs to another source; a folder counts as one source when its files change."""
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


SPACE_BYTES = 1_000_000_000
"""A tarball of 0.2 GB, a tree of 0.4 GB with its objects, and a margin."""
_WAY_OUT = "or provide the Linux source with: dumbbell kernel build --source FOLDER|TARBALL"


def clone(url: str, ref: str, *, progress: Progress) -> tuple[Path, str]:
    """Fetch the commit that `ref` means in the repository; returns its folder and the commit.

    Raises KernelError if the repository can't be read or has no such ref.
    """
    process.require_git()
    if ref.startswith("-") or url.startswith("-"):
        raise KernelError(f"--git {url} --ref {ref}: neither may start with '-'")
    folder = cache_folder("git") / hashlib.sha256(f"{url}\0{ref}".encode()).hexdigest()[:16]
    log = folder.with_suffix(".log")
    folder.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{url} {ref}\n", encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]
    process.output([*git, "init", "-q"])
    progress("download", 0, 0)
    fetch = [*git, "fetch", "-q", "--depth=1", "--no-tags", url, ref]
    try:
        process.watch(fetch, log=log, cwd=folder, tick=lambda: progress("download", _clone_size(folder), 0))
    except KernelError as problem:
        said = re.findall(r"^(?:fatal|error|remote): (.*)$", log.read_text(errors="replace"), re.MULTILINE)
        if not (folder / ".git/FETCH_HEAD").exists() or not (folder / "Makefile").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise KernelError(f"{url}: can't fetch '{ref}': {'; '.join(said) or problem}") from problem
    process.watch([*git, "checkout", "-q", "--force", "--detach", "FETCH_HEAD"], log=log, cwd=folder, tick=lambda: None)
    return folder, process.output([*git, "rev-parse", "HEAD"]).strip()


def _clone_size(folder: Path) -> int:
    """Bytes that were fetched so far."""
    return sum(file.stat().st_size for file in (folder / ".git/objects/pack").glob("*") if file.exists())
