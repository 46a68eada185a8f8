"""Grounding on other processes and machines, through a Dask cluster; loaded only where workers are asked for."""
