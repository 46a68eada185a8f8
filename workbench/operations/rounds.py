"""Rounds over the open questions of a set: triage, quick pass, trees for what is worth one, the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from workbench.errors import Command, Option, UsageError
from workbench.formatting import counted, percent
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, blocks_of, columns
from workbench.operations.fields import (
    ApiBase,
    CutoffText,
    Dollars,
    Names,
    PricePairs,
    SetName,
    SettingPairs,
    Words,
)
from workbench.operations.model_work import ModelWork, Sandboxed, finds_news, may_buy_again, named_settings
from workbench.requests import Says

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.studies.rounds.round_state import Round, RoundRules
    from workbench.studies.rounds.round_work import RoundWork

RoundName = Annotated[
    str, Says(text="A round, as SET.1; the newest of a set by the set's name.", form="NIGHT")
]


class _RoundRules(Operation):
    """What a round goes by; `rules` makes its record."""

    places = ("name",)

    name: SetName
    model: Names = []
    """offline/analyst, or provider/model as LiteLLM spells it. Several forecast in turn; the first one builds the trees too."""
    api_base: ApiBase = None
    prices: PricePairs = []
    settings: SettingPairs = []
    cutoff: CutoffText = "now"
    preset: str | None = None
    """What each question gets: quick (one search, five forecasts, their median), product (trees for the 5 with the most to gain besides), best (for 20, three trials a driver)."""
    quick: str | None = None
    """The quick pass: zero-shot, prophet, batch-belief, search, notebook or statistical; zero-shot with a language model, notebook offline."""
    trials: int | None = None
    """Of the quick pass; 5, or 1 with the offline analyst."""
    size: int | None = None
    """Most questions, the most gain for a dollar first."""
    skill: float = 0.1
    """Share of what the crowd leaves open that a quick forecast is expected to take away."""

    def options(self) -> dict[str, Any]:
        """Return the settings of the round's runs that have options."""
        from workbench.engine.named_settings import read_prices

        own = {"model": self.model[0] if self.model else None, "api_base": self.api_base}
        return {**own, "trials": self.trials, "preset": self.preset, "prices": read_prices(self.prices)}

    def rules(self, home: Home, named: Mapping[str, Any], **more: Any) -> tuple[RoundRules, float | None]:
        """Return the rules of the round and its budget; what a run refuses is refused here."""
        from workbench.models.model_list import require_key
        from workbench.studies.arms.run_arms import settings_for_arms
        from workbench.studies.rounds.round_state import ROUND_PRESETS, RoundRules, arms_of

        common = settings_for_arms(named)
        budget, model = common.pop("budget_usd", None), common.pop("model", "offline/analyst")
        # The offline analyst computes, so that it says the same each time, and it thinks nowhere but in notebooks.
        offline = model.startswith("offline/")
        here = common.get("api_base") and model.partition("/")[0]  # a server of one's own may want none
        for name in dict.fromkeys((model, *self.model)):
            if name.partition("/")[0] not in ("offline", here):
                require_key(name, home.environ)
        preset = common.pop("preset", "product")
        news = "gather" if self.cutoff == "now" and not offline else "stored"
        bought = {"contexts": news, **ROUND_PRESETS.get(preset, ROUND_PRESETS["product"]), **more}
        tree = {"kind": common.pop("grounder", None), "depth": common.pop("depth", None)}
        rules = RoundRules(
            quick=self.quick or ("notebook" if offline else "zero-shot"),
            model=model,
            models=tuple(sorted(set(self.model))) if len(self.model) > 1 else (),
            preset=preset,
            trials=common.pop("trials", 1 if offline else 5),
            tree={name: value for name, value in tree.items() if value is not None},
            settings=common,
            size=self.size,
            skill=self.skill,
            **bought,
        )
        arms_of(rules)
        if budget is not None and not budget > 0:
            raise UsageError(f"--budget-usd must be above 0, not {budget:g}")
        return rules, budget

    def grid(self, home: Home, rules: RoundRules, cutoff: Cutoff) -> dict[str, Any]:
        """Return the open questions, what is left out and the price; asks nobody."""
        from workbench.operations.question_sets import left_out_rows
        from workbench.studies.rounds import round_work as steps

        rows, left_out = steps.plan_round(home.store, self.name, rules, cutoff)
        return {
            "questions": [row.to_json() for row in rows],
            "left_out": left_out_rows(left_out),
            "cost": steps.cost_lines(home.store, self.name, rules, rows, cutoff),
        }


class Triage(_RoundRules):
    """List the open questions of a set by crowd, time left and expected gain per dollar. No model is asked (docs/use/questions.md)."""

    short = ("model", "settings", "preset", "trials")

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the grid with the price of the quick pass."""
        from proxies.asof.clock import Cutoff

        rules, _ = self.rules(home, named_settings(self.settings, **self.options()), contexts="none")
        grid = self.grid(home, rules, Cutoff.parse(self.cutoff))
        return {**grid, "cost": grid["cost"][:1]}


class RunRound(_RoundRules, ModelWork):
    """Run a round over a set, or continue the unfinished one. No reply is bought twice."""

    short = ("model", "settings", "budget_usd", "preset", "trials", "promote", "new", "until", "plan_only")
    unlisted = ("contexts", "engines")

    budget_usd: Dollars = None
    """Most US dollars the models may cost; the round stops before, resumable."""
    promote: int | None = None
    """Events that get a tree, those with the most to gain; as the preset says without it."""
    tree_grounder: str | None = None
    """Of the trees' drivers: notebook, search, belief, ..."""
    depth: int | None = None
    """n of Analytica^n for the trees."""
    contexts: str | None = None
    """What both passes read beside the question: gather (news; those missing are searched for first), stored, none; gather for a live round of a language model, else stored."""
    engines: Words = []
    """Search engines for contexts, by comma; all that work here without it."""
    raw: bool = False
    """Neither shrink nor calibrate by what this home's resolved forecasts teach."""
    runs_at_once: int = 4
    """Runs in work at the same time."""
    new: bool = False
    """Begin another round although one is unfinished."""
    until: Literal["contexts", "quick", "trees"] = "trees"
    """Stop after this step."""
    plan_only: bool = False
    """Print the grid and the cost forecast, and ask nobody."""

    def planned(self, home: Home) -> tuple[RoundRules, float | None, str | None]:
        """Return the rules of the round, its budget, and the level of this sitting's own kernels."""
        named, level = self.changes(
            **self.options(), budget_usd=self.budget_usd, grounder=self.tree_grounder, depth=self.depth
        )
        more = {"promote": self.promote, "contexts": self.contexts, "engines": self.engines or None}
        used = {name: value for name, value in more.items() if value is not None}
        rules, budget = self.rules(home, named, own_record=not self.raw, **used)
        return rules, budget, level

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what the round came to, or the grid and the price."""
        from proxies.asof.clock import Cutoff
        from workbench.studies.rounds import round_work as steps

        rules, budget, level = self.planned(home)
        work = sitting(home, self, level)
        moment = Cutoff.parse(self.cutoff)
        with steps.own_set(home.store, self.name):
            night = None if self.new or self.plan_only else steps.unfinished_round(home.store, self.name)
            if night is None:
                grid = self.grid(home, rules, moment)
                if self.plan_only:
                    return grid
                for line in grid["cost"]:
                    home.say(line)
                rules = with_news(home, rules, moment)
                night = await steps.open_round(
                    home.store,
                    self.name,
                    rules,
                    moment,
                    work,
                    budget_usd=budget,
                    concurrency=self.runs_at_once,
                )
                home.say(f"round {night.name}: {counted(len(night.questions), 'question')}")
            else:
                home.say(f"round {night.name} goes on as it was begun; --new begins another")
                work = replace(work, rebuy=may_buy_again(home, night.study.open_runs()))
                night = steps.with_budget(home.store, night, budget, None)
            night = await steps.gather_contexts(home.store, night, work)
            if self.until == "quick":
                night = await steps.quick_pass(home.store, night, work)
            elif self.until == "trees":
                night = await steps.finish_round(home.store, night, work)
        return came_to(home, night)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what the round came to, or the grid."""
        return blocks_of(document) if self.plan_only else shown(document)

    def goes_on(self) -> str:
        """Return the command that goes on with the round of the set."""
        return f"workbench tournament run {self.name}"


class Promote(Sandboxed):
    """Give single events of a round a tree, whatever the rule of the round chose."""

    places = ("name", "events")
    short = ()

    name: RoundName
    events: Annotated[list[str], Says(text="Events as `tournament show` names them.", form="EVENT")]

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what the round came to."""
        from workbench.studies.rounds import round_work as steps
        from workbench.studies.rounds.round_state import load_round

        work = sitting(home, self, self.isolation)
        night = load_round(home.store, self.name)
        with steps.own_set(home.store, night.set_name):
            night = await steps.tree_pass(home.store, steps.promote(home.store, night, self.events), work)
        return came_to(home, night)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what the round came to."""
        return shown(document)

    def goes_on(self) -> str:
        """Return the same command."""
        return f"workbench tournament promote {self.name} ..."


class ShowRound(Operation):
    """Show the forecasts of a round so far and their contradictions, and write its page and files again."""

    places = ("name",)

    name: RoundName

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the forecasts of its events, the most to gain first, with findings and leaks."""
        from workbench.studies.rounds.round_state import load_round

        return came_to(home, load_round(home.store, self.name))

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a row for each event, and what does not hold together."""
        return shown(document)


def with_news(
    home: Home, rules: RoundRules, cutoff: Cutoff, *, without: Option | Command | None = None
) -> RoundRules:
    """Return the rules of a round whose contexts can be gathered, or which does without as a person agreed."""
    asked = rules.contexts == "gather" and not rules.engines
    if asked and not finds_news(home, cutoff, without or Option("contexts", "none")):
        return replace(rules, contexts="none")
    return rules


def sitting(home: Home, request: Sandboxed, level: str | None, *, quiet: bool = False) -> RoundWork:
    """Return the surroundings of one sitting in this process."""
    from workbench.engine.run_settings import check_level
    from workbench.studies.rounds.round_work import RoundWork

    return RoundWork(
        environ=home.environ,
        isolation=level and check_level(level),
        workers=request.place(),
        say=(lambda line: None) if quiet else home.say,
    )


def came_to(home: Home, night: Round) -> dict[str, Any]:
    """Write the page and files of a round and return its results; ``record`` says how far its forecasts were corrected."""
    from workbench.studies.rounds.round_page import write_round

    results, folder = write_round(home.store, night)
    record = None if results.record is None else results.record.line()
    return {**results.to_json(), "record": record, "folder": str(folder)}


def shown(document: Mapping[str, Any]) -> Iterator[Block]:
    """Return a row for each event of a round, and what does not hold together."""
    yield columns(
        document["forecasts"],
        event="event .60", crowd="crowd %", spread="spread", quick="direct %", tree="tree %",
        raw="raw %", forecast="p %", to_gain="gain", flags="flags",
    )  # fmt: skip
    for row in document["forecasts"]:
        if len(row["by_model"]) > 1:
            each = ", ".join(f"{model} {percent(p)}" for model, p in row["by_model"].items())
            yield f"{row['event']}: {each}"
    if document["record"]:
        yield document["record"]
    yield from (f"leak audit: {leak}" for leak in document["leaks"])
    yield from (f"{finding['kind']:10} {finding['message']}" for finding in document["findings"])
    if not document["findings"]:
        yield "coherent"
    yield f"{document['folder']}/night.html"
