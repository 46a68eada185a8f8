"""Whether one method is better than another: paired bootstrap, McNemar, mixed model, power."""
