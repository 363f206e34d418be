"""A checkout of a person's git repository that leaves the repository alone.

It is a repository of its own which borrows the person's objects, so nothing of theirs is written: no worktree is
registered, no reference is made, no hook of theirs runs. What of Linux a build can't use is not checked out.

```text
<home>/lock, tree/        the checkout
       build/             its shadow and objects: see `build`
       kernels/<commit>/  what was built, one a commit
```
"""

import shutil
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernel import process, tools, tree

__all__ = ["Checkout"]


class Checkout:
    """The private repository at `place`, of the person's one at `repository`."""

    def __init__(self, repository: Path, place: Path) -> None:
        """Make it, or go on with the one that is there. Raises KernelError where `repository` is none."""
        tools.require_git()
        self.repository, self.place = repository, place
        try:
            common = process.output(["git", "-C", str(repository), "rev-parse", "--git-common-dir"]).strip()
        except KernelError as problem:
            raise KernelError(f"{repository}: is not a git repository, so it has no commits to try") from problem
        self._theirs = (repository / common).resolve()
        if not (place / ".git/ready").is_file():
            self._make()

    def resolve(self, revision: str) -> str:
        """The commit that is meant, as the person's repository understands it. Raises KernelError if it doesn't."""
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        try:
            return process.output(["git", "-C", str(self.repository), *words]).strip()
        except KernelError as problem:
            raise KernelError(f"{self.repository}: git knows no commit '{revision}' there") from problem

    def switch(self, commit: str) -> None:
        """Check a commit out; files that are the same in both stay as they are, so that a build is incremental."""
        self.git("checkout", "-q", "--detach", "--force", commit)

    def subject(self, commit: str) -> str:
        """The first line of the commit's message."""
        return self.git("show", "-s", "--format=%s", commit).strip()

    def is_ancestor(self, first: str, second: str) -> bool:
        """Does `second` have `first` in its history?"""
        return self.git("merge-base", first, second, fine=(0, 1)).strip() == first

    def git(self, *words: str, fine: tuple[int, ...] = (0,)) -> str:
        """What git says in the private repository. Raises KernelError for a status that is not `fine`."""
        quiet = ["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]
        return process.output(["git", "-C", str(self.place), *quiet, *words], fine=fine)

    def remove(self) -> None:
        """Leave nothing of the checkout."""
        shutil.rmtree(self.place, ignore_errors=True)

    def _make(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.git("init", "-q")
        ours = self.place / ".git"
        (ours / "objects/info/alternates").write_text(f"{self._theirs / 'objects'}\n", encoding="utf-8")
        if (self._theirs / "shallow").is_file():
            shutil.copyfile(self._theirs / "shallow", ours / "shallow")
        (ours / "info").mkdir(exist_ok=True)
        (ours / "info/sparse-checkout").write_text("".join(f"{line}\n" for line in _SPARSE), encoding="utf-8")
        self.git("config", "core.sparseCheckout", "true")
        (ours / "ready").touch()


_SPARSE = [
    "/*",
    *(f"!{p if p.count('/') == 0 else p.replace('*/', '**/', 1).replace('/*.', '/**/*.')}" for p in tree.BULK),
]
"""What tar leaves out of a tarball, in git's words."""
