"""A function of Python out of an operation: it takes the request's fields and returns the document."""

import inspect
import os
from collections.abc import Callable, Sequence
from datetime import date
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator

from workbench.api.python_terms import in_python_terms
from workbench.operations.base import Home, Operation, answered
from workbench.operations.blocks import Table, html_of
from workbench.operations.run_document import RunDocument
from workbench.plug_points import OPERATIONS, load_plugin
from workbench.requests import RequestField, fields_of

#: Name of a function -> its operation.
FUNCTIONS = {
    "add_documents": "workbench.operations.sources:AddDocuments",
    "add_source": "workbench.operations.sources:AddSource",
    "analyze": "workbench.operations.analysis:Analyze",
    "api_doc": "workbench.operations.endpoints:ApiDoc",
    "apis": "workbench.operations.endpoints:Apis",
    "call": "workbench.operations.endpoints:Call",
    "coherence": "workbench.operations.several_runs:Coherence",
    "decide": "workbench.operations.decisions:Decide",
    "doctor": "workbench.operations.doctor:Doctor",
    "open_page": "workbench.operations.web:Page",
    "quantity": "workbench.operations.quantity:Quantity",
    "read": "workbench.operations.claim_reading:Read",
    "resume": "workbench.operations.analysis:Resume",
    "review": "workbench.operations.claim_review:Review",
    "runs": "workbench.operations.runs:Runs",
    "search_web": "workbench.operations.web:Search",
}
#: Name of a method of `Analysis` -> its operation, and what of its request is fixed.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "ask": ("workbench.operations.asking:Ask", {}),
    "audit": ("workbench.operations.checks:Audit", {}),
    "comment": ("workbench.operations.people:Comment", {}),
    "estimate": ("workbench.operations.people:Estimate", {}),
    "evidence": ("workbench.operations.evidence:Evidence", {}),
    "judge": ("workbench.operations.critique:Judge", {}),
    "noise": ("workbench.operations.drivers:Noise", {}),
    "note": ("workbench.operations.people:Note", {}),
    "red_team": ("workbench.operations.critique:RedTeam", {}),
    "refit": ("workbench.operations.drivers:Refit", {}),
    "reground": ("workbench.operations.analysis:Reground", {}),
    "resolve": ("workbench.operations.people:Resolve", {"due": False, "quiet": False}),
    "scenarios": ("workbench.operations.scenarios:Scenarios", {}),
    "sensitivity": ("workbench.operations.drivers:Sensitivity", {"report": False}),
    "sensitivity_report": ("workbench.operations.drivers:Sensitivity", {"report": True}),
    "sign_off": ("workbench.operations.people:SignOff", {}),
    "transcript": ("workbench.operations.checks:Transcript", {}),
    "what_if": ("workbench.operations.what_if:WhatIf", {}),
    "verify": ("workbench.operations.checks:Verify", {}),
}


class ShownDocument(dict[str, Any]):
    """A document, as it prints for a program, that a notebook shows as the command shows it."""

    request: Operation

    def frame(self) -> Any:
        """Return the first table that is shown as a DataFrame."""
        return _frame(self.request, self)

    def _repr_html_(self) -> str:
        return html_of(self.request.show(self))


class ShownList(list[Any]):
    """Rows that a notebook shows as the command shows them."""

    request: Operation

    def frame(self) -> Any:
        """Return the rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self))

    def _repr_html_(self) -> str:
        return html_of(self.request.show(self))


def _frame(request: Operation, document: Any) -> Any:
    import pandas as pd  # import workbench stays quick

    tables = [block for block in request.show(document) if isinstance(block, Table)]
    return pd.DataFrame(tables[0].rows, columns=list(tables[0].header)) if tables else pd.DataFrame()


def operation_named(place: str) -> type[Operation]:
    """Return the operation at ``module:Class``."""
    module, _, name = place.partition(":")
    found: type[Operation] = getattr(import_module(module), name)
    return found


@cache
def function_named(name: str) -> Callable[..., Any]:
    """Return the function of an operation; its signature has the fields, its docstring what each is."""
    known = FUNCTIONS.get(name)
    operation = operation_named(known) if known else load_plugin(OPERATIONS, name.replace("_", "-"))
    signature = inspect.Signature(parameters_of(operation))

    def function(*values: Any, **named: Any) -> Any:
        home = Home.of(os.environ, run_progress=run_progress)
        return shown_answer(operation.read(signature.bind(*values, **named).arguments), home)

    return _described(function, name, operation, signature)


@cache
def method_named(name: str) -> Callable[..., Any]:
    """Return the method of an operation on one run, which the first argument has."""
    place, fixed = METHODS[name]
    operation = operation_named(place)
    parameters = [each for each in parameters_of(operation) if each.name not in ("run", *fixed)]
    if all(each.kind is not inspect.Parameter.VAR_POSITIONAL for each in parameters):
        parameters = [each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in parameters]
    signature = inspect.Signature(parameters)

    def method(self: Any, *values: Any, **named: Any) -> Any:
        asked = {"run": self.run_id, **fixed, **signature.bind(*values, **named).arguments}
        return self.asked(operation.read(asked))

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    return _described(method, name, operation, inspect.Signature([own, *parameters]))


def _described(
    function: Callable[..., Any], name: str, operation: type[Operation], signature: inspect.Signature
) -> Callable[..., Any]:
    if operation.awaited:
        called = function

        async def function(*values: Any, **named: Any) -> Any:
            return await called(*values, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _docstring(operation, [*signature.parameters])
    function.__signature__ = signature  # type: ignore[attr-defined]
    return in_python_terms(function)


def shown_answer(request: Operation, home: Home) -> Any:
    """Return the document of a request, which a notebook shows, or what is awaited for it; the home is closed then."""
    if request.awaited:
        return _awaited(request, home)
    try:
        return _with_request(answered(request, home), request)
    finally:
        home.close()


async def _awaited(request: Operation, home: Home) -> Any:
    try:
        async with home:
            return _with_request(await request.answer(home), request)
    finally:
        home.close()


#: What a run's document becomes in Python: `run_handle`, whose methods are made here, puts its class in.
RUN_SHOWN_AS: list[Callable[[Any], Any]] = []


def run_progress(store: Any, *, asks: bool = False) -> Any:
    """Open what shows the progress of a run where it was started."""
    # only whoever works on a run loads the widgets
    from workbench.widgets.proofs.cell_progress import progress_listener

    return progress_listener(store, quiet=False)


def _with_request(document: Any, request: Operation) -> Any:
    if isinstance(document, RunDocument):
        return RUN_SHOWN_AS[0](document.run)
    for kind, shown in ((dict, ShownDocument), (list, ShownList)):
        if isinstance(document, kind):
            document = shown(document)
            document.request = request
    return document


def parameters_of(operation: type[Operation]) -> list[inspect.Parameter]:
    """Return the parameters of an operation's function: those by place, then those by keyword."""
    return [
        inspect.Parameter(
            each.name, _kind(each), default=inspect.Parameter.empty if takes_many(each) else each.default
        )
        for each in fields_of(operation)
    ]


def takes_many(each: RequestField) -> bool:
    """Whether the values of a field are typed one after the other, by place."""
    return each.says.place and each.shape == "list"


def _kind(each: RequestField) -> Any:
    if takes_many(each):
        return inspect.Parameter.VAR_POSITIONAL
    return inspect.Parameter.POSITIONAL_OR_KEYWORD if each.says.place else inspect.Parameter.KEYWORD_ONLY


def _docstring(operation: type[Operation], names: Sequence[str]) -> str:
    listed = [
        f"{each.name} : {type_text(each.bare)}{'' if each.required else ', optional'}\n    {each.says.text}"
        for each in fields_of(operation)
        if each.name in names
    ]
    section = ["", "Parameters", "----------", *listed] if listed else []
    return "\n".join([inspect.cleandoc(operation.__doc__ or ""), *section])


def type_text(kind: Any) -> str:
    """Write a type as a caller reads it."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(type_text(each) for each in get_args(kind)))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, get_args(kind)))}]"
    if origin is not None and hasattr(kind, "__metadata__"):
        if any(isinstance(mark, BeforeValidator) for mark in kind.__metadata__):
            return "Any"  # it is read from more than what it becomes
        return type_text(get_args(kind)[0])
    if origin in (list, dict):
        return f"{origin.__name__}[{', '.join(map(type_text, get_args(kind)))}]"
    if kind in (Path, date):
        return f"str | {kind.__name__}"
    if kind is Any or issubclass(kind, BaseModel | Enum):
        return "Any"
    return "None" if kind is NoneType else str(kind.__name__)
