"""Financial Modeling Prep."""
