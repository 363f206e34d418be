"""Tests of `dumbbell identify`."""
