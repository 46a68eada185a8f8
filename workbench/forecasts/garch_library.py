"""The library of GARCH models, loaded without a look at the folder that somebody stands in."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def garch_model() -> Callable[..., Any]:
    """Return ``arch.arch_model``.

    arch imports matplotlib, which reads a ``matplotlibrc`` of the current folder, and that folder may be a stranger's.
    """
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(os.sep)
        from arch import arch_model
    finally:
        os.fchdir(here)
        os.close(here)
    model: Callable[..., Any] = arch_model
    return model
