"""``tournament``: a night over the open questions of a set; ``forecast`` stands beside it, for questions whose review is due."""

import typer

from workbench.cli.tournament.due import forecast
from workbench.cli.tournament.nights import promote, run, show, triage

tournament = typer.Typer(
    help="A night over many open questions: triage, quick pass, trees for a few, coherence, a page.",
    no_args_is_help=True,
)
tournament.command("run")(run)
tournament.command("triage")(triage)
tournament.command("promote")(promote)
tournament.command("show")(show)

__all__ = ["forecast", "tournament"]
