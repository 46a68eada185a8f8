"""People's estimates of a claim or a driver, beside the model's answer, which stays: given, taken back, pooled, and scored apart."""

import re
from collections.abc import Sequence
from math import fsum
from typing import Any

from workbench.annotations.entries import checked_line, checked_text
from workbench.engine.record.fold import load_state
from workbench.engine.record.people import PersonalEstimate, person, pooled_estimate
from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.store import events as ev

_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,12})?|\.\d{1,12}) ?(%?)")
#: The author under whom the pool of all people is scored; a typed name has no brackets around it.
POOLED = "(all pooled)"


def give_estimate(
    store: Store, run_id: str, node: NodeId, p: str | None, *, author: str, why: str = ""
) -> None:
    """Record somebody's estimate of a proposition (0.4 or 40%), or with None that they take it back.

    An author's newest estimate counts. It changes no number of the run, and no agent is shown it.

    Raises `UsageError`: No name, no probability between 0 and 1, or nothing to take back. Raises `UnknownNode`: No such proposition.
    """
    name = checked_line(author, "an author")
    if not name:
        raise UsageError("an estimate needs an author: ", Option("author", "NAME"))
    if name.startswith("("):
        raise UsageError("a name does not begin with a bracket")
    value = None if p is None else probability_of(p)
    with store.transaction():
        state = load_state(store, run_id)
        state.tree[node]  # raises for a node that is not there
        authors = [person(estimate.author) for estimate in state.annotations.standing(node)]
        if value is None and person(name) not in authors:
            raise UsageError(f"{name} has given no estimate of {node} in run {run_id}")
        event = ev.EstimateGiven(
            node=node, p=value, author=name, why=checked_text(why, "a reason") if why.strip() else ""
        )
        store.append(run_id, event)


def probability_of(text: str) -> float:
    """Read a probability strictly between 0 and 1: nobody's estimate is certainty.

    >>> probability_of("40%"), probability_of("0.4")
    (0.4, 0.4)
    """
    match = _NUMBER.fullmatch(text.strip())
    value = float(match[1]) / (100.0 if match[2] else 1.0) if match else 0.0
    if not 0.0 < value < 1.0:
        raise UsageError(f"an estimate lies between 0 and 1, as 0.4 or 40%, not {text!r:.40}")
    return value


def estimate_rows(state: RunState) -> list[dict[str, Any]]:
    """Return each proposition with estimates: people's, their pool in log-odds, and the model's beside."""
    annotations = state.annotations
    rows = []
    for node in state.tree.ids():
        standing = annotations.standing(node)
        if standing:
            rows.append(
                {
                    "node": node,
                    "model": state.tree[node].p,
                    "pooled": pooled_estimate(
                        [estimate.p for estimate in standing if estimate.p is not None]
                    ),
                    "estimates": [estimate.to_json() for estimate in standing],
                }
            )
    return rows


def people_scores(states: Sequence[RunState], *, live: bool) -> list[dict[str, Any]]:
    """Score each author's estimates of resolved claims and drivers, beside the model's answers to the same.

    Only estimates from before the outcome was on record count, and of ``live`` runs those from before its day was over.
    """
    scores: dict[str, list[tuple[bool, float, float, float]]] = {}
    spellings: dict[str, str] = {}
    for state in states:
        annotations = state.annotations
        for node, outcome in annotations.outcomes().items():
            model = state.tree[node].p
            in_time = [
                estimate
                for estimate in annotations.standing(node, in_time=True)
                if not live or estimate.at_utc[:10] <= outcome.day
            ]
            if model is None or outcome.p not in (0.0, 1.0) or not in_time:
                continue
            for author, p in _with_pool(in_time):
                name = spellings.setdefault(person(author), author)
                scores.setdefault(name, []).append((node == ROOT, p, model, outcome.p))
    return [_score(author, listed) for author, listed in sorted(scores.items())]


def _with_pool(estimates: Sequence[PersonalEstimate]) -> list[tuple[str, float]]:
    by_author = [(estimate.author, estimate.p) for estimate in estimates if estimate.p is not None]
    return by_author + ([(POOLED, pooled_estimate([p for _, p in by_author]))] if len(by_author) > 1 else [])


def _score(author: str, listed: Sequence[tuple[bool, float, float, float]]) -> dict[str, Any]:
    return {
        "author": author,
        "claims": sum(is_claim for is_claim, *_ in listed),
        "drivers": sum(not is_claim for is_claim, *_ in listed),
        "brier": fsum((p - came) ** 2 for _, p, _, came in listed) / len(listed),
        "model_brier": fsum((model - came) ** 2 for _, _, model, came in listed) / len(listed),
    }
