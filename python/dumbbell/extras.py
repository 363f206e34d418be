"""Optional packages: which extra a missing module belongs to, and the command that installs it.

The installed metadata has the table of pyproject.toml: `Requires-Dist: altair>=6.0; extra == "plot"`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

from dumbbell.errors import MissingExtra

__all__ = ["command", "explained", "extra_of"]


@contextmanager
def explained() -> Iterator[None]:
    """Raise MissingExtra for a module that an extra installs."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if (extra := extra_of(module)) is None:
            raise
        raise MissingExtra(f"'{module}' is not installed; install it with: {command(extra)}") from None


def extra_of(module: str) -> str | None:
    """The smallest extra whose packages provide this module; None if no extra does."""
    modules: dict[str, set[str]] = {}
    for requirement in metadata.requires("dumbbell") or []:
        package, _, marker = requirement.partition(";")
        extra = re.search(r"""extra == ['"]([\w-]+)['"]""", marker)
        name = re.match(r"[\w.-]+", package)
        if extra and name:
            modules.setdefault(extra.group(1), set()).add(_module(name.group()))
    return min(
        (extra for extra, found in modules.items() if module in found),
        key=lambda extra: len(modules[extra]),
        default=None,
    )


def command(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'dumbbell[{extra}]'"


def _module(package: str) -> str:
    """The module of a package: its name, without the `-python` of bindings."""
    return package.removesuffix("-python").replace("-", "_")
