"""The vendors: one file or folder each, with its source and its codec."""
