"""The loop: ask for a move, run its tools, observe, record, until it ends itself or a limit ends it.

Every reply stands in the model ledger and every data answer in the data ledger before it is used, so a loop that is resumed
goes through the same moves without asking anybody twice; nothing in its requests depends on the clock or on chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import AgentGaveUp, MalformedReply
from workbench.agents.loop.belief_state import FIELD, BeliefState, merged_lists
from workbench.agents.loop.moves import LoopLimits, Move, Spent, read_move, with_belief
from workbench.agents.loop.tool_box import Observation, ToolBox, ToolUse
from workbench.agents.relayed import Relayed
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
    stage : str
        Stage of its ledger addresses; a name of its own for each loop of a leaf.
    system, prompt : str
        How it works, and the proposition. Nothing that a tool returns ever stands in either.
    proposition, reply_format : str
        What a complaint says again.
    ending : Ending
    limits : LoopLimits
    belief : bool
        Whether each move states a belief.
    search_first : bool
        All look-ups in the first step, the answer in the second (BLF's batch arm).
    interventions : mapping of step to p
        Overwrites the belief after a step, in all that follows (BLF, App. E, outlook).
    compact_over : int or None
        Characters of a belief's lists beyond which a reader merges them.
    """

    stage: str
    system: str
    prompt: str
    proposition: str
    reply_format: str
    ending: Ending[T]
    limits: LoopLimits = field(default_factory=LoopLimits)
    belief: bool = False
    search_first: bool = False
    interventions: Mapping[int, float] = field(default_factory=dict)
    compact_over: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One step that was taken: the move, what it brought, and the belief after it.

    ``step`` is that of the reply's ledger address. ``stated`` is the belief as the model stated it; ``belief`` is what went
    on, after an intervention or a merge of its lists. ``status`` is what the model was told behind the answers.
    """

    number: int
    stage: str
    step: int
    move: Move
    observations: tuple[Observation, ...] = ()
    stated: BeliefState | None = None
    belief: BeliefState | None = None
    notes: tuple[str, ...] = ()
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOutcome(Generic[T]):
    """How a loop ended; ``forced`` is the limit that ended it, "" where the model did."""

    result: T
    turns: tuple[Turn, ...]
    spent: Spent
    forced: str = ""


class AgentLoop(Generic[T]):
    """One loop of one leaf."""

    def __init__(
        self, plan: LoopPlan[T], task: LeafTask, box: ToolBox, gave_up: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.plan = plan
        self.box = box
        self.task = task
        self.spent = Spent()
        self.turns: list[Turn] = []
        self.belief: BeliefState | None = BeliefState() if plan.belief else None
        self._answered: dict[str, int] = {}
        offered = (*(tool.spec for tool in box.tools), plan.ending.spec)
        self._dialogue = Dialogue(
            system=plan.system,
            nodes=(task.node,),
            cutoff=task.cutoff,
            ask=Relayed(prompts_of(task.ask), self._ask),
            settings=task.settings,
            tools=_Offered(tuple(with_belief(spec) if plan.belief else spec for spec in offered)),
            extra_share=task.settings.extra_ask_share,
            gave_up=gave_up,
        )

    async def run(self) -> LoopOutcome[T]:
        """Go on until the loop ends.

        Raises `AgentGaveUp`: No usable move in the asks that are allowed. Raises `ModelError`: From the asker; also cancellation and the
        sandbox's errors pass.
        """
        prompt: str | None = self.plan.prompt
        while not (reason := self._stop_reason()):
            try:
                move = await self._move(prompt, only_end=self._must_end())
            except AgentGaveUp as error:
                return self._believed(error)
            prompt = None
            ended = move.call_of(self.plan.ending.spec.name)
            if ended is not None:
                return self._ended(ended, move)
            await self._observe(move)
        forced = self.plan.ending.forced(reason, self.belief)
        if forced is not None:
            return LoopOutcome(result=forced, turns=tuple(self.turns), spent=self.spent, forced=reason)
        last_words = self._dialogue.render(
            "loop_forced",
            reason=reason,
            end=self.plan.ending.spec.name,
            proposition=self.plan.proposition,
            cutoff=self.task.cutoff.shown,
            reply_format=self.plan.reply_format,
        ).text
        move = await self._move(last_words if prompt is None else prompt, only_end=True)
        ended = move.call_of(self.plan.ending.spec.name)
        assert ended is not None, "only the ending tool passes"
        return self._ended(ended, move, forced=reason)

    # --- one step ------------------------------------------------------------------------------------------------------

    def _must_end(self) -> bool:
        return not self.box.tools or (self.plan.search_first and bool(self.turns)) or self._last_word()

    def _last_word(self) -> bool:
        """Whether this is the last step of a loop that keeps no belief: a look-up there would end in the default."""
        last = self.spent.steps == self.plan.limits.steps - 1 and not self.plan.search_first
        return last and self.belief is None and self.plan.ending.forced("", None) is not None

    def _stop_reason(self) -> str:
        passed = self.spent.passed(self.plan.limits)
        return passed or ("the context of the model is nearly full" if self._dialogue.crowded else "")

    async def _move(self, prompt: str | None, *, only_end: bool) -> Move:
        ending = self.plan.ending

        def read(reply: ModelReply) -> Move:
            move = read_move(
                reply,
                end=ending.spec.name,
                only_end=only_end,
                belief=self.plan.belief,
                known=self.box.sources,
                names=self.box.names,
            )
            call = move.call_of(ending.spec.name)
            if call is not None:
                # Read here, so that an answer that is none goes back like any other unusable reply.
                ending.read(call.arguments, move.belief.state if move.belief else None)
            return move

        return await self._dialogue.turn(
            self.plan.stage,
            read,
            propositions=self.plan.proposition,
            reply_format=self.plan.reply_format,
            prompt=prompt,
            choice=ending.spec.name if only_end else "auto",
        )

    def _believed(self, error: AgentGaveUp) -> LoopOutcome[T]:
        """The belief after the last step, where nothing usable came in the turn that must end the loop (BLF, Algorithm 1).

        After the last of several steps without a belief state it is the ending's default. A belief that no step has stated is none, and
        where the loop could have gone on, its model has failed.
        """
        if not self.turns or not (self._must_end() if self.belief is not None else self._last_word()):
            raise error
        reason = f"nothing usable was submitted ({error.reason})"
        result = self.plan.ending.forced(reason, self.belief)
        if result is None:
            raise error
        return LoopOutcome(result=result, turns=tuple(self.turns), spent=self.spent, forced=reason)

    def _ended(self, call: ToolUse, move: Move, forced: str = "") -> LoopOutcome[T]:
        stated = move.belief.state if move.belief else None
        self.belief = stated or self.belief
        self._record(move, (), stated)
        return LoopOutcome(
            result=self.plan.ending.read(call.arguments, stated),
            turns=tuple(self.turns),
            spent=self.spent,
            forced=forced,
        )

    def _record(
        self,
        move: Move,
        observations: Sequence[Observation],
        stated: BeliefState | None,
        notes: Sequence[str] = (),
    ) -> None:
        self.spent.steps += 1
        self.turns.append(
            Turn(
                number=len(self.turns) + 1,
                stage=self.plan.stage,
                step=self._dialogue.last_step,
                move=move,
                observations=tuple(observations),
                stated=stated,
                belief=self.belief,
                notes=tuple(notes),
            )
        )

    async def _observe(self, move: Move) -> None:
        number = len(self.turns) + 1
        fresh = [call for call in move.calls if call.key() not in self._answered or call.name == "cell"]
        ran = dict(zip((id(call) for call in fresh), await self.box.run(fresh, step=number), strict=True))
        observations = [ran.get(id(call)) or self._repeated(call) for call in move.calls]
        for call in fresh:
            self._answered.setdefault(call.key(), number)
        self.spent.tool_calls += len(fresh)
        self.spent.seconds += sum(observation.seconds for observation in observations)
        self.spent.errors = self.spent.errors + 1 if all(item.failed for item in observations) else 0
        notes = await self._update(move, number)
        stated = move.belief.state if move.belief else None
        self._record(move, observations, stated, notes)
        status = self._status(notes)
        self.turns[-1] = replace(self.turns[-1], status=status)
        in_text = [item.text for call, item in zip(move.calls, observations, strict=True) if call.id is None]
        if in_text:
            self._dialogue.observe(None, "\n\n".join([*in_text, status]))
            return
        for place, (call, item) in enumerate(zip(move.calls, observations, strict=True), 1):
            last = f"\n\n{status}" if place == len(move.calls) else ""
            short = short_form([(source.id, source.title) for source in item.sources], item.text)
            self._dialogue.observe(call.id, item.text + last, short=short + last)

    def _repeated(self, call: ToolUse) -> Observation:
        return Observation(
            text=f"This very call was answered in step {self._answered.get(call.key(), 0)}; its answer stands there.",
            failed=True,
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
        self.belief = move.belief.state
        if number in self.plan.interventions:
            self.belief = replace(self.belief, p=self.plan.interventions[number])
            self._dialogue.restate(self._overwritten)
        limit = self.plan.compact_over
        if limit is not None and self.belief.characters > limit:
            merged = await self._merged(self.belief, number)
            if merged is not None:
                self.belief = merged
                notes.append(self._dialogue.render("belief_merged", belief=written(merged)).text)
        return notes

    def _overwritten(self, call: ToolCall) -> ToolCall:
        stated = call.arguments.get(FIELD)
        if self.belief is None or not isinstance(stated, Mapping):
            return call
        return replace(call, arguments={**call.arguments, FIELD: {**stated, "probability": self.belief.p}})

    async def _merged(self, belief: BeliefState, number: int) -> BeliefState | None:
        """The belief with merged lists, by the reader's model; None where its merge cannot be used: the lists then stay."""
        prompt = self._dialogue.render(
            "belief_compact",
            proposition=self.plan.proposition,
            cutoff=self.task.cutoff.shown,
            belief=written(belief),
        )
        request = ModelRequest(
            messages=(Message(role="user", content=prompt.text),),
            stage="compact",
            cutoff=self.task.cutoff.text,
            nodes=(self.task.node,),
            role="reader",
        )
        reply = await self._ask(request, stage="compact", step=self.box.track * 1000 + number, retry=0)
        try:
            merged, _ = read_json(
                without_thoughts(reply.text),
                lambda value: merged_lists(belief, value, self.box.sources),
                what="```json block",
            )
        except MalformedReply:  # a merge saves room and decides nothing
            return None
        return merged

    def _status(self, notes: Sequence[str]) -> str:
        left = self.plan.limits.steps - self.spent.steps
        lines = [*notes, f"(Step {self.spent.steps} of {self.plan.limits.steps} is done, {left} left."]
        if self.belief is not None:
            lines[-1] += f" Your belief: {self.belief.line()}."
        if left == 1 or (self.plan.search_first and self.spent.steps == 1):
            lines[-1] += f" Call {self.plan.ending.spec.name} now."
        lines[-1] += ")"
        return "\n".join(lines)

    async def _ask(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        reply = await self.task.ask(request, stage=stage, step=step, retry=retry)
        self.spent.count(reply)
        return reply


def written(belief: BeliefState) -> str:
    """Return the lists of a belief as lines, with the ids they cite."""
    lines = [f"p = {belief.p:.4f}, confidence {belief.confidence}"]
    for name, pieces in (("For", belief.evidence_for), ("Against", belief.evidence_against)):
        lines.append(f"{name}:")
        lines += [
            f"- {piece.text}" + (f" [{', '.join(piece.sources)}]" if piece.sources else "")
            for piece in pieces
        ]
    lines.append("Open:")
    lines += [f"- {question}" for question in belief.open_questions]
    return "\n".join(lines)


def short_form(named: Sequence[tuple[str, str]], text: str) -> str:
    """Return what stays of a tool's answer once room is needed: the ids it gave out and their titles."""
    titles = "; ".join(f"[{identity}] {title}" for identity, title in named)
    return f"(shown before, shortened) {titles or text[:200]}"


class _Offered:
    """The tools of a dialogue; the loop answers their calls itself."""

    def __init__(self, specs: tuple[ToolSpec, ...]) -> None:
        self.specs = specs

    def answer(self, call: ToolCall) -> str:
        raise AssertionError("a loop's calls are answered by the loop")
