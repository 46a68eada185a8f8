"""The root's dependence on its tree: paths, swings, uncertainty, noise, and refits of a rule."""
