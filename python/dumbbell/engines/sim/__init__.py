"""The packet simulator as an engine."""
