"""A private checkout of the user's git repository, which stays unchanged.

It is a separate repository that borrows the user's objects (alternates): no worktree is registered, no ref is created
and no hook runs. Files that a build doesn't need are not checked out.

```text
<home>/lock, tree/        the checkout
       build/             tree of links, and objects: see `build`
       kernels/<commit>/  the kernel of each commit
```
"""

import shutil
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import process, tools, tree

__all__ = ["Checkout"]


class Checkout:
    """The private repository at `folder`, borrowing from the user's at `repository`."""

    def __init__(self, repository: Path, folder: Path) -> None:
        """Create it, or reuse an existing one. Raises KernelError if `repository` isn't a git repository."""
        tools.require_git()
        self.repository, self.folder = repository, folder
        try:
            common = process.output(["git", "-C", str(repository), "rev-parse", "--git-common-dir"]).strip()
        except KernelError as problem:
            raise KernelError(f"{repository}: not a git repository") from problem
        self._user_git = (repository / common).resolve()
        if not (folder / ".git/ready").is_file():
            self._make()

    def resolve(self, revision: str) -> str:
        """The commit of a revision in the user's repository. Raises KernelError if it is unknown."""
        arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        try:
            return process.output(["git", "-C", str(self.repository), *arguments]).strip()
        except KernelError as problem:
            raise KernelError(f"{self.repository}: unknown commit '{revision}'") from problem

    def switch(self, commit: str) -> None:
        """Check out a commit. Unchanged files keep their times, so that builds are incremental."""
        self.git("checkout", "-q", "--detach", "--force", commit)

    def subject(self, commit: str) -> str:
        """The first line of the commit's message."""
        return self.git("show", "-s", "--format=%s", commit).strip()

    def is_ancestor(self, first: str, second: str) -> bool:
        """Is `first` an ancestor of `second`?"""
        return self.git("merge-base", first, second, fine=(0, 1)).strip() == first

    def git(self, *arguments: str, fine: tuple[int, ...] = (0,)) -> str:
        """Output of git in the private repository. Raises KernelError unless the exit status is in `fine`."""
        quiet = ["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]
        return process.output(["git", "-C", str(self.folder), *quiet, *arguments], fine=fine)

    def remove(self) -> None:
        """Delete the checkout."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.git("init", "-q")
        ours = self.folder / ".git"
        (ours / "objects/info/alternates").write_text(f"{self._user_git / 'objects'}\n", encoding="utf-8")
        if (self._user_git / "shallow").is_file():
            shutil.copyfile(self._user_git / "shallow", ours / "shallow")
        (ours / "info").mkdir(exist_ok=True)
        (ours / "info/sparse-checkout").write_text("".join(f"{line}\n" for line in _SPARSE), encoding="utf-8")
        self.git("config", "core.sparseCheckout", "true")
        (ours / "ready").touch()


_SPARSE = [
    "/*",
    *(f"!{p if p.count('/') == 0 else p.replace('*/', '**/', 1).replace('/*.', '/**/*.')}" for p in tree.BULK),
]
"""The files that `tree` excludes, as git sparse-checkout patterns."""
