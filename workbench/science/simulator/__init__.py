"""Worlds with known truth, in which the papers' claims about bias, variance, noise and depth can be tested without a model."""
