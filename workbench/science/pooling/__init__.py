"""Several forecasts of a question into one: means, shrinkage to a prior, ensembles, elicitation in pairs."""
