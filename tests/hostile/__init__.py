"""Attacks, and tests that they have no effect: SECURITY.md lists what is promised."""
