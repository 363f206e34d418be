"""Search for the network in which a controller does worst.

`dumbbell.sweeps.trials` proposes and runs the points; this package gives an experiment its bounds, confirms the worst
points on the kernel, makes the worst experiment small and saves it.
"""
