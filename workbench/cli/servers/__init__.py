"""Commands that serve something until they are stopped: the pages, JupyterLab, MCP, a cluster of workers."""
