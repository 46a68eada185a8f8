"""Forecasts that mean what they say: Platt scaling, plain and hierarchical, left out exactly, and base-rate priors."""
