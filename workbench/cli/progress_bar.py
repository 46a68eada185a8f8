"""How far a long command is: a bar on a terminal, else a line each tenth, on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workbench.cli.common import say


@contextmanager
def progress_bar(noun: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many of how many are done: a bar on a terminal, else a line each tenth, on stderr."""
    if not sys.stderr.isatty():
        shown = -1

        def line(done: int, count: int) -> None:
            nonlocal shown
            if count and (tenth := 10 * done // count) > shown:
                shown = tenth
                say(f"{done} of {count} {noun}")

        yield line
        return
    # a bar is for terminals only, and rich takes as long to load as a short command
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(noun, total=None)
        yield lambda done, count: bar.update(task, completed=done, total=count)
