"""The data that a cell can ask for, called from outside a run, and what works on this machine."""

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.catalogue import api_doc as documentation
from workbench.api.current_home import open_home
from workbench.api.python_terms import in_python_terms
from workbench.api.shown_rows import ShownRows
from workbench.blocking import run_blocking
from workbench.environment import catalogue_of, home_from
from workbench.errors import UsageError
from workbench.sources.document_files import open_documents
from workbench.sources.own_store import store_source
from workbench.sources.services import is_service, read_service, store_service
from workbench.sources.source_origin import is_query_file, open_source
from workbench.views import data_documents

if TYPE_CHECKING:
    import pandas as pd


@in_python_terms
def apis(pattern: str | None = None) -> ShownRows:
    """Return the endpoints a cell can call, all or those that match some words."""
    return ShownRows(data_documents.apis(pattern, environ=os.environ))


@in_python_terms
def api_doc(*paths: str) -> str:
    """Return the documentation of endpoints, with an example that runs."""
    return documentation(catalogue_of(home_from(os.environ)), list(paths))


@in_python_terms
def call(
    path: str,
    params: Mapping[str, Any] | None = None,
    *,
    cutoff: str = "now",
    strict: bool = False,
    max_residual: str | None = None,
) -> dict[str, Any]:
    """Make one call through the broker and return its data and what was done to keep the cutoff.

    Parameters
    ----------
    path : str
        As ``apis`` lists it, or its unambiguous short form.
    params : mapping, optional
        The endpoint's parameters (``api_doc`` says which).
    cutoff : str
        A date (start of that day in New York), an instant, or ``now``; nothing known later comes back.
    strict : bool
        Refuse endpoints whose residual risk of knowing too much is high.

    Raises
    ------
    Refused
        No such endpoint, a parameter that does not fit, or nothing that may be known at the cutoff.
    ProxyError
        The source failed, or its key is missing.
    """

    async def work() -> dict[str, Any]:
        with open_home() as store:
            return await data_documents.call(
                store,
                path,
                params or {},
                cutoff,
                strict=strict,
                max_residual=max_residual,
                environ=os.environ,
            )

    return run_blocking(work())


@in_python_terms
def add_source(
    name: str,
    where: "str | Path | pd.DataFrame | pd.Series[Any]",
    *,
    query: str = "",
    sheet: str = "",
    **said: Any,
) -> dict[str, Any]:
    """Copy rows of one's own into the data folder and return what cutoffs see of them, as ``workbench source add --json`` prints it.

    Parameters
    ----------
    name : str
        ``own:NAME`` in claims, ``own/NAME/rows`` in calls.
    where : path, address of a database, DataFrame or Series
        A path of a YAML states a service (docs/own-data.md) or a query of a database.
    query, sheet : str
        One SELECT for a database; a sheet of an Excel file.
    **said
        ``date`` and one of ``known``, ``vintage``, ``lag``, ``releases`` and ``static=True``; ``value``, ``by``, ``unit``, ``share``,
        ``residual``, ``zone``, ``date_format``, ``grain``, ``last_year``, ``decimal``, ``thousands``, ``skip``, ``comment``
        (docs/own-data.md). Of a known name only what changes.

    Raises
    ------
    UsageError
        What is wrong with the request, the file or its rows, in one line; nothing was added.
    """
    home = home_from(os.environ)
    if isinstance(where, str | Path) and is_service(where) and not is_query_file(Path(where)):
        service = read_service(Path(where), name)
        store_service(home, service)
        return service.preview(os.environ)
    if said.get("releases"):
        said["releases"] = Path(said["releases"])
    new = run_blocking(open_source(home, name, where, said, environ=os.environ, sheet=sheet, query=query))
    stored = store_source(home, new)
    return {**new.preview(datetime.now(UTC)), "version": stored.version, "path": stored.path}


@in_python_terms
def add_documents(
    name: str, folder: "str | Path", *, dated: str, share: str = "", zone: str = ""
) -> dict[str, Any]:
    """Copy the text of a folder's documents into the data folder and return what cutoffs see of it.

    Parameters
    ----------
    name : str
        ``own/NAME/search`` and ``own/NAME/pages`` in calls.
    folder : path
        PDF, Word, Excel, HTML, Markdown and text files, parsed behind the seal.
    dated : str
        ``filename``, ``metadata``, or a CSV file of names and days.
    share, zone : str
        As for `add_source`.

    Raises
    ------
    UsageError
        No folder, no document with a day, too many; nothing was added. A file that cannot be read is left out and named.
    """
    home = home_from(os.environ)
    new = run_blocking(open_documents(home, name, Path(folder), dated=dated, share=share, zone=zone))
    stored = store_source(home, new)
    return {**new.preview(datetime.now(UTC)), "version": stored.version, "path": stored.path}


@in_python_terms
def quantity(
    series: str, *, on: str | None = None, by: str | None = None, cutoff: str = "now", past: int | None = None
) -> dict[str, Any]:
    """Return a forecast of a series, as ``workbench quantity --json`` prints it.

    Parameters
    ----------
    series : str
        A name (``VIX``), an id (``fred/DGS10``), or a CSV with date and value.
    on, by : str
        One of them, a day: the value on it, or the highest and the lowest value until then.
    cutoff : str
        A date (start of that day in New York), an instant, or ``now``.
    past : int, optional
        Past cutoffs of its record; 0 for none.

    Raises
    ------
    UsageError, ProxyError
        No such series, day or cutoff; nothing known of it; or its source failed.
    """
    # the ensemble is 0.5 s of numerics, which `import workbench` does without
    from workbench.views.quantity_documents import quantity_at

    if (on is None) == (by is None):
        raise UsageError(
            "name one day: on=DATE for the value on it, by=DATE for the highest and the lowest until then"
        )
    try:
        day = date.fromisoformat(on or by or "")
    except ValueError:
        raise UsageError(f"a day is written 2018-12-31, not {on or by!r:.40}") from None
    own = {} if past is None else {"past": past}
    return quantity_at(series, day, cutoff, extremes=by is not None, environ=os.environ, **own)


@in_python_terms
def search_web(words: str, *, cutoff: str, k: int = 10, audit: bool = False, **web: Any) -> dict[str, Any]:
    """Return what the web has on some words as of a cutoff, as ``workbench search --json`` prints it.

    Parameters
    ----------
    words : str
    cutoff : str
        A date (start of that day in New York), an instant, or ``now``.
    k : int
        Most results, 25 at most.
    audit : bool
        Also what was removed, with verdict and reason; that may tell what came after the cutoff.
    **web
        ``question, model, api_base, options`` (a ``workbench.search.web_options.WebOptions``).

    Raises
    ------
    UsageError, ProxyError
        Nothing to look for, no such cutoff or engine.
    """

    async def work() -> dict[str, Any]:
        with open_home() as store:
            return await data_documents.search(
                store, words, cutoff, k=k, audit=audit, environ=os.environ, **web
            )

    return run_blocking(work())


@in_python_terms
def open_page(url: str, *, cutoff: str, audit: bool = False, **web: Any) -> dict[str, Any]:
    """Return a page as it stood before a cutoff, as ``workbench page --json`` prints it; parameters as for ``search_web``.

    Raises
    ------
    ProxyError
        There is no dated copy, or the page is blocked. With ``audit`` its ``records`` say which.
    """

    async def work() -> dict[str, Any]:
        with open_home() as store:
            return await data_documents.page(store, url, cutoff, audit=audit, environ=os.environ, **web)

    return run_blocking(work())


@in_python_terms
def doctor() -> dict[str, Any]:
    """Return what works on this machine, what does not, and why."""
    return run_blocking(data_documents.doctor(os.environ))
