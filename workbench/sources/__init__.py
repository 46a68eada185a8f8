"""Read, date, preview, store, check and attack the user's own data; no screen's words."""
