"""The JSON documents of all screens, and a run as people look at it: the same numbers and words everywhere."""
