"""A round over open questions: a quick pass over all, trees for the few that are worth it, a page; every step on record."""
