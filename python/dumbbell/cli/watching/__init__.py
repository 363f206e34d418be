"""The screen of `dumbbell watch`.

`dumbbell.analysis.live_sockets` computes the numbers. Only this package imports textual.
"""
