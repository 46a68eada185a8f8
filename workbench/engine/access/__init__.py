"""What agents of a run may reach: its model within its budget, its data, the web as of its cutoff."""
