"""``python -m workbench.api.signatures`` writes ``functions.pyi``: what editors and type checkers know of the functions."""

import inspect
import re
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
_HEAD = '"""Written by ``python -m workbench.api.signatures``; a test holds it equal to the operations."""'
_IMPORTS = {
    "date": "from datetime import date",
    "Path": "from pathlib import Path",
    "Any": "from typing import Any",
    "Literal": "from typing import Literal",
    "Analysis": "from workbench.api.run_handle import Analysis",
    "ShownDocument": "from workbench.api.operation_function import ShownDocument",
    "ShownList": "from workbench.api.operation_function import ShownList",
}


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
        "functions.pyi": _with_imports("\n".join(functions)),
        "run_methods.pyi": _with_imports(f"class RunMethods:\n{body}\n"),
    }


def _with_imports(text: str) -> str:
    used = [line for name, line in _IMPORTS.items() if re.search(rf"(: |\[|\| |> ){name}\b", text)]
    return "\n".join([_HEAD, "", *used, "", text])


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
    kind = "async def" if operation.awaited else "def"
    return f'{kind} {name}(\n{lines}) -> {_document(operation)}:\n    """{text.lstrip()}\n    """\n'


def _document(operation: type[Operation]) -> str:
    returned = str(operation.answer.__annotations__["return"])
    shown = {"str": "str", "Any": "Any", "RunDocument": "Analysis"}
    return shown.get(returned, "ShownList" if returned.startswith("list") else "ShownDocument")


if __name__ == "__main__":
    for file, text in stubs().items():
        (HERE / file).write_text(text, encoding="utf-8")
