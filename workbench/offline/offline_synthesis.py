"""The synthesis stages of the offline analyst: the answer is the forecaster's, and the children's reports explain it.

The rule is `workbench.offline.driver_weights`: weights from common past windows, and a constant with which the rule gives the forecaster's
answer at the children's own forecasts. An edited child then moves the answer by its weight. A child that speaks against its parent
counts with 1 - p. Where the parent is no claim that can be forecast here, or a child's report carries no past outcomes (a
tree that someone else made, or edited), the children share the whole weight.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.formatting import percent, point_change, signed_figure
from workbench.models.base import NodeRef
from workbench.offline.driver_weights import CONSTANT_MAX, FEWEST_WINDOWS, Division, divide
from workbench.offline.report_records import OutcomeRecord, common_windows, read_records, write_record
from workbench.questions.errors import ClaimRefused

_P = re.compile(r"\bp\s*=\s*([0-9.]+(?:e-?[0-9]+)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A child of the request: its id, statement, present probability, sign, and record if there is one."""

    id: str
    statement: str
    p: float
    negative: bool
    record: OutcomeRecord | None

    def speaks(self, p: float) -> float:
        """Return how likely the child speaks for its parent at a probability of its own: false where it speaks against."""
        return 1.0 - p if self.negative else p

    @property
    def forecast(self) -> float:
        """The p of its report; a person may have given it another since."""
        return self.p if self.record is None else self.record.forecast

    @property
    def now_and_usual(self) -> tuple[float, float]:
        """How likely it speaks for its parent by its report, and by its base rate; only of a child with a record."""
        assert self.record is not None
        return self.speaks(self.forecast), self.speaks(self.record.base_rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """The combination of the children's reports and the forecaster's p."""

    #: The forecaster's p of the parent, with its past outcomes; None: it is no claim that can be forecast here.
    parent: OutcomeRecord | None
    children: tuple[Child, ...]
    #: Of the parent's forecast among the children, as they speak for it.
    division: Division
    #: False: the children are weighted equally, whatever the forecaster says.
    explained: bool
    #: At the children's present probabilities.
    p: float
    #: At those of their reports; the parent's, up to the difference that is printed.
    forecast: float

    @property
    def weights(self) -> dict[str, float]:
        """Signed: a child that speaks against has a weight below 0."""
        pairs = zip(self.children, self.division.weights, strict=True)
        return {child.id: -weight if child.negative and weight else weight for child, weight in pairs}

    @property
    def intercept(self) -> float:
        """The constant of the signed rule, as w (1 - p) is w - w p."""
        against = sum(-weight for weight in self.weights.values() if weight < 0)
        return round(self.division.constant + against, 9)


def read_children(text: str, nodes: Sequence[NodeRef]) -> list[Child]:
    """Read the children of a synthesis request from its user message.

    Raises `ClaimRefused`: A child's probability cannot be found.
    """
    starts = [(*_shown_at(text, node), node) for node in nodes]
    starts.sort(key=lambda item: item[0])
    children = []
    for number, (begin, end, node) in enumerate(starts):
        stop = starts[number + 1][0] if number + 1 < len(starts) else len(text)
        header, body = text[begin:end], text[end:stop]
        # Without the statement's own words: they may hold "p = ..." or "negative" themselves.
        stated = _P.search(header.replace(node.statement, "")) or _P.search(body)
        # An inner child's report may quote the records of the leaves below it.
        records = [record for record in read_records(body) if record.statement == node.statement]
        record = records[-1] if records else None
        if stated is None and record is None:
            raise ClaimRefused(f"the request shows no probability of {node.id}, so it cannot be weighed")
        value = float(stated[1]) if stated else (record.p if record else 0.0)
        negative = re.search(r"\bnegative\b", header.replace(node.statement, ""), re.IGNORECASE) is not None
        children.append(
            Child(id=node.id, statement=node.statement, p=value, negative=negative, record=record)
        )
    order = [node.id for node in nodes]
    return sorted(children, key=lambda child: order.index(child.id))


def _shown_at(text: str, node: NodeRef) -> tuple[int, int]:
    """Find a child with its statement: start and end of the match in the text.

    Reports may quote a sibling, so a line that states p, or is followed by one that does, is preferred.
    """
    # The look-ahead keeps P1 from matching the lines of P1.2 and P12.
    pattern = rf"^\W*{re.escape(node.id)}\b(?!\.?\d).*{re.escape(node.statement)}"
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        raise ClaimRefused(f"the request does not show {node.id} with its statement, so it cannot be weighed")
    for match in matches:
        following = text[match.end() :].lstrip(" .").split("\n", 2)
        near = match[0].replace(node.statement, "") + " " + " ".join(following[:2])
        if _P.search(near):
            return match.start(), match.end()
    return matches[0].start(), matches[0].end()


def combine(
    parent: OutcomeRecord | None, children: Sequence[Child], *, constant_max: float = 1.0
) -> Combination:
    """Return the rule for the children; both synthesis replies are written from it."""
    records = [child.record for child in children if child.record is not None]
    explained = parent is not None and len(records) == len(children)
    if parent is not None and explained:
        table = common_windows([parent, *records])
        for column, child in enumerate(children, 1):
            if child.negative:
                table[:, column] = 1 - table[:, column]
        division = divide(
            parent.p,
            parent.base_rate,
            [child.now_and_usual for child in children],
            table,
            parent.horizon_days,
            constant_max=constant_max,
        )
    else:
        equal = int(1e6 / len(children)) / 1e6
        division = Division(
            constant=0.0,
            weights=(equal,) * len(children),
            rest=0.0,
            effective_windows=0.0,
            estimated=False,
        )
    return Combination(
        parent=parent,
        children=tuple(children),
        division=division,
        explained=explained,
        p=division.value([child.speaks(child.p) for child in children]),
        forecast=division.value([child.speaks(child.forecast) for child in children]),
    )


def synthesis_reply(node: NodeRef, result: Combination, *, linear: bool) -> str:
    """Return the reply to a synthesis request: words, the record, and the JSON that the stage asks for, a linear one's with the rule."""
    rule = {"beta": {"beta_0": result.intercept, **result.weights}} if linear else {}
    body = {**rule, "p_true": round(result.p, 9), "key_factor": _weighing_most(result)}
    return f"{_prose(node, result)}\n\n```json\n{json.dumps(body, ensure_ascii=False)}\n```"


def _prose(node: NodeRef, result: Combination) -> str:
    lines = [f"**{node.statement}**: {percent(result.p)}."]
    parent, division = result.parent, result.division
    if parent is not None:
        lines.append(
            f"Base rate known at the cutoff: {percent(parent.base_rate)} over {parent.effective_windows:.1f} effective windows. "
            f"Simulation of the claim's series: {percent(parent.p)}."
        )
    if parent is not None and result.explained:
        lines += [_from_the_base_rate(parent, result), _how_weighted(division)]
        gap = result.forecast - parent.p
        # Six decimals are what a person can check; less is rounding.
        lines.append(
            "The rule below gives the forecast at the drivers' own probabilities: difference 0."
            if abs(gap) < 5e-7
            else f"No constant up to {CONSTANT_MAX:g} lets the rule give the forecast: it gives {percent(result.forecast)}, a difference of {signed_figure(100 * gap, 4)} points."
        )
        if abs(result.p - result.forecast) > 5e-7:
            lines.append(
                f"Drivers were changed since: with their own probabilities it was {percent(result.forecast)}."
            )
    else:
        why = (
            "the proposition is no claim that can be forecast here"
            if parent is None
            else "not every driver's report carries its past outcomes"
        )
        lines.append(f"The drivers are weighted equally, because {why}.")
    lines.append(
        "\n".join(
            f"- {child.id}: weight {signed_figure(result.weights[child.id], 4)}, {percent(child.p)}"
            f"{f', base rate {percent(child.record.base_rate)}' if child.record else ''}. {child.statement}"
            for child in result.children
        )
    )
    lines.append(
        "A weight says by how much the proposition is the more likely where the driver came true: that is association "
        "in past windows, not cause."
    )
    if parent is not None:
        data = {
            **parent.data,
            "statement": node.statement,
            "p": round(result.p, 9),
            "forecast": round(result.forecast, 9),
        }
        if abs(result.p - parent.p) > 5e-7:
            # What was said of the forecast's error holds for the forecast alone.
            data.pop("error", None)
        lines.append(
            f"Record of this proposition (base rate and past outcomes as known at the cutoff):\n\n{write_record(data)}"
        )
    return "\n\n".join(lines)


def _from_the_base_rate(parent: OutcomeRecord, result: Combination) -> str:
    lines = [f"From the base rate to the forecast, in points:\n\n- base rate {100 * parent.base_rate:.2f}"]
    for child, weight in zip(result.children, result.division.weights, strict=True):
        now, usual = child.now_and_usual
        lines.append(
            f"- {child.id} {signed_figure(100 * weight * (now - usual), 2)} = {weight:.4f} x ({100 * now:.2f} - {100 * usual:.2f})"
        )
    lines.append(
        f"- the simulation's own share, which no driver covers: {signed_figure(100 * result.division.rest, 2)}"
    )
    lines.append(f"- together {100 * parent.p:.2f}")
    return "\n".join(lines)


def _how_weighted(division: Division) -> str:
    windows = f"{division.effective_windows:.1f} effective past windows"
    if division.estimated:
        return (
            f"Weights are those of {windows} in which the outcomes of the proposition and of all its drivers were known: "
            "least squares within [0, 1], drawn toward equal weights as by 20 windows, moved as little as the forecast asks for."
        )
    return (
        f"The drivers begin with equal weights, because only {windows} are common to all, fewer than {FEWEST_WINDOWS:g}; "
        "they are moved as little as the forecast asks for."
    )


def _weighing_most(result: Combination) -> str:
    pairs = list(zip(result.children, result.division.weights, strict=True))
    if result.parent is None or not result.explained:
        child, _ = max(pairs, key=lambda pair: pair[1])
        return f"Largest weight: {child.statement}."

    def moves(pair: tuple[Child, float]) -> float:
        child, weight = pair
        now, usual = child.now_and_usual
        return weight * (now - usual)

    largest = max(pairs, key=lambda pair: abs(moves(pair)))
    return f"Largest driver ({point_change(0.0, moves(largest))}): {largest[0].statement}."
