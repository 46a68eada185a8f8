"""Serve the user's own data: copies in the data folder, clamped like every vendor's."""
