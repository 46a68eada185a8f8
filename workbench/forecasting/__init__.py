"""The forecasting science: pooling, shrinkage, calibration, priors and time-series models, as pure functions.

Nothing here reads a file (but a saved calibration), a clock or the environment. Numbers are probabilities of Yes in
[0, 1]; ``nan`` in a trials matrix means a trial that does not exist. Every logit clips to [1e-4, 1 - 1e-4] first.
"""
