"""Which of several options to take: by the claims of runs, or by what the choices of a question pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from workbench.errors import UsageError
from workbench.formatting import percent, signed_figure
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, columns
from workbench.operations.fields import RunName
from workbench.questions.sets.choice_rules import ChoiceRules
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.engine.record.state import RunState
    from workbench.questions.question import Question


class Decide(ChoiceRules, Operation):
    """Turn the claims of runs into the probabilities of exclusive options and name the one to take.

    With --question the choices of a question of any kind are weighed by what they pay: both sides of its quoted asks, or
    --payoff; levels and days, which are nested, are sized together.
    """

    places = ("runs",)
    short = ("threshold", "question", "payoffs")
    unlisted = ("linked", "forecasts")

    runs: list[RunName] = []
    """One run per option, in the question's order; a single run stands against its negation."""
    threshold: float | None = None
    """Above this a driver counts as true; the run's preset says without it."""
    question: Annotated[
        str | None, Says(text="Weigh the choices of this question by what they pay.", form="SET/ID")
    ] = None
    forecasts: Path | None = None
    """Forecasts of its events, instead of runs: CSV or parquet."""
    method: str = ""
    """Whose forecasts."""
    pool: str = "logit-mean"
    """How trials are pooled."""
    linked: bool = False
    """Weigh the question together with all that are linked to it (conditional, implied, excluded); --payoff ID=VALUE then."""
    cap: float = 0.1
    """Most that is staked in all, as a share of wealth."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the options or choices and the one to take.

        The probabilities of options sum to 1. Of two the first is taken when it is above the threshold (that of the first run's
        preset unless given: 0.5, and 0.7 in the paper's: A, appendix C.1); of more, the likeliest.
        """
        if self.question is not None:
            return self._weighed(home, self.question)
        if not self.runs:
            raise UsageError(
                "name the runs to decide between: one for each option, or one alone to decide for or against it;"
                " or give --question SET/ID with --forecasts FILE"
            )
        if self.payoffs or self.linked or self.forecasts is not None:
            raise UsageError("--payoff, --linked and --forecasts need --question SET/ID")
        return _of_runs([home.state(run) for run in self.runs], self.threshold)

    def _weighed(self, home: Home, reference: str) -> dict[str, Any]:
        from workbench.operations.bets import pooled_events
        from workbench.questions.sets.choices import choice_document, linked_document
        from workbench.questions.sets.question_sets import load_set
        from workbench.studies.rounds.round_coherence import set_findings

        if bool(self.runs) == (self.forecasts is not None):
            raise UsageError(
                "--question needs forecasts of the question's events: name one run for each event, or give --forecasts FILE"
            )
        name, _, own = reference.partition("/")
        questions = load_set(home.store, name)
        entry = questions[own]
        if self.forecasts is None:
            if self.linked:
                raise UsageError(
                    "--linked needs the forecasts of all linked questions: give --forecasts FILE"
                )
            p = _roots(entry, [home.state(run) for run in self.runs], self.horizon)
        else:
            p = pooled_events(questions, self.forecasts, self.method, self.pool)
        if not self.linked:
            return {"set": name, **choice_document(entry, p, self)}
        document = linked_document(questions.questions, entry.id, p, self)
        linked = [questions[each] for each in document["linked"]]
        findings = set_findings(linked, {question.id: p[question.id] for question in linked})
        return {"set": name, **document, "findings": [finding.to_json() for finding in findings]}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the probabilities, what each choice pays and stakes, and the one to take."""
        if "options" in document:
            yield columns(document["options"], probability="probability %", option="option")
            yield f"decision: {document['decision']} (threshold {document['threshold']:g})"
            return
        yield from (Remark(finding["message"]) for finding in document.get("findings", ()))
        if self.linked:
            yield columns(document["forecasts"], p="p %", stated="stated %", question="question")
        else:
            yield columns(document["states"], p="p %", state="state")
            if document["mended"] > 0.005:
                moved = percent(document["mended"])
                yield Remark(f"the forecasts contradicted each other and were moved by up to {moved}")
        if document["choices"]:
            yield columns(
                document["choices"],
                choice="choice", p="p %", pays="pays .4f", expected="expected .4f", stake="stake .4f",
            )  # fmt: skip
            sized = document["portfolio"]
            yield (
                f"stake {percent(sized['staked'])}: expected {signed_figure(sized['expected'], 4)}, worst {signed_figure(sized['worst'], 4)}, "
                f"worth a certain {signed_figure(sized['certain'], 4)}"
            )
        yield f"decision: {document['decision']}"
        if worth := document.get("worth"):
            yield f"it was worth {worth['payoff']:.4f} (best {worth['best']:.4f}, worst {worth['worst']:.4f})"


def _of_runs(states: Sequence[RunState], threshold: float | None) -> dict[str, Any]:
    from workbench.synthesis.coherence.option_sets import analyzed_options, decide, option_probabilities
    from workbench.whatif.run_edits import require_grounded

    for state in states:
        require_grounded(state)
    names = [state.statement for state in states]
    if len(states) == 1:
        names.append(f"not: {names[0]}")
    analyzed = analyzed_options(names) if len(states) == 1 else tuple(names)
    roots = {name: state.tree.root.p or 0.0 for name, state in zip(names, states, strict=False)}
    shares = option_probabilities(names, {name: roots[name] for name in analyzed})
    limit = states[0].settings.threshold if threshold is None else threshold
    if len(names) == 2:
        choice = names[0] if decide(shares[names[0]], limit) else names[1]
    else:
        choice = max(names, key=lambda name: shares[name])
    return {
        "options": [{"option": name, "p": roots.get(name), "probability": shares[name]} for name in names],
        "threshold": limit,
        "decision": choice,
    }


def _roots(entry: Question, states: Sequence[RunState], horizon: str) -> dict[str, float]:
    """Take the roots of runs as forecasts of a question's events; of two exclusive options one run will do."""
    from workbench.questions.question import QuestionError, event_id, parts_of
    from workbench.whatif.run_edits import require_grounded

    for state in states:
        require_grounded(state)
    roots = [state.tree.root.p or 0.0 for state in states]
    parts = parts_of(entry)
    if entry.kind == "options" and entry.exclusive and len(parts) == 2 and len(roots) == 1:
        roots.append(1.0 - roots[0])
    if len(roots) != len(parts):
        raise QuestionError(
            f"question {entry.id} has {len(parts)} events, {len(roots)} runs were named: one each, in their order"
        )
    own = entry.horizon_label(horizon)
    return {event_id(entry.id, part, own): p for part, p in zip(parts, roots, strict=True)}
