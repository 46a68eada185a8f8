"""``export``, ``import`` and ``keys``: taking a run elsewhere and back, signed, and whose signatures are known by name."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from proxies.input_files import read_text
from workbench.cli.common import (
    AsJson,
    RunId,
    command,
    differences_listed,
    echo,
    emit_json,
    open_store,
    say,
    unlisted,
)
from workbench.engine.record.run_files import manifest_id
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.output_files import write_output
from workbench.packages.package import export_run, format_of, import_run, note_beside
from workbench.packages.returned_review import take_review
from workbench.signing_keys import (
    check_public_key,
    fingerprint,
    key_path,
    new_key,
    own_public_key,
    trusted_names,
)
from workbench.signing_keys import trust as remember
from workbench.store import Store
from workbench.synthesis.exchange.bayes_net import OnMisfit
from workbench.synthesis.rules.normalise import check_normaliser
from workbench.views.run_view import view
from workbench.views.wording import run_lines

keys = typer.Typer(
    no_args_is_help=True, help="The key that signs your packages, and whose keys you trust by name."
)


@keys.command("new")
@command
def new() -> None:
    """Make your signing key and print its public half; give that to whoever is to know your packages."""
    public = new_key()
    echo(public)
    echo(f"fingerprint {fingerprint(public)}; the key itself is in {key_path()}, for you alone")


@keys.command("show")
@command
def show(
    as_json: Annotated[bool, unlisted("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print your public key and the keys you trust, with their fingerprints."""
    own, names = own_public_key(), trusted_names()
    if as_json:
        rows = [{"name": name, "key": key, "fingerprint": fingerprint(key)} for key, name in names.items()]
        mine = None if own is None else {"key": own, "fingerprint": fingerprint(own)}
        emit_json({"own": mine, "trusted": rows})
        return
    echo(f"yours: {own}  {fingerprint(own)}" if own else "you have no key: `workbench keys new` makes one")
    for key, name in names.items():
        echo(f"{name}: {key}  {fingerprint(key)}")


@keys.command("trust")
@command
def trust(
    name: Annotated[str, typer.Argument(help="What to call them on your screens.")],
    key: Annotated[str, typer.Argument(help="Their public key in quotes, or a file that holds it.")],
) -> None:
    """Give somebody's public key a name; compare its fingerprint with them first. No package is sealed less for it."""
    # A key in quotes is not looked up as a file; errors="replace" leaves it to the check to say that a file holds no key.
    # os.path: `Path.is_file` raises for a name that is too long for the system.
    text = key if key.startswith("ssh-") or not os.path.isfile(key) else read_text(Path(key), most=4096)
    public = check_public_key(text)
    remember(name, public)
    echo(f"{name}: {fingerprint(public)}")


#: A terminal would take some of their bytes for control sequences.
_BINARY = ("zip", "pdf", "docx")
_WHAT = {
    "html": "the note (HTML)",
    "pdf": "the note (PDF)",
    "docx": "the note (Word)",
    "md": "the note (Markdown)",
    "zip": "the whole package",
    "json": "the tree (JSON)",
    "csv": "the tree (CSV)",
    "bif": "the Bayes net (BIF)",
    "problog": "the program (ProbLog)",
    "ipynb": "tree and proofs (notebook)",
}


@command
def export(
    run: RunId,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="html, pdf, docx or md (the note); zip (the package); json, csv, bif, problog or ipynb."
            " Without it the suffix of -o says.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; stdout without it.")
    ] = None,
    project: Annotated[
        bool,
        unlisted(
            "--project",
            help="For bif and problog: take the nearest Bayes net where the tree is none.",
        ),
    ] = False,
    normalise: Annotated[
        str,
        unlisted(
            help="How --project makes linear weights sum to at most 1: scale, softmax or min-max.",
        ),
    ] = "scale",
    sign: Annotated[
        bool, typer.Option("--sign", help="For zip: sign the package with your key (`keys new` makes one).")
    ] = False,
    note: Annotated[
        Path | None,
        typer.Option(
            help="For zip: write the note (.html, .pdf, .docx, .md) to this file, beside the package."
        ),
    ] = None,
    one_page: Annotated[
        bool, typer.Option("--one-page", help="For a note: the answer, the series and the strongest drivers.")
    ] = False,
    with_transcript: Annotated[
        bool,
        unlisted("--transcript", help="For a note: every model call in an appendix (`transcript`)."),
    ] = False,
) -> None:
    """Write the note of a run (html, pdf, docx, md), the whole package a reviewer needs (zip), or another program's format."""
    to = format_of(output, to)
    if output is None and to in _BINARY and sys.stdout.isatty():
        raise UsageError(f"a {to} is not for a terminal: name a file with -o")
    store = open_store()
    run_id = store.resolve_run(run)
    misfit: OnMisfit = "project" if project else "refuse"
    data, notes = export_run(
        store,
        run_id,
        to,
        misfit=misfit,
        normalise=check_normaliser(normalise),
        sign=sign,
        environ=os.environ,
        with_transcript=with_transcript,
        one_page=one_page,
    )
    # before anything is written: without a browser there is no PDF
    beside = None if note is None else note_beside(store, run_id, to, note, os.environ)
    for line in notes:
        say(line)
    manifest = f"manifest {(manifest_id(store, run_id) or 'none')[:19]}"
    if note is not None and beside is not None:
        write_output(note, beside)
        say(
            f"wrote {note}: {_WHAT[format_of(note, None)]} of run {run_id}, {len(beside) / 1000:,.0f} kB, {manifest}; it stands"
            " beside the package and not in it, and no signature or check of the package covers it"
        )
    if output is not None:
        # By an atomic rename: a reader, or a full disk, never leaves half a package under the name.
        write_output(output, data)
        say(f"wrote {output}: {_WHAT.get(to, to)} of run {run_id}, {len(data) / 1000:,.0f} kB, {manifest}")
    elif sys.stdout.isatty():
        echo(data.decode(), whole=True)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


@command
def import_file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A package (.zip), or a tree in JSON or CSV.")],
    cutoff: Annotated[str | None, typer.Option(help="Cutoff of an imported tree.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Keep a package whose evidence was altered, marked so.")
    ] = False,
    review: Annotated[
        bool,
        typer.Option(
            "--review",
            help="Take only the comments and sign-offs of a package into its run, which is in this home.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take in an exported run or a tree; it becomes a run of this home, marked as imported.

    A package that export cannot have written is refused (exit 2); one whose evidence contradicts itself is too (exit 6,
    what differs is listed), unless --anyway. Nothing of a package is run.
    """
    store = open_store()
    with differences_listed(as_json=as_json):
        if review:
            _take_review(store, path, as_json=as_json)
            return
        run_id = import_run(store, path, cutoff=cutoff, anyway=anyway)
    run = view(store, run_id)
    if as_json:
        emit_json(run.document())
    else:
        echo("\n".join(run_lines(run)))


def _take_review(store: Store, path: Path, *, as_json: bool) -> None:
    returned = take_review(store, path)
    if as_json:
        emit_json(returned.to_json())
        return
    for comment in returned.comments:
        echo(f"comment on {comment.node} ({comment.author or 'nobody named'}): {comment.text}")
    for estimate in returned.estimates:
        held = "taken back" if estimate.p is None else percent(estimate.p)
        echo(f"estimate of {estimate.node} ({estimate.author}): {held}")
    for signed in returned.sign_offs:
        verb = "ACCEPTED" if signed.verdict == "accept" else "RETURNED"
        echo(f"{verb} by {signed.author} (a typed name), {signed.attested[:19]}")
    say(
        f"run {returned.run_id}: {len(returned.comments)} comments, {len(returned.estimates)} estimates and {len(returned.sign_offs)} sign-offs came back"
    )
