"""A package of somebody else: one part for each plug point of the workbench."""
