"""``export`` and ``import``: taking a run elsewhere and back."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, emit_json, open_store, say
from workbench.errors import UsageError


@command
def export(
    run: Annotated[str, RUN],
    to: Annotated[str, typer.Option("--to", help="html, json, csv, bif, problog, ipynb or zip.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; stdout without it.")
    ] = None,
    project: Annotated[
        bool,
        typer.Option(
            "--project", help="For bif and problog: take the nearest Bayes net where the tree is none."
        ),
    ] = False,
    normalise: Annotated[
        str,
        typer.Option(help="How --project makes linear weights sum to at most 1: scale, softmax or min-max."),
    ] = "scale",
    sign: Annotated[
        bool, typer.Option("--sign", help="For zip: sign the package with your key (`keys new` makes one).")
    ] = False,
) -> None:
    """Write a run in a format of other programs, or as the whole package a reviewer needs (zip)."""
    from proxies.atomic import replace_file
    from workbench.engine.evidence.package import export_run
    from workbench.synthesis.exchange.bayes_net import OnMisfit
    from workbench.synthesis.rules.normalise import check_normaliser

    store = open_store()
    misfit: OnMisfit = "project" if project else "refuse"
    data, notes = export_run(
        store, store.resolve_run(run), to, misfit=misfit, normalise=check_normaliser(normalise), sign=sign
    )
    for note in notes:
        say(note)
    if output is not None:
        # By an atomic rename: a reader, or a full disk, never leaves half a package under the name.
        replace_file(output, data)
    # A terminal would take some bytes of the archive for control sequences.
    elif to == "zip" and sys.stdout.isatty():
        raise UsageError("a zip is not for a terminal: name a file with -o")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


@command
def import_file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A package (.zip), or a tree in JSON or CSV.")],
    cutoff: Annotated[str | None, typer.Option(help="Knowledge cutoff of an imported tree.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Keep a package whose evidence was altered, marked so.")
    ] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Take in an exported run or a tree; it becomes a run of this home, marked as imported.

    A package that export cannot have written is refused (exit 2); one whose evidence contradicts itself is too (exit 6,
    what differs is listed), unless --anyway. Nothing of a package is run.
    """
    from workbench.engine.evidence.package import PackageAltered, import_run
    from workbench.engine.view import view
    from workbench.engine.wording import run_lines

    store = open_store()
    try:
        run_id = import_run(store, path, cutoff=cutoff, anyway=anyway)
    except PackageAltered as error:
        if as_json:
            emit_json({"imported": False, "differing": [item.to_json() for item in error.findings]})
        else:
            for item in error.findings:
                typer.echo(f"differs   {item.line()}")
        raise
    run = view(store, run_id)
    if as_json:
        emit_json(run.document())
    else:
        typer.echo("\n".join(run_lines(run)))
