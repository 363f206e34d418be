"""A shallow clone of a branch, tag or commit of a git repository, for a build.

```text
<cache>/git/<hash of URL and ref>/     one commit without its history; updated by the next build of the same ref
```
"""

import hashlib
import re
import shutil
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import process, tools
from dumbbell.kernels.process import Progress
from dumbbell.publish.cache import cache_folder

__all__ = ["clone"]


def clone(url: str, ref: str, *, progress: Progress) -> tuple[Path, str]:
    """Fetch the commit that `ref` means in the repository; returns its folder and the commit.

    Raises KernelError if the repository can't be read or has no such ref.
    """
    tools.require_git()
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
        process.watch(fetch, log=log, cwd=folder, tick=lambda: progress("download", _size(folder), 0))
    except KernelError as problem:
        said = re.findall(r"^(?:fatal|error|remote): (.*)$", log.read_text(errors="replace"), re.MULTILINE)
        if not (folder / ".git/FETCH_HEAD").exists() or not (folder / "Makefile").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise KernelError(f"{url}: can't fetch '{ref}': {'; '.join(said) or problem}") from problem
    process.watch([*git, "checkout", "-q", "--force", "--detach", "FETCH_HEAD"], log=log, cwd=folder, tick=lambda: None)
    return folder, process.output([*git, "rev-parse", "HEAD"]).strip()


def _size(folder: Path) -> int:
    """Bytes that were fetched so far."""
    return sum(file.stat().st_size for file in (folder / ".git/objects/pack").glob("*") if file.exists())
