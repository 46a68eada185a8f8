"""``tournament``: a round over the open questions of a set."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
COMMANDS = {
    "run": ("workbench.operations.rounds:RunRound", "Do a round over a set, or go on with the one that is unfinished: nothing that was paid for is asked again."),
    "triage": ("workbench.operations.rounds:Triage", "The open questions of a set by crowd, time left and expected gain for a dollar; asks nobody (docs/tournament.md)."),
    "promote": ("workbench.operations.rounds:Promote", "Give single events of a round a tree, whatever its rule chose."),
    "show": ("workbench.operations.rounds:ShowRound", "What a round came to so far, with what does not hold together; writes its page and files again."),
}
# fmt: on

tournament = typer.Typer(
    cls=lazy_group(COMMANDS),
    help="A round over many open questions: triage, quick pass, trees for a few, coherence, a page.",
    no_args_is_help=True,
)
