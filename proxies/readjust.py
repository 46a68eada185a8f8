"""The readjust guard: undoing what splits and dividends after the cutoff did to earlier prices."""

from collections.abc import Callable
from typing import Any

from proxies.clock import Cutoff
from proxies.errors import CutoffRefused
from proxies.policies.base import Ask, Found, Lookup


def adjust_lookups(ask: Ask, cutoff: Cutoff) -> tuple[Lookup, ...]:
    """The events that must be read before prices can be told."""
    if not ask.endpoint.as_of.adjust:
        return ()
    raise CutoffRefused(f"{ask.endpoint.path} cannot be told as of a cutoff yet")


def adjuster(ask: Ask, cutoff: Cutoff, found: Found) -> Callable[[Any], Any]:
    """A function from a row to the row as it read at the cutoff."""
    return lambda row: row
