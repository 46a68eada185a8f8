"""One dialogue with the model: prompts out, replies back in verbatim, unreadable ones returned with the reason.

Addresses: ``step`` counts the requests of the dialogue and goes up after every reply that was understood, documentation
requests included; ``retry`` counts from 0 the asks at that step. Both follow from the replies alone, so a dialogue that
is resumed from a ledger asks at the same addresses again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from workbench.agents.errors import AgentGaveUp, MalformedReply
from workbench.models.base import Message, ModelReply, ModelRequest, NodeRef, ToolCall, ToolSpec
from workbench.prompts import render

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings, Asker

T = TypeVar("T")


class ToolHost(Protocol):
    """Answers a model's tool calls; one per dialogue."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Tools on offer."""
        ...

    def answer(self, call: ToolCall) -> str:
        """Return the text that goes back for this call, also when the call is wrong."""
        ...


class Dialogue:
    """A growing list of messages about some propositions.

    Parameters
    ----------
    system : str
        Text of the system message.
    nodes : sequence of NodeRef
        The propositions the dialogue is about; changed by the analyzer as its tree grows.
    tools : ToolHost or None
        Answers tool calls; None: no tools are offered and a call is an unusable reply.
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
    ) -> None:
        self.messages = [Message(role="system", content=system)]
        self.nodes = tuple(nodes)
        self._cutoff = cutoff
        self._ask = ask
        self._settings = settings
        self._tools = tools
        self._step = 0

    async def exchange(
        self,
        stage: str,
        prompt: str,
        parse: Callable[[str], T],
        *,
        propositions: str,
        reply_format: str,
        images: Sequence[bytes] = (),
    ) -> T:
        """Ask, and ask again until ``parse`` accepts the reply; return what it made of it.

        Parameters
        ----------
        parse : callable
            Reads the reply's text; raises `MalformedReply` with a reason for the model.
        propositions, reply_format : str
            What a repeated ask says again, so that its last message is complete in itself.

        Raises
        ------
        AgentGaveUp
            ``max_exception_retry`` further asks were not enough.
        workbench.models.errors.ModelError
            From the asker.
        """
        self.messages.append(Message(role="user", content=prompt, images=tuple(images)))
        # Unreadable replies are counted over the whole exchange; `retry`, part of an address, begins again at each step.
        retry = faults = interrupts = 0
        while True:
            reply = await self._send(stage, retry)
            try:
                if not reply.tool_calls:
                    value = parse(reply.text)
                    self._step += 1
                    return value
                self._serve(reply, left=self._settings.max_interrupt_times - interrupts)
            except MalformedReply as malformed:
                if faults == self._settings.max_exception_retry:
                    raise AgentGaveUp(stage, malformed.reason) from malformed
                faults += 1
                retry += 1
                self._complain(malformed.reason, propositions, reply_format)
            else:
                interrupts += 1
                self._step += 1
                retry = 0

    def cut(self, length: int) -> None:
        """Forget the messages from this position on; addresses go on counting."""
        del self.messages[length:]

    async def _send(self, stage: str, retry: int) -> ModelReply:
        request = ModelRequest(
            messages=tuple(self.messages),
            stage=stage,
            cutoff=self._cutoff.text,
            nodes=self.nodes,
            tools=self._offered(stage),
            temperature=self._settings.temperature,
        )
        reply = await self._ask(request, stage=stage, step=self._step, retry=retry)
        # Before it is read: an unreadable reply stays in the dialogue, because the complaint that follows speaks of it.
        self.messages.append(Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls))
        return reply

    def _offered(self, stage: str) -> tuple[ToolSpec, ...]:
        if self._tools is None:
            return ()
        # some providers refuse a dialogue that shows tool calls but offers no tool
        used = any(message.role == "tool" for message in self.messages)
        return self._tools.specs if stage != "conclude" or used else ()

    def _serve(self, reply: ModelReply, *, left: int) -> None:
        # Every call gets its answer, even if the reply is refused below: providers take no dialogue with an open tool call.
        for call in reply.tool_calls:
            if self._tools is None:
                answer = "There is no such tool here."
            elif left <= 0:
                answer = "Not answered: you have used up the documentation requests of this turn."
            else:
                answer = self._tools.answer(call)
            # Said once, with the last call.
            if "_cell>" in reply.text and call is reply.tool_calls[-1]:
                answer += "\n\nThe cells that came with this call were not run. Send them again if you still want them."
            self.messages.append(Message(role="tool", content=answer, tool_call_id=call.id))
        if self._tools is None:
            raise MalformedReply("it called a tool, and there is none here; answer in text")
        if left <= 0:
            raise MalformedReply(
                f"only {self._settings.max_interrupt_times} documentation requests are answered in one turn; "
                "answer now with what you know"
            )

    def _complain(self, reason: str, propositions: str, reply_format: str) -> None:
        again = render(
            "retry",
            reason=_sentence(reason),
            propositions=propositions,
            cutoff=self._cutoff.text,
            reply_format=reply_format,
        )
        self.messages.append(Message(role="user", content=again.text))


def _sentence(reason: str) -> str:
    return reason if reason.endswith((".", "!", "?")) else f"{reason}."
