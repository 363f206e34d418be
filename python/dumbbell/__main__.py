"""`python -m dumbbell` is the `dumbbell` command."""

from dumbbell.cli import main

main()
