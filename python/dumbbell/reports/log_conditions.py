"""Text of a log's conditions and of the settings that apply them to a run, for the terminal and for a page."""

from collections.abc import Sequence

from dumbbell.analysis.comparison import Comparison
from dumbbell.analysis.conditions import Condition
from dumbbell.analysis.proposed_settings import Setting

__all__ = ["EXPLAINED", "condition_cells", "options", "setting_cells", "settings_title"]

EXPLAINED = "Conditions inferred from the log"
_LABELS = {
    "duration_s": ("duration", "s"),
    "start_offset_s": ("start offset", "s"),
    "mss_bytes": ("MSS", "bytes"),
    "mtu_bytes": ("MTU", "bytes"),
    "offloads": ("offloads", ""),
    "base_rtt_ms": ("base RTT", "ms"),
    "receive_window_bytes": ("receive window", "bytes"),
    "send_buffer_bytes": ("send buffer", "bytes"),
    "bottleneck_mbps": ("bottleneck", "Mbit/s"),
    "cycle_s": ("cycle", "s"),
}


def condition_cells(condition: Condition) -> tuple[str, str, str]:
    """The condition's label, its value with its interval, and the evidence."""
    label, unit = _LABELS[condition.name]
    if condition.value is None:
        return label, "–", condition.evidence
    if not unit:
        return label, "on" if condition.value else "off", condition.evidence
    return label, f"{_number(condition.value)} {unit}{_interval(condition)}", condition.evidence


def settings_title(comparison: Comparison) -> str:
    """A heading for the proposed settings."""
    run = next(arm.name for arm in (comparison.first, comparison.second) if arm.engine != "import")
    if not comparison.settings:
        return f"No known difference between the conditions of {run} and the log"
    return f"Settings that give {run} the log's conditions"


def setting_cells(settings: Sequence[Setting]) -> list[tuple[str, str]]:
    """`path.mtu: 1500 → 4200` and its reason; `likewise` for a repeated reason."""
    before = ["", *(each.because for each in settings)]
    return [
        (f"{each.key}: {each.run} → {each.value}", "likewise" if each.because == last else each.because)
        for each, last in zip(settings, before, strict=False)
    ]


def options(settings: Sequence[Setting]) -> str:
    """All settings as command-line options."""
    return " ".join(each.option for each in settings)


def _interval(condition: Condition) -> str:
    low, high = condition.low, condition.high
    if low is None or high is None or high - low < 1:
        return ""
    return f" ({_number(round(low))} to {_number(round(high))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == round(value) else f"{value:.4g}"
