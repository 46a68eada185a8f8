"""What a reader of a web page would have seen: its elements, its style, its text."""
