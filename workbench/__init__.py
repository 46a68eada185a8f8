"""The analyst workbench: claims as trees, leaves grounded in sealed notebooks, roots that can be recomputed."""

__version__ = "0.1.0"
