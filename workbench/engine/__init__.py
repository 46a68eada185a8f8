"""Analyze, ground, synthesize, resynthesize: the flow of a run over one log."""
