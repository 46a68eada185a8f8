"""A reply of the model as a move of the loop: the tools it calls and its belief.

A model that has no tool calls writes them as JSON; so do models that have them, now and then. Both are read, and nothing is
guessed: a reply that calls nothing, or submits beside other calls, goes back with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.agents.errors import MalformedReply
from workbench.agents.loop.belief_state import FIELD, BeliefState, ReadBelief, belief_schema, read_belief
from workbench.agents.loop.tool_box import MAX_CALLS, ToolUse
from workbench.agents.replies.json_reply import read_json
from workbench.agents.replies.lenient_json import first_line
from workbench.models.base import ModelReply, ToolSpec
from workbench.models.providers.litellm_reply import MALFORMED
from workbench.models.thoughts import without_thoughts


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What the model wants to do next: its words, its calls, its belief where one is asked for."""

    text: str
    calls: tuple[ToolUse, ...]
    belief: ReadBelief | None = None

    @property
    def stated(self) -> BeliefState | None:
        """The belief as the model states it."""
        return None if self.belief is None else self.belief.state

    def call_of(self, name: str) -> ToolUse | None:
        """Return the call of a tool by its name, or None."""
        return next((call for call in self.calls if call.name == name), None)


def read_move(
    reply: ModelReply, *, end: str, only_end: bool, belief: bool, known: Collection[str], names: Sequence[str]
) -> Move:
    """Return the move that a reply makes.

    Raises `MalformedReply`: It is no move; none of its calls is to be run.
    """
    calls, text = calls_of(reply, end=end, names=names)
    if len(calls) > MAX_CALLS:
        raise MalformedReply(
            f"it calls {len(calls)} tools at once, and at most {MAX_CALLS} are run in one step"
        )
    for call in calls:
        if MALFORMED in call.arguments:
            raise MalformedReply(f"the arguments of {first_line(call.name, 40)} are no JSON object")
    ends = [call for call in calls if call.name == end]
    if ends and len(calls) > 1:
        raise MalformedReply(f"{end} came with other calls; call it alone, once the others are answered")
    if only_end and not ends:
        raise MalformedReply(f"nothing but {end} is called any more; call it now with what you know")
    return Move(text=text, calls=tuple(calls), belief=_belief_of(calls, known) if belief else None)


def calls_of(reply: ModelReply, *, end: str, names: Sequence[str] = ()) -> tuple[list[ToolUse], str]:
    """Return the calls of a reply, also those that stand in its text, and its words; raises `MalformedReply` if it calls nothing."""
    text = without_thoughts(reply.text)
    calls = [ToolUse(id=call.id, name=call.name, arguments=call.arguments) for call in reply.tool_calls]
    return (calls, text) if calls else _calls_in_text(text, end, names)


def _belief_of(calls: Sequence[ToolUse], known: Collection[str]) -> ReadBelief:
    stated = [call.arguments[FIELD] for call in calls if FIELD in call.arguments]
    return read_belief(stated[-1] if stated else None, known)


def _calls_in_text(text: str, end: str, names: Sequence[str]) -> tuple[list[ToolUse], str]:
    def read(value: Any) -> list[ToolUse]:
        items = value if isinstance(value, list) else [value]
        calls = [_call(item, end) for item in items]
        if not calls:
            raise MalformedReply("the JSON calls no tool")
        return calls

    try:
        return read_json(
            text, read, what="tool call", merge=lambda parts: [call for part in parts for call in part]
        )
    except MalformedReply as malformed:
        reason = malformed.reason
        if reason.startswith("found no"):
            reason = f"it calls no tool; call one of {', '.join((*names, end))}"
        raise MalformedReply(reason) from None


def _call(item: Any, end: str) -> ToolUse:
    if isinstance(item, Mapping):
        name = item.get("name", item.get("tool"))
        arguments = item.get("arguments", item.get("parameters"))
        if isinstance(name, str) and isinstance(arguments, Mapping):
            return ToolUse(id=None, name=name, arguments=dict(arguments))
        if name is None and ("probability" in item or "probabilities" in item or "p_true" in item):
            return ToolUse(id=None, name=end, arguments=dict(item))
    raise MalformedReply('a tool call in text is {"name": "the tool", "arguments": {...}} in a ```json block')


def with_belief(spec: ToolSpec) -> ToolSpec:
    """Return a tool that also takes the belief, as every tool of a belief agent does (BLF, App. C.2)."""
    properties = {**spec.parameters.get("properties", {}), FIELD: belief_schema()}
    required = [*spec.parameters.get("required", ()), FIELD]
    return ToolSpec(
        name=spec.name,
        description=spec.description,
        parameters={**spec.parameters, "properties": properties, "required": required},
    )
