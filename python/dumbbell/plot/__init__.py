"""How a result looks: a figure is a function of a run.

```text
panels   one chart for each name: PANELS
figure   panels of a run, stacked on one axis of time
overlay  two sides of a comparison on one axis of time
strands  runs on one grid of time, their mean and range
stack    what every stack of panels shares: zoom, looks
save     a figure as SVG, PNG, PDF, HTML or JSON
lines    from a run to the lines of a panel
data     a table inside a figure's description
thin     fewer points, no extreme lost
colours  hues for groups, shades and dashes for flows
```

One Altair description serves the interactive page and the still picture. What the numbers mean
is `dumbbell.analysis`; the page around a figure is `dumbbell.report`.
"""

from dumbbell.plot.figure import DEFAULT, figure
from dumbbell.plot.overlay import overlay
from dumbbell.plot.panels import PANELS
from dumbbell.plot.save import SUFFIXES, library, save, script_json
from dumbbell.plot.strands import bundle, grid_step_ns, strands

__all__ = [
    "DEFAULT",
    "PANELS",
    "SUFFIXES",
    "bundle",
    "figure",
    "grid_step_ns",
    "library",
    "overlay",
    "save",
    "script_json",
    "strands",
]
