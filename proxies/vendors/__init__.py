"""Who is asked: one file or folder per vendor, with its source and its codec."""
