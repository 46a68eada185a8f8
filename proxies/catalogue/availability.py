"""Decide which parts of the catalogue can be used in a setting: keys, network, cutoff.

Prompts and searches show what works and say in a line why the rest does not, so that no agent builds on a source that would
refuse it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date

from proxies.asof.clock import Cutoff
from proxies.catalogue.loader import Catalogue
from proxies.catalogue.schema import Endpoint, Residual, SourceInfo, exceeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Which sources and endpoints a caller can use."""

    #: Sources whose key is set.
    keyed: frozenset[str] = field(default_factory=frozenset)
    #: No cutoff is set, so that endpoints which tell only the present work too.
    live: bool = False
    #: The most residual risk of later knowledge that is allowed: none, low, medium or high (`Broker.session`).
    most: Residual = "high"
    #: False: only sources that need none.
    network: bool = True
    #: The last day that is visible at the cutoff; None: every topic and example of ours may be told.
    day: date | None = None

    @classmethod
    def of(
        cls,
        keys: Collection[str] | Mapping[str, str],
        cutoff: Cutoff | None,
        *,
        most: Residual = "high",
        network: bool = True,
    ) -> "Availability":
        """Return the setting with the keys of these sources at a cutoff; without one, as if it were set."""
        live = cutoff is not None and cutoff.live
        day = None if cutoff is None or live else cutoff.last_visible_day
        return cls(keyed=frozenset(keys), live=live, most=most, network=network, day=day)

    def knows(self, since: date | None) -> bool:
        """Whether an entry of ours (a topic, a ticker, an example) that began on a day may be shown; None: always."""
        return since is None or self.day is None or since <= self.day

    def source_obstacle(self, source: SourceInfo) -> str:
        """Explain why a source cannot be used; "" if it can."""
        if source.key and source.name not in self.keyed:
            return f"needs {source.key.variable}"
        if source.hosts and not self.network:
            return "needs the network"
        return ""

    def obstacle(self, endpoint: Endpoint) -> str:
        """Explain why an endpoint cannot be used; "" if it can."""
        if reason := self.source_obstacle(endpoint.source):
            return reason
        if not self.knows(endpoint.since):
            return "holds nothing as of the cutoff"
        if self.live:
            return ""
        if endpoint.as_of.policy == "snapshot_refused":
            return "refused while a cutoff is set"
        if exceeds(endpoint.as_of.residual, self.most):
            return f"refused: more residual risk than {self.most}"
        return ""


def everything(catalogue: Catalogue, *, live: bool = False) -> Availability:
    """Return the setting in which every key is set, for directories and documentation."""
    return Availability(keyed=frozenset(source.name for source in catalogue.sources()), live=live)
