"""The signals that ask a command to end, each handled alike: it stops, cleans up and ends with status 130."""

import signal

__all__ = ["ENDING"]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Ctrl-C, `kill`, a terminal that is closed, and Ctrl-backslash."""
