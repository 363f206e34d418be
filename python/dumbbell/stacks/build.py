"""Build a stack: the registry's own tool downloads and compiles it, our driver is its client and server.

```text
<cache>/build/stack-NAME.lock     held by the process that builds
<cache>/build/stack-NAME/         the driver's sources and what the tools make; removed at the end
<cache>/stacks/NAME-VERSION-HASH  appears complete
```

An interrupted build is continued by the next one.
"""

import json
import os
import shutil
from pathlib import Path

from dumbbell.errors import KernelError, OutputError, StackError, ToolMissing
from dumbbell.kernels.build import cpus, locked
from dumbbell.kernels.process import Progress, output, require, silence
from dumbbell.publish import explained, staged
from dumbbell.publish.cache import cache_folder
from dumbbell.stacks.certificate import OPENSSL, make_certificate
from dumbbell.stacks.recipes import RECIPES, Bench
from dumbbell.stacks.store import DRIVERS, MANIFEST, Built, Stack, find, folder_of, named

__all__ = ["build"]


def build(name: str, *, jobs: int | None = None, progress: Progress = silence) -> Built:
    """Build a stack, or return it if it is built; `jobs` is one per CPU.

    Raises StackError or ToolMissing; a KeyboardInterrupt leaves nothing running, and nothing half in the cache.
    """
    stack = named(name)
    if done := find(name):
        return done
    work = cache_folder("build") / f"stack-{stack.name}"
    recipe = RECIPES[stack.registry]
    try:
        for tool in (*recipe.tools, *recipe.also.get(stack.name, ()), OPENSSL):
            require(tool)
        with locked(work, "built"):
            return find(name) or _build(stack, work, jobs or cpus(), progress)
    except ToolMissing:
        raise
    except (KernelError, OutputError) as error:
        raise StackError(str(error)) from error
    except OSError as error:
        raise StackError(str(explained(error, Path(error.filename or work)))) from error


def _build(stack: Stack, work: Path, jobs: int, progress: Progress) -> Built:
    recipe = RECIPES[stack.registry]
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    log.write_text(f"{stack.name} {stack.version}\n", encoding="utf-8")
    bench = Bench(stack, _copied(stack, work), work, log, jobs, progress)
    folder = folder_of(stack)
    with staged(folder) as result:
        recipe.make(bench, result)
        make_certificate(result)
        tool = output(recipe.version).splitlines()[0]
        about = {"stack": stack.name, "package": stack.package, "version": stack.version, "tool": tool}
        (result / MANIFEST).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        _open_to_all(result)
    shutil.rmtree(work, ignore_errors=True)
    return Built(stack, folder)


def _copied(stack: Stack, work: Path) -> Path:
    """A copy of the driver's sources, where tools may write; what they made before stays elsewhere."""
    copy = work / "drivers"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(stack.sources, copy / stack.name, ignore=shutil.ignore_patterns("__pycache__", "target"))
    for common in DRIVERS.glob("*.rs"):
        shutil.copy2(common, copy / common.name)
    return copy / stack.name


def _open_to_all(folder: Path) -> None:
    """A guest's programs read it, whoever they are; the private key is an experiment's."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
