"""``source``: data of your own, with the policy that says when each row became known."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import (
    WANTING,
    AsJson,
    choose,
    command,
    confirm,
    echo,
    emit_json,
    open_store,
    say,
    unlisted,
)
from workbench.errors import TwoReadings
from workbench.sources.document_files import open_documents
from workbench.sources.new_source import NewSource
from workbench.sources.own_store import list_sources, remove_source, source_named, store_source
from workbench.sources.service_check import attack_service, check_service
from workbench.sources.services import (
    Service,
    is_service,
    read_service,
    remove_service,
    service_named,
    service_versions,
    services,
    store_service,
)
from workbench.sources.source_attack import attack_source
from workbench.sources.source_check import check_source
from workbench.sources.source_origin import is_query_file, open_source
from workbench.views.data_documents import preview_lines, share_line

NAME_ARGUMENT = typer.Argument(help="The source's name.")
NAME_OR_FILE = typer.Argument(help="The source's name, or a service's YAML before it is added.")
source = typer.Typer(
    no_args_is_help=True,
    help="Data of your own: files, tables and queries, dated by a policy that you name.\n\nThey are copied and asked like every source (docs/own-data.md).",
)


@source.command("add")
@command
def add(
    name: Annotated[str, typer.Argument(help="What to call it: own:NAME in claims.")],
    where: Annotated[
        str, typer.Argument(metavar="FILE|DSN", help="CSV, Parquet, Excel, Feather; a database; a YAML.")
    ],
    date: Annotated[str, unlisted(help="Column that says what a row is about.")] = "",
    value: Annotated[str, unlisted(help="Column that claims mean.")] = "",
    known: Annotated[str, unlisted(help="Column of when a row became known.")] = "",
    vintage: Annotated[str, unlisted(help="As --known, where a date has several rows.")] = "",
    lag: Annotated[str, unlisted(help="How long after its date a row was known: 3d, 12h.")] = "",
    releases: Annotated[Path | None, unlisted(help="File of dates and their releases.")] = None,
    static: Annotated[bool, unlisted("--static", help="Every row at every cutoff.")] = False,
    unit: Annotated[str, unlisted(help="Unit of the values.")] = "",
    share: Annotated[str, unlisted(help="Who may see it: none, models, packages.")] = "",
    by: Annotated[str, unlisted(help="Column that tells rows of one date apart.")] = "",
    query: Annotated[str, unlisted(help="One SELECT, for a database.")] = "",
    sheet: Annotated[str, unlisted(help="Sheet of an Excel file; the first by itself.")] = "",
    residual: Annotated[str, unlisted(help="Risk of later knowledge: none, low, medium, high.")] = "",
    zone: Annotated[str, unlisted(help="Zone of times without one; New York by itself.")] = "",
    date_format: Annotated[
        list[str] | None,
        unlisted(help="How dates are written, such as %d/%m/%Y; COLUMN=%d/%m/%Y for one column."),
    ] = None,
    grain: Annotated[
        str,
        unlisted(
            help="What a date stands for: year, half-year, quarter, month, week, day, instant, 1h.",
        ),
    ] = "",
    last_year: Annotated[str, unlisted(help="The last year that two digits may mean, such as 2026.")] = "",
    decimal: Annotated[str, unlisted(help="The sign before decimals, . or ,.")] = "",
    thousands: Annotated[str, unlisted(help="The sign between thousands.")] = "",
    skip: Annotated[int, unlisted(help="Lines before the header.")] = 0,
    comment: Annotated[str, unlisted(help="How lines begin that are no rows.")] = "",
    yes: Annotated[bool, unlisted("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a file, the rows of a query or a service's YAML into the data folder, and show first what cutoffs would see of it."""
    store = open_store()
    if is_service(where) and not is_query_file(Path(where)):
        _add_service(read_service(Path(where), name), yes=yes, as_json=as_json)
        return
    said = {
        "date": date, "value": value, "known": known, "vintage": vintage, "lag": lag, "releases": releases, "static": static,
        "unit": unit, "share": share, "by": by, "residual": residual, "zone": zone, "date_format": _forms(date_format or []), "grain": grain, "last_year": last_year,
        "decimal": decimal, "thousands": thousands, "skip": skip, "comment": comment,
    }  # fmt: skip
    while True:
        try:
            new = asyncio.run(
                open_source(store.home, name, where, said, environ=os.environ, sheet=sheet, query=query)
            )
            break
        except TwoReadings as unclear:
            answer = None if yes else choose(str(unclear), unclear.choices)
            if answer is None:
                raise
            said[unclear.option] = answer
    _store_confirmed(new, yes=yes, as_json=as_json)


def _forms(written: list[str]) -> dict[str, str]:
    pairs = [form.rpartition("=") for form in written]
    return {column: form for column, _, form in pairs}


def _add_service(service: Service, *, yes: bool, as_json: bool) -> None:
    preview = service.preview(os.environ)
    if not as_json:
        for line in service_lines(preview):
            say(line)
    confirm("add it?", yes=yes)
    store_service(open_store().home, service)
    if as_json:
        emit_json(preview)
        return
    echo(f"{service.name}  {', '.join([*(each.path for each in service.endpoints), *service.series])}")


def service_lines(preview: dict[str, Any]) -> list[str]:
    """Return what a person reads of a service before they confirm."""
    key = preview["key"]
    lines = [f"{preview['name']}: {preview['title']}", f"asks {', '.join(preview['hosts'])}"]
    if key:
        state = "set" if key["set"] else "not set"
        lines.append(
            f"the key in {key['variable']} ({state}) goes there, and nowhere else ({key['sent_as']})"
        )
    lines += [
        f"{each['path']}: {each['policy']}{' by ' + each['dated_by'] if each['dated_by'] else ''}, risk of later knowledge {each['residual']}"
        for each in preview["endpoints"]
    ]
    return [*lines, share_line(preview["share"]), *preview["notes"]]


@source.command("add-documents")
@command
def add_documents(
    name: Annotated[str, typer.Argument(help="What to call them: own/NAME/search in calls.")],
    folder: Annotated[Path, typer.Argument(help="PDF, Word, Excel, HTML, Markdown, text.")],
    dated: Annotated[
        str, typer.Option(help="Where their days stand: filename, metadata, or a CSV file of names and days.")
    ],
    share: Annotated[str, unlisted(help="Who may see them: none, models, packages.")] = "",
    zone: Annotated[str, unlisted(help="Zone of the days; New York by itself.")] = "",
    yes: Annotated[bool, unlisted("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the text of a folder's documents into the data folder; a search sees those that were known at the cutoff."""
    store = open_store()
    new = asyncio.run(open_documents(store.home, name, folder, dated=dated, share=share, zone=zone))
    _store_confirmed(new, yes=yes, as_json=as_json)


def _store_confirmed(new: NewSource, *, yes: bool, as_json: bool) -> None:
    """Show what cutoffs would see of a source, ask, and copy it."""
    preview = new.preview(datetime.now(UTC))
    if not as_json:
        for line in preview_lines(preview):
            say(line)
    confirm("add it?", yes=yes)
    stored = store_source(open_store().home, new)
    if as_json:
        emit_json({**preview, "version": stored.version, "path": stored.path})
        return
    echo(
        f"own:{stored.name}  {stored.rows} {stored.counted}, {stored.first} to {stored.last}  ({stored.path})"
    )


@source.command("list")
@command
def list_() -> None:
    """List your sources."""
    store = open_store()
    home = store.home
    for name in services(home):
        service = service_named(home, name)
        assert service is not None
        count = len(service_versions(store, name))
        and_count = f"; {count} versions" if count > 1 else ""
        echo(
            f"{name}  a service: {', '.join([*(each.path for each in service.endpoints), *service.series])}{and_count}"
        )
    emit_lines(list_sources(home), others=bool(services(home)))


def emit_lines(rows: list[dict[str, Any]], *, others: bool = False) -> None:
    """Print a line per source."""
    for row in rows:
        echo(
            f"own:{row['name']}  {row['rows']} {row['counted']}, {row['first']} to {row['last']}, {row['frequency']}; {row['policy']}; share {row['share']}"
        )
    if not rows and not others:
        say("no source yet: `workbench source add NAME FILE --date COLUMN --lag 3d`")


@source.command("show")
@command
def show(name: Annotated[str, NAME_ARGUMENT]) -> None:
    """Print all that is known of a source, as JSON."""
    store = open_store()
    if service := service_named(store.home, name):
        emit_json({**service.preview(os.environ), "versions": service_versions(store, name)})
        return
    source_named(store.home, name)
    emit_json(next(row for row in list_sources(store.home) if row["name"] == name))


@source.command("remove")
@command
def remove(
    name: Annotated[str, NAME_ARGUMENT],
    yes: Annotated[bool, unlisted("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a source from new runs; versions that stored runs read stay until those are removed."""
    store = open_store()
    if name in services(store.home):
        confirm(f"remove {name}?", yes=yes)
        echo(f"removed {name}{_stays(remove_service(store, name))}")
        return
    source_named(store.home, name)
    confirm(f"remove {name}?", yes=yes)
    gone, users = remove_source(store, name, datetime.now(UTC))
    echo(f"removed {name}: {gone} version{'s' if gone != 1 else ''} deleted{_stays(users)}")


def _stays(users: list[str]) -> str:
    return f"; what {len(users)} stored run{'s' if len(users) > 1 else ''} read stays" if users else ""


@source.command("check")
@command
def check(name: Annotated[str, NAME_OR_FILE], as_json: AsJson = False) -> None:
    """Hold a source to its policy: dates, releases, totals that count the future. Exit 6 if something is wrong."""
    home = open_store().home
    service = service_named(home, name)
    findings = check_service(service, os.environ) if service else check_source(home, name)
    _print_findings(asyncio.run(findings), as_json)


@source.command("attack")
@command
def attack(name: Annotated[str, NAME_OR_FILE], as_json: AsJson = False) -> None:
    """Ask a copy with later rows, revisions and new names as of past cutoffs, and say what shows. Exit 6 if something leaks."""
    home = open_store().home
    service = service_named(home, name)
    _print_findings(asyncio.run(attack_service(service) if service else attack_source(home, name)), as_json)


def _print_findings(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(document)
    else:
        for line in document["findings"]:
            echo(f"{line['kind']}: {line['words']}" + (f"; mend {line['mend']}" if line["mend"] else ""))
        echo(document["summary"])
    if any(line["kind"] == "leaks" for line in document["findings"]):
        raise typer.Exit(WANTING)
