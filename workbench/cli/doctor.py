"""``doctor``: what works here, what does not, and why."""

import asyncio
import os
from typing import Annotated

import typer

from workbench.audit.home_check import home_document
from workbench.cli.common import WANTING, AsJson, command, echo, emit_json, open_store, unlisted
from workbench.cli.table import show_fields
from workbench.views import data_documents


@command
def doctor(
    live: Annotated[
        bool,
        unlisted(
            "--live",
            help="Also ask every source for one example, with your keys: one call of each plan.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Look instead whether the data folder is whole: database, hashes, logs, folders, proofs. Exit 6 if not.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say which isolation level works and what refuses a better one, which keys are set, versions and files."""
    if check:
        _check_home(as_json=as_json)
        return
    report = asyncio.run(data_documents.doctor(os.environ, live=live))
    if as_json:
        emit_json(report)
        return
    facts = []
    for name, value in report.items():
        if isinstance(value, dict):
            facts += [(f"{name}: {key}", _LINES.get(name, str)(item)) for key, item in value.items()]
        elif isinstance(value, list):
            # One line each: a refusal of the machine is a sentence.
            facts += [(name if place == 0 else "", item) for place, item in enumerate(value or ["none"])]
        else:
            facts.append((name, value))
    show_fields(facts)


def _check_home(*, as_json: bool) -> None:
    document = home_document(open_store())
    if as_json:
        emit_json(document)
    else:
        for row in document["findings"]:
            echo(f"{row['run'] or 'home'}  {row['check']}: {row['what']}")
        count = f"{document['runs']} run{'' if document['runs'] == 1 else 's'}"
        echo(f"{document['home']}: {count}, {'whole' if document['whole'] else 'not whole'}")
    if not document["whole"]:
        raise typer.Exit(WANTING)


def _key_line(key: dict[str, str]) -> str:
    return f"sha256 {key['hash']}..., from {key['origin']}"


def _source_line(check: dict[str, str]) -> str:
    return f"{check['verdict']}: {check['says'] or check['endpoint']}"


_LINES = {"sources": _source_line, "keys": _key_line}
