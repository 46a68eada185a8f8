"""A leaf that one dated series decides: which series a sentence means, what its past says, and a figure of it."""
