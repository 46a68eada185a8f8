"""Find the leaves that read no data: by the ledger alone, which lies outside the kernel, never by a cell, a report or a proof.

A cell can redefine its helpers, and a list can be typed in from memory; neither leaves a row with an answer.
"""

from collections.abc import Mapping
from typing import Any

from proxies.ledger import CATALOGUE
from workbench.engine.record.state import RunState, TrialState
from workbench.formatting import counted_drivers
from workbench.propositions import NodeId
from workbench.store import ApiLedger, Store, StoreCorrupt

#: The check of the audit that names these leaves, and their word in documents.
DATA_READ = "data read"
#: Answers of more bytes than an empty one can have are not opened.
_EMPTY_AT_MOST = 1_000


def leaves_without_data(store: Store, state: RunState) -> dict[NodeId, str]:
    """Return the leaves with a value and no data, each with words for what its value rests on instead.

    Of several trials each is looked at. Search results and pages are data, read from a cache or not; the catalogue's own
    documentation is none, nor is an answer without rows.
    """
    calls = _answers(store, state.run_id)
    words = {}
    for leaf in state.tree.leaves():
        if state.tree[leaf].belief is None:
            continue
        concluded = [
            (number, trial, calls.get((leaf, number, trial.concluded), []))
            for number, trial in enumerate(state.trials_of(leaf), 1)
            if trial.belief is not None
        ]
        if not concluded:
            words[leaf] = "the value was set by a person or came from a file, and nothing was read"
            continue
        unread = [row for row in concluded if not any(row[2])]
        if unread:
            _, trial, made = unread[0]
            what = _instead(state, trial, has_calls=bool(made))
            some = ", ".join(str(number) for number, _, _ in unread)
            words[leaf] = what if len(unread) == len(concluded) else f"trial {some}: {what}"
    return words


def no_data_lines(without_data: Mapping[NodeId, str]) -> list[str]:
    """Return the sentences for the screens, one for each reason; none where every leaf read data."""
    return list(no_data_by_line(without_data))


def no_data_by_line(without_data: Mapping[NodeId, str]) -> dict[str, list[NodeId]]:
    """Return those sentences, each with all its leaves, of which it names a few."""
    by_reason = no_data_by_reason(without_data)
    return {f"Read no data: {counted_drivers(nodes)}: {words}": nodes for words, nodes in by_reason.items()}


def no_data_by_reason(without_data: Mapping[NodeId, str]) -> dict[str, list[NodeId]]:
    """Return the leaves that read no data by what their values rest on instead."""
    by_reason: dict[str, list[NodeId]] = {}
    for node, words in without_data.items():
        by_reason.setdefault(words, []).append(node)
    return by_reason


def _instead(state: RunState, trial: TrialState, *, has_calls: bool) -> str:
    if has_calls:
        return "each of its data calls was refused or brought no row"
    kind = trial.evidence.kind if trial.evidence is not None else ""
    if kind == "notebook":
        return "no cell made a data call, so its figures were typed in or remembered"
    if kind == "trace":
        beside = " beyond the background it was given" if state.settings.context.background else ""
        return f"the model's own judgement, nothing was looked up{beside}"
    return "no data call of its is on record"


def _answers(store: Store, run_id: str) -> dict[tuple[NodeId, int, int], list[bool]]:
    calls: dict[tuple[NodeId, int, int], list[bool]] = {}
    for node, trial, attempt, path, answer, size in ApiLedger(store).answers(run_id):
        if not path.startswith(CATALOGUE):
            brought = answer is not None and (size > _EMPTY_AT_MOST or _holds_rows(store, answer))
            calls.setdefault((node, trial, attempt), []).append(brought)
    return calls


def _holds_rows(store: Store, answer: str) -> bool:
    try:
        data = store.json(answer)
    except StoreCorrupt:  # the check of the stored bodies names it
        return False
    lists = list(_lists(data))
    return any(lists) if lists else bool(data)


def _lists(value: Any) -> list[list[Any]]:
    """Collect the lists of an answer that no other list holds."""
    if isinstance(value, list):
        return [value]
    return [found for item in value.values() for found in _lists(item)] if isinstance(value, dict) else []
