"""A redirect of a keyed request is not followed: the key would go where the redirect points."""

import pytest

from proxies.catalogue.schema import Key
from proxies.fetch.transport import HttpRequest, HttpxTransport, Transport
from proxies.vendors.yahoo import CurlTransport
from tests.fakes.upstream import Sent, Upstream

SECRET = "the-callers-own-key-0123456789"
IN_HEADER = Key(variable="X_API_KEY", place="header", name="apikey")
IN_QUERY = Key(variable="X_API_KEY", place="query", name="api_key")


def _reached(server: Upstream) -> bool:
    return any(SECRET in str((seen.query, seen.headers)) for seen in server.seen)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("key", [IN_HEADER, IN_QUERY], ids=["header", "query"])
async def test_the_key_of_a_redirected_request_stays_with_the_vendor(key: Key, status: int) -> None:
    with Upstream(lambda seen: Sent(body=[])) as other:
        to_other = Sent(status=status, headers={"location": f"{other.url}/elsewhere"})
        with Upstream(lambda seen: to_other) as vendor:
            wire = HttpxTransport(key=key, secret=SECRET, agent="test")
            try:
                request = HttpRequest(method="GET", url=f"{vendor.url}/rows", query={"symbol": "A"})
                reply = await wire.exchange(request, 10)
                assert reply.status == status and _reached(vendor) and other.seen == []
            finally:
                await wire.aclose()


@pytest.mark.parametrize(
    "wire", [CurlTransport(), HttpxTransport(key=None, secret="", agent="test")], ids=["curl", "httpx"]
)
async def test_no_wire_follows_a_redirect(wire: Transport) -> None:
    with Upstream(lambda seen: Sent(body=[])) as other:
        with Upstream(lambda seen: Sent(status=302, headers={"location": other.url})) as vendor:
            try:
                reply = await wire.exchange(HttpRequest(method="GET", url=vendor.url, query={}), 10)
            finally:
                await wire.aclose()
        assert (reply.status, len(vendor.seen), other.seen) == (302, 1, [])
