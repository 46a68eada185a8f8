"""Commands that ask something of a run that is done, or take it elsewhere."""
