"""Progress of a run on a terminal: the leaves in work with what each is at, a bar, the time left. Elsewhere plain lines."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.engine.record.progress import print_progress, progress_line
from workbench.engine.record.recorder import Listener
from workbench.engine.record.stages import Stages, pace_of
from workbench.engine.record.state import RunState
from workbench.store import Store, StoredEvent
from workbench.terminal import printable, printable_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

#: Leaves in work that are listed at once.
_LISTED = 12
_BAR = 28


def draws_here() -> bool:
    """Whether stderr is a terminal that can move its cursor and write more than ASCII."""
    encoding = (getattr(sys.stderr, "encoding", "") or "").lower().replace("-", "")
    return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "dumb") and encoding == "utf8"


@contextmanager
def shown_progress(store: Store, *, asks: bool = False) -> Iterator[Listener]:
    """Give the listener that shows a run's progress on stderr until the block ends.

    Parameters
    ----------
    asks : bool
        The run asks its user while it works: lines then, as a drawing would run over what is typed.
    """
    if asks or not draws_here():
        yield print_progress
        return
    # Rich takes 40 ms to import, and only a terminal is drawn on.
    from rich.console import Console
    from rich.live import Live

    progress = TerminalProgress(store)
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Live(progress, console=console, refresh_per_second=4, transient=True) as live:
        progress.live = live
        yield progress


class TerminalProgress:
    """A listener of the engine, and what rich draws of it.

    Parameters
    ----------
    store : Store
        Where past runs tell the pace.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stages: Stages | None = None
        self._state: RunState | None = None
        #: Prints a line above what is drawn.
        self.live: Any = None

    def __call__(self, state: RunState, stored: StoredEvent) -> None:
        """Take in one event; what stays to be read goes above the drawing."""
        if self._stages is None:
            self._stages = Stages(pace_of(self._store, state))
        self._state = state
        self._stages.take(stored.event)
        line = progress_line(state, stored)
        if line is not None and self.live is not None:
            self.live.console.print(printable(line, keep=""), soft_wrap=True)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Draw it: rich calls this four times a second."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        state, stages = self._state, self._stages
        if state is None or stages is None or not state.planned or state.finished:
            return
        leaves = list(state.tree.leaves())
        done = sum(state.tree[leaf].p is not None for leaf in leaves)
        at_work = [leaf for leaf in leaves if leaf in stages.words][:_LISTED]
        rows = Table.grid(padding=(0, 2))
        for leaf in at_work:
            statement = printable_line(state.tree[leaf].statement, 200)
            width = max(10, options.max_width - 52)
            rows.add_row(
                Text(f"  {leaf}", style="bold"),
                Text(printable_line(stages.words[leaf], 40)),
                Text(statement if len(statement) <= width else statement[: width - 1] + "…", style="dim"),
            )
        yield rows
        line = Table.grid(padding=(0, 1))
        line.add_row(
            Text("  "),
            ProgressBar(total=1.0, completed=stages.share(state), width=_BAR),
            Text(f"{done} of {len(leaves)} drivers have evidence"),
            Text(stages.left(state), style="dim"),
        )
        yield line
