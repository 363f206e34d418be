"""HTML reports: one page about one or more runs, a comparison or a sweep.

`dumbbell.analysis` computes the numbers, `dumbbell.plots` draws the figures. Modules that draw figures are not imported
here: text and tables need no package of the extra `plot`.
"""
