"""The methods of `Analysis` that are made from operations; ``run_methods.pyi`` says the same to editors and type checkers."""

from functools import partial
from typing import Any

from workbench.api.operation_function import METHODS, method_named


class RunMethods:
    """What can be asked of one run and needs no more than its home."""

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return partial(method_named(name), self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *METHODS})
