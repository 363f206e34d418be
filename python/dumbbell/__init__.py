"""Dumbbell: a laboratory for TCP congestion control."""

__version__ = "0.1.0"

__all__ = ["__version__"]
