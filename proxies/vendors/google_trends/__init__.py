"""Google Trends, through SearchApi."""
