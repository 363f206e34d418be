"""Which controller made a capture: the path is estimated, candidates are simulated on it, the nearest is named."""
