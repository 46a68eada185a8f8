"""Ways round the cutoff that emulated vendors showed (A1 to A15): each is shut, and its honest neighbour comes in."""
