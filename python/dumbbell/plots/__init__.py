"""Draw figures: a figure is a function of a run, or of several.

```text
catalogue         all figures by name; `draw` draws one
figure            panels of one run, stacked on one time axis
panels            the panels by name (`PANELS`), made by
flow_panels         lines of flows
path_panels         the queue, its losses, pings
state_bands         states of the controllers
layers            a panel as data, for two readers:
charts              Altair layers, for figures
panel_data          binary numbers, for a page that draws on its own
distributions     delay distributions of one run
overlay           several runs on one time axis
comparison_plot   both arms of a comparison on one time axis
series            runs resampled to one time grid, their mean and range
scatter           throughput against delay, an ellipse per controller
box               one metric over seeds
parametric        completion time and throughput over one parameter
download_times    times of downloads and their ratio
sweep_map         maps and line families of a sweep, drawn by
heatmap             cells, colours, marks of uncertainty
line_families       lines with confidence bands
heatmap_layout    cell positions, and the colours between refined points
contours          contour lines
ramps             colour scales
save              a figure as SVG, PNG, PDF, HTML or JSON
describe          a Vega-Lite description with titles escaped
render_process    the process that renders SVG, PNG and PDF; its program is
converter         a separate file
vega              the script that draws a figure in a page
chart_style       title, style, zoom
panel_stack       stacked panels with a shared zoom
chart_axes        axes with units, inline tables, lines of flows
lines             the lines of a panel
path_limits       limits of the path: rate, BDP, queue limit
labels            names that distinguish runs
ellipse           the 1-σ ellipse of points
downsample        fewer points per line, extremes kept
colours           hues for controllers, shades and dashes for flows
```

One Altair description serves the interactive page and the static image. `dumbbell.analysis` computes the numbers;
`dumbbell.reports` writes the pages.
"""

from dumbbell.plots.catalogue import Entry, catalogue, draw
from dumbbell.plots.comparison_plot import comparison_plot
from dumbbell.plots.describe import described
from dumbbell.plots.figure import DEFAULT, figure
from dumbbell.plots.panel_data import columns, packed
from dumbbell.plots.panels import PANELS, available
from dumbbell.plots.render_process import drawn_bytes
from dumbbell.plots.save import SUFFIXES, save, script_json
from dumbbell.plots.series import bundle, grid_step_ns, series
from dumbbell.plots.vega import library

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
