"""``questions``: sets of questions imported, fetched, listed, resolved, scored and bet on; ``submit`` stands beside it."""

import typer

from workbench.cli.questions.acting import bet, submit
from workbench.cli.questions.contexts import contexts
from workbench.cli.questions.resolving import resolve_questions, score_questions
from workbench.cli.questions.sets import export_questions, fetch, import_questions, list_questions, show

questions = typer.Typer(
    help="Sets of questions: imported, fetched from venues, listed, resolved, scored.", no_args_is_help=True
)
questions.command("import")(import_questions)
questions.command("fetch")(fetch)
questions.command("list")(list_questions)
questions.command("show")(show)
questions.command("resolve")(resolve_questions)
questions.command("score")(score_questions)
questions.command("export")(export_questions)
questions.command("contexts")(contexts)
questions.command("bet")(bet)

__all__ = ["questions", "submit"]
