"""The flow of a run: opening it, planning its tree, grounding its leaves, and the state that its events add up to."""
