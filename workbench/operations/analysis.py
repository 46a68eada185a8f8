"""The main job: a claim becomes a tree, drivers with evidence, and a probability; and a run that goes on."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import BeforeValidator, create_model

from proxies.input_files import MOST_TEXT_BYTES, InputRefused, read_text
from workbench.engine.leaves.aggregation import Aggregation
from workbench.engine.named_settings import (
    SETTINGS,
    json_or_text,
    merged,
    read_settings,
    setting_of,
    settings_by_panel,
)
from workbench.errors import Option, UsageError
from workbench.formatting import counted, percent, plain_numbers
from workbench.models.model_options import OFFLINE
from workbench.offline.examples import EXAMPLE_CUTOFF, EXAMPLES, data_reach
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Facts, Remark
from workbench.operations.fields import Author, CutoffText, Level, Names, ReadingNumber, RunName
from workbench.operations.model_work import finds_news, may_buy_again
from workbench.operations.run_document import RecordProcess, RunDocument
from workbench.operations.run_work import RunWork, ended, record_process
from workbench.plug_points import ANALYZERS, GROUNDERS, SYNTHESIZERS, plugin_names
from workbench.requests import RequestField, Says, Setting, fields_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.engine.flow import Engine
    from workbench.engine.run_settings import RunSettings
    from workbench.questions.readings.choice import ReadClaim
    from workbench.questions.readings.slots import Readings


def _price(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


#: Kinds of settings whose values are typed otherwise than they are stored.
_TYPED = {"prices": dict[str, Annotated[list[float], BeforeValidator(_price)]]}
#: Of a new run alone.
_TYPED_NEW = {"model": Names}


def _kind(each: RequestField, *, new: bool) -> Any:
    typed = {**_TYPED, **(_TYPED_NEW if new else {})}
    return typed.get(each.name, get_args(each.kind)[0])


def _settings(*, new: bool) -> dict[str, Any]:
    """Return a field for each setting of a new run, or for those that a run which was begun may change; None: as it is."""
    return {
        each.name: (Annotated[_kind(each, new=new) | None, each.says], None)
        for model in SETTINGS
        for each in fields_of(model)
        if new or setting_of(each).resume
    }


if TYPE_CHECKING:

    class _NewRun(RunWork): ...

    class _BegunRun(RunWork): ...
else:
    _NewRun = create_model("_NewRun", __base__=RunWork, __module__=__name__, **_settings(new=True))
    _BegunRun = create_model("_BegunRun", __base__=RunWork, __module__=__name__, **_settings(new=False))


def _chosen(request: RunWork, *, new: bool) -> dict[str, Any]:
    return {name: getattr(request, name) for name in _settings(new=new) if name in request.model_fields_set}


_AGGREGATION = [item.name for item in fields(Aggregation) if item.name != "learned_from"]


def _read_aggregation(values: object) -> object:
    if not isinstance(values, Mapping):
        return values
    read = {
        str(name).replace("-", "_"): json_or_text(value) if isinstance(value, str) else value
        for name, value in values.items()
    }
    if not read.keys() <= {*_AGGREGATION, "learned_from"}:
        raise ValueError(f"names are {', '.join(_AGGREGATION)}")
    return read


class Analyze(_NewRun):
    """Break a claim into drivers, collect evidence for them in sealed notebooks, and combine them into a probability."""

    places = ("statement",)
    short = (
        "cutoff",
        "settings",
        "model",
        "grounder",
        "background",
        "criteria",
        "depth",
        "trials",
        "budget_usd",
        "plan_only",
        "detach",
    )
    unlisted = (
        "workers",
        "isolation",
        "api_base",
        "analyzer",
        "rule",
        "preset",
        "concurrency",
        "budget_tokens",
        "budget_calls",
        "budget_seconds",
        "prices",
        "models",
        "fallback",
        "timeout",
        "approve",
        "max_leaves",
        "max_proof_steps",
        "temperature",
        "max_tokens",
        "effort",
        "crowd",
        "reading",
    )

    statement: str
    """A claim that will turn out true or false."""
    cutoff: CutoffText
    ground_with: Annotated[
        dict[str, str],
        Says(
            text="The grounder of one driver, or several joined by + and pooled: P3=statistical. Repeat for more; other drivers go by"
            " --grounder.",
            form="LEAF=GROUNDER, for example P3=statistical",
        ),
    ] = {}
    semantics: str | None = None
    """strict: every linear rule is a Bayes net's table too, which stays within [0, 1]; free."""
    normalise: str | None = None
    """How strict rules (`semantics`) mend weights: scale (the default), softmax or min-max."""
    aggregation: Annotated[
        dict[str, Any],
        BeforeValidator(_read_aggregation),
        Setting(
            panel="",
            text="How trials become one probability: pool=logit-mean|mean|median, dead=drop|impute, floor, slope and prior (shrinkage),"
            " calibration-slope, calibration-offset, learn=true.",
            word="aggregate",
            form=f"NAME=VALUE, NAME one of {', '.join(name.replace('_', '-') for name in _AGGREGATION)}",
        ),
    ] = {}
    options: Annotated[
        dict[str, dict[str, Any]],
        Setting(panel="", text="Settings of one agent, by its role; the agent checks them."),
    ] = {}
    plan_only: bool = False
    """Stop after the tree, with a cost forecast."""
    reading: ReadingNumber = None

    async def answer(self, home: Home) -> RunDocument:
        """Return the run with its nodes; what the model or a source refuses for good is raised, and `Resume` goes on."""
        from proxies.asof.clock import Cutoff
        from workbench.engine.approvals import check_answerable
        from workbench.models.model_list import require_key
        from workbench.operations.first_search import search_first

        if self.detach and self.plan_only:
            raise UsageError(
                Option("detach"),
                " returns at once: leave out ",
                Option("plan_only"),
                ", and look at the run with watch",
            )
        settings, place = self.run_settings(home), self.place()
        here = settings.api_base and settings.model.partition("/")[0]  # a server of one's own may want none
        for name in dict.fromkeys((settings.model, *settings.direct_models)):
            if name.partition("/")[0] != here:
                require_key(name, home.environ)  # before the run is opened: what is refused leaves nothing
        cutoff = Cutoff.parse(self.cutoff)
        claim = await self._claim(home, cutoff, settings)
        check_answerable(settings, answered=home.answered, workers=place is not None)
        # A quick forecast rests on its search alone, so that a person decides before the run is opened.
        asks = settings.preset == "quick" and cutoff.live and not settings.context.news
        if (
            settings.search_first
            and asks
            and not finds_news(home, cutoff, Option("news", "text", by_set=True))
        ):
            settings = replace(settings, search_first=False)
        if self.detach:
            from workbench.engine.assembly import open_engine

            async with open_engine(
                home.store, settings, environ=home.environ, isolation=settings.isolation, answered=True
            ) as engine:
                run_id = await self._opened(home, engine, claim, cutoff, settings)
            return self.detached(home, run_id, settings.isolation)
        async with self.engine(home, settings, settings.isolation) as engine:
            run_id = home.run = await self._opened(home, engine, claim, cutoff, settings)
            await search_first(home, run_id)
            measured = RecordProcess() if self.plan_only else record_process(home, run_id)
            await engine.work(run_id, plan_only=self.plan_only)
        return await ended(home, run_id, measured)

    def show(self, document: RunDocument) -> Iterator[Block]:
        """Return the tree and what it rests on; of a plan what the rest will cost."""
        from workbench.engine.expected_cost import cost_line

        yield from super().show(document)
        if self.plan_only:
            yield Remark(cost_line(document.run.state))

    def run_settings(self, home: Home) -> RunSettings:
        """Return the settings of the run: those asked for, over those of the files where a person stands, over the preset's."""
        from workbench.engine.settings_file import defaults, run_settings

        named = read_settings(self.settings)
        others: dict[str, Any] = {"options": self.options, "aggregation": self.aggregation}
        if self.normalise is not None and self.semantics != "strict":
            # Not ignored: without strict rules it would change nothing, and the run would not be what was asked for.
            raise UsageError("normalise says how strict rules are made: add ", Option("semantics", "strict"))
        rules = {
            name: value for name in ("semantics", "normalise") if (value := getattr(self, name)) is not None
        }
        if rules:
            others["options"] = merged(self.options, {"synthesizer": rules})
        chosen = merged(
            {**_chosen(self, new=True), **{name: own for name, own in others.items() if own}}, named
        )
        if self.ground_with:
            _name_grounders(chosen, self.ground_with)
        if isinstance(models := chosen.pop("model", None), list) and models:
            # The first one builds the tree; the direct forecasts are of all, in an order that does not depend on who is named first.
            chosen["model"] = models[0]
            if len(set(models)) > 1:
                chosen["direct_models"] = sorted(set(models))
        elif models:
            chosen["model"] = models
        values: dict[str, Any] = {}
        if home.in_folder is not None:
            chosen |= {name: _text_or_file(name, chosen.get(name)) for name in ("background", "criteria")}
            values, complaints = defaults(home.in_folder)
            for complaint in complaints:
                home.say(f"workbench: {complaint}")
        nulls = [name for name, value in named.items() if value is None]
        return run_settings(chosen, values, nulls=nulls, event=self._is_event())

    def _is_event(self) -> bool:
        """Whether the words of the claim name neither a series nor a level."""
        from proxies.asof.clock import Cutoff
        from workbench.questions.readings.choice import day_of
        from workbench.questions.readings.read import read

        readings = read(self.statement, day_of(Cutoff.parse(self.cutoff)))
        return not (readings.choices or readings.matched.keys() & {"series", "level"})

    async def _claim(self, home: Home, cutoff: Cutoff, settings: RunSettings) -> ReadClaim:
        """Return the claim to open a run for; asks a person, and refuses where a rule would have to guess."""
        from workbench.models.errors import ModelError
        from workbench.offline.claim_coverage import claim_to_ask
        from workbench.operations.claim_reading import for_a_model, read_by_model
        from workbench.questions.readings.choice import AS_TYPED, day_of
        from workbench.questions.readings.read import read

        readings = read(self.statement, day_of(cutoff))
        if self.reading != AS_TYPED and for_a_model(readings, settings.model):
            try:
                readings = await read_by_model(
                    home, readings, cutoff, settings.model, settings.api_base,
                    budget_usd=settings.budget_usd, prices=settings.prices,
                )  # fmt: skip
            except ModelError as error:  # the run waits for its model, or stops where it can be resumed
                home.say(f"The claim is treated as text: {error}")

        def ask(readings: Readings) -> int | None:
            statements = [each.statement for each in readings.choices]
            question = "Which is meant?"
            if readings.of_model:
                question = f"Read by {settings.model}. Take this reading?"
                statements.append("No, keep the text as it is")
            answer = home.choose(question, dict.fromkeys(statements, ""))
            if answer is None:
                return None
            return (
                AS_TYPED
                if answer not in statements[: len(readings.choices)]
                else 1 + statements.index(answer)
            )

        with _read_beside(home, self.statement, cutoff, settings):
            claim = claim_to_ask(
                readings, cutoff, settings.model, number=self.reading, first=home.yes, ask=ask
            )
        read_as = claim.read_as or {}
        if read_as and plain_numbers(read_as["statement"]) != plain_numbers(self.statement):
            home.say(f"Read {f'by {by} ' if (by := read_as['read_by']) else ''}as: {read_as['statement']}")
        for note in read_as.get("notes", ()):
            home.say(f"  {note}")
        return claim

    async def _opened(
        self, home: Home, engine: Engine, claim: ReadClaim, cutoff: Cutoff, settings: RunSettings
    ) -> str:
        from workbench.engine.hindsight import hindsight
        from workbench.engine.new_run import new_run
        from workbench.engine.run_texts import cut_lines
        from workbench.sources.own_store import first_shared
        from workbench.views.wording import history_lines

        with _read_beside(home, self.statement, cutoff, settings):
            history = await engine.check(claim.statement, cutoff, settings)
        keyed = replace(settings, keyed=engine.keyed)
        if settings.direct:
            from workbench.studies.rounds.round_record import own_tree_weight  # loads numpy

            keyed = replace(keyed, tree_weight=own_tree_weight(home.store, cutoff))
        run_id = new_run(home.store, claim.statement, cutoff, keyed, read_as=claim.read_as, history=history)
        home.say(f"run {run_id}  {settings.model}  cutoff {cutoff.text}")
        if history is not None:
            for line in history_lines(history):
                home.say(line)
        shared = first_shared(home.store, settings.model if not settings.stays_here else "")
        for line in (*shared, *cut_lines(home.state(run_id).cut), *hindsight(settings, cutoff)):
            home.say(line)
        return run_id

    @classmethod
    def more_help(cls) -> Sequence[str]:
        """Return the settings by panel, and the agents that are installed."""
        panels = (f"{panel}: {', '.join(names)}" for panel, names in settings_by_panel().items())
        agents = {"analyzer": ANALYZERS, "grounder": GROUNDERS, "rule": SYNTHESIZERS}
        return [
            "Settings, by --set NAME=VALUE; `workbench help analyze` says what each is:",
            *panels,
            *(f"{role}: One of {', '.join(plugin_names(group))}." for role, group in agents.items()),
        ]


@contextmanager
def _read_beside(home: Home, text: str, cutoff: Cutoff, settings: RunSettings) -> Iterator[None]:
    """Add to a refusal by the key-free analyst how the text is read, and print the form to write it in."""
    from workbench.offline.claim_coverage import reading_document
    from workbench.questions.readings.choice import day_of
    from workbench.questions.readings.read import read

    try:
        yield
    except UsageError as refused:
        if refused.document is None and settings.model == OFFLINE:
            readings = read(text, day_of(cutoff))
            if readings.form and (readings.form.series or readings.form.level):
                home.say(f"Write it as: {readings.form.sentence}")
            if readings.best is None:
                refused.document = reading_document(readings, cutoff, settings.model)
        raise


def _name_grounders(chosen: dict[str, Any], named: Mapping[str, str]) -> None:
    """Put the grounders of single leaves into the router's settings; the other leaves go by the grounder that was asked for."""
    every = dict(chosen.get("options", {}))
    options, grounder = every.get("grounder", {}), chosen.get("grounder")
    if grounder not in (None, "auto"):
        # The settings given for the one grounder stay its own.
        options = {grounder: options, "among": [grounder]}
    chosen["options"] = {**every, "grounder": {**options, "ground_with": dict(named)}}
    chosen["grounder"] = "auto"


def _text_or_file(option: str, value: str | None) -> str | None:
    if value is None or not value.startswith("@"):
        return value
    try:
        return read_text(Path(value[1:]), most=MOST_TEXT_BYTES)
    except InputRefused as error:
        raise UsageError(f"--{option}: {error}") from None


class Resume(_BegunRun):
    """Continue a run that was stopped. No reply that was recorded is bought again.

    What is changed by an option stays changed for later sessions, and the run's log says so. The level that the run was made
    at is not used: kernels start at the one asked for now.
    """

    places = ("run",)
    short = ("settings", "model", "budget_usd", "leaf", "detach")
    unlisted = (
        "workers",
        "isolation",
        "api_base",
        "concurrency",
        "budget_tokens",
        "budget_calls",
        "budget_seconds",
        "prices",
        "models",
        "timeout",
        "max_tokens",
    )

    run: RunName
    leaf: list[str] = []
    """Only this driver, as one that failed, and what follows above; as often as you like. Says the price."""
    rebuy: bool = False
    """Buy replies again whose requests cannot be made any more (docs/trust/search.md); --yes does too."""

    async def answer(self, home: Home) -> RunDocument:
        """Return the run as it is then; a finished one is returned as it is."""
        from workbench.engine.leaves.single_node import trying_line
        from workbench.engine.new_run import change_run
        from workbench.whatif.run_edits import adopt_tree_file

        changes, level = self.changes(**_chosen(self, new=False))
        run_id = home.store.resolve_run(self.run, unfinished=True)
        # Before the state is read: after --plan-only a person may have edited tree.json, and that tree is then the run's.
        adopt_tree_file(home.store, run_id)
        change_run(home.store, run_id, changes)
        state = home.state(run_id)
        if state.finished:  # it may come from a file whose model nobody can open: there is nothing to ask it
            home.say(f"run {run_id} is finished: nothing is left to do")
            return RunDocument.of(home.store, state)
        leaves = list(dict.fromkeys(self.leaf))
        if leaves:
            home.say(trying_line(state, leaves))
        state.require_model()
        rebuy = self.rebuy or may_buy_again(home, [run_id])
        return await self.goes_on_with(home, run_id, level, leaves=leaves, rebuy=rebuy)


class Reground(RunWork):
    """Collect evidence for one driver again, in a new attempt. The price is shown first, and the earlier evidence is kept.

    The drivers above follow by their stored rules. If the attempt comes to nothing the old value stands.
    """

    places = ("run", "node")
    short = ("settings", "full", "detach")

    run: RunName
    node: str
    """A driver that has a value."""
    full: bool = False
    """Ask the synthesizer again for the drivers above, formula or not."""
    author: Author = ""
    reason: str = ""
    """Why; on record."""

    async def answer(self, home: Home) -> RunDocument:
        """Return the run as it is then."""
        from workbench.engine.leaves.single_node import regrounding_line, reopen_leaf
        from workbench.engine.new_run import change_run

        changes, level = self.changes()
        state = home.state(self.run)
        run_id = state.run_id
        state.settings.changed(changes)  # refused before anything is asked or reopened
        if not self.quiet:
            home.say(regrounding_line(state, self.node, full=self.full))
        home.confirm("go on?")
        reopen_leaf(home.store, run_id, self.node, full=self.full, author=self.author, reason=self.reason)
        if changes:
            change_run(home.store, run_id, changes)
        return await self.goes_on_with(home, run_id, level)


class Demo(Operation):
    """Run the main job on the embedded data, without a key, and compare its probability with the outcome."""

    short = ()
    unlisted = ("isolation",)

    isolation: Level = None

    async def answer(self, home: Home) -> RunDocument:
        """Return the run."""
        home.in_folder = None  # the same for everyone
        return await self._analyze().answer(home)

    def _analyze(self) -> Analyze:
        return Analyze.read({"statement": EXAMPLES[0], "cutoff": EXAMPLE_CUTOFF, "isolation": self.isolation})

    def show(self, document: RunDocument) -> Iterator[Block]:
        """Return the tree, and where everything lies."""
        yield from self._analyze().show(document)
        run = document.run
        if run.state.annotations.outcome is not None:
            # The lines above have it; what they do not say is that it cannot have reached the answer.
            yield "the outcome was read when the run was over, from rows after the cutoff"
        else:
            yield "outcome: not in the embedded data"
        proofs, program, leaf = run.folder / "proofs", _program(), next(iter(run.tree.leaves()))
        yield Facts(
            [
                ("tree", run.folder / "tree.json"),
                ("proofs", f"{proofs} ({counted(len(list(proofs.glob('*.ipynb'))), 'notebook')})"),
                ("manifest", run.folder / "manifest.json"),
                ("data", f"embedded, without a key: {data_reach()}"),
                ("dashboard", f"{program} serve {run.run_id}"),
                (
                    "what if",
                    f"{program} whatif {run.run_id} --set {leaf}=0.0   (now {percent(run.tree[leaf].p)})",
                ),
            ]
        )


def _program() -> str:
    """Return how this program can be called from the current folder, for what to type next."""
    program = Path(sys.argv[0])
    on_path = shutil.which("workbench")
    if program.name == "workbench" and program.is_file():
        if on_path is not None and Path(on_path).resolve() == program.resolve():
            return "workbench"
        return shlex.quote(str(program))  # as it was typed: relative to the current folder, or absolute
    return f"{shlex.quote(sys.executable)} -m workbench.cli.main"
