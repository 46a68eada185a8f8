"""A run for a reader who has never seen the tool: one fold, four kinds of document, and the trail from a number to its row."""
