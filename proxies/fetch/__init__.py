"""Fetch answers: transport, raw cache, paging, large answers."""
