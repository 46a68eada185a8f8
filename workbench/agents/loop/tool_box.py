"""What a tool of the agent loop is, and the box that runs the calls of one move side by side.

The tools of a loop are fixed when it begins; nothing that a tool returns can add one, take one away or change what it may do.
A call that is wrong, refused or unknown is answered in words the model can act on, and never raises.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Protocol, TypeVar

import yaml

from proxies.errors import ProxyError
from proxies.hashing import sha256_of
from workbench.models.base import ToolSpec
from workbench.quoting import one_line

R = TypeVar("R")

#: Data calls of one loop are numbered from here on, so that parallel loops of one leaf have addresses of their own.
TRACK = 100_000
_PER_STEP = 100
#: Calls of one move that are answered.
MAX_CALLS = 10


@cache
def tool_texts() -> dict[str, dict[str, Any]]:
    """Return what models are told of each tool, by its name."""
    texts: dict[str, dict[str, Any]] = yaml.safe_load(
        files("workbench.agents.loop").joinpath("tools.yaml").read_text("utf-8")
    )
    return texts


def tool_spec(name: str, **other: Any) -> ToolSpec:
    """Return a tool as models read it, with ``other`` in place of parts of its text."""
    text = {**tool_texts()[name], **other}
    description = text.pop("description").strip()
    parameters = {"type": "object", **text, "additionalProperties": False}
    return ToolSpec(name=name, description=description, parameters=parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool call of a move: ``id`` is None where it stood in the text of the reply."""

    id: str | None
    name: str
    arguments: dict[str, Any]

    def key(self) -> str:
        """Equal for equal calls, whatever belief came with them."""
        wanted = {name: value for name, value in self.arguments.items() if name != "updated_belief"}
        return json.dumps([self.name, wanted], sort_keys=True, default=str)


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """Where a call stands: step of its loop from 1, number in the step from 1, and the loop's track (0 is the leaf's own)."""

    step: int
    number: int
    track: int = 0

    @property
    def address(self) -> int:
        """The step of the ledger address of its data calls."""
        return self.track * TRACK + self.step * _PER_STEP + self.number

    def id(self, kind: str, number: int | None = None) -> str:
        """Return the id of what the call brought: ``S3.1`` for a search of step 3, ``Q2S3.1`` in the second sub-question."""
        track = f"Q{self.track}" if self.track else ""
        place = f"{self.step}" if self.number == 1 else f"{self.step}{chr(95 + self.number)}"
        return f"{track}{kind}{place}" + (f".{number}" if number is not None else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """Something that a belief can cite: its id, what it is, where it is from, and since when it was known (ISO, or "")."""

    id: str
    title: str
    origin: str
    published: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one call brought."""

    #: As the model reads it.
    text: str
    #: Content hashes of the data answers it rests on.
    answers: tuple[str, ...] = ()
    sources: tuple[ToolSource, ...] = ()
    #: What is remarkable about foreign text in it (`quoting`).
    marks: tuple[str, ...] = ()
    #: Whether it brought nothing: a wrong call, a refusal, an error.
    failed: bool = False
    #: Id of the notebook cell that was run.
    cell: str | None = None
    #: That the call took, if that is on record.
    seconds: float = 0.0

    @property
    def sha256(self) -> str:
        """Hash of the text: what the model was shown, found again in the next request."""
        return text_hash(self.text)


def text_hash(text: str) -> str:
    """Return ``"sha256:<hex>"`` of a text."""
    return sha256_of(text.encode("utf-8", "replace"))


async def together(work: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """Return what coroutines give that run side by side; the first error ends the others and is raised as it is.

    A task group would raise a group, and whoever waits for a leaf tells its errors apart.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:  # raised again as it is; cancellation too must end the others first
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class Tool(Protocol):
    """One tool: what the model is told of it, and how a call is answered."""

    @property
    def spec(self) -> ToolSpec:
        """Name, description and parameters."""
        ...

    #: Whether its calls may run beside others; a notebook's cells may not.
    independent: ClassVar[bool] = True

    async def call(self, arguments: Mapping[str, Any], place: ToolPlace) -> Observation:
        """Answer a call whose arguments fit the parameters; raises ``ProxyError`` where data are refused."""
        ...


@dataclass(slots=True)
class ToolBox:
    """The tools of one loop; ``track`` keeps the addresses of parallel loops of a leaf apart."""

    tools: Sequence[Tool]
    track: int = 0
    sources: dict[str, ToolSource] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools, in the order in which the model is told of them."""
        return tuple(tool.spec.name for tool in self.tools)

    async def run(self, calls: Sequence[ToolUse], step: int) -> list[Observation]:
        """Answer the calls of one move, in their order; independent ones run side by side.

        ``step`` counts from 1.
        """
        by_name = {tool.spec.name: tool for tool in self.tools}

        def work(number: int) -> Coroutine[Any, Any, Observation]:
            call = calls[number - 1]
            return self._answer(by_name.get(call.name), call, step, number)

        numbers = range(1, len(calls) + 1)
        alone = [n for n in numbers if (tool := by_name.get(calls[n - 1].name)) and not tool.independent]
        beside = [n for n in numbers if n not in alone]
        done = dict(zip(beside, await together([work(n) for n in beside]), strict=True))
        for n in alone:
            done[n] = await work(n)
        observations = [done[n] for n in numbers]
        for observation in observations:
            for source in observation.sources:
                self.sources.setdefault(source.id, source)
        return observations

    async def _answer(self, tool: Tool | None, call: ToolUse, step: int, number: int) -> Observation:
        if tool is None:
            return Observation(
                text=f"There is no tool {one_line(call.name, 60)!r} here. There are: {', '.join(self.names)}.",
                failed=True,
            )
        arguments = {name: value for name, value in call.arguments.items() if name != "updated_belief"}
        if fault := argument_fault(tool.spec, arguments):
            return Observation(text=f"{call.name} was not called: {fault}", failed=True)
        try:
            return await tool.call(arguments, ToolPlace(step, number, self.track))
        except ProxyError as error:
            return Observation(text=f"{call.name} brought nothing: {one_line(str(error), 600)}", failed=True)


_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def argument_fault(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with a call's arguments by the tool's parameters, "" if nothing.

    Names, required ones, plain types and lengths; a schema's deeper parts are read by the tool itself.
    """
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    unknown = sorted(set(arguments) - set(properties))
    if unknown:
        return f"it takes {', '.join(properties)}, not {one_line(', '.join(unknown), 100)}"
    missing = [name for name in spec.parameters.get("required", ()) if name not in arguments]
    if missing and missing != ["updated_belief"]:
        return f"it needs {', '.join(name for name in missing if name != 'updated_belief')}"
    for name, value in arguments.items():
        schema = properties[name]
        kinds = _KINDS.get(schema.get("type", ""), ())
        if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            return f"{name} must be of type {schema['type']}"
        if isinstance(value, str) and len(value) > schema.get("maxLength", 20_000):
            return f"{name} is longer than {schema.get('maxLength', 20_000)} characters"
        if "enum" in schema and value not in schema["enum"]:
            return f"{name} is one of {', '.join(map(str, schema['enum']))}"
    return ""
