"""``python -m workbench.api.signatures`` writes ``functions.pyi``: what editors and type checkers know of the functions."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from workbench.api.operation_function import (
    FUNCTIONS,
    METHODS,
    function_named,
    method_named,
    operation_named,
    type_text,
)
from workbench.operations.base import Operation
from workbench.requests import fields_of

HERE = Path(__file__).parent
_HEAD = '''"""Written by ``python -m workbench.api.signatures``; a test holds it equal to the operations."""

from datetime import date
from pathlib import Path
from typing import Any, Literal

from workbench.api.operation_function import ShownDocument, ShownList
'''


def stubs() -> dict[str, str]:
    """Return the text of each stub by its file's name."""
    functions = [
        _signature(name, function_named(name), operation_named(place)) for name, place in FUNCTIONS.items()
    ]
    methods = [
        _signature(name, method_named(name), operation_named(place)) for name, (place, _) in METHODS.items()
    ]
    body = "\n".join(f"    {line}".rstrip() for each in methods for line in each.splitlines())
    return {
        "functions.pyi": "\n".join([_HEAD, *functions]),
        "run_methods.pyi": f"{_HEAD}\nclass RunMethods:\n{body}\n",
    }


def _signature(name: str, function: Callable[..., Any], operation: type[Operation]) -> str:
    fields = {each.name: each for each in fields_of(operation)}
    words: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            words.append("self")
            continue
        each = fields[parameter.name]
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not any(word[0] == "*" for word in words):
            words.append("*")
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            words.append(f"*{each.name}: {type_text(get_args(each.bare)[0])}")
        else:
            none = " | None" if each.default is None else ""
            default = "" if each.required else f" = {each.default!r}"
            words.append(f"{each.name}: {type_text(each.bare)}{none}{default}")
    lines = "".join(f"    {word},\n" for word in words)
    text = "\n".join(f"    {line}".rstrip() for line in (inspect.getdoc(function) or "").splitlines())
    return f'def {name}(\n{lines}) -> {_document(operation)}:\n    """{text.lstrip()}\n    """\n'


def _document(operation: type[Operation]) -> str:
    returned = str(operation.answer.__annotations__["return"])
    shown = {"str": "str", "Any": "Any"}
    return shown.get(returned, "ShownList" if returned.startswith("list") else "ShownDocument")


if __name__ == "__main__":
    for file, text in stubs().items():
        (HERE / file).write_text(text, encoding="utf-8")
