"""Grounders that only think: zero-shot, and trees, graphs and forests of thoughts; paper A's baselines, call for call."""
