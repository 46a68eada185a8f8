"""``offline/analyst``: text to text like any model, but by rule; deterministic and without a key.

It is no language model and says so. It reads the stage, the propositions, the cutoff and the dialogue of a request
and answers in the formats that the prompts ask for: it decomposes a dated claim about an embedded series, writes the
cells that estimate each leaf from visible data, concludes with the number the cells printed, and combines reports
with weights from their own history. Anything else it refuses in one sentence.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from workbench.models.base import ModelReply, ModelRequest, NodeRef, PastShare, Usage
from workbench.models.errors import ClaimRefused, ModelUnavailable, UnknownModel
from workbench.models.model_options import ModelOptions
from workbench.models.registry import unknown_model
from workbench.offline.claim_forecast import forecast_claim
from workbench.offline.decomposition import Branch, Planner, analysis_reply, leaves
from workbench.offline.driver_weights import CONSTANT_MAX
from workbench.offline.leaf_stages import conclusion_reply, debug_reply, step_reply
from workbench.offline.notebook_cells import notebook
from workbench.offline.offline_synthesis import combine, read_children, synthesis_reply
from workbench.offline.report_records import OutcomeRecord
from workbench.offline.visible_past import Observe, broker_history, visible
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, appraise, check, decided, series_of, settle
from workbench.questions.errors import ANOTHER_MODEL
from workbench.questions.grammar import CAN_DO, read_claim
from workbench.questions.series.claim_paths import ClaimPaths, claim_fan
from workbench.questions.series.embedded_series import DATA_END
from workbench.questions.series.known_series import data_end

NAME = "offline/analyst"
RULES = ("linear", "vanilla")
_COMPANIONS = ("SP500", "VIX", "WTI", "AAA", "BAA", "CORE_CPI")


class OfflineAnalyst:
    """The key-free model.

    Parameters
    ----------
    observe : Observe
        Gives the rows of an embedded series that are visible at a cutoff.
    """

    def __init__(self, observe: Observe) -> None:
        self._observe = observe
        self._plans: dict[str, Branch] = {}
        self._paths = ClaimPaths()
        # Claims that passed their checks, by statement and cutoff: a leaf makes five requests, and its rows take a while to read.
        self._treated: dict[tuple[str, str], Claim] = {}

    @property
    def name(self) -> str:
        """``offline/analyst``."""
        return NAME

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer a request; equal requests over equal visible data get equal bytes.

        Raises
        ------
        ClaimRefused
            The claim is outside what can be decided by rule, or the stage is one that needs a language model.
        ModelUnavailable
            The embedded data cannot be read.
        """
        try:
            text = await self._answer(request)
        except ProxyError as problem:
            raise _unreadable(problem) from problem
        return ModelReply(text=text, model=NAME, usage=Usage(input_tokens=0, output_tokens=0), cost_usd=0.0)

    async def preflight(
        self, statement: str, cutoff: str, *, stages: Sequence[str], free_rules: Sequence[str]
    ) -> PastShare | None:
        """Refuse, before a run is opened, what :meth:`complete` would refuse in it; return what history says of the claim.

        Raises
        ------
        ClaimRefused
            The claim or a stage cannot be treated, or the values visible at the cutoff have settled the claim.
        ModelUnavailable
            The embedded data cannot be read.
        """
        for stage in stages:
            if stage not in RULES:
                raise ClaimRefused(_no_stage(stage, free_rules), *ANOTHER_MODEL)
        claim, rows, past = await self.appraised(statement, cutoff)
        with suppress(ClaimRefused):  # too little is known to simulate: history says what there is to say
            past = past._replace(
                forecast=await asyncio.to_thread(self._paths.chance, claim, rows),
                # of the paths that were drawn for the forecast
                fan=await asyncio.to_thread(claim_fan, claim, rows, paths=self._paths),
            )
        return past

    async def appraised(self, statement: str, cutoff: str) -> tuple[Claim, Mapping[str, Rows], PastShare]:
        """Return a claim that can be treated, the rows of its series and what history says of it; refuses as :meth:`preflight` does."""
        try:
            claim, last_day, at = claim_at(statement, cutoff)
            rows = await visible(self._observe, claim.sources, at)
            return claim, rows, await self._check((statement, cutoff), claim, rows, last_day)
        except ProxyError as problem:
            raise _unreadable(problem, statement) from problem

    async def _answer(self, request: ModelRequest) -> str:
        if not request.nodes:
            raise ClaimRefused("the request names no proposition; ", *CAN_DO)
        if request.stage == "analyze":
            return await self._analyze(request)
        if request.stage in ("step", "debug", "conclude"):
            return await self._ground(request)
        if request.stage in RULES:
            return await self._synthesize(request)
        raise ClaimRefused(_no_stage(request.stage), *ANOTHER_MODEL)

    async def _analyze(self, request: ModelRequest) -> str:
        root = request.nodes[0]
        claim, last_day, cutoff = claim_at(root.statement, request.cutoff)
        if claim.reference:
            raise ClaimRefused(
                f"a reference class stands on its own record and is not split further by {NAME}: use depth 1, "
                "or ",
                *ANOTHER_MODEL,
            )
        # Embedded companions end with the embedded data; they say nothing of a later window.
        companions = _COMPANIONS if claim.end <= DATA_END else ()
        rows = await visible(self._observe, {*companions, *claim.sources}, cutoff)
        # Every round of the analyze stage needs the whole plan. It is made once for equal data; in a thread, because the
        # base rates of its candidates are computed and would hold up the loop.
        inputs = json.dumps([root.statement, last_day.isoformat(), rows], sort_keys=True, default=str)
        key = hashlib.sha256(inputs.encode()).hexdigest()
        if key not in self._plans:
            settled = settle(claim, rows)
            plan = self._plans[key] = await asyncio.to_thread(Planner(rows, last_day).plan, settled)
            self._treated |= {(leaf.claim.statement, request.cutoff): leaf.claim for leaf in leaves(plan)}
        return analysis_reply(self._plans[key], request.nodes, request.messages)

    async def _ground(self, request: ModelRequest) -> str:
        node = request.nodes[0]
        claim = await self._treatable(node.statement, request.cutoff)
        if request.stage == "conclude":
            return conclusion_reply(node, claim, request.messages)
        last_day = Cutoff.parse(request.cutoff).last_moment_day
        steps = notebook(claim, statement=node.statement, cutoff=request.cutoff, last_day=last_day)
        reply: Callable[..., str] = step_reply if request.stage == "step" else debug_reply
        return reply(steps, request.messages)

    async def _synthesize(self, request: ModelRequest) -> str:
        parent, *nodes = request.nodes
        if not nodes:
            raise ClaimRefused(f"the request shows no child of {parent.id}, so there is nothing to combine")
        questions = [message.content for message in request.messages if message.role == "user"]
        children = read_children(questions[0] if questions else "", nodes)
        # A constant above its bound is shown once more to whoever may stand by it; a second time it was refused.
        refused = sum(message.role == "assistant" for message in request.messages) > 1
        result = combine(
            await self._forecast(parent, request.cutoff),
            children,
            constant_max=CONSTANT_MAX if refused else 1.0,
        )
        return synthesis_reply(parent, result, linear=request.stage == "linear")

    async def _forecast(self, node: NodeRef, cutoff_text: str) -> OutcomeRecord | None:
        """Forecast a proposition; None where it is no claim of the grammar, as in trees that someone else made."""
        try:
            claim, last_day, cutoff = claim_at(node.statement, cutoff_text)
            rows = await visible(self._observe, claim.sources, cutoff)
            return await asyncio.to_thread(
                forecast_claim, claim, rows, last_day, self._paths, statement=node.statement
            )
        except ClaimRefused:
            return None

    async def _treatable(self, statement: str, cutoff_text: str) -> Claim:
        """Return the claim, settled by the visible rows, once all that its notebook computes has passed.

        A leaf of a tree that somebody else made may be decided by them, and then is 0 or 1 with its row as proof.
        """
        key = (statement, cutoff_text)
        if key not in self._treated:
            claim, last_day, cutoff = claim_at(statement, cutoff_text)
            rows = await visible(self._observe, claim.sources, cutoff)
            if decided(settle(claim, rows), series_of(claim, rows)[0]) is not None:
                return settle(claim, rows)
            await self._check(key, claim, rows, last_day)
        return self._treated[key]

    async def _check(
        self, key: tuple[str, str], claim: Claim, rows: Mapping[str, Rows], last_day: date
    ) -> PastShare:
        check(claim, last_day)
        windows = await asyncio.to_thread(appraise, claim, rows, last_day)
        self._treated[key] = settle(claim, rows)
        return PastShare(windows.base_rate, windows.effective_windows)


def _unreadable(problem: ProxyError, statement: str = "") -> ModelUnavailable:
    message = f"{NAME} cannot read the data: {problem}"
    with suppress(ClaimRefused):
        series = read_claim(statement).about
        if series.goes_on:
            message += (
                f"; without {series.goes_on} the embedded data on {series.article} serve claims that end by {data_end(series)}, "
                "asked at an earlier cutoff"
            )
    return ModelUnavailable(message)


def _no_stage(name: str, free_rules: Sequence[str] = ()) -> str:
    return (
        f"{NAME} has no answer for {name!r}: its grounder is notebook, its rule one of {', '.join((*RULES, *free_rules))}; "
        "for other grounders and rules "
    )


def claim_at(statement: str, cutoff_text: str) -> tuple[Claim, date, Cutoff]:
    """Return the claim, the last day visible at the cutoff, and the cutoff; no datum is read.

    The first page calls it while a claim is typed.

    Raises
    ------
    ClaimRefused
        It cannot be read, or not be asked at this cutoff by the calendar of the embedded data.
    """
    try:
        cutoff = Cutoff.parse(cutoff_text)
    except ProxyError as problem:
        raise ClaimRefused(str(problem)) from problem
    claim = read_claim(statement).going_on()
    cutoff = dated_cutoff(cutoff)
    last_day = cutoff.last_moment_day
    check(claim, last_day)
    return claim, last_day, cutoff


def dated_cutoff(cutoff: Cutoff) -> Cutoff:
    """Turn a cutoff of ``now`` into its instant: sources then show what was known, and no day counts before it is over."""
    return Cutoff.parse(cutoff.instant.isoformat()) if cutoff.live else cutoff


def open_offline_model(name: str, options: ModelOptions) -> OfflineAnalyst:
    """Return the model of this name; the factory of the provider ``offline``. Raises ``UnknownModel``."""
    if name != NAME:
        raise UnknownModel(unknown_model(name))
    return OfflineAnalyst(broker_history(options.broker))
