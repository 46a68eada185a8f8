"""A run as one file, a stranger's zip, signatures, and a review that comes back."""
