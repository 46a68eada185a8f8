"""Synthesizers: each combines children's beliefs into their parent's, by a rule."""
