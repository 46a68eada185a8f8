"""Whether one method is better than another, and how sure a score is: bootstrap, intervals, McNemar, mixed model, power."""
