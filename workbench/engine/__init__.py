"""Analyze, ground, synthesize, resynthesize: the flow of a run over one log."""

from workbench.engine.run.settings import RunSettings, with_preset
from workbench.engine.view import RunView, load_run

__all__ = ["RunSettings", "RunView", "load_run", "with_preset"]
