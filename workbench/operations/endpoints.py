"""The data that a cell can ask for: what there is, how it is asked, and one call as a cell makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from proxies.asof.clock import Cutoff
from proxies.catalogue import Availability, api_doc, api_matches
from proxies.ledger import Address
from workbench.environment import catalogue_of, proxy_settings
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Json
from workbench.operations.fields import CutoffText
from workbench.questions.venue_calls import BrokerCall
from workbench.requests import Says
from workbench.store import ApiLedger


class EndpointRow(TypedDict):
    """What answers some words. ``params`` name a series or entity; ``obstacle`` says why it cannot be used with the keys at hand."""

    path: str
    description: str
    policy: str
    params: dict[str, Any]
    obstacle: str


class Apis(Operation):
    """List the endpoints, or the endpoints, series and search sources that match some words; usable ones first."""

    nothing = "no endpoint matches: `workbench apis` lists all"
    places = ("pattern",)
    joined = ("pattern",)

    pattern: Annotated[str, Says(text="Words to look for.", word="words")] = ""

    def answer(self, home: Home) -> list[EndpointRow]:
        """Return the endpoints of the broker, all or those that match the words, best first."""
        settings = proxy_settings(home.environ, home.folder, reader="person")
        works = Availability.of(settings.keys, None)
        return [
            {
                "path": match.endpoint.path,
                "description": match.about,
                "policy": match.endpoint.as_of.policy,
                "params": dict(match.params),
                "obstacle": match.obstacle,
            }
            for match in api_matches(settings.catalogue(), self.pattern, works)
        ]


class ApiDoc(Operation):
    """Print the documentation of endpoints, with an example that runs."""

    places = ("paths",)

    paths: list[str]
    """Endpoint paths, 1 to 25."""

    def answer(self, home: Home) -> str:
        """Return the pages of the endpoints; raises ``Refused`` for one that there is not."""
        return api_doc(catalogue_of(home.folder), self.paths)


class CallAnswer(TypedDict):
    """Data in the upstream's shape, and what was done to keep the cutoff."""

    data: Any
    meta: dict[str, Any]


class Call(Operation):
    """Make one call through the broker, and print its data and what the cutoff removed."""

    tool = "Call a data endpoint: prices, macro series, filings and more, with what was known at the cutoff only."
    places = ("path", "params")
    short = ("cutoff", "strict")

    refusal_is_answer: ClassVar[bool] = True

    path: str
    """Endpoint path, long or short."""
    params: dict[str, Any] = {}
    """The endpoint's parameters (`api-doc` says which)."""
    cutoff: CutoffText = "now"
    strict: bool = False
    """Refuse data whose date cannot be fully proven."""
    max_residual: Literal["none", "low", "medium", "high"] | None = None
    """Refuse data with more residual risk of later knowledge than this; --strict is medium."""

    async def answer(self, home: Home) -> CallAnswer:
        """Make the call, kept in the ledger under a run of its own that no event log belongs to."""
        ledger = ApiLedger(home.store)
        # A new step for each call, so a person always gets a fresh answer and never one from the ledger.
        address = Address(
            run="call", node="-", trial=0, attempt=0, stage="call", step=ledger.count("call"), retry=0
        )
        session = home.broker().session(
            Cutoff.parse(self.cutoff), ledger, strict=self.strict, max_residual=self.max_residual
        )
        answer = await session.call(self.path, dict(self.params), address)
        return {"data": answer.data, "meta": answer.meta}

    def show(self, document: CallAnswer) -> Iterator[Block]:
        """Return the answer as it is."""
        yield Json(document)


def data_caller(home: Home, cutoff: str) -> BrokerCall:
    """Return a function of path and parameters that makes calls at a cutoff and returns their data."""

    async def call(path: str, params: Mapping[str, Any]) -> Any:
        answer = await Call(path=path, params=dict(params), cutoff=cutoff).answer(home)
        return answer["data"]

    return call
