"""Analyzers: each expands a claim into a tree of propositions."""
