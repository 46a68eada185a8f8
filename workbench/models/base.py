"""Define requests to a language model and its replies, as plain frozen values behind one Protocol.

Everything an engine may want to keep (ledger, cost, replay) is computed from these values alone, so a model in
another process, a scripted one in a test and the rule-based offline analyst are interchangeable.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

Role = Literal["system", "user", "assistant", "tool"]

#: How a reply ended. ``truncated``: at the length limit; ``refused``: the model declined; ``filtered``: the provider took
#: the text away; ``empty``: it holds nothing. Each has a way out of its own (``agents.conversation``).
Finish = Literal["complete", "truncated", "refused", "filtered", "empty"]

#: Who asks: a run may give each of these a model of its own.
#: ``filter`` reads search results before an agent does; without a model of its own it is the reader's.
ModelRole = Literal["analyzer", "grounder", "synthesizer", "critic", "reader", "filter", "judge"]
MODEL_ROLES: tuple[ModelRole, ...] = get_args(ModelRole)


class PastShare(NamedTuple):
    """How often a claim came true in past periods of its length, by what was known at the cutoff; ``periods`` are independent ones.

    ``forecast`` is what a simulation of the claim's series makes of it, where there is one: a number before any evidence.
    ``fan`` has the quantiles of that very simulation (`workbench.questions.series.claim_paths`).
    """

    share: float
    periods: float
    forecast: float | None = None
    fan: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of a model: its id in the dialogue, the tool's name, parsed arguments."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a dialogue.

    ``images`` are PNG bytes shown to the model after the text; ``captions`` say in words what they show, for a model that
    takes no pictures, and follow from the cells that drew them, so they are no part of the stored form. ``tool_calls``
    belong to an assistant's turn, ``tool_call_id`` to the tool turn that answers one of them. ``thinking`` are the signed
    thoughts of an assistant's turn, as its provider wants them back word for word.
    """

    role: Role
    content: str
    images: tuple[bytes, ...] = ()
    captions: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    thinking: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool on offer; ``parameters`` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRef:
    """A proposition that a request is about: its id in the tree and its statement, verbatim."""

    id: str
    statement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySchema:
    """The answer of a stage as one JSON object, for models that take a schema; others get the text form.

    ``note`` asks for it where the schema is used, in place of what ``text_form``, a part of the last user message, says of prose and
    a block.
    """

    name: str
    schema: dict[str, Any]
    note: str
    text_form: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to a model.

    ``stage``, ``nodes`` and ``cutoff`` are seen by in-process models only: a remote model gets the messages and
    the tools. ``cutoff`` is the knowledge cutoff as the caller wrote it. ``reply_schema`` follows from the stage, ``role``
    and ``asked_of`` (the one of several models that is to answer, by name) from the asker, and ``may_fall_back`` (another model of
    the run's chain may answer what this one declines) from the replies before: none of them is part of the stored form. Neither are
    those that spare a provider's cache: ``own``, ``choice`` and
    ``spare_cache`` (the requests before went without this schema or choice, and no reply has been unusable yet: a provider that
    would read them all again for it is asked without).

    ``own`` is with what the first user message ends in this sample alone, where others of the same question are asked for: all before it
    is sent again, byte for byte, so a provider's cache is marked there. None: nobody sends this beginning again.

    ``choice`` is what may be called of the tools, all of which stay on offer: ``"auto"`` what the model likes, ``"none"`` nothing, or
    the name of the one tool that must be. Where it is not ``"auto"``, a usable reply ends the dialogue: its end is not worth caching.
    """

    messages: tuple[Message, ...]
    stage: str
    cutoff: str
    nodes: tuple[NodeRef, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    effort: str | None = None
    reply_schema: ReplySchema | None = None
    role: ModelRole | None = None
    asked_of: str | None = None
    may_fall_back: bool = False
    choice: str = "auto"
    spare_cache: bool = False
    own: str | None = None

    def canonical_hash(self, model: str) -> str:
        """Hash the canonical JSON of the request and the model's name with SHA-256, as ``sha256:<hex>``.

        Equal requests have equal hashes in every process; an image counts by its bytes.
        """
        # Stored ledgers hold this hash: another form of the text below would make every recorded reply unfindable on replay.
        body = {"model": model, "request": to_json(self)}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; None if it reported none. ``cached`` is part of ``input``."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's answer. ``cost_usd`` is None if the price is unknown; 0.0 means free of charge.

    ``context_window`` is how many tokens the model takes, where that is known: agents make room before it is full. ``thoughts`` are
    those that came beside the text: they are kept for the transcript and enter no prompt and no reading. ``thinking`` is as in a
    `Message`.
    """

    text: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    finish: Finish = "complete"
    context_window: int | None = None
    thoughts: str = ""
    thinking: tuple[dict[str, Any], ...] = ()


@runtime_checkable
class Model(Protocol):
    """Anything that answers requests. ``name`` is what the run manifest and the ledger record."""

    @property
    def name(self) -> str:
        """Name as given on the command line, provider prefix included."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer one request.

        The engine calls this once for every address that the ledger cannot answer; a model keeps no memory
        between calls. Raises :class:`~workbench.models.errors.ModelError`, or a ``UsageError`` for a mistake
        of the caller.
        """
        ...


class Asker(Protocol):
    """Sends one request to the model of this run.

    Called by agents with the last three parts of the reply's ledger address. ``step`` counts the requests of one
    dialogue from 0; ``retry`` is 0 for a first ask and grows by one each time the same request is sent back because
    its reply could not be read. The same dialogue therefore has the same addresses when a run is resumed.

    Raises
    ------
    workbench.models.errors.ModelError
        The model failed for good. Agents let it pass.
    """

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        """Return the model's reply, from the ledger if the same was asked before."""
        ...


#: Fields of a request that are no part of the stored form.
_UNSTORED = ("reply_schema", "role", "asked_of", "may_fall_back", "choice", "spare_cache", "own")
#: Fields that are left out while they say nothing.
_SELDOM = ("effort", "thinking", "thoughts")


def to_json(request: ModelRequest) -> dict[str, Any]:
    """Write the request as JSON values, images as base64; this form is hashed and stored."""
    body = _json(replace(request, reply_schema=None))
    body = {name: value for name, value in body.items() if name not in _UNSTORED}
    for message in body["messages"]:
        message["images"] = [base64.b64encode(image).decode() for image in message["images"]]
    return body


def _json(value: ModelRequest | ModelReply | Message) -> dict[str, Any]:
    def stored(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {
            name: list(part) if isinstance(part, tuple) else part
            for name, part in pairs
            if name != "captions" and (part or name not in _SELDOM)
        }

    return asdict(value, dict_factory=stored)


def reply_to_json(reply: ModelReply) -> dict[str, Any]:
    """Write a reply as JSON values, for a ledger."""
    return _json(reply)


def reply_from_json(data: dict[str, Any]) -> ModelReply:
    """Parse what :func:`reply_to_json` wrote; raises ``ValueError`` for anything else."""
    reply: ModelReply = _reply_adapter().validate_python(data)
    return reply


@cache
def _reply_adapter() -> Any:
    from pydantic import TypeAdapter  # with the first reply that is read: `import workbench` does without

    return TypeAdapter(ModelReply)
