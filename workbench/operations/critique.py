"""What other models and the records say of a finished run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WANTING, UsageError
from workbench.formatting import counted
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, columns, named
from workbench.operations.fields import ApiBase, Names, PricePairs, RunName

if TYPE_CHECKING:
    from workbench.engine.access.model_gateway import ModelGateway
    from workbench.engine.record.state import RunState


class RedTeam(Operation):
    """Have an agent write the strongest case against the probability, show its effect, and keep it as a note.

    The case is never taken by itself: the printed `whatif` line tries it.
    """

    places = ("run",)
    short = ("model",)
    writes = True

    run: RunName
    model: str | None = None
    """Another model than the run's critic, or than its own."""
    api_base: ApiBase = None

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the case, the drivers it argues about, and the claim before and after."""
        from workbench.annotations.case_against import price_of_case, red_team, with_model
        from workbench.engine.assembly import open_gateway
        from workbench.whatif.run_edits import require_grounded

        state = with_model(home.state(self.run), self.model, self.api_base)
        require_grounded(state)
        home.say(price_of_case(state))
        home.confirm("go on?")
        return await red_team(home.store, state, open_gateway(home.store, state))

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the case as its note has it."""
        from workbench.annotations.case_against import case_lines

        yield "\n".join(case_lines(document))


class _Reading(Operation):
    api_base: ApiBase = None
    prices: PricePairs = []

    def _gateway(self, home: Home, state: RunState, judge: str) -> ModelGateway:
        from workbench.annotations.case_against import with_model
        from workbench.engine.assembly import open_gateway
        from workbench.engine.named_settings import read_prices

        prices = read_prices(self.prices)
        state = with_model(state, judge if self.api_base else None, self.api_base, prices)
        return open_gateway(home.store, state, judge=judge)


class Judge(_Reading):
    """Score the reasoning of a run's drivers from 1 to 5 in five dimensions; the run is unchanged."""

    places = ("run",)
    short = ("node", "model", "against", "recall")

    run: RunName
    node: Names = []
    """This driver only; repeat for more."""
    model: str | None = None
    """The model that reads: provider/model; the run's own for the role judge without it."""
    against: Path | None = None
    """CSV of a person's scores: `node`, sources, evidence, combination, uncertainty, mapping."""
    recall: bool = False
    """Ask the run's own model instead whether it remembers how these came out."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the scores, and how far they lie from a person's; with ``recall`` what the run's own model remembers."""
        from workbench.annotations.second_opinions import (
            compare_to_people,
            judge_run,
            read_scores,
            recall_run,
            require_judge,
        )
        from workbench.engine.assembly import open_gateway

        if self.recall and (self.node or self.model or self.against):
            raise UsageError(
                "--recall asks the run's own model of everything: leave out --node, --model and --against"
            )
        people = None if self.against is None else read_scores(self.against)
        state = home.state(self.run)
        if self.recall:
            model = require_judge(state, state.settings.model, other_family=False)
            gateway = open_gateway(home.store, state)
            document = await recall_run(home.store, state, gateway)
        else:
            model = require_judge(state, self.model, other_family=False)
            gateway = self._gateway(home, state, model)
            rows = await judge_run(home.store, state, gateway, self.node)
            against = None if people is None else compare_to_people(rows, people)
            document = {"reports": rows, "against": against}
        return {"run_id": state.run_id, "model": model, **document, "model_calls": gateway.calls}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the scores by driver, or what was remembered."""
        if self.recall:
            yield columns(
                document["rows"],
                driver="node", remembers="recognized", **{"as": "recalled"}, outcome="outcome", names="facts",
            )  # fmt: skip
            for name, words in (("recognized", "recognised"), ("misrecalled", "mis-recalled")):
                if (rate := document[name]) is not None:
                    yield f"{words}: {rate['rate']:.0%} of {rate['n']} (Wilson {rate['low']:.0%} to {rate['high']:.0%})"
            return
        from workbench.agents.judges import DIMENSIONS

        scores = {name: f"scores.{name}" for name in DIMENSIONS}
        yield columns(document["reports"], driver="node", **scores, mean="mean", statement="statement")
        if (compared := document["against"]) is not None:
            gaps = named(compared["dimensions"])
            yield columns(gaps, dimension="name", mean_difference="mean_absolute_difference .2f", variance="variance .2f", within_one="within_one .0%")  # fmt: skip
            yield f"mean absolute difference to the person's {counted(compared['n'], 'report')}: {compared['mean_absolute_difference']:.2f}"
        yield f"judged by {document['model']} in {document['model_calls']} calls; the run is unchanged"


class Leaks(_Reading):
    """Count results of runs that a second model or the date rules call late. Exit 6 if both call one late."""

    places = ("runs",)
    short = ("model", "memory")

    runs: list[RunName]
    """Run ids, beginnings of some, or last."""
    model: str | None = None
    """Have this model, of another family than wrote the runs, read them now; without it what is on record."""
    memory: bool = False
    """Look instead, by rule, for later facts that the runs' own model wrote and was not shown; --model reads its reports too."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return counts, rates with their intervals, and the texts that are not clean."""
        from workbench.annotations.second_opinions import leaks_document
        from workbench.audit.memory_scan import memory_document
        from workbench.whatif.run_edits import require_grounded

        by_id = {state.run_id: state for state in map(home.state, self.runs)}
        states = list(by_id.values())
        await self._read(home, states)
        if not self.memory:
            return leaks_document(home.store, by_id)
        for state in states:
            require_grounded(state)
        document = memory_document(home.store, states)
        if self.model is not None:
            document["reasoning"] = leaks_document(home.store, by_id)["reasoning"]
        return document

    async def _read(self, home: Home, states: Sequence[RunState]) -> None:
        from workbench.annotations.second_opinions import audit_leaks, require_judge

        if self.model is None:
            if self.api_base or self.prices:
                raise UsageError("--api-base and --price are those of --model: name it")
            return
        # Every run before the first request: a refusal in the middle would leave some read and some not.
        for state in states:
            require_judge(state, self.model, other_family=True)
        kinds = ("reasoning",) if self.memory else ("result", "reasoning")
        for state in states:
            gateway = self._gateway(home, state, self.model)
            await audit_leaks(home.store, state, gateway, self.model, kinds=kinds)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the counts and rates; each text that is not clean is a remark."""
        if self.memory:
            low, high = document["wilson"]
            yield (
                f"{document['late']} of {document['leaves']} drivers hold a later fact of the model's own = {document['rate']:.1%}"
                f" (Wilson {low:.1%} to {high:.1%}{_over_runs(document)}); by rule, which sees only what names a day"
            )
            for row in document["sentences"]:
                whose = "own" if row["own"] else "shown to it"
                yield Remark(
                    f"{whose}: {row['run_id']}, {row['node']}, {row['stage']} {row['step']}: {row['sentence']}"
                )
        else:
            rows = named(document["table"])
            yield columns(rows, the_model_says="name", late_by_the_date_rules="late", not_late="not late")
            for row in document["suspects"]:
                yield Remark(
                    f"{row['model']}: {row['where']} ({row['run_id']}, {row['node']}): {row['quote']}"
                )
        yield from (_rate_line(kind, document[kind]) for kind in ("results", "reasoning") if kind in document)

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where the model and the date rules both call a kept result late."""
        return WANTING if document.get("late_by_both") else 0


def _over_runs(rate: dict[str, Any]) -> str:
    drawn = rate["over_runs"]
    return "" if drawn is None else f", over runs {drawn[0]:.1%} to {drawn[1]:.1%}"


def _rate_line(kind: str, rate: dict[str, Any]) -> str:
    if rate["rate"] is None:
        return f"{kind}: none kept"
    low, high = rate["wilson"]
    return (
        f"{kind}: {rate['leaks']} leaks in {rate['n']} = {rate['rate']:.1%} (Wilson {low:.1%} to {high:.1%}"
        f"{_over_runs(rate)}); {rate['unsure']} unsure"
    )


class Grounders(Operation):
    """Print the grounder of each driver of a run, with the reason; without a run, the record of each grounder."""

    places = ("run",)

    run: RunName | None = None
    """Run id, the beginning of one, or last."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the drivers with their grounders; or the record, bias and pooled scores of each grounder."""
        # pandas and scipy
        from workbench.audit.routes import bias_table, by_grounder, record_table, routes_of, together
        from workbench.engine.leaves.own_record import resolved_leaves

        if self.run is None:
            leaves = list(resolved_leaves(home.store))
            return {
                "record": record_table(leaves),
                "bias": bias_table(leaves),
                "together": together(leaves),
            }
        state = home.state(self.run)
        rows = routes_of(home.store, state)
        return {"run_id": state.run_id, "leaves": rows, "by_grounder": by_grounder(state, rows)}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a table by grounder, then one by driver; of the record those of bias and of pools."""
        if self.run is not None:
            yield columns(
                named(document["by_grounder"]),
                grounder="name", drivers="leaves", mean_p="mean_p", model_calls="model_calls", **{"$ a trial": "cost_usd"},
                resolved="n", Brier="brier",
            )  # fmt: skip
            yield columns(
                document["leaves"],
                driver="node", p="p", grounders="grounders", apart="spread", by="by", calls="model_calls",
                **{"$ a trial": "cost_usd"}, why="reason", failed="failed",
            )  # fmt: skip
            return
        if not document["record"]:
            yield Remark(
                "no driver is resolved yet: `workbench resolve RUN --leaves`, or `resolve RUN yes --node P1`"
            )
        yield columns(
            named(document["record"]),
            grounder="name", resolved_drivers="n", Brier="brier", interval="interval", runs="runs", clusters="clusters",
            **{"$ a trial": "cost_usd"},
        )  # fmt: skip
        if document["bias"]:
            yield columns(
                named(document["bias"]),
                bias="name", drivers="leaves", p_less_outcome="leaf_bias", runs="runs", clusters="clusters",
                of_the_claim="claim_bias", interval="interval",
            )  # fmt: skip
        for row in document["together"]:
            yield (
                f"{row['grounders']}, pooled on {counted(row['n'], 'driver')}: Brier {row['brier']:.3f}, the parts' mean {row['parts']:.3f}; "
                f"{row['spread']:.2f} apart on average"
            )
