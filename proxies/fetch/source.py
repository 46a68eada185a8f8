"""Define the seam between fetching and the vendors."""

from collections.abc import Mapping
from typing import Any, Protocol

from proxies.catalogue.schema import Endpoint
from proxies.fetch.cache import RawAnswer


class Source(Protocol):
    """One vendor. The raw store calls `fetch` when its cache cannot serve; implementations lie in `proxies.vendors`."""

    name: str

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> RawAnswer:
        """Return the vendor's answer to checked parameters as JSON bytes, or raise a ProxyError."""
        ...

    async def aclose(self) -> None:
        """Close connections. Called once, by the broker's `aclose`."""
        ...
