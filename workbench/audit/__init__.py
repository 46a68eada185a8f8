"""Whether a run can be believed: checks of its own records, badges, drift, revised figures, time and money."""
