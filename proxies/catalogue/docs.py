"""Documentation made from the catalogue: pages for chosen endpoints, a short map for a prompt."""

import json
import re
from collections import Counter
from collections.abc import Sequence

from proxies.catalogue.loader import Catalogue, Endpoint
from proxies.errors import ParameterInvalid

MOST_PATHS = 25
MOST_MATCHES = 12
_SHOWN = 4
_POLICY_WORDS = {
    "static": "Timeless: passed on as it is.",
    "strip_fields": "Only the fields that do not change after the cutoff are given.",
    "snapshot_refused": "Only the present state exists upstream: refused while a cutoff is set.",
    "request_range": "The window is pulled back to the cutoff; rows known later are left out.",
    "request_point": "One day: refused unless it lies before the cutoff.",
    "filter_rows": "Rows dated on or after the cutoff are left out.",
    "publication_date": "Rows count from their publication, whatever period they are about.",
    "publication_join": "Rows count from the filing of their period; without one, from the period end plus a lag.",
    "publication_lag": "Rows count from the end of their period plus a publication lag.",
    "vintage": "Values as they stood on the last day before the cutoff, not as revised since.",
    "window_end": "The window is re-asked to end on the last day before the cutoff, so its scale knows nothing later.",
    "search_date_filter": "Dated before the cutoff only; undated results, and texts that speak of later days, are left out.",
    "revision_at": "The newest revision saved before the cutoff.",
}


def api_doc(catalogue: Catalogue, paths: Sequence[str]) -> str:
    """Markdown documentation of 1 to 25 endpoints, each with a call that runs.

    Raises
    ------
    UnknownPath
        A path is not in the catalogue.
    ParameterInvalid
        No path, or more than 25.
    """
    if not 1 <= len(paths) <= MOST_PATHS:
        raise ParameterInvalid(f"ask for 1 to {MOST_PATHS} paths at once, not {len(paths)}")
    return "\n\n".join(_page(catalogue.resolve(path)) for path in paths) + "\n"


def api_search(catalogue: Catalogue, words: str) -> str:
    """The endpoints that match words best, at most 12, a line each: path, parameters (required ones first), what it gives.

    Raises
    ------
    ParameterInvalid
        No words.
    """
    if not re.search(r"\w", words):
        raise ParameterInvalid("search for words, such as 'treasury yields' or 'earnings call transcript'")
    matches = catalogue.search(words)
    if not matches:
        sources = ", ".join(f"{source.name}/" for source in catalogue.sources())
        return f"No endpoint matches {words[:80]!r}. Try other words; the sources are {sources}.\n"
    lines = [_line(endpoint) for endpoint in matches[:MOST_MATCHES]]
    if len(matches) > MOST_MATCHES:
        lines.append(f"({len(matches) - MOST_MATCHES} more match: add a word.)")
    return "\n".join(lines) + "\n"


def _line(endpoint: Endpoint) -> str:
    needed = [name for name, param in endpoint.params.items() if param.required]
    more = [f"{name}?" for name, param in endpoint.params.items() if not param.required]
    more = more if len(more) <= _SHOWN else [*more[:_SHOWN], "..."]
    refusal = " Refused while a cutoff is set." if endpoint.as_of.policy == "snapshot_refused" else ""
    return f"- `{endpoint.path}` ({', '.join(needed + more)}): {endpoint.about}{refusal}"


def _page(endpoint: Endpoint) -> str:
    lines = [f"## {endpoint.path}", "", endpoint.about]
    if endpoint.params:
        lines += ["", "| parameter | type | required | notes |", "| --- | --- | --- | --- |"]
        for name, param in endpoint.params.items():
            notes = [param.about] if param.about else []
            if param.choices:
                notes.append("one of " + ", ".join(f"`{choice}`" for choice in param.choices))
            if param.default is not None:
                notes.append(f"default `{param.default}`")
            if param.example is not None:
                notes.append(f"e.g. `{param.example}`")
            lines.append(
                f"| `{name}` | {param.type} | {'yes' if param.required else ''} | {'; '.join(notes)} |"
            )
    else:
        lines += ["", "No parameters."]
    lines += ["", f"Returns {_returns(endpoint)}."]
    if endpoint.fields:
        lines += [
            "",
            "Fields: " + ", ".join(_field(name, about) for name, about in endpoint.fields.items()) + ".",
        ]
    as_of = endpoint.as_of
    lines += ["", f"As of a cutoff: {_POLICY_WORDS[as_of.policy]} Residual risk: {as_of.residual}."]
    if endpoint.caution:
        lines.append(endpoint.caution)
    if as_of.instead:
        refused = as_of.policy == "snapshot_refused"
        lines.append(f"Use `{as_of.instead}` instead." if refused else f"See also `{as_of.instead}`.")
    if as_of.forbid:
        lines.append("Not taken: " + ", ".join(f"`{name}`" for name in as_of.forbid) + ".")
    lines += ["", "```python", f"data = CALL_API({endpoint.path!r}, {_literal(endpoint.example)})", "```"]
    return "\n".join(lines)


def _field(name: str, about: str) -> str:
    return f"`{name}` ({about})" if about else f"`{name}`"


# answers that the policies see as rows and the caller in another shape
_SHAPES = {
    "chart": "Yahoo's chart object: `chart.result[0]` with `timestamp`, `indicators.quote[0]`, `indicators.adjclose[0]`, `events`",
    "fundamentals": "Yahoo's `timeseries.result`, one entry per line, its values in a list under the line's name",
    "actions": "an object with `dividends` and `splits`, each an object of events by time",
    "dbnomics": "an object with series under `series.docs[]`, each with the lists `period`, `period_start_day`, `value`",
    "wiki_page": "one object",
    "wiki_sections": "a list of headings with `level` and `title`",
}


def _returns(endpoint: Endpoint) -> str:
    if endpoint.codec in _SHAPES:
        return _SHAPES[endpoint.codec]
    if endpoint.rows is None:
        return "one JSON value"
    if endpoint.rows.startswith("[]"):
        return "a list of rows"
    if "[]" in endpoint.rows or "{" in endpoint.rows:
        return f"an object with rows under `{endpoint.rows}`"
    return "an object"


def _literal(example: dict[str, object]) -> str:
    return json.dumps(example).replace("true", "True").replace("false", "False")


def directory(catalogue: Catalogue, pattern: str = "") -> list[dict[str, object]]:
    """The endpoints that match words (all without any), best first, as rows for a table or JSON.

    Each row: ``path, source, group, description, policy, residual, key`` (the variable it needs, or None).
    """
    return [
        {
            "path": endpoint.path,
            "source": endpoint.source.name,
            "group": list(endpoint.group),
            "description": endpoint.about,
            "policy": endpoint.as_of.policy,
            "residual": endpoint.as_of.residual,
            "key": endpoint.source.key.variable if endpoint.source.key else None,
        }
        for endpoint in catalogue.search(pattern)
    ]


def api_map(catalogue: Catalogue) -> str:
    """A short map of the sources for a prompt: what each is for, its groups, how to learn more."""
    lines = [f"{len(catalogue)} endpoints, all called as CALL_API(path, params):"]
    for source in catalogue.sources():
        mine = [e for e in catalogue if e.source.name == source.name]
        groups = Counter(e.group[0] for e in mine if e.group)
        listed = ", ".join(groups) if len(mine) > 3 else ", ".join(e.path for e in mine)
        key = f" (needs {source.key.variable})" if source.key else ""
        lines.append(f"- `{source.name}/` {source.about}{key} {len(mine)} endpoints: {listed}.")
    lines.append(
        "Search by words, then ask for the documentation of full paths before calling; "
        "an unknown path is answered with the nearest ones."
    )
    return "\n".join(lines)
