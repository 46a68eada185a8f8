"""Find later facts that a model wrote out of its own memory (BLF, App. B.3: parametric leakage)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proxies.asof.asof_text import without_later
from proxies.asof.clock import Cutoff
from proxies.asof.later_text import later_dates
from workbench.agents.findings.figures import unprinted
from workbench.agents.replies.json_reply import every_text
from workbench.engine.record.state import RunState
from workbench.models.base import ModelReply
from workbench.quoting import one_line
from workbench.store import ModelLedger, Store

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
#: Sentences that are looked at in one reply; a flood of them says nothing more.
_MOST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSentence:
    """A sentence of a model that speaks of a later day as past; ``own`` where nothing that it was shown holds it."""

    run_id: str
    node: str
    trial: int
    stage: str
    step: int
    sentence: str
    own: bool


def late_sentences(text: str, shown: str, cutoff: Cutoff) -> Iterator[tuple[str, bool]]:
    """Yield the late sentences of a text, each with whether it is the writer's own: its day, or a figure in it, was not shown.

    >>> cutoff = Cutoff.parse("2018-06-30")
    >>> list(late_sentences("It fell to 2,507 on December 31, 2018.", "Up by December 31, 2018?", cutoff))
    [('It fell to 2,507 on December 31, 2018.', True)]
    """
    for sentence in _SENTENCES.split(text)[:_MOST]:
        if without_later(sentence, cutoff) == sentence:
            continue
        days = [sentence[start:end] for start, end in later_dates(sentence, cutoff)]
        is_own = any(day.lower() not in shown for day in days) or bool(unprinted(sentence, [shown]))
        yield sentence.strip(), is_own


def scan_memory(store: Store, state: RunState) -> list[LateSentence]:
    """Return the late sentences in the model's texts for the leaves of a run, oldest first; none for a live run.

    Raises ``StoreCorrupt`` for an altered reply.
    """
    cutoff = state.parsed_cutoff()
    if cutoff.live:
        return []
    return [
        LateSentence(
            run_id=state.run_id,
            node=place.node,
            trial=place.trial,
            stage=where.stage,
            step=where.step,
            sentence=one_line(sentence),
            own=is_own,
        )
        for place in ModelLedger(store).attempts(state.run_id)
        for where, messages, reply in ModelLedger(store).dialogue(place)
        # what the web's filter writes judges others' texts
        if where.stage != "filter"
        for sentence, is_own in late_sentences(_written(reply), _shown(messages), cutoff)
    ]


def memory_document(store: Store, states: Sequence[RunState]) -> dict[str, Any]:
    """Return how many leaves hold a late sentence of the model's own, with Wilson's interval and one over whole runs.

    ``leaks RUN... --memory`` prints it. BLF found 2 of 113 questions for one model whose training ended after their forecast dates.
    """
    rows = {state.run_id: scan_memory(store, state) for state in states}
    n = [sum(1 for _ in state.tree.leaves()) for state in states]
    late = [len({row.node for row in rows[state.run_id] if row.own}) for state in states]
    # scipy, which a view of the other checks does not need
    from workbench.science.comparing.mean_intervals import rate_over_runs, wilson_interval

    wilson = wilson_interval(sum(late), sum(n))
    return {
        "runs": [state.run_id for state in states],
        "leaves": sum(n),
        "late": sum(late),
        "rate": wilson.rate,
        "wilson": [wilson.low, wilson.high],
        "over_runs": rate_over_runs(late, n),
        "sentences": [asdict(row) for sentences in rows.values() for row in sentences],
    }


def _written(reply: ModelReply) -> str:
    return "\n".join(
        [reply.text, *(text for call in reply.tool_calls for text in every_text(call.arguments))]
    )


def _shown(messages: Sequence[Mapping[str, Any]]) -> str:
    """Join all that the model was shown; its own earlier words are left out: to repeat oneself is no source."""
    return "\n".join(
        str(message["content"]) for message in messages if message["role"] != "assistant"
    ).lower()
