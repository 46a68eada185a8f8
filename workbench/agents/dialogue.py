"""One dialogue with the model: prompts out, replies back in verbatim, unusable ones returned with the reason.

Addresses: ``step`` counts the requests of the dialogue and goes up after every reply that was understood, documentation
requests included; ``retry`` counts from 0 the asks at that step. Both follow from the replies alone, so a dialogue that
is resumed from a ledger asks at the same addresses again.

A reply that is no answer has its own way out, by how it ended:

- malformed: sent back with the reason; the same reply once more changes the ask, a third time ends it;
- truncated: the model goes on where it stopped; where only thoughts came, it is asked again with a higher limit;
- refused or filtered: asked once in other words, when another model of the run's chain may answer;
- empty: asked again.

All these further asks are counted: a model that needs too many of them ends its dialogue, with a cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from workbench.agents.errors import (
    AgentGaveUp,
    MalformedReply,
    ReplyDeclined,
    ReplyEmpty,
    ReplyTruncated,
    RetryWorthwhile,
)
from workbench.agents.replies.reply_prose import continued, prose_before, with_prose
from workbench.errors import Option, sentence
from workbench.models.base import (
    Asker,
    Message,
    ModelReply,
    ModelRequest,
    NodeRef,
    ReplySchema,
    Role,
    ToolCall,
    ToolSpec,
)
from workbench.models.errors import ContextOverflow
from workbench.models.thoughts import without_thoughts
from workbench.prompts import Prompt, prompts_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings

T = TypeVar("T")

#: Further asks that every dialogue has, however short it is.
_ALWAYS_ALLOWED = 2
#: Least reply length, in tokens, that a second ask allows after one that was cut off.
_HIGHER_LIMIT = 8192
_IMAGE_TOKENS = 1000
# By these names models call the notebook itself as if it were a tool.
_CODE_TOOLS = {
    "python", "execute_python", "run_python", "python_cell", "execute_code", "run_code", "code_interpreter", "jupyter",
    "execute", "run_cell", "ipython", "notebook",
}  # fmt: skip
_CODE_ARGUMENTS = ("code", "source", "input", "script", "cell")


class ToolHost(Protocol):
    """Answers a model's tool calls; one per dialogue."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Tools on offer."""
        ...

    def answer(self, call: ToolCall) -> str:
        """Return the text that goes back for this call, also when the call is wrong."""
        ...


@dataclass(slots=True)
class _Exchange:
    """What has gone wrong in one exchange so far."""

    stage: str
    propositions: str
    reply_format: str
    schema: ReplySchema | None
    choice: str
    whole: bool = False
    keeps_prose: bool = False
    retry: int = 0
    faults: int = 0
    interrupts: int = 0
    refused_text: str | None = None
    repeats: int = 0
    partial: str | None = None
    max_tokens: int | None = None
    raised: bool = False  # the limit; it is raised once
    declined: bool = False
    read_calls: Callable[[ModelReply], Any] | None = (
        None  # reads a move, tool calls and all (`Dialogue.turn`)
    )


class Dialogue:
    """A growing list of messages about some propositions.

    ``crowded`` is true once the messages fill ``crowded_share`` of the model's context, or did not fit: whoever leads the
    dialogue should bring it to its end.
    """

    def __init__(
        self,
        *,
        system: str,
        nodes: Sequence[NodeRef],
        cutoff: Cutoff,
        ask: Asker,
        settings: AgentSettings,
        tools: ToolHost | None = None,
        extra_share: float | None = None,
        gave_up: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.messages = [Message(role="system", content=system)]
        self.nodes = tuple(nodes)
        self.crowded = False
        self._cutoff = cutoff
        self._ask = ask
        #: Fills a prompt of the run that the dialogue belongs to.
        self.render: Callable[..., Prompt] = prompts_of(ask).render
        self._has = prompts_of(ask).has
        self._settings = settings
        self._tools = tools
        self._extra_share = extra_share
        self._first_retry = dict(gave_up)  # of several at one step, the last
        self._step = 0
        self._usable = 0
        self._extra = 0
        self._window: int | None = None
        self._without_schema = False
        self._with_free_choice = False
        # What the last reply said in front of its block, for one that is asked for the block alone.
        self._prose = ""
        # Short forms of long user turns, by their position; taken when room is needed.
        self._short: dict[int, str] = {}
        self._answered: set[str] = set()

    async def exchange(
        self,
        stage: str,
        prompt: str,
        parse: Callable[[str], T],
        *,
        propositions: str,
        reply_format: str,
        images: Sequence[bytes] = (),
        captions: Sequence[str] = (),
        short: str | None = None,
        schema: ReplySchema | None = None,
        choice: str = "auto",
        whole: bool = False,
        keeps_prose: bool = False,
    ) -> T:
        """Ask, and ask again until ``parse`` accepts the reply; return what it made of it.

        `propositions`, `reply_format`: What a repeated ask says again, so that its last message is complete in itself.

        `choice`: "none" where the dialogue ends here: tools stay on offer, since a provider's cache begins with them, but are not
        answered.

        `whole`: Whether a reply that is cut off is asked for anew instead of continued, because evidence reads it again from one record.

        Raises `AgentGaveUp`: No usable reply in the asks that are allowed; `ReplyTruncated`, `ReplyDeclined` or `ReplyEmpty` where that is
        why. Raises `ModelError`: From the asker.
        """
        self._make_room()
        if short is not None:
            self._short[len(self.messages)] = short
        self.messages.append(
            Message(role="user", content=prompt, images=tuple(images), captions=tuple(captions))
        )
        # Unreadable replies are counted over the whole exchange; `retry`, part of an address, begins again at each step.
        state = _Exchange(
            stage=stage,
            propositions=propositions,
            reply_format=reply_format,
            schema=schema,
            choice=choice,
            whole=whole,
            keeps_prose=keeps_prose and self._has("retry_block"),
        )
        return await self._usable_reply(state, parse)

    async def turn(
        self,
        stage: str,
        read: Callable[[ModelReply], T],
        *,
        propositions: str,
        reply_format: str,
        prompt: str | None = None,
        choice: str = "auto",
    ) -> T:
        """Ask for the next move of a loop whose tools the caller runs; return what ``read`` makes of the whole reply.

        The caller answers every call of the move by :meth:`observe` before the next turn. ``prompt`` opens the dialogue; later
        turns follow from what was observed. ``choice`` names the one tool that may still be called. ``read`` raises `MalformedReply` for a move that cannot be taken: none of its
        calls is run then. Raises as :meth:`exchange`.
        """
        self._make_room()
        if prompt is not None:
            self.messages.append(Message(role="user", content=prompt))
        state = _Exchange(
            stage=stage,
            propositions=propositions,
            reply_format=reply_format,
            schema=None,
            choice=choice,
            read_calls=read,
        )
        return await self._usable_reply(state, lambda text: cast(T, text))

    @property
    def last_step(self) -> int:
        """Step of the ledger address of the last usable reply."""
        return self._step - 1

    def observe(self, call_id: str | None, text: str, *, short: str | None = None) -> None:
        """Answer a call of the last move; None for one that stood in its text, which is answered by a user's turn.

        ``short`` stands for the text once room is needed.
        """
        if short is not None:
            self._short[len(self.messages)] = short
        role: Role = "user" if call_id is None else "tool"
        self.messages.append(Message(role=role, content=text, tool_call_id=call_id))

    def restate(self, change: Callable[[ToolCall], ToolCall]) -> None:
        """Change the calls of the last move as later requests will show them; for experiments that overwrite a belief."""
        for position in range(len(self.messages) - 1, -1, -1):
            message = self.messages[position]
            if message.role == "assistant":
                calls = tuple(change(call) for call in message.tool_calls)
                self.messages[position] = replace(message, tool_calls=calls)
                return

    async def _usable_reply(self, state: _Exchange, parse: Callable[[str], T]) -> T:
        state.retry, state.max_tokens = self._first_retry.get(self._step, 0), self._settings.max_tokens
        try:
            return await self._ask_until_usable(state, parse)
        except AgentGaveUp as error:
            error.place = (self._step, state.retry + 1)
            self._step += 1  # whoever goes on all the same asks at addresses of its own
            raise

    async def _ask_until_usable(self, state: _Exchange, parse: Callable[[str], T]) -> T:
        while True:
            reply = await self._send(state)
            if self._no_answer(reply, state):
                continue
            if state.read_calls is not None:
                self.messages.append(_turn_of(reply))
                try:
                    move = state.read_calls(reply)
                except MalformedReply as malformed:
                    for call in reply.tool_calls:
                        self.observe(call.id, "Not run: this reply could not be used.")
                    self._complain(malformed, _said_in(reply), state)
                    continue
                self._step += 1
                self._usable += 1
                return cast(T, move)
            try:
                text = self._text_of(reply, state)
                if text is not None:
                    if state.keeps_prose:
                        text = with_prose(self._prose, text)
                        self._prose = prose_before(text) or self._prose
                    value = parse(text)
                    self._step += 1
                    self._usable += 1
                    return value
                closed = state.choice == "none"
                left = 0 if closed else self._settings.max_interrupt_times - state.interrupts
                self._serve(reply, left=left, closed=closed)
            except RetryWorthwhile as worth:
                # A criticism is no fault of the reply: it counts in its exchange, not among the dialogue's further asks.
                if state.faults >= self._settings.max_exception_retry:
                    self._step += 1
                    self._usable += 1
                    return cast(T, worth.value)
                state.faults += 1
                state.partial = None
                criticism = self._said(self._correction(state), state, reason=_sentence(worth.reason))
                self.messages.append(Message(role="user", content=criticism))
                state.retry += 1
            except MalformedReply as malformed:
                self._complain(malformed, text if text is not None else reply.text, state)
            else:
                state.interrupts += 1
                self._step += 1
                self._usable += 1
                state.retry = self._first_retry.get(self._step, 0)

    def cut(self, length: int) -> None:
        """Forget the messages from this position on; addresses go on counting."""
        del self.messages[length:]
        self._short = {position: short for position, short in self._short.items() if position < length}

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _send(self, state: _Exchange) -> ModelReply:
        while True:
            request = ModelRequest(
                messages=tuple(self.messages),
                stage=state.stage,
                cutoff=self._cutoff.text,
                nodes=self.nodes,
                # The same in every request of a dialogue: they stand at the front of what a provider caches.
                tools=self._tools.specs if self._tools else (),
                temperature=self._settings.temperature,
                max_tokens=state.max_tokens,
                effort=self._settings.effort,
                reply_schema=state.schema and replace(state.schema, text_form=state.reply_format),
                may_fall_back=state.declined,
                choice=state.choice,
                # A readable reply is worth more than a cached beginning.
                spare_cache=state.faults == 0 and self._asks_otherwise(state),
            )
            try:
                reply = await self._ask(request, stage=state.stage, step=self._step, retry=state.retry)
            except ContextOverflow as overflow:
                # The request was not answered, so it leaves its address free for a shorter one.
                self.crowded = True
                self._window = overflow.window or self._window
                if not self._shorten(keep_last=True) and not self._shorten(keep_last=False):
                    raise
                continue
            self._without_schema = self._without_schema or state.schema is None
            self._with_free_choice = self._with_free_choice or state.choice == "auto"
            self._measure(reply)
            return reply

    def _asks_otherwise(self, state: _Exchange) -> bool:
        late_schema = state.schema is not None and self._without_schema
        return late_schema or (state.choice != "auto" and self._with_free_choice)

    def _measure(self, reply: ModelReply) -> None:
        """Look how full the model's context is; called with every reply, so a replayed dialogue sees the same."""
        self._window = reply.context_window or self._window
        if self._window and reply.usage.input_tokens is not None:
            full = reply.usage.input_tokens + (reply.usage.output_tokens or 0)
            self.crowded = self.crowded or full >= self._settings.crowded_share * self._window

    # --- room ------------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Shorten old outputs together once they are long enough.

        Seldom, and all that is old at once: what stands before the first changed message stays in the provider's cache.
        """
        limit = self._settings.elide_tokens
        if self._window is not None:
            limit = min(limit, self._window // 4)
        saved = sum(_tokens(self.messages[position]) - len(short) // 4 for position, short in self._old())
        if saved >= limit:
            self._shorten(keep_last=True)

    def _old(self) -> list[tuple[int, str]]:
        """Positions that can be shortened but the newest of them, which the model has just been shown."""
        return sorted(self._short.items())[:-1]

    def _shorten(self, *, keep_last: bool) -> bool:
        """Put short forms in place of long turns; False if there is none to shorten."""
        positions = self._old() if keep_last else sorted(self._short.items())
        for position, short in positions:
            before = self.messages[position]
            self.messages[position] = replace(before, content=short, images=(), captions=())
            del self._short[position]
        return bool(positions)

    # --- replies that are no answer --------------------------------------------------------------------------------

    def _no_answer(self, reply: ModelReply, state: _Exchange) -> bool:
        """Prepare the next ask if a reply ended too early to be read; False if it can be read."""
        match reply.finish:
            case "truncated":
                self._go_on(reply, state)
            case "refused" | "filtered":
                self._decline(reply, state)
            case "empty":
                reason = "the model sends empty replies"
                self._allow(state, ReplyEmpty(state.stage, reason))
                self._ask_anew("again_empty", state)
            case _:
                return False
        return True

    def _go_on(self, reply: ModelReply, state: _Exchange) -> None:
        cause = ReplyTruncated(
            state.stage,
            sentence(
                "it is cut off at the length limit of the model or server; raise ",
                Option("max_tokens"),
                ", or take a model that writes less",
            ),
        )
        self._allow(state, cause)
        if state.raised:
            raise cause
        text = without_thoughts(reply.text)
        # Once: a limit that was set, or that the server has by itself, is doubled for what is left of this exchange.
        written = reply.usage.output_tokens or 0
        state.max_tokens = max(_HIGHER_LIMIT, 2 * (state.max_tokens or written))
        # A conclusion is asked for anew: evidence is verified from the one reply that states it.
        whole = state.whole or state.stage == "conclude" or state.read_calls is not None
        if not text.strip() or reply.tool_calls or whole:
            state.raised = True
            self._ask_anew("again_short", state)
            return
        state.raised = state.partial is not None
        state.partial = (state.partial or "") + text
        self.messages.append(_turn_of(reply))
        self.messages.append(Message(role="user", content=self._said("again_continue", state)))
        state.retry += 1

    def _decline(self, reply: ModelReply, state: _Exchange) -> None:
        why = next((note for note in reply.notes if note.startswith(("refused:", "filtered:"))), "")
        what = "the model refuses to answer" if reply.finish == "refused" else "the provider's content filter"
        cause = ReplyDeclined(state.stage, f"{what} ({why or reply.finish})")
        if state.declined:
            raise cause
        self._allow(state, cause)
        state.declined = True
        self._ask_anew("again_declined", state)

    def _ask_anew(self, prompt: str, state: _Exchange) -> None:
        """Ask the same thing with a word in front; there is no reply that could stay in the dialogue."""
        last = self.messages[-1]
        if last.role == "user":
            self.messages[-1] = replace(last, content=self.render(prompt, prompt=last.content).text)
        else:  # the answers to tool calls
            again = self._said("retry", state, reason="It held no answer.")
            self.messages.append(Message(role="user", content=self.render(prompt, prompt=again).text))
        state.retry += 1

    # --- replies that can be read ----------------------------------------------------------------------------------

    def _text_of(self, reply: ModelReply, state: _Exchange) -> str | None:
        """The text to be read; None for a reply that calls tools. The reply joins the dialogue."""
        self.messages.append(_turn_of(reply))
        if reply.tool_calls:
            sources = [_code_of(call) for call in reply.tool_calls]
            if self._tools is None or None in sources or state.stage not in ("step", "debug"):
                return None
            for call in reply.tool_calls:
                self.messages.append(
                    Message(role="tool", content="Taken as a cell of the notebook.", tool_call_id=call.id)
                )
            cells = "\n".join(f"<python_cell>\n{source}\n</python_cell>" for source in sources)
            return f"{reply.text}\n{cells}"
        if state.partial is None:
            return reply.text
        return continued(state.partial, reply.text)

    def _serve(self, reply: ModelReply, *, left: int, closed: bool) -> None:
        # Every call gets its answer, even if the reply is refused below: providers take no dialogue with an open tool call.
        fresh = False
        for call in reply.tool_calls:
            key = json.dumps([call.name, call.arguments], sort_keys=True)
            if self._tools is None:
                answer = "There is no such tool here."
            elif closed:
                answer = "Not answered: no tool is called any more."
            elif left <= 0:
                answer = "Not answered: you have used up the documentation requests of this turn."
            elif key in self._answered:
                answer = "Answered above already; the answer is the same."
            else:
                answer = self._tools.answer(call)
                self._answered.add(key)
                fresh = True
            # Said once, with the last call.
            if "_cell>" in reply.text and call is reply.tool_calls[-1]:
                answer += "\n\nThe cells that came with this call were not run. Send them again if you still want them."
            self.messages.append(Message(role="tool", content=answer, tool_call_id=call.id))
        if self._tools is None:
            raise MalformedReply("it called a tool, and there is none here; answer in text")
        if closed:
            raise MalformedReply(
                "it called a tool, and none is called any more; answer in text with what you know"
            )
        if left <= 0:
            raise MalformedReply(
                f"only {self._settings.max_interrupt_times} documentation requests are answered in one turn; "
                "answer now with what you know"
            )
        if not fresh:
            raise MalformedReply("it asks for documentation that was given already; go on with what you have")

    def _complain(self, malformed: MalformedReply, text: str, state: _Exchange) -> None:
        self._allow(state, AgentGaveUp(state.stage, malformed.reason))
        same = text.strip() != "" and text.strip() == state.refused_text
        state.refused_text, state.partial = text.strip(), None
        state.repeats = state.repeats + 1 if same else 0
        if state.repeats > 1:
            raise AgentGaveUp(state.stage, f"{malformed.reason} (the same reply three times)")
        name = "again_same" if same else self._correction(state)
        self.messages.append(
            Message(role="user", content=self._said(name, state, reason=_sentence(malformed.reason)))
        )
        state.retry += 1

    def _correction(self, state: _Exchange) -> str:
        return "retry_block" if state.keeps_prose and self._prose else "retry"

    def _said(self, name: str, state: _Exchange, **more: str) -> str:
        return self.render(
            name,
            propositions=state.propositions,
            cutoff=self._cutoff.shown,
            reply_format=state.reply_format,
            **more,
        ).text

    def _allow(self, state: _Exchange, cause: AgentGaveUp) -> None:
        """Count one further ask; raise its cause when no more are allowed."""
        share = self._extra_share
        most = None if share is None else max(_ALWAYS_ALLOWED, int(self._usable * share))
        if state.faults >= self._settings.max_exception_retry or (most is not None and self._extra >= most):
            raise cause
        state.faults += 1
        self._extra += 1


def _turn_of(reply: ModelReply) -> Message:
    return Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls, thinking=reply.thinking)


def _said_in(reply: ModelReply) -> str:
    """All that a reply says, its calls included, so that an equal one is seen to be equal."""
    calls = [json.dumps([call.name, call.arguments], sort_keys=True) for call in reply.tool_calls]
    return "\n".join([reply.text, *calls])


def _code_of(call: ToolCall) -> str | None:
    """The source in a call of the notebook as a tool; None for any other call."""
    if call.name.lower().rpartition(".")[2] not in _CODE_TOOLS:
        return None
    values = [call.arguments[name] for name in _CODE_ARGUMENTS if isinstance(call.arguments.get(name), str)]
    return values[0] if len(values) == 1 and values[0].strip() else None


def _tokens(message: Message) -> int:
    return len(message.content) // 4 + _IMAGE_TOKENS * len(message.images)


def _sentence(reason: str) -> str:
    return reason if reason.endswith((".", "!", "?")) else f"{reason}."
