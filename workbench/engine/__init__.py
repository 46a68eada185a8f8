"""The flow of a run: a claim becomes a plan, its leaves are grounded, proofs checked, every parent follows; all of it on one log."""
