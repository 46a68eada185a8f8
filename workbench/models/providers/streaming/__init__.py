"""Streamed replies of providers, put together on the wire: when to give up, and how each family streams."""
