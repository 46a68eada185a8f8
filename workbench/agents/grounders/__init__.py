"""Grounders: each gives a leaf its probability, with a report and a notebook that shows it."""
