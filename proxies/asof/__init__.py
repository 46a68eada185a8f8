"""Decide what may be known when: the clock, the as-of policies, and the filter of rows."""
