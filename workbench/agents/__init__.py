"""The agents: analyzers break a claim down, grounders score a leaf, synthesizers combine children."""
