"""What the root depends on: paths, swings, uncertainty, noise, and refits of a rule."""
