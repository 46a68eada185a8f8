"""Edits, saved scenarios, bands, refits and full resynthesis of a finished run; the run itself is not changed."""
