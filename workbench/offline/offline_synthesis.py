"""The synthesis stages of the offline analyst: a linear rule from the children's reports, its weights from their common past.

    p = b0 + 1/2 p_reference + 1/2 sum(w_i p_i)

written as one linear rule; a child that speaks against the parent counts with 1 - p_i. The reference leaf's past outcomes are used as the parent's. Without a reference leaf (a tree that
someone else made, or edited) the children share the whole weight.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

from workbench.models.base import NodeRef
from workbench.offline.report_records import OutcomeRecord, common_windows, read_records, write_record
from workbench.questions.errors import ClaimRefused

RIDGE_WINDOWS = 20.0
FEWEST_WINDOWS = 12.0
INTERCEPT_MAX = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Constant and weights of the children, in their order; ``estimated`` False: too few windows, equal weights."""

    intercept: float
    weights: tuple[float, ...]
    effective_windows: float
    estimated: bool


def estimate_weights(
    parent: npt.NDArray[np.int64], children: npt.NDArray[np.int64], horizon_days: int
) -> Weights:
    """Weights of children, from outcomes over common weekly windows.

    Parameters
    ----------
    parent : array of 0 and 1, shape (n,)
    children : array of 0 and 1, shape (n, k), k >= 1
    horizon_days : int
        Length of the parent's window in trading days.

    Returns
    -------
    Weights
        Equal weights and no constant if fewer than 12 effective windows are common to all.
    """
    n, k = children.shape
    effective = 5 * n / horizon_days
    if effective < FEWEST_WINDOWS:
        return Weights(intercept=0.0, weights=(1 / k,) * k, effective_windows=effective, estimated=False)
    # Square roots, because least squares squares the rows: each window is to count 5/h in the sum.
    scale = np.sqrt(5 / horizon_days)
    ridge = np.sqrt(RIDGE_WINDOWS)
    # lsq_linear knows no penalty: the ridge is k more rows that say w_i = 1/k, with the weight of 20 windows.
    design = np.vstack(
        [
            scale * np.column_stack([np.ones(n), children]),
            np.column_stack([np.zeros(k), ridge * np.eye(k)]),
        ]
    )
    target = np.concatenate([scale * parent, np.full(k, ridge / k)])
    low = np.array([-INTERCEPT_MAX, *[0.0] * k])
    high = np.array([INTERCEPT_MAX, *[1.0] * k])
    fitted = lsq_linear(design, target, bounds=(low, high), method="bvls").x
    # what-if edits must stay within [0, 1]: with every child true the rule gives 1 at the most
    intercept, weights = float(fitted[0]), fitted[1:]
    over = weights.sum() / (1 - max(intercept, 0.0))
    return Weights(
        intercept=intercept,
        weights=tuple(float(weight) for weight in weights / max(over, 1.0)),
        effective_windows=effective,
        estimated=True,
    )


_P = re.compile(r"\bp\s*=\s*([0-9.]+(?:e-?[0-9]+)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A child as the message shows it: its id, statement, present probability, sign, and record if there is one."""

    id: str
    statement: str
    p: float
    negative: bool
    record: OutcomeRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """A linear rule with what it rests on."""

    intercept: float
    weights: dict[str, float]
    p: float
    reference: Child | None
    tree_only: float | None
    fit: Weights | None


def read_children(text: str, nodes: Sequence[NodeRef]) -> list[Child]:
    """Return the children of a synthesis request, read from a user message of it.

    Raises
    ------
    ClaimRefused
        A child's probability cannot be found.
    """
    starts = [(*_shown_at(text, node), node) for node in nodes]
    starts.sort(key=lambda item: item[0])
    children = []
    for number, (begin, end, node) in enumerate(starts):
        stop = starts[number + 1][0] if number + 1 < len(starts) else len(text)
        header, body = text[begin:end], text[end:stop]
        # Without the statement's own words: they may hold "p = ..." or "negative" themselves.
        shown = _P.search(header.replace(node.statement, "")) or _P.search(body)
        # An inner child's report may quote the records of the leaves below it.
        records = [record for record in read_records(body) if record.statement == node.statement]
        record = records[-1] if records else None
        if shown is None and record is None:
            raise ClaimRefused(f"the request shows no probability of {node.id}, so it cannot be weighed")
        value = float(shown[1]) if shown else (record.p if record else 0.0)
        negative = re.search(r"\bnegative\b", header.replace(node.statement, ""), re.IGNORECASE) is not None
        children.append(
            Child(id=node.id, statement=node.statement, p=value, negative=negative, record=record)
        )
    order = [node.id for node in nodes]
    return sorted(children, key=lambda child: order.index(child.id))


def _shown_at(text: str, node: NodeRef) -> tuple[int, int]:
    """Return where a child stands with its statement: start and end of the match in the text.

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


def combine(children: Sequence[Child]) -> Combination:
    """Return the linear rule for the children; both synthesis replies are written from it."""
    reference = next((child for child in children if child.record and child.record.kind == "reference"), None)
    others = [child for child in children if child is not reference]
    if not others and reference is not None:
        return Combination(
            intercept=0.0,
            weights={reference.id: 1.0},
            p=reference.p,
            reference=reference,
            tree_only=None,
            fit=None,
        )
    fit = _fit(reference, others)
    # Brier Index in a walk-forward back-test (63 cutoffs, 2003-2018): children alone, averaged, 51.7; reference class alone
    # 54.0; half and half 54.1. The last was chosen after seeing the results, so it is no proof of skill.
    share = 0.5 if reference is not None else 1.0
    weights = {child.id: share * weight for child, weight in zip(others, fit.weights, strict=True)}
    against = {child.id for child in others if child.negative}
    # A sum of shares, each child counting through its negation where it speaks against: nothing leaves [0, 1].
    counted = sum(weights[child.id] * _for_parent(child) for child in others)
    tree_only = (share * fit.intercept + counted) / share
    if reference is not None:
        weights[reference.id] = 0.5
    constant, weights = _cut(share * fit.intercept), {name: _cut(weight) for name, weight in weights.items()}
    # The rule is written signed: w (1 - p) is w - w p. Rounded, so that the constant gives back just what the children take.
    intercept = round(constant + sum(weights[name] for name in against), 6)
    weights = {name: -weight if name in against else weight for name, weight in weights.items()}
    p = intercept + sum(weights[child.id] * child.p for child in children)
    ordered = {child.id: weights[child.id] for child in children}
    return Combination(
        intercept=intercept,
        weights=ordered,
        p=min(1.0, max(0.0, p)),
        reference=reference,
        tree_only=min(1.0, max(0.0, tree_only)),
        fit=fit,
    )


def _fit(reference: Child | None, others: Sequence[Child]) -> Weights:
    equal = Weights(
        intercept=0.0, weights=(1 / len(others),) * len(others), effective_windows=0.0, estimated=False
    )
    records = [child.record for child in others if child.record is not None]
    if reference is None or reference.record is None or len(records) < len(others):
        return equal
    # The fit holds weights inside [0, 1] and so cannot give a child that speaks against the parent its weight.
    if any(child.negative for child in others):
        return equal
    table = common_windows([reference.record, *records])
    return estimate_weights(table[:, 0], table[:, 1:], reference.record.horizon_days)


def _for_parent(child: Child) -> float:
    """How likely a child is to speak for its parent: to be true, or false where it speaks against."""
    return 1.0 - child.p if child.negative else child.p


def _cut(weight: float) -> float:
    """Six decimals, as the rule is written, cut rather than rounded, so that no sum grows."""
    # The small addend keeps a product such as 499999.99999999994 from losing its last digit to the cut.
    return int(weight * 1e6 + 1e-6) / 1e6


def linear_reply(node: NodeRef, children: Sequence[Child]) -> str:
    """Return the reply to a linear synthesis request: words, the rule's record, and the JSON that the stage asks for."""
    result = combine(children)
    body = {
        "beta": {"beta_0": result.intercept, **result.weights},
        "p_true": round(result.p, 9),
        "key_factor": _key_factor(result, children),
    }
    return f"{_prose(node, children, result)}\n\n```json\n{json.dumps(body, ensure_ascii=False)}\n```"


def vanilla_reply(node: NodeRef, children: Sequence[Child]) -> str:
    """Return the reply to a vanilla synthesis request: the same number, without the rule."""
    result = combine(children)
    body = {"p_true": round(result.p, 9), "key_factor": _key_factor(result, children)}
    return f"{_prose(node, children, result)}\n\n```json\n{json.dumps(body, ensure_ascii=False)}\n```"


def _prose(node: NodeRef, children: Sequence[Child], result: Combination) -> str:
    lines = [f"**{node.statement}**: p = {result.p:.4f}."]
    record = result.reference.record if result.reference else None
    if record is not None and result.reference is not None:
        lines.append(
            f"Base rate known at the cutoff: {record.base_rate:.4f} over {record.effective_windows:.1f} effective windows. "
            f"Reference class alone: {result.reference.p:.4f}."
            + (
                f" Tree of the other children alone: {result.tree_only:.4f}."
                if result.tree_only is not None
                else ""
            )
        )
        lines.append(
            "The result is half the reference class and half the tree: "
            "p = b0 + 1/2 p(reference) + 1/2 sum of w_i p_i, written below as one linear rule."
        )
    elif result.fit is not None:
        lines.append(
            "No child is the reference class of this proposition, so the children share the whole weight."
        )
    if result.fit is not None:
        lines.append(_how_weighted(result.fit, children))
    lines.append("\n".join(_child_line(child, result) for child in children))
    lines.append(
        "A weight says by how much the proposition is the more likely where the child came true: that is association "
        "in past windows, not cause."
    )
    if record is not None:
        own = {**record.data, "kind": "inner", "statement": node.statement, "p": round(result.p, 6)}
        for name in ("record", "models", "comparators"):
            own.pop(name, None)
        own["reference_p"] = round(result.reference.p, 6) if result.reference else None
        own["tree_only_p"] = None if result.tree_only is None else round(result.tree_only, 6)
        lines.append(
            f"Record of this proposition (base rate and past outcomes as known at the cutoff):\n\n{write_record(own)}"
        )
    return "\n\n".join(lines)


def _how_weighted(fit: Weights, children: Sequence[Child]) -> str:
    if fit.estimated:
        return (
            f"Weights are estimated from {fit.effective_windows:.1f} effective past windows in which the outcomes of the "
            "proposition and of all its children were known, by least squares within [0, 1], drawn toward equal weights "
            "as by 20 windows."
        )
    if any(child.record is None for child in children):
        why = "not every child's report carries its past outcomes"
    elif any(child.negative for child in children):
        why = "a child speaks against the proposition"
    else:
        why = f"only {fit.effective_windows:.1f} effective windows are common to all, fewer than {FEWEST_WINDOWS:g}"
    return f"The children are weighted equally, because {why}."


def _child_line(child: Child, result: Combination) -> str:
    base = f", base rate {child.record.base_rate:.4f}" if child.record else ""
    role = " (reference class)" if child is result.reference else ""
    return f"- {child.id}{role}: weight {result.weights[child.id]:+.4f}, p = {child.p:.4f}{base}. {child.statement}"


def _key_factor(result: Combination, children: Sequence[Child]) -> str:
    others = [child for child in children if child is not result.reference]
    if result.reference is None or not others:
        top = max(children, key=lambda child: abs(result.weights[child.id]))
        return f"{top.id} weighs most: {top.statement}."
    record = result.reference.record
    base = f", against a base rate of {record.base_rate:.2f}" if record else ""
    top = max(others, key=lambda child: (abs(result.weights[child.id]), child.id))
    return (
        f"Its own record gives {result.reference.p:.2f}{base}; beside it {top.id} weighs most "
        f"({result.weights[top.id]:.2f}): {top.statement}."
    )
