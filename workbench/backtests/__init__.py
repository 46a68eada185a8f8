"""Test the key-free analyst's forecasts at past cutoffs: walk-forward, with the rows known then and no later ones."""
