"""Yahoo Finance."""
