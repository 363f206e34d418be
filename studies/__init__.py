"""Studies: what was measured with Dumbbell, and the pages that show it. `studies/studies.toml` lists them."""
