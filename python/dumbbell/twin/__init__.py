"""The path of a recording as an experiment, and other controllers on it: `dumbbell fit` and `dumbbell predict`."""
