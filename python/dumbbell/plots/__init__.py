"""Draw figures: a figure is a function of a run, or of several.

One Altair description serves the interactive page and the static image. `dumbbell.analysis` computes the numbers;
`dumbbell.reports` writes the pages.
"""

from dumbbell.plots.catalogue import Entry, catalogue, draw
from dumbbell.plots.panels import DEFAULT, PANELS, available, columns, figure, packed
from dumbbell.plots.render import SUFFIXES, described, drawn_bytes, library, save, script_json
from dumbbell.plots.several_runs import bundle, comparison_plot, grid_step_ns, series

__all__ = [
    "DEFAULT",
    "PANELS",
    "SUFFIXES",
    "Entry",
    "available",
    "bundle",
    "catalogue",
    "columns",
    "comparison_plot",
    "described",
    "draw",
    "drawn_bytes",
    "figure",
    "grid_step_ns",
    "library",
    "packed",
    "save",
    "script_json",
    "series",
]
