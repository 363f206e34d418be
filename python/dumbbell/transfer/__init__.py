"""Downloads over real sockets: an HTTP server that can set its congestion control, and a client that compares them.

`dumbbell.analysis.sequential` evaluates the times and decides when to stop.
"""
