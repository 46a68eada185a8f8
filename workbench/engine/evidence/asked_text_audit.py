"""What of a run's own words was of after its cutoff: what was cut before anybody was asked, and what recorded prompts hold all the same."""

from collections.abc import Iterator

from proxies.asof.asof_text import as_of
from proxies.asof.clock import Cutoff
from workbench.engine.evidence.records import Answer, Records
from workbench.engine.run.state import RunState
from workbench.store import ModelLedger, Store

#: The web's filter is shown what it is to remove.
_NO_PROMPT = ("filter",)
_SHOWN = 160  # characters of a piece on a line


def cut_texts(records: Records) -> list[Answer]:
    """What was cut from the words that people wrote of the claim; nothing where nothing was."""
    cut = records.state.cut
    if not cut:
        return []
    piece = f"the first from the {cut[0].field}, {cut[0].reason}: {cut[0].text[:_SHOWN]!r}"
    return [("ok", f"{len(cut)} pieces were cut, {piece}")]


def prompts(records: Records) -> list[Answer]:
    """Whether a recorded prompt speaks of later than the cutoff."""
    late = list(late_prompts(records.store, records.state))
    if not late:
        return [("ok", "no recorded prompt speaks of later than the cutoff")]
    first = "; ".join(f"{node} {stage}: {words[:_SHOWN]!r}" for node, stage, words in late[:3])
    return [("warn", f"{len(late)} recorded prompts speak of later than the cutoff ({first})")]


def late_prompts(store: Store, state: RunState) -> Iterator[tuple[str, str, str]]:
    """Yield node, stage and words of each recorded prompt that speaks of later than the cutoff; none for a live run.

    The rules are those of `as_of`; of words whose author may have meant what is ahead nothing is said. The run's own propositions
    count for nothing: a claim may be in the past tense.
    """
    cutoff = state.parsed_cutoff()
    if cutoff.live:
        return
    own = [state.tree[node].statement for node in state.tree]
    read: dict[str, tuple[str, ...]] = {}
    for node, stage, digest, content in ModelLedger(store).prompts(state.run_id):
        if stage in _NO_PROMPT:
            continue
        if digest not in read:
            read[digest] = _late(content, cutoff, own)
        for words in read[digest]:
            yield node, stage, words


def _late(content: str, cutoff: Cutoff, own: list[str]) -> tuple[str, ...]:
    pieces = as_of(content, cutoff, kind="record").cut
    return tuple(piece.text for piece in pieces if not any(each in piece.text for each in own))
