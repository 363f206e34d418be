"""Ctrl-C as an error with a message."""

__all__ = ["Interrupted"]


class Interrupted(Exception):
    """Raised after Ctrl-C once all processes have ended; the text names what is left, if anything."""
