"""From a claim as a person types it to readings: what it is about, how it is compared, with what, and by when."""
