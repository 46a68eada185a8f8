"""How far the leaves of a run in work are, in words and as a share, and how long the rest takes: for page, terminal and notebook.

Past runs of the same model and grounder say how many replies a leaf takes and how long: nothing else knows it beforehand.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.propositions import NodeId
from workbench.store import Store, StoredEvent
from workbench.store import events as ev

#: Runs that are looked at, newest first, and those of the same kind that are enough.
_LOOKED_AT, _ENOUGH = 20, 5
#: A leaf whose replies are all there still has its proof run again: it is not done yet.
_BEFORE_CHECK = 0.9
_HEADING = re.compile(r"(?:^|\n|>)\s*#{1,4} (?:\d+[.)] )?([^\n<]{3,})")
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPace:
    """What a leaf took in past runs: replies, and seconds of the run's work for each leaf of it (leaves go side by side)."""

    replies: float
    seconds: float


def pace_of(store: Store, like: RunState) -> LeafPace | None:
    """Return the pace of past runs with this run's model and grounder, medians; None where there is none."""
    rows: list[tuple[float, float]] = []
    for run_id in list(reversed(store.run_ids()))[:_LOOKED_AT]:
        if run_id == like.run_id or len(rows) == _ENOUGH:
            continue
        try:
            state = load_state(store, run_id)
        except WorkbenchError:  # a damaged log says nothing about the pace
            continue
        leaves = len(list(state.tree.leaves()))
        same = (state.settings.model, state.settings.grounder) == (
            like.settings.model,
            like.settings.grounder,
        )
        if not (same and state.finished and leaves and state.worked_seconds):
            continue
        replies = sum(isinstance(stored.event, ev.LeafStep) for stored in store.events(run_id))
        rows.append((replies / leaves, state.worked_seconds / leaves))
    if not rows:
        return None
    return LeafPace(replies=median(each[0] for each in rows), seconds=median(each[1] for each in rows))


def reply_heading(text: str, tools: Iterable[str] = ()) -> str:
    r"""Return what a grounder's reply is about: the heading it wrote, else the tool it called; empty if neither.

    >>> reply_heading("<markdown_cell>\n## 2. Past windows\nHow often ...</markdown_cell>"), reply_heading("", ["search"])
    ('Past windows', 'search')
    """
    heading = _HEADING.search(text)
    return heading[1].strip()[:_LONGEST] if heading else next(iter(tools), "")


class Stages:
    """A fold over a run's events: what each leaf is at, and how much of the evidence is there."""

    def __init__(self, pace: LeafPace | None = None) -> None:
        self.pace = pace
        #: What each leaf in work is at.
        self.words: dict[NodeId, str] = {}
        self._replies: dict[NodeId, int] = {}
        self._dollars: dict[NodeId, float] = {}

    def take(self, event: ev.Event) -> None:
        """Take one event in."""
        match event:
            case ev.LeafStarted():
                self._replies[event.node] = 0
                self.words[event.node] = "opening its notebook"
            case ev.LeafStep():
                self._replies[event.node] = number = self._replies.get(event.node, 0) + 1
                spent = self._dollars[event.node] = self._dollars.get(event.node, 0.0) + (
                    event.cost_usd or 0.0
                )
                usual = f" of {max(number, round(self.pace.replies))}" if self.pace else ""
                dollars = f", ${spent:.2f}" if spent else ""
                self.words[event.node] = f"step {number}{usual}: {event.about or event.what}{dollars}"
            case ev.LeafGrounded():
                self.words[event.node] = "running its proof again"
            case ev.LeafPooled() | ev.LeafFailed():
                self.words.pop(event.node, None)
                self._replies.pop(event.node, None)
            case _:
                pass

    def share(self, state: RunState) -> float:
        """How much of the evidence is there, from 0 to 1; a leaf in work counts in part where the pace is known."""
        leaves = list(state.tree.leaves()) if state.planned else []
        if not leaves:
            return 0.0
        done = sum(state.tree[leaf].p is not None for leaf in leaves)
        usual = self.pace.replies if self.pace else 0.0
        begun = sum(
            min(_BEFORE_CHECK, self._replies.get(leaf, 0) / usual)
            for leaf in leaves
            if usual and state.tree[leaf].p is None
        )
        return (done + begun) / len(leaves)

    def left(self, state: RunState) -> str:
        """Return how long the rest takes by the pace of past runs, in words; empty where that is not known."""
        if self.pace is None or not state.planned or state.finished:
            return ""
        share = self.share(state)
        if share == 1.0:
            return "combining the drivers"
        seconds = self.pace.seconds * len(list(state.tree.leaves())) * (1.0 - share)
        if seconds < 2:
            return "nearly done"
        return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"


def replay(stages: Stages, events: Iterable[StoredEvent]) -> Stages:
    """Take in what happened before somebody began to look, and return the same fold."""
    for stored in events:
        stages.take(stored.event)
    return stages
