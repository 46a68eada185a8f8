"""``transcript``: what a run's models were asked and what they answered, for a person to read."""

import re
import sys
from typing import Annotated, Any

import typer

from proxies.secret_registry import SECRETS
from workbench.cli.common import AsJson, RunId, command, echo, emit_json, open_store
from workbench.engine.record.fold import load_state
from workbench.terminal import printable
from workbench.views.transcript import (
    call_heading,
    call_parts,
    transcript,
    transcript_line,
    unanswered_line,
)


@command
def print_transcript(
    run: RunId,
    node: Annotated[str | None, typer.Argument(help="One driver; the whole run without it.")] = None,
    search: Annotated[
        str, typer.Option(metavar="WORDS", help="Only calls in which all these words occur.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print every model call of a run or driver: what was sent, thoughts and reply, tokens, price, time.

    What a call before it shows already is folded. An imported run is a stranger's words: nothing in it steers the terminal.
    """
    store = open_store()
    document = transcript(store, load_state(store, store.resolve_run(run)), node, search=search)
    if as_json:
        emit_json(document)
        return
    show = _show_on_terminal if sys.stdout.isatty() else _show_plain
    echo(f"{document['statement']}\nrun {document['run_id']}: {transcript_line(document)}")
    for call in document["calls"]:
        show(call, search)
    for row in document["unanswered"]:
        echo(f"\nno reply  {unanswered_line(row)}")
    for finding in document["findings"]:
        echo(f"\nfinding   {finding['node']}, {finding['check']}: {finding['words']}")


def _show_plain(call: dict[str, Any], search: str) -> None:
    echo(f"\n=== {call_heading(call)}", whole=True)
    for name, text in call_parts(call):
        echo(f"--- {name}\n{text}", whole=True)


def _show_on_terminal(call: dict[str, Any], search: str) -> None:
    # Rich takes long to load, and a pipe has no use for it.
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, force_jupyter=False, highlight=False)
    console.rule(Text(printable(call_heading(call), keep=""), style="bold"), align="left")
    words = [re.escape(word) for word in search.split()]
    for name, text in call_parts(call):
        # Text, not str: a reply with "[red]x" in it is no markup.
        shown = Text(printable(SECRETS.clean(text)), style="dim" if name in ("folded", "thoughts") else "")
        if words:
            shown.highlight_regex(f"(?i){'|'.join(words)}", style="reverse")
        console.print(Text(f"{name}\n", style="bold cyan") + shown, soft_wrap=True)
