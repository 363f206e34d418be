"""Number formatting for reports and tables."""

from collections.abc import Mapping, Sequence

__all__ = ["UNKNOWN", "jain_text", "listed", "number", "percent", "sentence", "spread_text"]

UNKNOWN = "–"


def number(value: object, unit: str = "") -> str:
    """A number with its significant digits; a dash for None."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    size = abs(value)
    if isinstance(value, int) or size >= 1000:
        text = f"{round(value):,}".replace(",", "\u202f")
    else:
        text = f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.995 or value == 0 else f"{value:.2g}"
    return f"{text} {unit}" if unit else text


def percent(share: float | None) -> str:
    """A share in percent, with enough digits to distinguish small shares from 0 and large ones from 100."""
    if share is None:
        return UNKNOWN
    value = 100 * share
    if 99 < value < 100:
        return f"{min(value, 99.99):.{1 if value < 99.95 else 2}f} %"
    return f"{value:.0f} %" if value >= 10 else f"{value:.1f} %" if value >= 0.995 or value == 0 else f"{value:.2g} %"


def jain_text(index: float | None) -> str:
    """Jain's fairness index with three digits, because 0.99 and 0.999 differ in meaning."""
    return UNKNOWN if index is None else f"{index:.3f}"


def spread_text(spread: Mapping[str, float | None], unit: str) -> str:
    """`20.1 ms on average, 95 % below 28.3 ms, 30.0 ms at most`."""
    mean, p95, most = (number(spread[key], unit) for key in ("mean", "p95", "max"))
    return f"{mean} on average, 95 % up to {p95}, {most} at most"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def sentence(*parts: str, capital: bool = True) -> str | None:
    """Join the non-empty parts into one sentence; None without any. `capital=False` keeps a leading name as is."""
    text = "; ".join(part for part in parts if part)
    return f"{text[0].upper() if capital else text[0]}{text[1:]}." if text else None
