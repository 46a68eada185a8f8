"""One agent loop for all grounders that call tools: ask, run tools, observe, go on, submit."""
