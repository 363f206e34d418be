"""How a result reads: one HTML page about one or more runs, or about a comparison.

```text
page       runs to a page
beside     what a page of several runs begins with
sections   the parts of the page about one run
asked      the experiment as a file, as a script, and drawn
drawing    the path as a picture
sentences  what happened, made from numbers only; they are in
sharing      who got what
pathwords    the link, the queue, pings and round trips
flowwords    what controllers did
compared   a comparison to a page
verdict    a comparison in words and cells
frame      what every page shares; it is page.html
words      numbers as people read them
markup     elements and tables, everything escaped
```

The numbers are `dumbbell.analysis`'s, the figure `dumbbell.plot`'s.
"""

from dumbbell.report.compared import comparison_page, write_comparison
from dumbbell.report.explained import EXPLAINED, condition_cells, options, setting_cells, settings_title
from dumbbell.report.page import page, write
from dumbbell.report.sections import repeat_command
from dumbbell.report.sentences import sentences
from dumbbell.report.verdict import HEAD, cells, described, one_sided_cells, verdict, verdict_of_all

__all__ = [
    "EXPLAINED",
    "HEAD",
    "cells",
    "comparison_page",
    "condition_cells",
    "described",
    "one_sided_cells",
    "options",
    "page",
    "repeat_command",
    "sentences",
    "setting_cells",
    "settings_title",
    "verdict",
    "verdict_of_all",
    "write",
    "write_comparison",
]
