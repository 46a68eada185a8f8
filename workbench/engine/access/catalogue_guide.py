"""What agents read of the catalogue of data: the overview, the documentation of endpoints, and a search for them."""

from collections.abc import Sequence
from dataclasses import dataclass

from proxies.asof.clock import Cutoff
from proxies.catalogue import Availability, Catalogue, api_doc, api_map, api_search
from proxies.catalogue.schema import residual_limit
from workbench.engine.run_settings import RunSettings


@dataclass(frozen=True, slots=True)
class CatalogueGuide:
    """The documentation of a catalogue, as agents read it (``workbench.agents.base.DataGuide``): what works in their run."""

    catalogue: Catalogue
    overview: str
    availability: Availability | None = None

    @classmethod
    def of(cls, catalogue: Catalogue, availability: Availability | None = None) -> "CatalogueGuide":
        """Return the guide of a catalogue, for a setting or as if every key were set; its overview is made once."""
        return cls(catalogue, api_map(catalogue, availability), availability)

    @classmethod
    def for_run(
        cls,
        catalogue: Catalogue,
        settings: RunSettings,
        cutoff: Cutoff,
        keyed: Sequence[str],
        *,
        network: bool,
    ) -> "CatalogueGuide":
        """Return the guide to what worked when a run was opened: the same prompts when it is resumed with other keys."""
        setting = Availability.of(
            keyed,
            cutoff,
            most=residual_limit(settings.max_residual, strict=settings.strict),
            network=network,
        )
        return cls.of(catalogue, setting)

    def document(self, paths: list[str]) -> str:
        """Return the documentation of 1 to 25 full endpoint paths as Markdown; raises ``ProxyError``."""
        return api_doc(self.catalogue, paths, self.availability)

    def search(self, words: str) -> str:
        """Return the endpoints that match some words, a line each; raises ``ProxyError``."""
        return api_search(self.catalogue, words, self.availability)
