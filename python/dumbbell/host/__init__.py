"""Inspect the local host's TCP settings and connections, and change its default congestion control.

Most functions work on text; `sources.LocalHost(root=DIR)` reads a folder instead of this host. `dumbbell.analysis`
evaluates connections, `dumbbell.cli` formats the output.
"""
