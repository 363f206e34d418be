"""Numbers as short text: a rate in five characters, a time in six."""

from typing import Any

__all__ = ["address", "count", "gain", "rate", "share", "time", "yes"]

PREFIXES = ("", "k", "M", "G", "T", "P", "E")
MOST = 999.5


def rate(bps: float | None) -> str:
    """Bits per second with three significant digits: 94.3M."""
    if bps is None:
        return ""
    value, prefix = float(bps), 0
    while value >= MOST and prefix < len(PREFIXES) - 1:
        value, prefix = value / 1000, prefix + 1
    return f"{_three(value) if prefix else round(value)}{PREFIXES[prefix]}"


def time(ns: float | None) -> str:
    """A time with three significant digits: 12.3ms, 320µs, 1.20s."""
    if ns is None:
        return ""
    if not ns:
        return "0"
    for unit, scale in (("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns / scale < MOST or unit == "s":
            return f"{_three(ns / scale)}{unit}"
    raise AssertionError(ns)


def count(number: float | None) -> str:
    """An integer up to 9999, then like a rate."""
    if number is None:
        return ""
    return str(int(number)) if number < 10_000 else rate(number)


def gain(value: float | None) -> str:
    """Two decimals."""
    return "" if value is None else f"{value:.2f}"


def share(value: float | None) -> str:
    """A fraction as percent."""
    return "" if value is None else f"{100 * value:.0f}%"


def yes(value: bool | None) -> str:
    """A boolean as yes or no."""
    return "" if value is None else "yes" if value else "no"


def address(ip: str, port: int, width: int) -> str:
    """Address and port as ss writes them; a long address is shortened in the middle."""
    text = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    if len(text) <= width:
        return text
    tail = f":{port}"
    room = max(width - len(tail) - 1, 1)
    head = text[: room - room // 2]
    return f"{head}…{text[: -len(tail)][len(text) - len(tail) - room // 2 :]}{tail}"


def _three(value: Any) -> str:
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"
