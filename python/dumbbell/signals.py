"""The signals that terminate a command. It stops, cleans up and exits with status 130."""

import signal

__all__ = ["ENDING"]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Ctrl-C, `kill`, a closed terminal, and Ctrl-backslash."""
