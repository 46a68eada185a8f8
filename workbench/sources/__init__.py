"""Data of the user's own: read, dated, shown, copied into the data folder, checked and attacked; no screen's words."""
