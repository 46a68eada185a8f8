"""Generate documentation from the catalogue: pages for chosen endpoints, a short map for a prompt."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from proxies.catalogue.availability import Availability, everything
from proxies.catalogue.endpoint_search import Match, search_of
from proxies.catalogue.loader import Catalogue
from proxies.catalogue.schema import Endpoint, Param
from proxies.errors import ParameterInvalid, UnknownPath
from proxies.json_text import Fields, Row
from proxies.ledger import CATALOGUE

MOST_PATHS = 25
MOST_MATCHES = 12
MOST_CHARACTERS = 500
#: Paths that read the catalogue itself, and the parameter each takes.
READING: Mapping[str, tuple[str, str]] = {
    f"{CATALOGUE}search": ("words", f"a text of at most {MOST_CHARACTERS} characters"),
    f"{CATALOGUE}doc": ("paths", "a list of endpoint paths"),
}
_SHOWN = 4
_MOST_LISTED = 20
# of a search: so many always, more if they score this share of the best; and which of the unusable are worth a word
_ALWAYS, _BEHIND, _NEAR, _UNUSABLE = 5, 0.3, 0.5, 3
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


def api_doc(catalogue: Catalogue, paths: Sequence[str], availability: Availability | None = None) -> str:
    """Write Markdown documentation of 1 to 25 endpoints, each with a call that runs.

    ``availability`` as for `api_search`: at an early cutoff names stand in the place of examples that tell of later.

    Raises `UnknownPath`: A path is not in the catalogue, or its rows begin after the cutoff. Raises `ParameterInvalid`: No path, or more
    than 25.
    """
    if not 1 <= len(paths) <= MOST_PATHS:
        raise ParameterInvalid(f"ask for 1 to {MOST_PATHS} paths at once, not {len(paths)}")
    setting = availability or everything(catalogue)
    endpoints = [catalogue.resolve(path).at(setting.day) for path in paths]
    if not_begun := [endpoint.path for endpoint in endpoints if not setting.knows(endpoint.since)]:
        raise UnknownPath(f"{', '.join(not_begun)}: no rows as of the cutoff")
    return "\n\n".join(_page(endpoint, setting) for endpoint in endpoints) + "\n"


def read_catalogue(catalogue: Catalogue, path: str, params: Fields, availability: Availability) -> str:
    """Return the text that `CALL_API.search` and `CALL_API.doc` print, for the paths in `READING`.

    Raises `ParameterInvalid`: Other parameters than ``words``, a text, or ``paths``, a list of texts. Raises `UnknownPath`: As `api_doc`.
    """
    name, form = READING[path]
    value = params.get(name)
    if set(params) != {name}:
        raise ParameterInvalid(f"{path} takes {name!r} and nothing else")
    if name == "words":
        if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
            raise ParameterInvalid(f"{name} is {form}")
        return api_search(catalogue, value, availability)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ParameterInvalid(f"{name} is {form}")
    return api_doc(catalogue, value, availability)


def api_search(catalogue: Catalogue, words: str, availability: Availability | None = None) -> str:
    """Write the matches for a question, best first, a line each: a path with its parameters.

    At most 12 matches, usable ones first; what cannot be used follows in a line that says why. Read by models, so a line is
    all that a call of a well-known series needs.

    Raises `ParameterInvalid`: No words.
    """
    if not re.search(r"\w", words):
        raise ParameterInvalid("search for words, such as 'treasury yields' or 'earnings call transcript'")
    matches = search_of(catalogue).find(words, availability or everything(catalogue))
    usable = [match for match in matches if not match.obstacle]
    best = max((match.score for match in matches), default=0.0)
    # the first ones always, since they hold the sources to search in; then what is not far behind the best
    listed = usable[:_ALWAYS] + [
        match for match in usable[_ALWAYS:MOST_MATCHES] if match.score >= _BEHIND * best
    ]
    lines = [_line(match) for match in listed]
    unusable: dict[str, list[str]] = {}
    for match in [m for m in matches if m.obstacle and m.score >= _NEAR * best][:_UNUSABLE]:
        named = f"`{match.endpoint.path}`" + (f" {match.id}" if match.id else "")
        unusable.setdefault(match.obstacle, []).append(named)
    lines += [f"Not usable here: {', '.join(names)} ({obstacle})." for obstacle, names in unusable.items()]
    return "\n".join(lines or [_NOTHING]) + "\n"


_NOTHING = "Nothing matches. Say it in other words, English ones if you can."


def _line(match: Match) -> str:
    endpoint = match.endpoint
    if match.params:
        return f"- `{endpoint.path}` {json.dumps(dict(match.params), ensure_ascii=False)}: {match.about}"
    needed = [name for name, param in endpoint.params.items() if param.required]
    more = [f"{name}?" for name, param in endpoint.params.items() if not param.required]
    more = more if len(more) <= _SHOWN else [*more[:_SHOWN], "..."]
    return f"- `{endpoint.path}` ({', '.join(needed + more)}): {match.about}"


def _examples(endpoint: Endpoint, availability: Availability) -> Row:
    """Return example values that could be known, by parameter; days move before the cutoff, later names are dropped."""
    days = {
        name: date.fromisoformat(param.example[:10])
        for name, param in endpoint.params.items()
        if param.type in ("date", "instant") and param.example is not None
    }
    # all by the same number of years, so that a first day stays before a last one
    late = max((day for day in days.values() if not availability.knows(day)), default=None)
    years = late.year - availability.day.year + 1 if late and availability.day else 0
    examples = {}
    for name, param in endpoint.params.items():
        value = param.default if param.example is None else param.example
        if name in days:
            value = f"{days[name].year - years}{value[4:]}"
        examples[name] = value if availability.knows(_since(param)) else name.upper()
    return examples


def _since(param: Param) -> date | None:
    return date.fromisoformat(param.since) if param.since else None


def _page(endpoint: Endpoint, availability: Availability) -> str:
    lines = [f"## {endpoint.path}", "", endpoint.about]
    examples = _examples(endpoint, availability)
    if endpoint.params:
        lines += ["", "| parameter | type | required | notes |", "| --- | --- | --- | --- |"]
        for name, param in endpoint.params.items():
            notes = [param.about] if param.about else []
            if param.choices:
                notes.append("one of " + ", ".join(f"`{choice}`" for choice in param.choices))
            if param.default is not None:
                notes.append(f"default `{param.default}`")
            if param.example is not None and availability.knows(_since(param)):
                notes.append(f"e.g. `{examples[name]}`")
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
    lines += [
        "",
        "```python",
        f"data = CALL_API({endpoint.path!r}, {_literal({name: examples[name] for name in endpoint.example})})",
        "```",
    ]
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


def api_matches(
    catalogue: Catalogue, pattern: str = "", availability: Availability | None = None
) -> list[Match]:
    """Return the endpoints in the order of the files, or the best matches for words, each with what stands against it.

    Of what cannot be used a few come at the end, so that a person sees which key would help.

    ``availability`` as for `api_search`.
    """
    setting = availability or everything(catalogue)
    if pattern.strip():
        matches = search_of(catalogue).find(pattern, setting)
        usable = [match for match in matches if not match.obstacle][:_MOST_LISTED]
        return usable + [match for match in matches if match.obstacle][:_ALWAYS]
    return [
        Match(endpoint=endpoint, about=endpoint.about, score=0.0, obstacle=setting.obstacle(endpoint))
        for endpoint in catalogue
    ]


def api_map(catalogue: Catalogue, availability: Availability | None = None) -> str:
    """Write a short map for a prompt: the usable sources with their purposes, and a line with the others.

    ``availability`` as for `api_search`.
    """
    setting = availability or everything(catalogue)
    usable: list[str] = []
    unusable: dict[str, list[str]] = {}
    count = 0
    for source in catalogue.sources():
        mine = [e for e in catalogue if e.source.name == source.name and setting.knows(e.since)]
        if not mine:
            continue
        works = [e for e in mine if not setting.obstacle(e)]
        if not works:
            unusable.setdefault(setting.obstacle(mine[0]), []).append(f"{source.name}/")
            continue
        count += len(works)
        groups = Counter(e.group[0] for e in works if e.group)
        listed = ", ".join(groups) if len(works) > 3 else ", ".join(e.path for e in works)
        usable.append(f"- `{source.name}/` {source.about} {len(works)} endpoints: {listed}.{_ids(works)}")
    lines = [f"{count} endpoints work in this run, all called as CALL_API(path, params):", *usable]
    if unusable:
        refused = "; ".join(f"{', '.join(names)} ({why})" for why, names in unusable.items())
        lines.append(f"Not usable in this run, so do not plan on them: {refused}.")
    return "\n".join(lines)


def _ids(endpoints: Sequence[Endpoint]) -> str:
    for endpoint in endpoints:
        for name, param in endpoint.params.items():
            if param.required and name.endswith("_id") and 1 < len(param.choices) <= _MOST_IDS:
                return f" {name}: {', '.join(map(str, param.choices))}."
    return ""


_MOST_IDS = 10
