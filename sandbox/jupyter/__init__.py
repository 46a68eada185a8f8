"""The same kernels in Jupyter: the provisioner, JupyterLab's filter, and the sanitizer of what is shown."""
