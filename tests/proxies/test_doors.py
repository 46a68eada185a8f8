"""Another door, another form: whichever of a vendor's addresses holds a row today, and in whichever form, an agent reads the same.

Doors are those that the catalogue's rows declare, forms those whose heads the codecs declare. Both are made of the raw answers.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.catalogue import Endpoint
from proxies.vendors.codecs import CODECS
from tests.fakes.upstream import Seen, Sent
from tests.proxies.two_worlds import told_if
from tests.proxies.worlds import ASKED

pytestmark = pytest.mark.usefixtures("one_loop")
CUT = Cutoff.parse("2021-03-15")
DOORS = [endpoint for endpoint in ASKED if endpoint.doors]
#: Heads of an answer as it is told, which no vendor sends.
OURS = {("actions", "dividends"), ("actions", "splits")}
FORMS = [
    (endpoint, head)
    for endpoint in ASKED
    for head in CODECS[endpoint.codec].heads
    if len(CODECS[endpoint.codec].heads) > 1 and (endpoint.codec, head) not in OURS
]


def told(
    endpoint: Endpoint, door: str, form: Callable[[Any], Any] = copy.deepcopy
) -> tuple[str, list[tuple[str, Any]]]:
    """What is read of a world in which one door holds the rows, and what the vendor sent from which path."""
    sent_from = []

    def formed(seen: Seen, sent: Sent) -> Sent:
        body = sent.body if isinstance(sent.body, bytes) else form(copy.deepcopy(sent.body))
        sent_from.append((seen.path, body))
        return Sent(body, sent.status, sent.headers)

    return told_if(endpoint, CUT, formed, door=door), sent_from


@pytest.mark.parametrize("endpoint", DOORS, ids=lambda e: e.path)
def test_whichever_door_holds_the_rows_an_agent_reads_the_same(endpoint: Endpoint) -> None:
    read = {door: told(endpoint, door) for door in endpoint.doors}
    texts, raw = [text for text, _ in read.values()], [sent for _, sent in read.values()]
    assert texts == [texts[0]] * len(texts) and "earlyx" in texts[0]
    assert all(one != raw[0] for one in raw[1:]), "the doors differ in what the vendor sends"


def result(body: Any, *names: str) -> Any:
    """What lies in an answer below some names, and in the first element of lists."""
    for name in names:
        body = body[name]
        body = body[0] if isinstance(body, list) else body
    return body


def table(body: Any) -> list[dict[str, Any]]:
    found = result(body, "finance", "result", "documents")
    return [
        dict(zip([column["id"] for column in found["columns"]], row, strict=True)) for row in found["rows"]
    ]


def lists(body: Any) -> Any:
    """DBnomics' lists: under ``docs``, bare, or as an object of lists by provider."""
    name = next(name for name in ("datasets", "results", "providers") if name in body)
    docs = body[name]["docs"]
    return body | {name: docs if name == "providers" else {"docs": {"P": docs}}}


#: An answer as the emulated vendor writes it in the form with another head.
AS_HEAD: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("grades", "upgradeDowngradeHistory"): lambda body: result(body, "quoteSummary", "result"),
    ("grades", "history"): lambda body: result(body, "quoteSummary", "result", "upgradeDowngradeHistory"),
    ("earnings", "rows"): lambda body: {"rows": table(body)} if "finance" in body else body,
    ("earnings", "[]"): lambda body: table(body) if "finance" in body else body,
    ("news", "[]"): lambda body: body["data"]["tickerStream"]["stream"],
    ("lookup", "documents"): lambda body: result(body, "finance", "result") if "finance" in body else body,
    **{("doc_list", name): lists for name in ("datasets", "results", "providers")},
}  # fmt: skip
#: The form in which the emulated vendor writes.
NATIVE = {("chart", "chart"), ("actions", "chart"), ("grades", "quoteSummary"), ("earnings", "finance"), ("news", "data"), ("lookup", "finance")}  # fmt: skip


def as_head(endpoint: Endpoint, head: str) -> Callable[[Any], Any]:
    if head == "" or (endpoint.codec, head) in NATIVE:
        return copy.deepcopy
    change = AS_HEAD[endpoint.codec, head]

    def formed(body: Any) -> Any:
        try:
            return change(body)
        except (KeyError, StopIteration, TypeError):
            # an answer of another kind: a look-up, a crumb
            return body

    return formed


@pytest.mark.parametrize(("endpoint", "head"), FORMS, ids=lambda part: getattr(part, "path", part))
def test_whichever_form_a_vendor_writes_an_agent_reads_the_same(endpoint: Endpoint, head: str) -> None:
    plain, other = told(endpoint, ""), told(endpoint, "", as_head(endpoint, head))
    assert plain[0] == other[0] and "earlyx" in plain[0]
    assert (plain[1] != other[1]) == ((endpoint.codec, head) not in NATIVE)
