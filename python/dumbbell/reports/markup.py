"""HTML elements, tables and numbers of pages. Names come from untrusted files: all text is escaped."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence

from dumbbell.control_characters import visible

__all__ = [
    "UNKNOWN",
    "Markup",
    "details",
    "element",
    "jain_text",
    "join",
    "listed",
    "number",
    "percent",
    "percents",
    "sentence",
    "spread_text",
    "table",
    "tagged",
]


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def element(tag: str, *inner: object, css: str = "") -> Markup:
    """`<tag class="css">inner</tag>`; what isn't `Markup` is escaped."""
    return tagged(tag, {"class": css} if css else {}, *inner)


def tagged(tag: str, attributes: Mapping[str, object], *inner: object) -> Markup:
    """`<tag name="value" …>inner</tag>` with any attributes; what isn't `Markup` is escaped."""
    opening = " ".join([tag, *(f'{name}="{_escape(value)}"' for name, value in attributes.items())])
    return Markup(f"<{opening}>{join(inner)}</{tag}>")


def join(parts: Iterable[object]) -> Markup:
    """Concatenate the parts; what isn't `Markup` is escaped."""
    return Markup("".join(_escape(part) for part in parts))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], css: str = "") -> Markup:
    """A table that scrolls on its own on narrow screens; the first column names the row.

    `css="text"` is for tables of text: left-aligned cells that wrap.
    """
    header = element("tr", *(element("th", cell) for cell in head))
    body = [
        element("tr", element("th", row[0] if row else ""), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    content = element("table", element("thead", header), element("tbody", *body))
    return element("div", content, css=f"scroll {css}".rstrip())


def details(summary: str, *inner: object) -> Markup:
    """A block that is folded until the reader opens it."""
    return element("details", element("summary", summary), *inner)


def _escape(part: object) -> str:
    return part if isinstance(part, Markup) else html.escape(visible(str(part)))


UNKNOWN = "–"
LEAST = 0.0001
"""Smaller sizes are not told apart: nobody measures them, and an exponent is no readable number."""


def number(value: object, unit: str = "") -> str:
    """A number with its significant digits; a dash for None. A size below 0.0001 is `<0.0001`, never `5e-05`."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    size = abs(value)
    if isinstance(value, int) or size >= 1000:
        text = f"{round(value):,}".replace(",", "\u202f")
    elif 0 < size < LEAST:
        text = f"{'−' if value < 0 else ''}<{LEAST}"
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
    if 0 < value < LEAST:
        return f"<{LEAST} %"
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


DECIMALS_MAX = 4
"""Maximum decimals: a smaller share prints as 0."""


def percents(shares: Sequence[float | None], least_places: int = 0) -> list[str | None]:
    """Shares (0 to 1) as percentages without the sign; the printed ones add up to their rounded sum.

    All have the number of decimals, at least `least_places`, that shows the smallest share above 0 with two digits.
    Largest remainder (Hamilton's method): every share is rounded down, then the missing last digits go to the largest
    remainders. An unknown share stays None.
    """
    known = [share for share in shares if share is not None]
    decimals = max([least_places, *(_decimals(share) for share in known if share > 0)])
    unit: int = 10**decimals
    scaled = [100 * share * unit for share in known]
    counts = [math.floor(value) for value in scaled]
    missing = round(sum(scaled)) - sum(counts)
    for place in sorted(range(len(known)), key=lambda at: counts[at] - scaled[at])[:missing]:
        counts[place] += 1
    texts = iter(f"{count / unit:.{decimals}f}" for count in counts)
    return [None if share is None else next(texts) for share in shares]


def _decimals(share: float) -> int:
    """Decimals that show a percentage with two digits; none from 10 % on, at most `DECIMALS_MAX`."""
    return min(max(1 - math.floor(math.log10(100 * share)), 0), DECIMALS_MAX)
