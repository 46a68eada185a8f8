"""From a leaf to its belief: its trials, each with a notebook and a check of its proof, and the one number they count as."""
