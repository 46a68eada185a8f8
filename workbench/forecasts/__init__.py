"""The chance of a dated claim about one series, from its own past: pure functions on arrays."""
