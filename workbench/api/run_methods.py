"""The methods of `Analysis` that are made from operations; ``run_methods.pyi`` says the same to editors and type checkers."""

from typing import Any

from workbench.api.operation_function import METHODS, method_named


class _Method:
    """A method whose operation is imported when somebody asks for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: object, owner: type) -> Any:
        method: Any = method_named(self._name)
        return method if run is None else method.__get__(run, owner)


class RunMethods:
    """What can be asked of one run and needs no more than its home."""


for _name in METHODS:
    setattr(RunMethods, _name, _Method(_name))
