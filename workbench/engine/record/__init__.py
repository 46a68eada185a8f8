"""The record of a run: what happens is written down, folded into its state, and kept as files."""
