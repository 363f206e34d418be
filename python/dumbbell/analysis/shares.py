"""Shares as percentages that add up after rounding."""

import math
from collections.abc import Sequence

__all__ = ["percents"]

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
