"""Ground leaves on other processes and machines, through a Dask cluster; imported only where workers are asked for."""
