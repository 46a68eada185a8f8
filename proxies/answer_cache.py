"""Keep a broker's last answers, so that a question repeated at the same cutoff is not read and filtered again.

The broker looks here before its raw cache: what a raw answer costs (SQLite, a thread, parsing, dating every row, hashing) is
1.2 ms for 250 rows and 0.2 s for 5 MB, and the sibling leaves of a tree ask the same series.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest
from proxies.asof.readjust import aged
from proxies.catalogue.schema import Endpoint, Residual
from proxies.hashing import canonical_json
from proxies.ledger import Answer

_MAX_BYTES = 32_000_000
_OVERHEAD = 2_000  # bytes an answer counts beside its body


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An answer and the requests that were sent for it.

    ``from_vendor`` is False for the empty answers that the broker gives by itself: the vendor may know more when it is asked
    again.
    """

    answer: Answer
    sent: list[dict[str, Any]]
    from_vendor: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    endpoint: Endpoint
    made_at: datetime
    exchange: Exchange
    size: int


def question(request: ApiRequest, cutoff: Cutoff, *, most: Residual) -> Hashable:
    """Return the key of a request: two sessions with equal keys may share an answer; the endpoint's row is compared too.

    ``most``, the residual risk a session allows, is part of it: what one session is refused another may have.
    """
    return request.endpoint.path, canonical_json(request.params), cutoff.live, cutoff.instant, most


class AnswerCache:
    """Encoded answers in memory, by all that decides them; the longest unused go first.

    `max_bytes`: Of all answers together; one that has more than a quarter of it is not stored.
    """

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._bytes = 0

    def find(self, request: ApiRequest, cutoff: Cutoff, *, most: Residual, now: datetime) -> Exchange | None:
        """Return the shared answer to this question, or None; do not change it."""
        key = question(request, cutoff, most=most)
        entry = self._entries.get(key)
        if entry is None or not _is_settled(request.endpoint, cutoff, now):
            return None
        # the row holds the policy, the codec and the source: an answer made by another row is another answer
        if entry.endpoint is not request.endpoint or aged(entry.endpoint, entry.made_at, now):
            return None
        self._entries.move_to_end(key)
        return Exchange(answer=entry.exchange.answer.unread(), sent=entry.exchange.sent)

    def store(
        self, exchange: Exchange, request: ApiRequest, cutoff: Cutoff, *, most: Residual, now: datetime
    ) -> None:
        """Store an answer, unless the next one may differ."""
        if not exchange.from_vendor or not _is_settled(request.endpoint, cutoff, now):
            return
        size = len(exchange.answer.encoded()) + _OVERHEAD
        if size > self._max_bytes // 4:
            return
        # without the parsed value, which takes several times the room of its JSON
        exchange = Exchange(answer=exchange.answer.unread(), sent=exchange.sent)
        entry = _Entry(endpoint=request.endpoint, made_at=now, exchange=exchange, size=size)
        key = question(request, cutoff, most=most)
        former = self._entries.pop(key, None)
        self._bytes += entry.size - (former.size if former else 0)
        self._entries[key] = entry
        while self._bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.size


def _is_settled(endpoint: Endpoint, cutoff: Cutoff, now: datetime) -> bool:
    """Whether time cannot change an answer: live ones age, a cutoff ahead is the present, files change.

    Files of an installed package do not: its series are read once a process, and a tree asks for each of them a few times.
    """
    fixed = endpoint.method != "LOCAL" or endpoint.source.name == "embedded"
    return not cutoff.live and cutoff.instant < now and fixed
