"""The values of a tree, and the effect of an edit on them: no model is called."""
