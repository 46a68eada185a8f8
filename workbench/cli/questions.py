"""``questions``: sets of questions imported, fetched, listed, resolved, scored and bet on; ``submit`` stands beside it."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
COMMANDS = {
    "import": ("workbench.operations.question_sets:ImportQuestions", "Read a file of questions into a set; what becomes no question is listed with its reason."),
    "fetch": ("workbench.operations.question_sets:FetchQuestions", "Ask a venue for events through the broker and keep those that pass the filters; every filter's count is printed."),
    "list": ("workbench.operations.question_sets:ListQuestions", "The sets of this home, or the questions of one."),
    "show": ("workbench.operations.question_sets:ShowQuestions", "One question with its events, or what a set holds and what of it cannot be scored, and why."),
    "resolve": ("workbench.operations.question_sets:ResolveQuestions", "Record outcomes: of one question by hand, of many from a file, or of claims on the embedded series by themselves."),
    "score": ("workbench.operations.scoring:ScoreSet", "Score a file of forecasts on a set; what cannot be scored is listed with its reason."),
    "export": ("workbench.operations.question_sets:ExportQuestions", "Write a set to a file; `events` is what `score`, `exam` and `compare` read, `values` what `score --quantiles` does."),
    "long-short": ("workbench.operations.question_sets:LongShort", "Make long-or-short questions from price histories, with the payoffs of both; what cannot be evaluated is named."),
    "classify": ("workbench.operations.question_sets:ClassifyQuestions", "Give each question one topic of a fixed list; stored with the set, usable as `--by topic`."),
    "contexts": ("workbench.operations.question_sets:GatherContexts", "Gather contexts: ten ranked sources with summaries and the market, under each question's cutoff; those on record stay."),
    "bet": ("workbench.operations.bets:Bet", "Size paper trades on the open questions of a set, out of one bankroll: costs, spread, caps, and exclusive options together."),
    "settle": ("workbench.operations.bets:Settle", "What logged bets came to, each gain split into the edge it was made with and the luck of its outcome."),
}
# fmt: on

questions = typer.Typer(
    cls=lazy_group(COMMANDS),
    help="Sets of questions: imported, fetched from venues, listed, resolved, scored.",
    no_args_is_help=True,
)
