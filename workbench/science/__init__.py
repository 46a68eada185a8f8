"""Scores, comparisons, pooling, calibration and time-series forecasts, as functions on arrays.

Only `tables` reads files (`calibrating.calibration` its saved calibration, `comparing.paper_b_tables` its printed figures) and
only `plots` draws; nothing here knows a clock or the environment. Numbers are probabilities of Yes in [0, 1]; ``nan`` in a
trials matrix means a trial that does not exist. Every logit clips to [1e-4, 1 - 1e-4] first. Brier scores are losses: lower is
better everywhere.
Unless a docstring says otherwise, ``forecast`` is the probability of Yes and ``outcome`` 1 for Yes, 0 for No, of one
shape (n,); empty input, unequal shapes or a value out of range raise `workbench.science.errors.DomainError`.
"""
