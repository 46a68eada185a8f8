"""Commands that begin a run, go on with one, steer it, and list what is there."""
