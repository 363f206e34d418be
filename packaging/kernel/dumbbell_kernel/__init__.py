"""A kernel for Dumbbell's kernel engine: files only. `dumbbell.kernels.store` finds them."""
