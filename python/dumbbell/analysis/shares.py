"""Shares of one whole as per cents that add up after rounding."""

import math
from collections.abc import Sequence

__all__ = ["percents"]

MOST_PLACES = 4
"""Behind the point: a smaller share prints as 0."""


def percents(shares: Sequence[float | None], least_places: int = 0) -> list[str | None]:
    """Shares (0 to 1) as per cents without the sign; the printed ones add up to their rounded sum.

    All have as many decimals, at least `least_places`, as show the smallest share above 0 with two digits.
    Largest remainder (Hamilton's method): every share is rounded down, then the last digits that are missing go to
    the largest remainders. An unknown share stays None.
    """
    known = [share for share in shares if share is not None]
    places = max([least_places, *(_places(share) for share in known if share > 0)])
    unit: int = 10**places
    scaled = [100 * share * unit for share in known]
    counts = [math.floor(value) for value in scaled]
    missing = round(sum(scaled)) - sum(counts)
    for place in sorted(range(len(known)), key=lambda at: counts[at] - scaled[at])[:missing]:
        counts[place] += 1
    texts = iter(f"{count / unit:.{places}f}" for count in counts)
    return [None if share is None else next(texts) for share in shares]


def _places(share: float) -> int:
    """Decimals that show a share's per cent with two digits; none from 10 % on, `MOST_PLACES` at most."""
    return min(max(1 - math.floor(math.log10(100 * share)), 0), MOST_PLACES)
