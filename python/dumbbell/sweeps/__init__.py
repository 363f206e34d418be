"""Sweeps: run one experiment at many points; the result is a table with one row per run.

`dumbbell.spec.sweep` parses sweep files, `dumbbell.analysis` evaluates the table.
"""
