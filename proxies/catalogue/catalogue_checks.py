"""Check what the form of a row cannot express: the arguments that a policy or guard needs, and their consistency."""

import re

from proxies.catalogue.schema import GUARD_NEEDS, NEEDS, Endpoint, exceeds, least_residual
from proxies.errors import CatalogueError

# one character: a class, an escaped one, or itself
_CHARACTER = r"(?:\[\^?\]?(?:\\.|[^\]\\])*\]|\\[dwsDWS.+*?()|/\\-]|[^\W_]|[ _.,:;/=@#%&~-])"
_PLAIN = re.compile(rf"(?:{_CHARACTER}(?:[+*?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})?)*")
_SEVERAL = re.compile(rf"{_CHARACTER}([+*?]|\{{\d{{1,3}},\d{{0,3}}\}})?")


def is_plain_form(pattern: str) -> bool:
    """Whether a stranger's pattern matches in short time: characters in a row, at most two of open length.

    Groups repeat what is repeated, and a text of forty letters is then compared for years.

    >>> is_plain_form("[A-Z.]{1,6}"), is_plain_form(""), is_plain_form("(a+)+b"), is_plain_form("a*a*a*b")
    (True, True, False, False)
    """
    if len(pattern) > 200 or not _PLAIN.fullmatch(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return sum(bool(match[1]) for match in _SEVERAL.finditer(pattern)) <= 2


def check_as_of(row: Endpoint) -> None:
    """Refuse a row that would fail at its first call: a policy or guard without its arguments.

    Raises `CatalogueError`: Says which row lacks what.
    """
    as_of = row.as_of
    needed = [(f"policy {as_of.policy}", NEEDS.get(as_of.policy, ()))]
    needed += [(f"guard {guard}", GUARD_NEEDS.get(guard, ())) for guard in as_of.guards]
    for demander, names in needed:
        for name in names:
            if name == "stamp" and any(item.stamp for item in as_of.nested):
                continue
            if not getattr(as_of, name) and getattr(as_of, name) != 0:
                raise CatalogueError(f"{row.path}: {demander} needs {name}")
    if "content_check" in as_of.guards and bool(as_of.text_fields) == (as_of.texts == "market"):
        raise CatalogueError(
            f"{row.path}: guard content_check needs text_fields, or texts: market without them"
        )
    if (as_of.adjust == "state") != (as_of.state is not None):
        raise CatalogueError(f"{row.path}: adjust state and the fields of the state go together")
    if as_of.policy not in ("static", "snapshot_refused") and row.rows is None:
        raise CatalogueError(f"{row.path}: policy {as_of.policy} needs to know where the rows are")
    least = least_residual(as_of.open_to)
    if exceeds(least, as_of.residual):
        raise CatalogueError(
            f"{row.path}: open to {', '.join(as_of.open_to)}, so that the residual risk is at least {least}"
        )
    if as_of.window:
        window = as_of.window
        for name in (*window.start, *window.end, window.at, window.text):
            if name and name not in row.params and name not in row.fixed:
                raise CatalogueError(f"{row.path}: the window names {name!r}, which is not a parameter")
