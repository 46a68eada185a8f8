"""How an answer is got: transport, raw cache, paging, large answers."""
