"""docs/endpoints.md is the catalogue as a table; ``python -m tests.proxies.test_endpoints_page`` writes it anew."""

from itertools import groupby
from pathlib import Path

from proxies.catalogue import Endpoint, load_catalogue
from tests.proxies.undated_changes import KEPT

PAGE = Path(__file__).resolve().parents[2] / "docs" / "endpoints.md"
#: Names of undated changes in the catalogue's ``open_to``, and their words on the page.
WORDS = {
    "restated": "changed in place", "removed": "removed", "ranked": "ranked anew", "capped": "crowded out by a limit",
    "expired": "no longer kept", "rescaled": "rescaled and rounded", "added": "added to a list without days", "renamed": "renamed",
    "ticker": "a ticker given later",
}  # fmt: skip
HEAD = """\
# The endpoints, by source

Generated from the catalogue. A row holds the endpoints of one source that share a policy ([data.md](data.md) says what a policy
does), the risk that later knowledge is left in an answer (`--set max_residual` refuses by it), and what the vendor can change
without a date, which no filter can see. `workbench api-doc PATH` prints the page of one endpoint.
"""
TAKEN = """\
## What a vendor's record rules out

The suite makes every undated change for every endpoint; one that shows stands above, or its vendor's word is taken:
"""


def row_key(endpoint: Endpoint) -> tuple[str, int, str, tuple[str, ...]]:
    """What the endpoints of one row have in common, in the order of the page."""
    as_of = endpoint.as_of
    level = ("none", "low", "medium", "high").index(as_of.residual)
    return as_of.policy, level, as_of.residual, tuple(name for name in WORDS if name in as_of.open_to)


def page() -> str:
    """The whole page: a table for each source."""
    parts = [HEAD]
    for source in load_catalogue().sources():
        own = sorted((row_key(e), e.path) for e in load_catalogue() if e.source.name == source.name)
        parts += [
            f"## `{source.name}/` {source.title}\n",
            "| policy | risk | open to | endpoints |",
            "| --- | --- | --- | --- |",
        ]
        for (policy, _level, residual, changes), rows in groupby(own, key=lambda row: row[0]):
            words = ", ".join(WORDS[change] for change in changes)
            paths = ", ".join(f"`{path.partition('/')[2]}`" for _key, path in rows)
            parts.append(f"| {policy} | {residual} | {words} | {paths} |")
        parts.append("")
    parts += [TAKEN, "| endpoints (a pattern) | what is not on their list | why |", "| --- | --- | --- |"]
    for pattern, changes, why in KEPT:
        words = ", ".join(WORDS[change] for change in changes)
        parts.append(f"| `{pattern.replace('|', chr(92) + '|')}` | {words} | {why} |")
    return "\n".join([*parts, ""])


def test_the_page_is_the_catalogue() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it anew: python -m tests.proxies.test_endpoints_page"
    )


def test_every_change_that_the_catalogue_knows_has_its_words() -> None:
    assert {change for e in load_catalogue() for change in e.as_of.open_to} <= set(WORDS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
