"""The loop: ask for a move, run its tools, observe, record, until it ends itself or a limit ends it.

Every reply stands in the model ledger and every data answer in the data ledger before it is used, so a loop that is resumed
goes through the same moves without asking anybody twice; nothing in its requests depends on the clock or on chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from workbench.agents.conversation import Conversation, LoopLimits
from workbench.agents.errors import AgentGaveUp, MalformedReply
from workbench.agents.evidence.base import TraceCall, TraceStep
from workbench.agents.loop.belief_state import FIELD, BeliefState, merged_lists
from workbench.agents.loop.moves import Move, read_move, with_belief
from workbench.agents.loop.tool_box import Observation, ToolBox, ToolUse
from workbench.agents.replies.json_reply import read_json
from workbench.models.base import Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from workbench.models.thoughts import without_thoughts
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from workbench.agents.base import LeafTask

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Ending(Protocol[T_co]):
    """The tool that ends a loop, and what it makes of a call."""

    @property
    def spec(self) -> ToolSpec:
        """The tool."""
        ...

    def read(self, arguments: Mapping[str, Any], belief: BeliefState | None) -> T_co:
        """Return the result; raises `MalformedReply`."""
        ...

    def forced(self, reason: str, belief: BeliefState | None) -> T_co | None:
        """Return the result where a limit ended the loop; None: the model is asked for it once more, with nothing else to call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPlan(Generic[T]):
    """What one loop is about.

    Parameters
    ----------
    ending : Ending
    limits : LoopLimits
    rules : str
        Name of the prompt that says how it works. Nothing that a tool returns ever stands in it.
    stage : str
        Stage of its ledger addresses; a name of its own for each loop of a leaf.
    proposition : str
        What it works on, where that is not the leaf alone; a complaint says it again.
    hints : str
        Lines behind those that every first prompt of the leaf has.
    belief : bool
        Whether each move states a belief.
    search_first : bool
        All look-ups in the first step, the answer in the second (BLF's batch arm).
    interventions : mapping of step to p
        Overwrites the belief after a step, in all that follows (BLF, App. E, outlook).
    compact_over : int or None
        Characters of a belief's lists beyond which a reader merges them.
    """

    ending: Ending[T]
    limits: LoopLimits
    rules: str = "loop_rules_plain"
    stage: str = "act"
    proposition: str = ""
    hints: str = ""
    belief: bool = False
    search_first: bool = False
    interventions: Mapping[int, float] = field(default_factory=dict)
    compact_over: int | None = None


class AgentLoop(Conversation, Generic[T]):
    """One loop of one leaf: ``steps`` that were taken, as they are stored; ``forced``: the limit that ended it, "" where the model did."""

    def __init__(
        self, plan: LoopPlan[T], task: LeafTask, box: ToolBox, gave_up: Sequence[tuple[int, int]] = ()
    ) -> None:
        render = prompts_of(task.ask).render
        self.plan, self.task, self.box = plan, task, box
        self.steps: list[TraceStep] = []
        self.forced = ""
        self.belief: BeliefState | None = BeliefState() if plan.belief else None
        self.end = plan.ending.spec.name
        self.reply_format = render("loop_reply", end=self.end)
        self._called: dict[str, int] = {}
        specs = (*(tool.spec for tool in box.tools), plan.ending.spec)
        super().__init__(
            task.ask,
            render(
                "loop_system",
                cutoff=task.cutoff.shown,
                rules=render(plan.rules, end=self.end),
                forecast_rules=render("forecast_rules"),
                api_map=task.data.overview.strip() if "call_api" in box.names else "(none in this run)",
            ),
            about=plan.proposition or task.proposition,
            nodes=(task.node,),
            cutoff=task.cutoff,
            settings=task.settings,
            tools=tuple(with_belief(spec) if plan.belief else spec for spec in specs),
            extra_share=task.settings.extra_ask_share,
            gave_up=gave_up,
        )

    async def run(self) -> T:
        """Go on until the loop ends; return what it ends in.

        Raises `AgentGaveUp`: No usable move in the asks that are allowed. Raises `ModelError`: From the asker; also cancellation and the
        sandbox's errors pass.
        """
        prompt: str | None = self.render(
            "loop_first",
            max_steps=self.plan.limits.steps,
            hints=self.task.hints + self.plan.hints,
            reply_format=self.reply_format,
        )
        while not (reason := self._stop_reason()):
            try:
                move = await self._move(prompt, only_end=self._must_end())
            except AgentGaveUp as error:
                return self._believed(error)
            prompt = None
            ended = move.call_of(self.end)
            if ended is not None:
                return self._ended(ended, move)
            await self._observe(move)
        self.forced = reason
        result = self.plan.ending.forced(reason, self.belief)
        if result is not None:
            return result
        last_words = self.render(
            "loop_forced",
            reason=reason,
            end=self.end,
            reply_format=self.reply_format,
        )
        move = await self._move(prompt or last_words, only_end=True)
        ended = move.call_of(self.end)
        assert ended is not None, "only the ending tool passes"
        return self._ended(ended, move)

    # --- one step ------------------------------------------------------------------------------------------------------

    def _must_end(self) -> bool:
        return not self.box.tools or (self.plan.search_first and bool(self.steps)) or self._last_word()

    def _last_word(self) -> bool:
        """Whether this is the last step of a loop that keeps no belief: a look-up there would end in the default."""
        last = self.spent.steps == self.plan.limits.steps - 1 and not self.plan.search_first
        return last and self.belief is None and self.plan.ending.forced("", None) is not None

    def _stop_reason(self) -> str:
        passed = self.spent.passed(self.plan.limits)
        return passed or ("the context of the model is nearly full" if self.crowded else "")

    async def _move(self, prompt: str | None, *, only_end: bool) -> Move:
        def read(reply: ModelReply) -> Move:
            move = read_move(
                reply,
                end=self.end,
                only_end=only_end,
                belief=self.plan.belief,
                known=self.box.sources,
                names=self.box.names,
            )
            call = move.call_of(self.end)
            if call is not None:
                # Read here, so that an answer that is none goes back like any other unusable reply.
                self.plan.ending.read(call.arguments, move.stated)
            return move

        return await self.turn(
            self.plan.stage,
            read,
            reply_format=self.reply_format,
            prompt=prompt,
            choice=self.end if only_end else "auto",
        )

    def _believed(self, error: AgentGaveUp) -> T:
        """The belief after the last step, where nothing usable came in the turn that must end the loop (BLF, Algorithm 1).

        After the last of several steps without a belief state it is the ending's default. A belief that no step has stated is none, and
        where the loop could have gone on, its model has failed.
        """
        if not self.steps or not (self._must_end() if self.belief is not None else self._last_word()):
            raise error
        self.forced = f"nothing usable was submitted ({error.reason})"
        result = self.plan.ending.forced(self.forced, self.belief)
        if result is None:
            raise error
        return result

    def _ended(self, call: ToolUse, move: Move) -> T:
        self.belief = move.stated or self.belief
        self._record(move, ())
        return self.plan.ending.read(call.arguments, move.stated)

    def _record(
        self, move: Move, observations: Sequence[Observation], notes: Sequence[str] = (), status: str = ""
    ) -> None:
        calls = tuple(
            TraceCall(
                tool=call.name,
                arguments={name: value for name, value in call.arguments.items() if name != FIELD},
                number=number,
                call_id=call.id,
                text=seen.text,
                sha256=seen.sha256,
                answers=seen.answers,
                sources=tuple(source.id for source in seen.sources),
                marks=seen.marks,
                failed=seen.failed,
                cell=seen.cell,
            )
            for number, (call, seen) in enumerate(zip(move.calls, observations, strict=False), 1)
        )
        belief, stated = self.belief, move.stated
        overwritten = belief is not None and stated is not None and stated.p != belief.p
        self.steps.append(
            TraceStep(
                title=" and ".join(dict.fromkeys(call.name for call in move.calls)),
                text=move.text,
                p=None if belief is None else belief.p,
                answers=tuple(dict.fromkeys(answer for call in calls for answer in call.answers)),
                stage=self.plan.stage,
                reply=self.last_step,
                calls=calls,
                belief=belief,
                stated=stated.p if overwritten and stated is not None else None,
                notes=tuple(notes),
                status=status,
            )
        )
        self.spent.steps = len(self.steps)

    async def _observe(self, move: Move) -> None:
        number = len(self.steps) + 1
        fresh = [call for call in move.calls if call.key() not in self._called or call.name == "cell"]
        ran = dict(zip((id(call) for call in fresh), await self.box.run(fresh, step=number), strict=True))
        observations = [ran.get(id(call)) or self._repeated(call) for call in move.calls]
        for call in fresh:
            self._called.setdefault(call.key(), number)
        self.spent.tool_calls += len(fresh)
        self.spent.seconds += sum(seen.seconds for seen in observations)
        self.spent.errors = self.spent.errors + 1 if all(seen.failed for seen in observations) else 0
        notes = await self._update(move, number)
        status = self._status(notes, number)
        self._record(move, observations, notes, status)
        in_text = [seen.text for call, seen in zip(move.calls, observations, strict=True) if call.id is None]
        if in_text:
            self.observe(None, "\n\n".join([*in_text, status]))
            return
        for place, (call, seen) in enumerate(zip(move.calls, observations, strict=True), 1):
            last = f"\n\n{status}" if place == len(move.calls) else ""
            short = short_form([(source.id, source.title) for source in seen.sources], seen.text)
            self.observe(call.id, seen.text + last, short=short + last)

    def _repeated(self, call: ToolUse) -> Observation:
        step = self._called.get(call.key(), 0)
        return Observation(
            text=f"This very call was answered in step {step}; its answer stands there.", failed=True
        )

    async def _update(self, move: Move, number: int) -> list[str]:
        """Take over the belief of a move; return what is to be said about it."""
        if move.belief is None:
            return []
        notes = []
        if move.belief.unknown_ids:
            notes.append(f"Nothing shown to you has the id {', '.join(move.belief.unknown_ids)}; taken off.")
        if move.belief.uncited:
            notes.append(f"{move.belief.uncited} pieces of evidence cite no source.")
        before = self.steps[-1].p if self.steps else None
        self.belief = move.belief.state
        if number in self.plan.interventions:
            self.belief = replace(self.belief, p=self.plan.interventions[number])
            # The newest message is the model's move; later requests show its calls with the belief that counts.
            calls = tuple(map(self._overwritten, self.messages[-1].tool_calls))
            self.messages[-1] = replace(self.messages[-1], tool_calls=calls)
        self.spent.state_again(before, self.belief.p)
        limit = self.plan.compact_over
        if limit is not None and self.belief.characters > limit:
            merged = await self._merged(self.belief, number)
            if merged is not None:
                self.belief = merged
                notes.append(self.render("belief_merged", belief=merged.written()))
        return notes

    def _overwritten(self, call: ToolCall) -> ToolCall:
        stated = call.arguments.get(FIELD)
        if self.belief is None or not isinstance(stated, Mapping):
            return call
        return replace(call, arguments={**call.arguments, FIELD: {**stated, "probability": self.belief.p}})

    async def _merged(self, belief: BeliefState, number: int) -> BeliefState | None:
        """The belief with merged lists, by the reader's model; None where its merge cannot be used: the lists then stay."""
        prompt = self.render(
            "belief_compact",
            belief=belief.written(),
        )
        request = ModelRequest(
            messages=(Message(role="user", content=prompt),),
            stage="compact",
            cutoff=self.cutoff.text,
            nodes=self.nodes,
            role="reader",
        )
        reply = await self.ask(request, self.box.track * 1000 + number, 0)
        try:
            merged, _ = read_json(
                without_thoughts(reply.text),
                lambda value: merged_lists(belief, value, self.box.sources),
                what="```json block",
            )
        except MalformedReply:  # a merge saves room and decides nothing
            return None
        return merged

    def _status(self, notes: Sequence[str], number: int) -> str:
        most = self.plan.limits.steps
        line = f"(Step {number} of {most} is done, {most - number} left."
        if self.belief is not None:
            line += f" Your belief: {self.belief.line()}."
        if most - number == 1 or (self.plan.search_first and number == 1):
            line += f" Call {self.end} now."
        return "\n".join([*notes, f"{line})"])


def short_form(named: Sequence[tuple[str, str]], text: str) -> str:
    """Return what stays of a tool's answer once room is needed: the ids it gave out and their titles."""
    titles = "; ".join(f"[{identity}] {title}" for identity, title in named)
    return f"(shown before, shortened) {titles or text[:200]}"
