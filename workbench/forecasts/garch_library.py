"""The library of GARCH models, loaded without a look at the folder that somebody stands in."""

import os
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from typing import Any


@cache
def garch_model() -> Callable[..., Any]:
    """Return ``arch.arch_model``.

    arch imports matplotlib, which reads a ``matplotlibrc`` of the current folder, and that folder may be a stranger's.
    """
    try:
        with chdir(os.sep):
            from arch import arch_model
    except (
        FileNotFoundError
    ):  # the folder is gone: there is nothing in it to be read, and nowhere to go back to
        from arch import arch_model
    model: Callable[..., Any] = arch_model
    return model
