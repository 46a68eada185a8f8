"""The arms of a study: small declarations over what the workbench has; each gives a probability per event, trial and seed."""
