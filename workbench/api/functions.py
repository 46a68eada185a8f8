"""The functions that are made from operations: ``wb.quantity(...)`` takes the fields of `Quantity` and returns its document.

``functions.pyi`` beside this file says the same to editors and type checkers; ``python -m workbench.api.signatures`` writes it.
"""

from typing import Any

from workbench.api.operation_function import FUNCTIONS, function_named


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return function_named(name)
    raise AttributeError(name)
