"""Stored contexts: a stream ``contexts:SET`` in the log, each context a body under the hash of its content.

A context is never changed: another time is another context, and arms that name a time get the same bytes for ever.
"""

import json
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from proxies.asof.clock import Cutoff
from workbench.questions.question import QuestionError
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.contexts.context import FORMAT, SharedContext

SORT = "contexts"


class StoredContext(NamedTuple):
    """A context on record: its question, its time, and the hashes of its text and of the whole."""

    question: str
    cutoff: str
    instant: str
    text: str
    record: str

    @property
    def moment(self) -> datetime:
        """The instant, aware."""
        return datetime.fromisoformat(self.instant)


def store_context(store: Store, set_name: str, context: SharedContext) -> StoredContext:
    """Put a context on record and return it; one of the same question and time that stands already is returned instead."""
    text = context.text
    record = orjson.dumps(context.to_json(), option=orjson.OPT_SORT_KEYS)
    with store.transaction():
        standing = [each for each in stored_contexts(store, set_name, context.question)]
        for each in standing:
            if (each.cutoff, each.instant) == (context.cutoff, context.instant):
                return each
        event = ev.ContextGathered(
            node=context.question,
            cutoff=context.cutoff,
            instant=context.instant,
            text=store.put_body(text),
            record=store.put_body(record),
        )
        store.append(f"{SORT}:{set_name}", event)
    return StoredContext(context.question, context.cutoff, context.instant, event.text, event.record)


def stored_contexts(store: Store, set_name: str, question: str | None = None) -> list[StoredContext]:
    """Contexts of a set, or of one question, in the order of their times."""
    rows = [
        StoredContext(event.node or "", event.cutoff, event.instant, event.text, event.record)
        for stored in store.events(f"{SORT}:{set_name}", kinds=["context.gathered"])
        if isinstance(event := stored.event, ev.ContextGathered)
        and (question is None or event.node == question)
    ]
    return sorted(rows, key=lambda row: (row.question, row.moment))


def context_before(rows: list[StoredContext], question: str, cutoff: Cutoff) -> StoredContext | None:
    """The newest context of a question that holds nothing later than a cutoff; None without one."""
    fitting = [row for row in rows if row.question == question and row.moment <= cutoff.instant]
    return max(fitting, key=lambda row: row.moment, default=None)


def read_context(store: Store, row: StoredContext) -> SharedContext:
    """The whole context, with addresses and what was searched for."""
    return SharedContext.from_json(orjson.loads(store.body(row.record)))


def texts_for(store: Store, set_name: str, cutoffs: dict[str, str]) -> dict[str, str]:
    """Text by question, each of the newest context that its cutoff allows; a question without one is left out."""
    rows = stored_contexts(store, set_name)
    if not rows:
        raise QuestionError(
            f"set {set_name} has no stored contexts: `questions contexts {set_name}` gathers them"
        )
    texts = {}
    for question, cutoff in cutoffs.items():
        row = context_before(rows, question, Cutoff.parse(cutoff))
        if row is not None:
            texts[question] = store.text(row.text)
    return texts


def write_contexts(store: Store, rows: list[StoredContext]) -> str:
    """The file of these contexts that ``contexts:`` of a study reads: the newest of each question, as text, byte for byte."""
    newest = {row.question: row for row in rows}  # rows stand in the order of their times
    document: dict[str, Any] = {
        "format": FORMAT,
        "contexts": {question: store.text(row.text) for question, row in newest.items()},
        "times": {question: row.instant for question, row in newest.items()},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
