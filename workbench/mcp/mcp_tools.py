"""The tools of the server: each is an operation. None takes a cutoff; the server has one."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from workbench.mcp.client_home import ClientHome
from workbench.mcp.client_operations import (
    ApiDocs,
    ListRuns,
    ProposeEdit,
    ProposeRun,
    ReadProof,
    ReadTree,
    TryEdits,
)
from workbench.operations.base import Operation
from workbench.operations.checks import Verify
from workbench.operations.claim_reading import Read
from workbench.operations.drivers import Sensitivity
from workbench.operations.endpoints import Call
from workbench.operations.web import Page, Search
from workbench.plug_points import OPERATIONS, load_plugin, plugin_names
from workbench.requests import fields_of

#: Of a list or mapping in one call: 2,000 additions to a tree took seven seconds.
MOST_ITEMS = 200
#: Seconds after which a call is answered without its result; a proof's cells are run again in more.
MOST_SECONDS = 60.0
LONGER = {"verify": 900.0}
TOOLS: dict[str, type[Operation]] = {
    "search": Search,
    "open_page": Page,
    "call_api": Call,
    "api_docs": ApiDocs,
    "read_claim": Read,
    "list_runs": ListRuns,
    "read_tree": ReadTree,
    "read_proof": ReadProof,
    "what_if": TryEdits,
    "sensitivity": Sensitivity,
    "verify": Verify,
    "propose_edit": ProposeEdit,
    "propose_run": ProposeRun,
}


class _Arguments(BaseModel):
    # An argument that is not on the list is refused, not ignored: a client that sends a cutoff is told that it has no say.
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_size(cls, values: Any) -> Any:
        if isinstance(values, dict):
            for name, value in values.items():
                if isinstance(value, list | dict) and len(value) > MOST_ITEMS:
                    raise ValueError(f"{name!r:.60} has {len(value)} items, at most {MOST_ITEMS} are taken")
        return values


def arguments_of(operation: type[Operation]) -> type[BaseModel]:
    """Return the arguments of an operation's tool: its fields but the cutoff, which is the server's, and what is a person's alone."""
    kinds: dict[str, Any] = {
        each.word: (
            Annotated[each.kind, Field(description=each.says.text)],
            ... if each.required else each.default,
        )
        for each in fields_of(operation)
        if each.name != "cutoff" and each.name not in operation.person
    }
    return create_model(f"{operation.__name__}Arguments", __base__=_Arguments, **kinds)


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool: its operation, its arguments, and the seconds it may take."""

    name: str
    operation: type[Operation]
    arguments: type[BaseModel]
    seconds: float

    async def answer(self, arguments: BaseModel, home: ClientHome) -> Any:
        """Answer with a JSON value; the cutoff, and the claim whose answer no search may find, are the server's."""
        pinned = {"cutoff": home.runs.cutoff.text, "question": home.statement}
        named = {
            each.name: getattr(arguments, each.word)
            for each in fields_of(self.operation)
            if each.word in type(arguments).model_fields
        }
        own = {each: text for each, text in pinned.items() if each in self.operation.model_fields}
        request = self.operation.read({**named, **own})
        if not request.waits():
            return await asyncio.to_thread(request.answer, home)
        if self.name not in LONGER:
            return await request.answer(home)
        async with home.verifying:  # what starts kernels goes one at a time
            return await request.answer(home)


def tools() -> Mapping[str, McpTool]:
    """Return the tools by name, those of installed packages first."""

    def named() -> Iterator[tuple[str, type[Operation]]]:
        for name in plugin_names(OPERATIONS):
            if (operation := load_plugin(OPERATIONS, name)).tool:
                yield name.replace("-", "_"), operation
        yield from TOOLS.items()

    return {
        name: McpTool(name, operation, arguments_of(operation), LONGER.get(name, MOST_SECONDS))
        for name, operation in named()
    }
