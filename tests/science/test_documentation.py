"""Every public function of the room says what comes out and shows it."""

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import workbench.science


def modules() -> list[ModuleType]:
    found = []
    for info in pkgutil.walk_packages(workbench.science.__path__, "workbench.science."):
        found.append(importlib.import_module(info.name))
    return found


FUNCTIONS = [
    pytest.param(function, id=f"{module.__name__.removeprefix('workbench.')}.{name}")
    for module in modules()
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_public_function_is_documented_with_an_example_that_runs(function: object) -> None:
    text = inspect.getdoc(function) or ""
    assert ">>> " in text, "no doctest"
    first = text.splitlines()[0]
    assert first.endswith(".") or first.endswith(":") or ":" in first or len(first) > 20
    takes = [name for name in inspect.signature(function).parameters]  # type: ignore[arg-type]
    assert "Parameters" in text or not takes or len(takes) <= 1, "its parameters are not described"
