"""Tests of `dumbbell fit` and `dumbbell predict`."""
