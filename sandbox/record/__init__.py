"""What a session leaves: the journal, the notebook rendered from it, a cell's result, and the check that a proof still stands."""
