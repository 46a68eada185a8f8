"""``search`` and ``page``: the web as of a cutoff, through the same four layers as an agent's."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Annotated, Any

import typer

from proxies.errors import ProxyError, Refused
from workbench.cli.common import (
    PROVIDER,
    ApiBase,
    AsJson,
    command,
    echo,
    emit_json,
    exit_code,
    one_line,
    open_store,
    say,
    unlisted,
)
from workbench.search.web_options import WebOptions
from workbench.views import data_documents

_CUTOFF = typer.Option(help="Cutoff: a date, an instant with its zone, or now.")
_QUESTION = unlisted(
    help="The claim behind the search: the model judges with it, and addresses in it are blocked.",
)
_SOURCE = typer.Option(
    help="Where the question comes from (polymarket, fred, ...): its sites are blocked. Repeatable."
)
_MODEL = typer.Option(
    help="Model that reads results and pages for later knowledge; without one rules alone do (docs/leaks.md has what either misses and loses)."
)
_AUDIT = unlisted(
    "--audit",
    help="Also what was removed, with verdict and reason. May tell what came after the cutoff.",
)


@command
def search(
    words: Annotated[list[str], typer.Argument(help="What is looked for.")],
    cutoff: Annotated[str, _CUTOFF],
    k: Annotated[int, typer.Option("-k", "--k", help="Most results, 25 at most.")] = 10,
    engines: Annotated[
        str | None,
        unlisted(help="Engines by name, with commas; without it all that work here."),
    ] = None,
    question: Annotated[str | None, _QUESTION] = None,
    source: Annotated[list[str] | None, _SOURCE] = None,
    model: Annotated[str | None, _MODEL] = None,
    api_base: ApiBase = None,
    audit: Annotated[bool, _AUDIT] = False,
    as_json: AsJson = False,
) -> None:
    """Search the web as of a cutoff."""
    chosen = tuple(name.strip() for name in engines.split(",") if name.strip()) if engines else None
    options = WebOptions(engines=chosen, sources=tuple(source or ()), resolution_text=question or "")
    document = _answer(
        data_documents.search(
            open_store(), " ".join(words), cutoff, k=k, audit=audit, question=question or "", options=options,
            model=model, api_base=api_base, environ=os.environ,
        ),
        as_json=as_json,
    )  # fmt: skip
    for failure in document["failed"]:
        say(f"not asked: {failure['engine']}: {failure['reason']}")
    if model is None and cutoff not in ("now", "live"):
        say("no model read these results for later knowledge, rules alone did: name one with --model")
    if as_json:
        emit_json(document)
    else:
        _echo_results(document)
    if document["asked"] == len(document["failed"]):
        say("workbench: no engine could be asked; workbench doctor says which keys are set")
        raise typer.Exit(PROVIDER)


@command
def page(
    url: Annotated[str, typer.Argument(help="The page's whole address.")],
    cutoff: Annotated[str, _CUTOFF],
    question: Annotated[str | None, _QUESTION] = None,
    source: Annotated[list[str] | None, _SOURCE] = None,
    model: Annotated[str | None, _MODEL] = None,
    api_base: ApiBase = None,
    audit: Annotated[bool, _AUDIT] = False,
    as_json: AsJson = False,
) -> None:
    """Read a page as it stood before a cutoff: a revision, or the archive's copy; with a model a long one is summed up."""
    options = WebOptions(sources=tuple(source or ()), resolution_text=question or "")
    document = _answer(
        data_documents.page(
            open_store(), url, cutoff, audit=audit, question=question or "", options=options, model=model,
            api_base=api_base, environ=os.environ,
        ),
        as_json=as_json,
    )  # fmt: skip
    if as_json:
        emit_json(document)
        return
    echo(
        f"{document['title'] or document['url']}\n{document['url']}\n{document['source']} of {document['published']}\n"
    )
    echo(document["text"])
    _echo_records(document)


def _answer(work: Coroutine[Any, Any, dict[str, Any]], *, as_json: bool) -> dict[str, Any]:
    try:
        return asyncio.run(work)
    except ProxyError as error:
        audited = {"records": error.records} if isinstance(error, data_documents.PageRefused) else {}
        if as_json:
            emit_json({"refused" if isinstance(error, Refused) else "failed": one_line(error), **audited})
        else:
            _echo_records(audited)
        say(f"workbench: {one_line(error)}")
        raise typer.Exit(exit_code(error)) from None


def _echo_records(document: dict[str, Any]) -> None:
    if document.get("records"):
        echo("\nwhat became of every result:")
    for record in document.get("records", []):
        said = f": {record['reason']}" if record["reason"] else ""
        echo(f"  {record['fate']:8} {record['url']}{said}")


def _echo_results(document: dict[str, Any]) -> None:
    for result in document["results"]:
        echo(f"{result['id']}  {result['title']}")
        echo(
            f"      {result['published'][:10] or 'no date'}  {result['quality']}  {result['url']}  ({', '.join(result['engines'])})"
        )
        if result["text"]:
            echo(f"      {result['text']}")
    if not document["results"] and document["asked"] > len(document["failed"]):
        say("nothing was found: try other words")
    _echo_records(document)
