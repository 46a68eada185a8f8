"""``tournament``: a night over the open questions of a set; ``forecast`` stands beside it, for questions whose review is due."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
COMMANDS = {
    "run": ("workbench.cli.tournament.round_steps:run", "Do a round over a set, or go on with the one that is unfinished: nothing that was paid for is asked again."),
    "triage": ("workbench.cli.tournament.round_steps:triage", "The open questions of a set by crowd, time left and expected gain for a dollar; asks nobody (docs/tournament.md)."),
    "promote": ("workbench.cli.tournament.round_steps:promote", "Give single events of a round a tree, whatever its rule chose."),
    "show": ("workbench.cli.tournament.round_steps:show", "What a round came to so far, with what does not hold together; writes its page and files again."),
}
# fmt: on

tournament = typer.Typer(
    cls=lazy_group(COMMANDS),
    help="A round over many open questions: triage, quick pass, trees for a few, coherence, a page.",
    no_args_is_help=True,
)
