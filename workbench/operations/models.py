"""The language models at hand: listed, tried once, and examined on questions whose outcomes are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from workbench.errors import WANTING
from workbench.formatting import counted, signed_figure
from workbench.models.model_options import ReplyForm
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Facts, Remark, blocks_of, columns
from workbench.operations.fields import ApiBase, Count, Dollars, Level, PricePairs
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.studies.study_plan import StudyPlan

ModelName = Annotated[str, Says(text="Provider/model as LiteLLM spells it.")]


class Models(Operation):
    """List models with context, vision, tools, JSON schema, price per million tokens, and the end of their training."""

    match: str = ""
    """Only names that hold this text."""

    def answer(self, home: Home) -> list[dict[str, Any]]:
        """Return the models that the keys at hand reach; prices are US dollars per million tokens."""
        from workbench.engine.hindsight import training_end
        from workbench.models.model_list import reachable

        entries = reachable(home.environ, training_end=training_end)
        return [entry.to_json() for entry in entries if self.match in entry.model]

    def show(self, document: list[dict[str, Any]]) -> Iterator[Block]:
        """Return the table, and which keys there could be where there is none."""
        from workbench.models.model_list import KEYS

        yield from blocks_of(document)
        if len(document) == 1:
            names = ", ".join(keys[0] for keys in KEYS.values())
            yield Remark(f"no provider's key is set here ({names}); see also --api-base")


class TryModel(Operation):
    """Ask a model for every reply form once, on one small driver. Exit 6 if the model fails.

    Nothing is run and nothing is recorded; the model is asked about ten times at most.
    """

    places = ("model",)
    short = ("reply_form",)

    model: ModelName
    api_base: ApiBase = None
    reply_form: ReplyForm = "auto"
    """auto, text or schema, as for analyze."""
    timeout: Annotated[float, Field(gt=0)] = 120.0
    """Seconds for one reply."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return how each form came, and what it cost."""
        from workbench.agents.model_trial import try_model, verdict
        from workbench.models.model_options import RetrySettings
        from workbench.models.registry import open_model

        opened = open_model(
            self.model,
            api_base=self.api_base,
            reply_form=self.reply_form,
            retries=RetrySettings(attempts=2).with_timeout(self.timeout),
        )
        checks, cost = await try_model(opened)
        return {
            "model": self.model,
            "checks": [check.to_json() for check in checks],
            "verdict": verdict(checks),
            "cost_usd": cost,
        }

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where a form failed."""
        return WANTING if any(check["outcome"] == "failed" for check in document["checks"]) else 0


class ExamineModel(Operation):
    """Examine a model on dated questions with known outcomes, next to the base rate and the key-free forecaster.

    The questions are drawn before the model is named and are the same for every model of this home. The price is said first; stopped,
    the same command goes on and pays for nothing twice.
    """

    places = ("model",)
    short = ("questions", "budget_usd")

    model: ModelName
    questions: Count = 80
    """How many are drawn."""
    recent: bool = False
    """On series of today, at cutoffs of the last year; needs the network."""
    sets: Annotated[
        list[str],
        Says(
            text="Half of them resolved events of this set of yours; may be given again.",
            word="from",
            form="SET",
        ),
    ] = []
    grounder: str = "notebook"
    """How the model answers: notebook (with data), zero-shot (one call), or another grounder."""
    budget_usd: Dollars = None
    """Most US dollars; stopped there, the exam can go on."""
    seed: Annotated[int | None, Field(ge=0)] = None
    """Of the draw; without it this home's, drawn at random."""
    api_base: ApiBase = None
    price: PricePairs = []
    isolation: Level = None

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what the exam says of the model; its page and tables lie in the data folder's ``studies``."""
        # studies load pandas and scipy
        from workbench.engine.access.own_web import own_asker
        from workbench.engine.named_settings import read_prices
        from workbench.studies.exam_questions import exam_set
        from workbench.studies.leak_audit import audit_study
        from workbench.studies.model_exam import (
            exam_results,
            exam_study,
            memory_sample,
            probe_memory,
            write_exam,
        )
        from workbench.studies.runner import StudyRunner
        from workbench.studies.study_plan import plan_study
        from workbench.studies.study_state import SORT, load_study

        store, prices = home.store, read_prices(self.price)
        # Before anything looks at the model's name: what is drawn cannot depend on it.
        drawn = exam_set(
            store, self.questions, recent=self.recent, sets=self.sets, seed=self.seed, say=home.say
        )
        spec = exam_study(
            self.model,
            drawn,
            grounder=self.grounder,
            api_base=self.api_base,
            prices=prices,
            budget_usd=self.budget_usd,
        )
        begun = load_study(store, spec.name) if spec.name in store.streams(SORT) else None
        plan = plan_study(store, spec, begun)
        remembered = memory_sample(plan.exam, self.model)
        for line in self._price_lines(plan, len(remembered), len(begun.forecasts) if begun else 0):
            home.say(line)
        home.confirm("go on?")
        state = await StudyRunner(
            store, plan, environ=home.environ, isolation=self.isolation, say=home.say
        ).work()
        probe = None
        if remembered:
            ask = own_asker(
                store,
                self.model,
                self.api_base,
                run=f"exam:{spec.name}",
                budget_usd=self.budget_usd,
                spent_usd=state.cost_usd or 0.0,
                prices=prices,
            )
            probe = await probe_memory(plan.exam, remembered, ask=ask)
        if state.audited is None:
            state = audit_study(store, plan, state)
        document = exam_results(plan, state, self.model, probe)
        page = write_exam(store, plan, state, document, home.folder / "studies" / spec.name)
        home.say(f"its page: {page}")
        return document

    def _price_lines(self, plan: StudyPlan, probed: int, recorded: int) -> Iterator[str]:
        yield from plan.cost_lines()
        if probed:
            yield f"and {probed} short questions on what the model remembers"
        if recorded:
            yield f"{recorded} forecasts are on record and are not paid for again"
        budget, expected = plan.spec.budget_usd, plan.expected_usd()
        if budget is not None and expected is not None and expected > budget:
            yield (
                f"the forecast is above the budget of ${budget:g}: the exam will stop there and can go on with more"
            )

    def goes_on(self) -> str:
        """Return the command again; the other options have to be the same."""
        return f"workbench models exam {self.model} --questions {self.questions}"

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the sentence, how far above the yardsticks the model is, and the groups of questions."""
        yield document["sentence"]
        yield Facts(_exam_facts(document))
        yield columns(
            document["by_group"],
            where="group", n="n", model="brier_index .1f", base_rate="base_rate .1f", forecaster="forecaster .1f",
        )  # fmt: skip
        yield from (Remark(f"unanswered: {reason}") for reason in document["missing_reasons"])


def _exam_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    def gain(name: str) -> str:
        row = document[name]
        if row is None:
            return "it can treat none of them"
        ends = (
            "too few clusters for an interval"
            if row["low"] is None
            else f"[{row['low']:.1f}, {row['high']:.1f}]"
        )
        return f"{signed_figure(row['value'])} {ends} on {counted(row['n'], 'question')}: {row['verdict']}"

    low, high = document["brier_index_low"], document["brier_index_high"]
    recall, share = document["recall"], document["before_training_end"]
    memory = "not probed"
    if recall is not None:
        memory = (
            f"of {recall['n']} it says it remembers {recall['remembered']}, {recall['right']} of them rightly"
        )
    price = document["usd_per_1000"]
    return [
        (
            "questions",
            f"{document['n']} in {counted(document['clusters'], 'cluster')} ({document['questions']}); {document['missing']} unanswered",
        ),
        (
            "Brier Index",
            f"{document['brier_index']:.1f}" + ("" if low is None else f" [{low:.1f}, {high:.1f}]"),
        ),
        ("base rate", f"{document['base_rate']:.1f}"),
        ("key-free forecaster", "–" if document["forecaster"] is None else f"{document['forecaster']:.1f}"),
        ("above the base rate", gain("gain_over_base")),
        ("above the forecaster", gain("gain_over_forecaster")),
        ("calibration error", f"{document['ece']:.3f} (calibrated: {document['ece_calibrated']:.3f})"),
        (
            "before its training end",
            "not known" if share is None else f"{share:.0%} of the questions ended before",
        ),
        ("memory", memory),
        ("per 1,000 questions", "price unknown" if price is None else f"${price:,.2f}"),
    ]
