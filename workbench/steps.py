"""Long work in steps: it stops now and then, so that whoever does it can answer somebody in between."""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

#: Work that stops after each step and comes to a value at its end; inside such work another is done by ``yield from``.
Steps = Generator[None, None, T]


def at_once(steps: Steps[T]) -> T:
    """Do all steps and return what they came to.

    >>> def counted():
    ...     yield
    ...     return 2
    >>> at_once(counted())
    2
    """
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value
