"""Contradictions between statements, and questions with several options."""
