"""What the key-free analyst's forecasts were worth at past cutoffs: walk-forward, with the rows known then and no later ones."""
