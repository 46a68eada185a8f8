"""Evaluation: scores, calibration error, market returns, consistency and statistics, as functions on arrays.

Files are read in `tables` only, drawn in `plots` only; everything else is pure. Brier scores are losses: lower is
better everywhere.
"""
