"""Comparisons of methods, and the uncertainty of scores: bootstrap, intervals, McNemar, mixed model, power."""
