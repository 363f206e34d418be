"""How a result looks: a figure is a function of a run.

```text
catalogue      every figure by name, and the function that draws it: `draw`
figure         panels of one run, stacked on one axis of time
panels         one panel for each name: PANELS; they are made by
flowpanels       lines of flows
pathpanels       the queue, its losses, pings
bands            what controllers were doing
layers         a panel as data, which has two readers:
charts           Altair's layers, for figures
columns          numbers, for a page that draws by itself
distributions  how the delays of one run are distributed
overlay        several runs on one axis of time
contrast       two sides of a comparison on one axis of time
strands        runs on one grid of time, their mean and range
scatter        throughput against delay, with an ellipse for each controller
box            one metric over seeds
swept          maps and families of lines of a sweep, drawn by
maps             cells, colours, marks of what isn't sure
families         lines with bands
lattice          where cells lie, and what is painted between points
contours         lines of one level
ramps            colours for numbers
save           a figure as SVG, PNG, PDF, HTML or JSON
describe       a description in which no title is an expression
drawing        the process that makes SVG, PNG and PDF; its program is
converter        a file of its own
vega           the script that draws one in a page
frame          title, style, zoom
stack          panels under each other, with one zoom
axes           axes with units, tables in a description, lines of flows
lines          from a run to the lines of a panel
path           what the path could carry: rate, BDP, limit
labels         what to call a run among others
ellipse        of a cloud of points
thin           fewer points, no extreme lost
colours        hues for groups, shades and dashes for flows
```

One Altair description of a figure serves the interactive page and the still picture. What the numbers mean
is `dumbbell.analysis`; the page around a figure is `dumbbell.report`.
"""

from dumbbell.plot.catalogue import Entry, catalogue, draw
from dumbbell.plot.columns import columns, packed
from dumbbell.plot.contrast import contrast
from dumbbell.plot.describe import described
from dumbbell.plot.drawing import drawn_bytes
from dumbbell.plot.figure import DEFAULT, figure
from dumbbell.plot.panels import PANELS, available
from dumbbell.plot.save import SUFFIXES, save, script_json
from dumbbell.plot.strands import bundle, grid_step_ns, strands
from dumbbell.plot.vega import library

__all__ = [
    "DEFAULT",
    "PANELS",
    "SUFFIXES",
    "Entry",
    "available",
    "bundle",
    "catalogue",
    "columns",
    "contrast",
    "described",
    "draw",
    "drawn_bytes",
    "figure",
    "grid_step_ns",
    "library",
    "packed",
    "save",
    "script_json",
    "strands",
]
