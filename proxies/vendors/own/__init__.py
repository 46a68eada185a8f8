"""Data of the user's own: copies in the data folder, told as of a cutoff like every vendor's."""
