"""One conversation with a model: send, read, run what it calls, stop; unusable replies go back with the reason.

Addresses: ``step`` counts the requests of the conversation and goes up after every reply that was understood, look-ups
included; ``retry`` counts from 0 the asks at that step. Both follow from the replies alone, so a conversation that is resumed
from a ledger asks at the same addresses again.

A reply that is no answer has its own way out, by how it ended:

- malformed: sent back with the reason; the same reply once more changes the ask, a third time ends it;
- truncated: the model goes on where it stopped; where only thoughts came, it is asked again with a higher limit;
- refused or filtered: asked once in other words, when another model of the run's chain may answer;
- empty: asked again.

All these further asks are counted: a model that needs too many of them ends its conversation, with a cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from workbench.agents.errors import (
    AgentGaveUp,
    BadSetting,
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
    ModelRole,
    NodeRef,
    ReplySchema,
    Role,
    ToolCall,
    ToolSpec,
)
from workbench.models.errors import ContextOverflow
from workbench.models.thoughts import without_thoughts
from workbench.prompts import PromptSet, load, prompts_of

if TYPE_CHECKING:
    from proxies.asof.asof_text import AsOfText
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings, LeafTask

T = TypeVar("T")

#: Further asks that every conversation has, however short it is.
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


@dataclass(frozen=True, slots=True)
class Relayed:
    """Asks by ``send``, and carries the prompts of the run as the asker behind it does."""

    prompts: PromptSet
    send: Asker

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        """Return the reply that ``send`` gives."""
        return await self.send(request, stage=stage, step=step, retry=retry)


#: A probability that moved by no more than this has not moved.
STILL = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """The bounds of one loop; None is no bound.

    Parameters
    ----------
    steps : int
        Moves of the model, the submitting one included (BLF, Algorithm 1: T_max).
    seconds : float or None
        Of the model and of cells.
    tokens : int or None
        Input and output of all its replies.
    usd : float or None
        Counted where the price of a reply is known.
    errors : int or None
        Moves in a row of which no tool call gave anything; the papers have no such bound.
    still : int or None
        Moves in a row that left the stated probability where it was, within `STILL`; of loops that state one at every move.
    """

    steps: int = 10
    seconds: float | None = 600.0
    tokens: int | None = None
    usd: float | None = None
    errors: int | None = 3
    still: int | None = None

    def __post_init__(self) -> None:
        counts = (self.steps, self.errors, self.still)
        if any(count is not None and count < 1 for count in counts):
            raise BadSetting("steps, errors and still of a loop must be at least 1")
        for name in ("seconds", "tokens", "usd"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadSetting(f"{name} of a loop must be above 0, not {value:g}")


@dataclass(slots=True)
class Spent:
    """What a conversation has used so far."""

    steps: int = 0
    calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    errors: int = 0
    still: int = 0
    characters: int = 0

    def count(self, reply: ModelReply) -> None:
        """Add one reply, also one that could not be used; where its tokens are not reported, four characters are one."""
        self.calls += 1
        self.seconds += reply.seconds
        self.input_tokens += reply.usage.input_tokens or 0
        written = reply.usage.output_tokens
        self.output_tokens += len(reply.text) // 4 if written is None else written
        self.usd += reply.cost_usd or 0.0
        self.characters += len(reply.text)

    def add(self, other: Spent) -> None:
        """Add what another conversation has used."""
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))

    def state_again(self, before: float | None, p: float) -> None:
        """Count a step whose stated probability stayed where the step before had left it; one that moved counts from 0 again."""
        self.still = self.still + 1 if before is not None and abs(p - before) <= STILL else 0

    def passed(self, limits: LoopLimits) -> str:
        """Return which limit is reached, in words; "" while there is room for another move."""
        bounds = (
            (self.steps, limits.steps, "its {} steps are used up"),
            (self.seconds, limits.seconds, "its {:g} seconds are used up"),
            (self.input_tokens + self.output_tokens, limits.tokens, "its {} tokens are used up"),
            (self.usd, limits.usd, "its {:g} US dollars are used up"),
            (self.errors, limits.errors, f"{self.errors} steps in a row brought nothing"),
            (self.still, limits.still, "{} steps in a row did not move its probability"),
        )
        return next(
            (words.format(most) for used, most, words in bounds if most is not None and used >= most), ""
        )


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """What is asked for, and what has gone wrong so far."""

    stage: str
    reply_format: str
    schema: ReplySchema | None = None
    choice: str = "auto"
    whole: bool = False
    keeps_prose: bool = False
    own: str | None = None
    #: Of a loop: reads a reply with its calls, which the caller runs.
    read_move: Callable[[ModelReply], Any] | None = None
    retry: int = 0
    faults: int = 0
    look_ups: int = 0
    refused_text: str | None = None
    repeats: int = 0
    partial: str | None = None
    max_tokens: int | None = None
    raised: bool = False  # the limit; it is raised once
    declined: bool = False


class Conversation:
    """A growing list of messages about some propositions, which a repeated ask says again (``about``): its last message is complete in itself.

    ``tools`` are on offer in every request. Their calls are answered by ``answer``; a loop runs them itself (`turn`). ``role`` and
    ``later`` are for questions about work that is done: another model of the run, and steps behind those before it. ``crowded`` is
    true once the messages fill ``crowded_share`` of the model's context, or did not fit: whoever leads should then come to the end.
    """

    def __init__(
        self,
        ask: Asker,
        system: str,
        *,
        about: str,
        nodes: Sequence[NodeRef],
        cutoff: Cutoff,
        settings: AgentSettings,
        tools: tuple[ToolSpec, ...] = (),
        answer: Callable[[ToolCall], str] | None = None,
        extra_share: float | None = None,
        gave_up: Sequence[tuple[int, int]] = (),
        role: ModelRole | None = None,
        later: int = 0,
    ) -> None:
        self.messages = [Message(role="system", content=system)]
        self.about, self.nodes = about, tuple(nodes)
        self.crowded = False
        self.spent = Spent()
        self.prompts = prompts_of(ask)
        self.cutoff = cutoff
        self._ask = ask
        self._settings = settings
        self._tools, self._answer = tools, answer
        self._extra_share = extra_share
        self._first_retry = dict(gave_up)  # of several at one step, the last
        self._role, self._later = role, later
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

    @classmethod
    def of_leaf(cls, task: LeafTask, system: str, **more: Any) -> Conversation:
        """Begin a conversation about a leaf, in which further asks are bounded as its settings say."""
        return cls(
            task.ask,
            system,
            about=task.proposition,
            nodes=(task.node,),
            cutoff=task.cutoff,
            settings=task.settings,
            extra_share=task.settings.extra_ask_share,
            **more,
        )

    def render(self, name: str, **inputs: str | int | AsOfText) -> str:
        """Fill a prompt of the run; the cutoff and the propositions stand in it where it has holes for them."""
        known = {"cutoff": self.cutoff.shown, "proposition": self.about, "propositions": self.about}
        holes = load(name).inputs
        return self.prompts.render(name, **{hole: known[hole] for hole in holes if hole in known} | inputs)

    async def exchange(
        self,
        stage: str,
        prompt: str,
        parse: Callable[[str], T],
        *,
        reply_format: str,
        images: Sequence[bytes] = (),
        captions: Sequence[str] = (),
        short: str | None = None,
        schema: ReplySchema | None = None,
        choice: str = "auto",
        whole: bool = False,
        keeps_prose: bool = False,
        own: str | None = None,
    ) -> T:
        """Ask, and ask again until ``parse`` accepts the reply; return what it made of it.

        `reply_format`: What a repeated ask says again beside what it is about.

        `choice`: "none" where the conversation ends here: tools stay on offer, since a provider's cache begins with them, but are not
        answered.

        `whole`: Whether a reply that is cut off is asked for anew instead of continued, because evidence reads it again from one record.

        `own`: With what ``prompt`` ends in this sample of a question alone; None where no other is asked for.

        Raises `AgentGaveUp`: No usable reply in the asks that are allowed; `ReplyTruncated`, `ReplyDeclined` or `ReplyEmpty` where that is
        why. Raises `ModelError`: From the asker.
        """
        self._make_room()
        self._say(Message(role="user", content=prompt, images=tuple(images), captions=tuple(captions)), short)
        state = _Exchange(
            stage=stage,
            reply_format=reply_format,
            schema=schema,
            choice=choice,
            whole=whole or stage == "conclude",
            keeps_prose=keeps_prose and self.prompts.has("retry_block"),
            own=own,
        )
        return await self._usable_reply(state, parse)

    async def turn(
        self,
        stage: str,
        read: Callable[[ModelReply], T],
        *,
        reply_format: str,
        prompt: str | None = None,
        choice: str = "auto",
    ) -> T:
        """Ask for the next move of a loop whose tools the caller runs; return what ``read`` makes of the whole reply.

        The caller answers every call of the move by :meth:`observe` before the next turn. ``prompt`` opens the conversation; later
        turns follow from what was observed. ``choice`` names the one tool that may still be called. ``read`` raises `MalformedReply` for a
        move that cannot be taken: none of its calls is run then. Raises as :meth:`exchange`.
        """
        self._make_room()
        if prompt is not None:
            self._say(Message(role="user", content=prompt))
        state = _Exchange(
            stage=stage,
            reply_format=reply_format,
            choice=choice,
            whole=True,
            read_move=read,
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
        role: Role = "user" if call_id is None else "tool"
        self._say(Message(role=role, content=text, tool_call_id=call_id), short)

    def cut(self, length: int) -> None:
        """Forget the messages from this position on; addresses go on counting."""
        del self.messages[length:]
        self._short = {position: short for position, short in self._short.items() if position < length}

    def _say(self, message: Message, short: str | None = None) -> None:
        if short is not None:
            self._short[len(self.messages)] = short
        self.messages.append(message)

    async def _usable_reply(self, state: _Exchange, parse: Callable[[str], T]) -> T:
        state.retry, state.max_tokens = self._first_retry.get(self._step, 0), self._settings.max_tokens
        try:
            value = await self._ask_until_usable(state, parse)
        except AgentGaveUp as error:
            error.place = (self._step, state.retry + 1)
            self._step += 1  # whoever goes on all the same asks at addresses of its own
            raise
        self._step += 1
        self._usable += 1
        return value

    async def _ask_until_usable(self, state: _Exchange, parse: Callable[[str], T]) -> T:
        while True:
            reply = await self._send(state)
            if self._no_answer(reply, state):
                continue
            self._say(_turn_of(reply))
            text: str | None = None
            try:
                if state.read_move is not None:
                    return cast(T, state.read_move(reply))
                text = self._text_of(reply, state)
                if text is not None:
                    if state.keeps_prose:
                        text = with_prose(self._prose, text)
                        self._prose = prose_before(text) or self._prose
                    return parse(text)
                self._serve(reply, state)
            except RetryWorthwhile as worth:
                # A criticism is no fault of the reply: it counts in its exchange, not among the conversation's further asks.
                if state.faults >= self._settings.max_exception_retry:
                    return cast(T, worth.value)
                state.faults += 1
                state.partial = None
                self._ask_again(self._correction(state), state, reason=_sentence(worth.reason))
            except MalformedReply as malformed:
                self._complain(malformed, reply, text, state)
            else:
                state.look_ups += 1
                self._step += 1
                self._usable += 1
                state.retry = self._first_retry.get(self._step, 0)

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _send(self, state: _Exchange) -> ModelReply:
        """Send the messages; what does not fit is shortened, once to what is old and once to all."""
        while True:
            request = ModelRequest(
                messages=tuple(self.messages),
                stage=state.stage,
                cutoff=self.cutoff.text,
                nodes=self.nodes,
                # The same in every request: they stand at the front of what a provider caches.
                tools=self._tools,
                temperature=self._settings.temperature,
                max_tokens=state.max_tokens,
                effort=self._settings.effort,
                reply_schema=state.schema and replace(state.schema, text_form=state.reply_format),
                role=self._role,
                may_fall_back=state.declined,
                choice=state.choice,
                # A readable reply is worth more than a cached beginning.
                spare_cache=state.faults == 0 and self._asks_otherwise(state),
                own=state.own,
            )
            try:
                reply = await self.ask(request, self._step + self._later, state.retry)
            except ContextOverflow as overflow:
                # The request was not answered, so it leaves its address free for a shorter one.
                self.crowded = True
                self._window = overflow.window or self._window
                if not self._shorten(self._old()) and not self._shorten(list(self._short)):
                    raise
                continue
            self._without_schema = self._without_schema or state.schema is None
            self._with_free_choice = self._with_free_choice or state.choice == "auto"
            # Looked at with every reply, so that a replayed conversation sees the same.
            self._window = reply.context_window or self._window
            if self._window and reply.usage.input_tokens is not None:
                full = reply.usage.input_tokens + (reply.usage.output_tokens or 0)
                self.crowded = self.crowded or full >= self._settings.crowded_share * self._window
            return reply

    async def ask(self, request: ModelRequest, step: int, retry: int) -> ModelReply:
        """Send one request and count its reply."""
        reply = await self._ask(request, stage=request.stage, step=step, retry=retry)
        self.spent.count(reply)
        return reply

    def _asks_otherwise(self, state: _Exchange) -> bool:
        late_schema = state.schema is not None and self._without_schema
        return late_schema or (state.choice != "auto" and self._with_free_choice)

    # --- room ------------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Shorten old outputs together once they are long enough.

        Seldom, and all that is old at once: what stands before the first changed message stays in the provider's cache.
        """
        limit, old = self._settings.elide_tokens, self._old()
        if self._window is not None:
            limit = min(limit, self._window // 4)
        if sum(_tokens(self.messages[place]) - len(self._short[place]) // 4 for place in old) >= limit:
            self._shorten(old)

    def _old(self) -> list[int]:
        """Positions that can be shortened but the newest of them, which the model has just been shown."""
        return sorted(self._short)[:-1]

    def _shorten(self, positions: Sequence[int]) -> bool:
        """Put short forms in place of long turns; False if there is none to shorten."""
        for place in positions:
            short = self._short.pop(place)
            self.messages[place] = replace(self.messages[place], content=short, images=(), captions=())
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
                self._allow(state, ReplyEmpty(state.stage, "the model sends empty replies"))
                self._ask_anew("again_empty", state)
            case _:
                return False
        return True

    def _go_on(self, reply: ModelReply, state: _Exchange) -> None:
        words = sentence(
            "it is cut off at the length limit of the model or server; raise ",
            Option("max_tokens"),
            ", or take a model that writes less",
        )
        cause = ReplyTruncated(state.stage, words)
        self._allow(state, cause)
        if state.raised:
            raise cause
        text = without_thoughts(reply.text)
        # Once: a limit that was set, or that the server has by itself, is doubled for what is left of this exchange.
        state.max_tokens = max(_HIGHER_LIMIT, 2 * (state.max_tokens or reply.usage.output_tokens or 0))
        if not text.strip() or reply.tool_calls or state.whole:
            state.raised = True
            self._ask_anew("again_short", state)
            return
        state.raised = state.partial is not None
        state.partial = (state.partial or "") + text
        self._say(_turn_of(reply))
        self._ask_again("again_continue", state)

    def _decline(self, reply: ModelReply, state: _Exchange) -> None:
        why = next((note for note in reply.notes if note.startswith(("refused:", "filtered:"))), reply.finish)
        what = "the model refuses to answer" if reply.finish == "refused" else "the provider's content filter"
        cause = ReplyDeclined(state.stage, f"{what} ({why})")
        if state.declined:
            raise cause
        self._allow(state, cause)
        state.declined = True
        self._ask_anew("again_declined", state)

    def _ask_anew(self, prompt: str, state: _Exchange) -> None:
        """Ask the same thing with a word in front; there is no reply that could stay in the conversation."""
        if self.messages[-1].role == "user":
            asked = self.messages.pop()
        else:  # the answers to tool calls
            again = self._words("retry", state, reason="It held no answer.")
            asked = Message(role="user", content=again)
        self._say(replace(asked, content=self.render(prompt, prompt=asked.content)))
        state.retry += 1

    # --- replies that can be read ----------------------------------------------------------------------------------

    def _text_of(self, reply: ModelReply, state: _Exchange) -> str | None:
        """The text to be read; None for a reply that calls tools."""
        if not reply.tool_calls:
            return reply.text if state.partial is None else continued(state.partial, reply.text)
        sources = [_code_of(call) for call in reply.tool_calls]
        if self._answer is None or None in sources or state.stage not in ("step", "debug"):
            return None
        for call in reply.tool_calls:
            self.observe(call.id, "Taken as a cell of the notebook.")
        return "\n".join([reply.text, *(f"<python_cell>\n{source}\n</python_cell>" for source in sources)])

    def _serve(self, reply: ModelReply, state: _Exchange) -> None:
        """Answer the calls of a reply; every call gets its answer, even if the reply is then refused: providers take no open one."""
        most = self._settings.max_interrupt_times
        refusal: tuple[str, str] | None = None
        if self._answer is None:
            refusal = (
                "There is no such tool here.",
                "it called a tool, and there is none here; answer in text",
            )
        elif state.choice == "none":
            refusal = (
                "Not answered: no tool is called any more.",
                "it called a tool, and none is called any more; answer in text with what you know",
            )
        elif state.look_ups >= most:
            refusal = (
                "Not answered: you have used up the documentation requests of this turn.",
                f"only {most} documentation requests are answered in one turn; answer now with what you know",
            )
        fresh = False
        for call in reply.tool_calls:
            key = json.dumps([call.name, call.arguments], sort_keys=True)
            if refusal is not None or self._answer is None:
                answer = refusal[0] if refusal else ""
            elif key in self._answered:
                answer = "Answered above already; the answer is the same."
            else:
                answer, fresh = self._answer(call), True
                self._answered.add(key)
            # Said once, with the last call.
            if "_cell>" in reply.text and call is reply.tool_calls[-1]:
                answer += "\n\nThe cells that came with this call were not run. Send them again if you still want them."
            self.observe(call.id, answer)
        if refusal is not None:
            raise MalformedReply(refusal[1])
        if not fresh:
            raise MalformedReply("it asks for documentation that was given already; go on with what you have")

    def _complain(
        self, malformed: MalformedReply, reply: ModelReply, text: str | None, state: _Exchange
    ) -> None:
        text = reply.text if text is None else text
        if state.read_move is not None:
            for call in reply.tool_calls:
                self.observe(call.id, "Not run: this reply could not be used.")
            # An equal reply is equal in its calls too.
            calls = [json.dumps([call.name, call.arguments], sort_keys=True) for call in reply.tool_calls]
            text = "\n".join([text, *calls])
        text = text.strip()
        self._allow(state, AgentGaveUp(state.stage, malformed.reason))
        same = text != "" and text == state.refused_text
        state.refused_text, state.partial = text, None
        state.repeats = state.repeats + 1 if same else 0
        if state.repeats > 1:
            raise AgentGaveUp(state.stage, f"{malformed.reason} (the same reply three times)")
        name = "again_same" if same else self._correction(state)
        self._ask_again(name, state, reason=_sentence(malformed.reason))

    def _correction(self, state: _Exchange) -> str:
        return "retry_block" if state.keeps_prose and self._prose else "retry"

    def _ask_again(self, prompt: str, state: _Exchange, **more: str) -> None:
        self._say(Message(role="user", content=self._words(prompt, state, **more)))
        state.retry += 1

    def _words(self, prompt: str, state: _Exchange, **more: str) -> str:
        return self.render(prompt, reply_format=state.reply_format, **more)

    def _allow(self, state: _Exchange, cause: AgentGaveUp) -> None:
        """Count one further ask; raise its cause when no more are allowed."""
        share = self._extra_share
        most = None if share is None else max(_ALWAYS_ALLOWED, int(self._usable * share))
        if state.faults >= self._settings.max_exception_retry or (most is not None and self._extra >= most):
            raise cause
        state.faults += 1
        self._extra += 1


async def ask_once(
    ask: Asker,
    prompt: str,
    parse: Callable[[str], T],
    *,
    about: str,
    nodes: Sequence[NodeRef],
    cutoff: Cutoff,
    settings: AgentSettings,
    stage: str = "",
    system: str = "",
    reply_format: str = "",
    role: ModelRole | None = None,
    later: int = 0,
    schema: ReplySchema | None = None,
    keeps_prose: bool = False,
    **inputs: str | int | AsOfText,
) -> T:
    """Ask one question in a conversation of its own; raises as `Conversation.exchange`.

    `prompt`: Its name, which is that of the stage too unless told; `inputs` fill it. `system`: The first message; else the prompt ``NAME_system``.

    `role`: ``critic``, ``judge`` or ``reader``: a run may name a model of its own for each. None asks the model of the run.
    """
    system = system or prompts_of(ask).render(f"{prompt}_system")
    conversation = Conversation(
        ask, system, about=about, nodes=nodes, cutoff=cutoff, settings=settings, role=role, later=later
    )
    if "reply_format" in load(prompt).inputs:
        inputs["reply_format"] = reply_format
    return await conversation.exchange(
        stage or prompt,
        conversation.render(prompt, **inputs),
        parse,
        reply_format=reply_format,
        schema=schema,
        choice="none",
        keeps_prose=keeps_prose,
    )


def _turn_of(reply: ModelReply) -> Message:
    return Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls, thinking=reply.thinking)


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
