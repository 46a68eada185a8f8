"""Streamed replies of providers, put together on the wire: when to give up, and one file per way of streaming."""
