"""The tree in the formats of other programs: JSON, CSV, Bayes nets, ProbLog."""
