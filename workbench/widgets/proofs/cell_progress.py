"""Progress of a run in the cell that started it: one output of plain HTML, renewed while the run is at work."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.engine.record.progress import print_progress, progress_line
from workbench.engine.record.recorder import Listener
from workbench.engine.record.stages import LeafPace, Stages, pace_of
from workbench.engine.record.state import RunState
from workbench.formatting import percent
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.templates import html_environment
from workbench.views.fan_chart import fan_picture
from workbench.views.wording import driver_words, history_lines, name_drivers, resolution_lines, work_words

if TYPE_CHECKING:
    from jinja2 import Template

#: Seconds between two renewals at least: each is a message that every open page draws.
_RENEWED_EVERY = 0.25
#: Seconds between two renewals at most.
_TICK = 1.0
#: Leaves in work that are listed, and lines of what happened last.
_LEAVES, _LINES = 12, 8


@contextmanager
def progress_listener(store: Store, *, quiet: bool) -> Iterator[Listener | None]:
    """Give what shows a run's progress where it was started: in a notebook's cell as HTML, elsewhere as lines on stderr.

    Past runs of the store tell how long the rest takes.
    """
    if quiet:
        yield None
        return
    display = _cell_display()
    if display is None:
        yield print_progress
        return
    progress = CellProgress(display, pace=partial(pace_of, store))
    try:
        yield progress
    except BaseException as error:
        progress.end(f"stopped: {error}" if str(error) else "stopped")
        raise
    progress.end("")


def _cell_display() -> Callable[[dict[str, str]], None] | None:
    """Return what renews one output of the running cell; None where no notebook shows this process' output."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import display

    shell: Any = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handles: list[Any] = []

    def renew(bundle: dict[str, str]) -> None:
        if handles:
            handles[0].update(bundle, raw=True)
        else:
            handles.append(display(bundle, raw=True, display_id=True))  # type: ignore[no-untyped-call]

    return renew


@cache
def _progress_template() -> "Template":
    return html_environment("workbench.widgets", percent=percent).get_template("cell_progress.html.j2")


class CellProgress:
    """A listener of the engine that shows where a run stands."""

    def __init__(
        self,
        display: Callable[[dict[str, str]], None],
        *,
        pace: Callable[[RunState], LeafPace | None] = lambda state: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._display, self._pace, self._clock = display, pace, clock
        self._began = clock()
        self._shown = self._began - _RENEWED_EVERY
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._requests = 0
        self._dollars = 0.0
        self._stages = Stages()  # until the first event says which runs are like this one
        self._state: RunState | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._chart: Markup | None = None

    def __call__(self, state: RunState, stored: StoredEvent) -> None:
        """Take in one event; the output is renewed if it is time."""
        if self._state is None:
            self._stages = Stages(self._pace(state))
        self._state = state
        if isinstance(stored.event, ev.LeafStep):
            self._requests += 1
            self._dollars += stored.event.cost_usd or 0.0
        self._stages.take(stored.event)
        line = progress_line(state, stored)
        if line is not None:
            self._lines.append(line.strip())
        if self._clock() - self._shown >= _RENEWED_EVERY:
            self._renew("")
        self._schedule()

    def end(self, reason: str) -> None:
        """Show how it ended; ``reason`` is empty where the work came to its end."""
        if self._timer is not None:
            self._timer.cancel()
        if self._state is not None:
            self._renew(reason)

    def _schedule(self) -> None:
        if self._timer is None:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:  # events that are replayed outside a loop: nothing comes later
                return
            self._timer = loop.call_later(_TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._renew("")
        self._schedule()

    def _series(self, state: RunState) -> Markup:
        """Draw the claim's series as the page does, once: it needs no evidence."""
        if self._chart is None:
            # numpy and pandas, which a run of a claim about no series does without
            from workbench.backtests.claim_series import known_series

            series = state.fan or known_series(state.statement, state.parsed_cutoff())
            self._chart = Markup() if series is None else fan_picture(series)
        return self._chart

    def _renew(self, reason: str) -> None:
        state = self._state
        assert state is not None
        self._shown = self._clock()
        leaves = list(state.tree.leaves()) if state.planned else []
        grounded = sum(leaf in state.pooled for leaf in leaves)
        in_work = [leaf for leaf in leaves if state.node_status(leaf) == "grounding"]
        failed = [leaf for leaf in leaves if state.node_status(leaf) == "failed"]
        phase = state.phase
        values = {
            "run_id": state.run_id,
            "phase": phase,
            "reason": name_drivers(state.tree, reason or ("" if phase == "done" else state.reason or "")),
            "grounded": grounded,
            "leaves": len(leaves),
            "share": 100 * self._stages.share(state),
            "work": work_words(state, phase, self._stages) if phase in ("running", "waiting") else "",
            "seconds": round(self._clock() - self._began),
            "requests": self._requests,
            "dollars": self._dollars,
            "p": state.tree.root.p,
            "rows": [
                (leaf, state.tree[leaf].statement, self._stages.words.get(leaf, "opening its notebook"))
                for leaf in in_work[:_LEAVES]
            ],
            "more": max(0, len(in_work) - _LEAVES),
            "failed": [driver_words(state.tree, leaf) for leaf in failed],
            "lines": list(self._lines) if phase != "done" else [],
            # What needs no evidence, until there is some.
            "before": [
                " · ".join(resolution_lines(state)),
                *(history_lines(state.history) if state.history else []),
            ]
            if state.tree.root.p is None
            else [],
            "series": self._series(state),
        }
        text = f"run {state.run_id}: {phase}, evidence for {grounded} of {len(leaves)} drivers"
        self._display({"text/html": _progress_template().render(values), "text/plain": text})
