"""Check whether a run can be believed: its own records, badges, drift, revised figures, time and money."""
