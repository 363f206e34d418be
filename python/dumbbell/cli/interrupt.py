"""Ctrl-C as an error of our own: typer would print its own word for a bare `KeyboardInterrupt`."""

__all__ = ["Interrupted"]


class Interrupted(Exception):
    """Somebody pressed Ctrl-C, and everything that was started has ended; the text says what is left, if anything."""
