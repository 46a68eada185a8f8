"""What a tree's values are, and what an edit does to them: no model is called."""
