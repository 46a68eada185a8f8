"""A tournament night: many open questions, a quick pass over all, trees for the few that are worth it, forecasts to hand in."""
