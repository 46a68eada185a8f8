"""What became of every result and page: kept or removed, by which layer and why. For the audit and for people, never for an agent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

#: Who removed it: ``blocking`` (layer 4), ``rules`` and ``model`` (layer 2), ``rest`` (what was over the number asked for),
#: ``copy`` (no dated copy of a page); ``kept``.
Fate = Literal["kept", "blocking", "rules", "model", "rest", "copy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRecord:
    """One result of a search, or one page that was asked for.

    ``search`` is the search's id ("S3") or the page's ("W2"); ``id`` that of a result which the agent saw, else "".
    """

    search: str
    url: str
    title: str
    published: str
    engines: tuple[str, ...]
    fate: Fate
    reason: str = ""
    id: str = ""
    model: str = ""
    text_hash: str = ""

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {**asdict(self), "engines": list(self.engines)}
