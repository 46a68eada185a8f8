"""The workbench for other programs' agents: a server of the Model Context Protocol, under one pinned cutoff."""
