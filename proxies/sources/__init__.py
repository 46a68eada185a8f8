"""Where data come from: one file per source."""
