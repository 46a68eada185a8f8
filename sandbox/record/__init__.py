"""The records of a session: journal, notebook, results of cells, and the verification of a proof."""
