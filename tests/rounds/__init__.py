"""Tournament nights."""
