"""How a result looks: a figure is a function of a run.

```text
panels   one chart for each name: PANELS
figure   panels stacked on one axis of time
save     a figure as SVG, PNG, PDF, HTML or JSON
lines    from a run to the lines of a panel
thin     fewer points, no extreme lost
colours  hues for groups, shades and dashes for flows
```

One Altair description serves the interactive page and the still picture. What the numbers mean
is `dumbbell.analysis`; the page around a figure is `dumbbell.report`.
"""

from dumbbell.plot.figure import DEFAULT, figure
from dumbbell.plot.panels import PANELS
from dumbbell.plot.save import SUFFIXES, library, save, script_json

__all__ = ["DEFAULT", "PANELS", "SUFFIXES", "figure", "library", "save", "script_json"]
