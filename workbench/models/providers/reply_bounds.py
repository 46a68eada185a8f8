"""Bound what a model server may send: its bytes, as sent and as unpacked, in the one coding that we accept.

httpx reads a body to its end, however long, and unpacks as many codings as a header names, each a thousandfold.
"""

import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx

#: Bytes of a reply, as sent and as unpacked.
MOST_BYTES = 64_000_000
#: What a client that sends to a model server asks for.
CODINGS = {"accept-encoding": "gzip"}
_PIECE = 1_000_000


async def bound_reply(response: Any) -> None:
    """Bound a response however it is read; httpx calls this before anybody reads its body."""
    coding = response.headers.get("content-encoding", "").lower()
    codings = [name for part in coding.split(",") if (name := part.strip()) not in ("", "identity")]
    if codings and codings not in (["gzip"], ["x-gzip"]):
        raise httpx.DecodingError(
            f"the reply comes in a coding that was not asked for: {ascii(coding)[1:41]}",
            request=response.request,
        )
    if codings:
        del response.headers["content-encoding"]  # unpacked below
    response.stream = _Bounded(response.stream, response.request, packed=bool(codings))


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: Any, request: httpx.Request, *, packed: bool) -> None:
        self._inner, self._request, self._packed = inner, request, packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._plain():
            size += len(piece)
            if size > MOST_BYTES:
                raise self._broken(f"the reply is larger than {MOST_BYTES // 1_000_000} MB")
            yield piece

    async def _plain(self) -> AsyncIterator[bytes]:
        if not self._packed:
            async for piece in self._inner:
                yield piece
            return
        reader, empty = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), True
        try:
            async for piece in self._inner:
                empty = empty and not piece
                while piece:
                    yield reader.decompress(piece, _PIECE)
                    piece = reader.unconsumed_tail
                if reader.eof:  # what follows would be kept in memory
                    return
        except zlib.error:
            raise self._broken("the reply's gzip cannot be read") from None
        if not empty:
            raise self._broken("the reply's gzip is cut short")

    def _broken(self, words: str) -> httpx.RemoteProtocolError:
        return httpx.RemoteProtocolError(words, request=self._request)

    async def aclose(self) -> None:
        await self._inner.aclose()
