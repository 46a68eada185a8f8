"""``offline/analyst``: a deterministic, key-free model of rules and statistics; no language model."""
