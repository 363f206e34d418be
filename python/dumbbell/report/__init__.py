"""How a result reads: one HTML page about one or more runs, or about a comparison.

```text
page      runs to a page
compared  a comparison to a page
verdict   a comparison in words and cells
frame     what every page shares; it is page.html
sections  the parts of the page about one run
words     numbers and sentences
markup    elements and tables, everything escaped
```

The numbers are `dumbbell.analysis`'s, the figure `dumbbell.plot`'s.
"""

from dumbbell.report.compared import comparison_page, write_comparison
from dumbbell.report.page import page, write
from dumbbell.report.sections import repeat_command
from dumbbell.report.verdict import HEAD, cells, described, one_sided_cells, verdict, verdict_of_all
from dumbbell.report.words import sentences

__all__ = [
    "HEAD",
    "cells",
    "comparison_page",
    "described",
    "one_sided_cells",
    "page",
    "repeat_command",
    "sentences",
    "verdict",
    "verdict_of_all",
    "write",
    "write_comparison",
]
