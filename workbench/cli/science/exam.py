"""`exam`: named views of a file of questions, built by rule; `score --exam NAME` and the like use them."""

from typing import Annotated

import orjson
import typer

from proxies.atomic import private_folder
from workbench.cli.common import command, emit_json, say, unlisted
from workbench.cli.science.science_options import AsJson, EventsFile, exams_folder, listed, write_whole
from workbench.cli.table import show_table
from workbench.errors import UsageError
from workbench.questions.sets.exams import Exam, ExamRules, build_exam, exams_document, saved_exams
from workbench.science.tables import read_events

exams = typer.Typer(help="Named views of a file of questions.", no_args_is_help=True)


@exams.command("build")
@command
def build(
    name: Annotated[str, typer.Argument(help="Name of the exam: letters, digits, dot, dash, underscore.")],
    events: EventsFile,
    due_from: Annotated[str | None, typer.Option("--due-from", help="First day a forecast was due.")] = None,
    due_to: Annotated[str | None, typer.Option("--due-to", help="Last day a forecast was due.")] = None,
    resolved_from: Annotated[str | None, unlisted("--resolved-from", help="First resolution day.")] = None,
    resolved_to: Annotated[str | None, unlisted("--resolved-to", help="Last resolution day.")] = None,
    source: Annotated[str, unlisted("--source", help="Only these sources, by comma.")] = "",
    question_type: Annotated[str, unlisted("--type", help="Only these question types, by comma.")] = "",
    seed: Annotated[int, unlisted("--seed", help="Seed of the choice.")] = 0,
    size: Annotated[int | None, typer.Option("--size", help="Questions in all.")] = None,
    per_stratum: Annotated[int | None, unlisted("--per-stratum", help="Questions of each stratum.")] = None,
    stratify: Annotated[str | None, unlisted("--stratify", help="Column of the strata (source).")] = None,
    offset: Annotated[int, unlisted("--offset", help="Pass over so many of each stratum first.")] = 0,
    model: Annotated[str | None, typer.Option("--model", help="Leave out what this model may know.")] = None,
    model_cutoff: Annotated[str | None, unlisted("--model-cutoff", help="Its training cutoff.")] = None,
    margin_days: Annotated[int, unlisted("--margin-days", help="Days after the cutoff left out too.")] = 0,
    json: AsJson = False,
) -> None:
    """Choose questions by dates, source, strata and seed, leaving out what a model may know by heart."""
    if not name or not all(letter.isalnum() or letter in "._-" for letter in name) or name.startswith("."):
        raise UsageError(
            f"{name!r} is no name for an exam: letters, digits, dots, dashes and underscores only"
        )
    rules = ExamRules(
        name=name,
        due_from=due_from,
        due_to=due_to,
        resolved_from=resolved_from,
        resolved_to=resolved_to,
        sources=tuple(listed(source)),
        kinds=tuple(listed(question_type)),
        seed=seed,
        size=size,
        per_stratum=per_stratum,
        stratify=stratify,
        offset=offset,
        model=model,
        model_cutoff=model_cutoff,
        margin_days=margin_days,
    )
    exam = build_exam(read_events(events, unresolved=True), rules)
    folder = exams_folder()
    try:
        private_folder(folder)
    except OSError as error:
        raise UsageError(f"cannot create {folder}: {error.strerror}") from error
    path = folder / f"{name}.json"
    write_whole(path, orjson.dumps(exam.to_json(), option=orjson.OPT_INDENT_2).decode() + "\n")
    if json:
        emit_json(exam.to_json())
        return
    say(f"{path}")
    show_table(["exam", "questions", "events", "not safe", "digest"], [_exam_row(exam)])


def _exam_row(exam: Exam) -> list[object]:
    return [exam.rules.name, exam.questions, len(exam.event_ids), exam.unsafe, exam.digest[:19]]


@exams.command("list")
@command
def list_exams(json: AsJson = False) -> None:
    """Exams that were built, in the order of their names."""
    saved, broken = saved_exams(exams_folder())
    for file, problem in broken.items():
        say(f"{file}: {problem}")
    if json:
        emit_json(exams_document(saved, broken))
        return
    show_table(["exam", "questions", "events", "not safe", "digest"], [_exam_row(exam) for exam in saved])
