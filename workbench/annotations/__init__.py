"""Remarks on a run by people and second models: comments, sign-offs, second opinions, the strongest case against it."""
