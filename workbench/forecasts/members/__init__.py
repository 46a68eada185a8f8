"""The models that an ensemble draws paths from, each a function of the past of one series."""
