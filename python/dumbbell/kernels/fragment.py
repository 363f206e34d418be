"""The user's configuration fragment: parsed strictly, applied over ours, and verified in the result.

In Kconfig's syntax: `CONFIG_X=y`, `CONFIG_X=4`, `CONFIG_X="text"`, `CONFIG_X=n` or `# CONFIG_X is not set`.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError

__all__ = ["Fragment", "read", "without"]


@dataclass(frozen=True)
class Fragment:
    """Requested values by symbol, `n` for off."""

    file: Path
    values: dict[str, str]

    @property
    def identity(self) -> str:
        """Changes with the requested values; order, comments and blank lines don't matter."""
        lines = "".join(f"{symbol}={value}\n" for symbol, value in sorted(self.values.items()))
        return f"config:{self.file.name} sha256:{hashlib.sha256(lines.encode()).hexdigest()[:16]}"

    @property
    def text(self) -> str:
        """In Kconfig's syntax."""
        return "".join(f"CONFIG_{symbol}={value}\n" for symbol, value in self.values.items())

    def check(self, config: str, symbols: set[str]) -> None:
        """Raises KernelError with the symbols whose value in `config`, the complete configuration, differs."""
        got = dict(_SET.findall(config))
        wrong = [
            f"CONFIG_{symbol}={value} "
            + (f"(is {got.get(symbol, 'n')})" if symbol in symbols else "(not in this Linux)")
            for symbol, value in self.values.items()
            if got.get(symbol, "n") != value
        ]
        if wrong:
            more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
            raise KernelError(
                f"{self.file}: Kconfig did not accept {', '.join(wrong[:SHOWN])}{more}; add the symbols that these "
                "depend on, and remove symbols that this version doesn't have"
            )


def read(file: Path | None) -> Fragment | None:
    """Parse the fragment in `file`; None for no file. Raises KernelError with the invalid line."""
    if file is None:
        return None
    try:
        lines = file.expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise KernelError(f"{file}: can't be read as a configuration fragment: {problem}") from problem
    values: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if found := _SET.fullmatch(stripped):
            values[found[1]] = found[2]
        elif found := _UNSET.fullmatch(stripped):
            values[found[1]] = "n"
        elif stripped and not stripped.startswith("#"):
            raise KernelError(
                f"{file}: line {number}: invalid line {stripped[:60]!r}; "
                "write CONFIG_X=y, CONFIG_X=n, CONFIG_X=4, CONFIG_X=\"text\" or '# CONFIG_X is not set'"
            )
    if modules := [symbol for symbol, value in values.items() if value == "m"]:
        raise KernelError(f"{file}: CONFIG_{modules[0]}=m: guests don't load modules; write CONFIG_{modules[0]}=y")
    if not values:
        raise KernelError(f"{file}: sets nothing; add lines such as CONFIG_TCP_MD5SIG=y")
    return Fragment(file, values)


def without(text: str, fragment: Fragment | None) -> str:
    """Our fragment without the symbols that the user's fragment sets."""
    if fragment is None:
        return text
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not ((found := _SET.match(line)) and found[1] in fragment.values))


_SET = re.compile(r"^CONFIG_(\w+)=(-?\w+|\"[^\"\n]*\")$", re.MULTILINE)
_UNSET = re.compile(r"# CONFIG_(\w+) is not set")
SHOWN = 8
