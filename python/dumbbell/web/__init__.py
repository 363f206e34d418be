"""The workbench: a local page for changing an experiment, and its server.

The page is `ui/`; the build puts it into `page/`. `dumbbell.plots` makes the figures, `dumbbell.analysis` the numbers.
"""
