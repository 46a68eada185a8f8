"""What the functions of the API share: the store of this environment, and lists of names as callers write them."""

import os
from collections.abc import Sequence

from workbench.settings import home_from
from workbench.store import Store


def open_home() -> Store:
    """Return the store of the data folder that the environment names; the caller closes it."""
    return Store(home_from(os.environ))


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of some nodes or tags; a lone ``"P1"`` is one, and not the names ``"P"`` and ``"1"``."""
    return (names,) if isinstance(names, str) else tuple(names)
