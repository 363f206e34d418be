"""How a result reads: one HTML page about one or more runs.

```text
page      runs to a page; its frame is page.html
sections  the parts of the page about one run
words     numbers and sentences
markup    elements and tables, everything escaped
```

The numbers are `dumbbell.analysis`'s, the figure `dumbbell.plot`'s.
"""

from dumbbell.report.page import page, write
from dumbbell.report.sections import repeat_command
from dumbbell.report.words import sentences

__all__ = ["page", "repeat_command", "sentences", "write"]
