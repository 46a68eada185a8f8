"""``questions import``, ``fetch``, ``list``, ``show``, ``export``: sets of questions in and out."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import AsJson, at_end, command, echo, emit_json, open_store, say, unlisted
from workbench.cli.questions.filters import takes_filters
from workbench.cli.science.science_options import listed
from workbench.cli.table import show_table
from workbench.errors import UsageError
from workbench.operations.base import Home
from workbench.operations.endpoints import data_caller
from workbench.output_files import write_output
from workbench.questions.formats.base import LeftOut, QuestionFile
from workbench.questions.formats.format_registry import WRITERS, read_file
from workbench.questions.sets.question_sets import SORT, add_questions, load_set, set_of
from workbench.questions.sets.representation import against_document
from workbench.questions.sets.selection import Selection, SelectionRules, select
from workbench.questions.venue_calls import fetch_events
from workbench.store import Store
from workbench.studies.rounds.round_results import newest_quantiles
from workbench.views import question_documents
from workbench.views.fan_chart import quantile_line

SetName = Annotated[str, typer.Argument(metavar="SET", help="Name of a set.")]
As = Annotated[str | None, typer.Option("--as", help="Name of the set; the file's without it.")]
Json = AsJson


@command
@takes_filters("none")
def import_questions(
    file: Annotated[
        Path, typer.Argument(help="CSV, JSON, ForecastBench, Prophet Arena, Metaculus, Kalshi, Polymarket.")
    ],
    bounds: SelectionRules,
    name: As = None,
    form: Annotated[
        str | None,
        unlisted("--format", help="Name of the format, if it is not to be told from the file."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Read a file of questions into a set; what becomes no question is listed with its reason."""
    reading, read_as = read_file(file, form)
    set_name = name or file.name.partition(".")[0]
    _keep(set_name, reading, bounds, form=read_as, origin=file.name, as_json=as_json)


@command
@takes_filters("prophet-paper")
def fetch(
    venue: Annotated[str, typer.Argument(help="kalshi or polymarket.")],
    bounds: SelectionRules,
    name: Annotated[str | None, typer.Option("--as", help="Name of the set; the venue's without it.")] = None,
    series: Annotated[
        str, typer.Option("--series", help="Kalshi series or Polymarket tag ids, by comma.")
    ] = "",
    limit: Annotated[int, unlisted("--limit", help="Most events of each series.")] = 200,
    cutoff: Annotated[str, typer.Option(help="Cutoff; now for open events.")] = "now",
    as_json: Json = False,
) -> None:
    """Ask a venue for events through the broker and keep those that pass the filters; every filter's count is printed."""
    home = Home.of(os.environ)
    at_end(home.close)

    async def fetched() -> QuestionFile:
        async with home:
            return await fetch_events(data_caller(home, cutoff), venue, series=listed(series), limit=limit)

    reading = asyncio.run(fetched())
    _keep(name or venue, reading, bounds, form=venue, origin=f"{venue} {series or 'newest'}", as_json=as_json)


def _keep(
    name: str, reading: QuestionFile, rules: SelectionRules, *, form: str, origin: str, as_json: bool
) -> None:
    selection = select(reading.questions, rules)
    dropped = [LeftOut(v.event, f"{v.filter}: {v.reason}") for v in selection.verdicts if v.filter]
    remaining = QuestionFile(questions=selection.questions, left_out=(*reading.left_out, *dropped))
    changed = add_questions(open_store(), name, remaining, form=form, origin=origin)
    if as_json:
        emit_json(
            {
                "set": name,
                "format": form,
                "read": len(reading.questions),
                "kept": len(selection.questions),
                "new_or_changed": changed,
                "filters": _filters(selection),
                "left_out": [{"id": each.id, "reason": each.reason} for each in remaining.left_out],
            }
        )
        return
    if selection.counts:
        show_table(["filter", "events", "dropped"], [list(count) for count in selection.counts])
    for each in remaining.left_out:
        say(f"left out: {each.id}: {each.reason}")
    echo(f"set {name}: {len(selection.questions)} questions as {form}, {changed} new or changed")


def _filters(selection: Selection) -> list[dict[str, Any]]:
    return [count._asdict() for count in selection.counts]


@command
def list_questions(
    name: Annotated[str | None, typer.Argument(metavar="[SET]", help="A set; all sets without it.")] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Only questions that are not resolved.")] = False,
    as_json: Json = False,
) -> None:
    """The sets of this home, or the questions of one."""
    store = open_store()
    if name is None:
        document = question_documents.sets_document(store)
        if as_json:
            emit_json(document)
            return
        show_table(
            ["set", "questions", "events", "scored", "left out"],
            [
                [row["set"], row["questions"], row["events"], row["scored"], row["left_out"]]
                for row in document["sets"]
            ],
        )
        return
    rows = question_documents.set_document(store, name)
    if open_only:
        rows["questions"] = [row for row in rows["questions"] if row["state"] != "resolved"]
    if as_json:
        emit_json(rows)
        return
    show_table(
        ["id", "kind", "asked", "resolves", "crowd", "state", "question"],
        [
            [
                row["id"],
                row["kind"],
                row["asked_on"] or None,
                row["resolves"] or None,
                row["crowd"],
                row["state"],
                row["title"][:90],
            ]
            for row in rows["questions"]
        ],
    )


@command
def show(
    reference: Annotated[
        str, typer.Argument(metavar="SET[/QUESTION]", help="A set or one of its questions.")
    ],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Another set, or a file of questions or events: how the shares of a set compare with its.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """One question with its events, or what a set holds and what of it cannot be scored, and why."""
    name, _, question = reference.partition("/")
    store = open_store()
    if against is not None:
        _show_against(store, name, against, as_json=as_json)
        return
    document = (
        question_documents.question_document(store, name, question)
        if question
        else question_documents.set_document(store, name)
    )
    if question:
        document["quantiles"] = newest_quantiles(store, name, load_set(store, name)[question])
    if as_json:
        emit_json(document)
        return
    if not question:
        echo(
            f"{len(document['questions'])} questions, {document['events']} events, {document['scored']} can be scored"
            + (f"; {document['numbers']} numbers" if document["numbers"] else "")
        )
        show_table(["not scored", "reason"], [[row["id"], row["reason"]] for row in document["unscored"]])
        return
    entry = document["question"]
    echo(f"{entry['id']}  {entry.get('kind', 'binary')}  {entry['title']}")
    for label in ("criteria", "resolution_source", "background", "url", "asked_on", "closes_on", "category"):
        if entry.get(label):
            echo(f"{label.replace('_', ' ')}: {entry[label]}")
    for link in entry.get("links", []):
        echo(f"{link['of'] + ' ' if 'of' in link else ''}{link['kind']} {link['to']}")
    show_table(
        ["event", "resolves", "crowd", "outcome"],
        [[row["id"], row["horizon"] or None, row["crowd"], row["outcome"]] for row in document["events"]],
    )
    for number in document["numbers"]:
        came = "has not come yet" if number["value"] is None else f"came to {_plain(number['value'])}"
        echo(
            f"number {number['id']} {came}: quantiles are scored by CRPS (`questions score {name} --quantiles FILE`)"
        )
    if document["quantiles"]:
        echo(quantile_line(document["quantiles"]))
    for level, value in document["quantiles"].items():
        echo(f"forecast: {100 * float(level):g}% lie below {_plain(value)}")
    for reason in document["unscored"]:
        say(f"not scored: {reason}")


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.6g}"


def _show_against(store: Store, name: str, corpus: str, *, as_json: bool) -> None:
    other = (
        load_set(store, corpus)
        if corpus in store.streams(SORT)
        else set_of(read_file(Path(corpus))[0].questions, corpus)
    )
    document = against_document(load_set(store, name), other, corpus)
    if as_json:
        emit_json(document)
        return
    echo(f"{document['events']} events against {document['corpus_events']}, {document['in_both']} in both")
    for column in document["columns"]:
        p = "-" if column["p"] is None else f"{column['p']:.3g}"
        echo(f"\n{column['column']}: distance {column['distance']:.3f}, p {p}")
        show_table(
            ["value", "set", "corpus"],
            [[row["value"][:60], row["set"], row["corpus"]] for row in column["values"]],
        )


@command
def export_questions(
    name: SetName,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="json, csv, events, values, forecastbench, prophet; csv or json by the suffix."
        ),
    ] = None,
) -> None:
    """Write a set to a file; `events` is what `score`, `exam` and `compare` read, `values` what `score --quantiles` does."""
    chosen = form or output.suffix.removeprefix(".")
    if chosen not in WRITERS:
        raise UsageError(f"a set is written as {', '.join(WRITERS)}, not {chosen!r}: --format names one")
    questions = list(load_set(open_store(), name).questions.values())
    write_output(output, WRITERS[chosen](questions).encode())
    say(f"{output}: {len(questions)} questions as {chosen}")
