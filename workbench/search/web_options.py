"""Define the settings of one leaf's web, for grounders and the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from workbench.errors import BadSetting
from workbench.propositions.strict_json import STRICT
from workbench.search.engines import ENGINES

#: Layers that can be left out: ``rules`` and ``model`` are layer 2, ``blocking`` is layer 4. Layers 1 and 3 are the broker's and
#: cannot be left out while a cutoff is set.
Layer = Literal["rules", "model", "blocking"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """Settings for searching and reading."""

    #: By name, from ``ENGINES``; None: those that are asked by default. One that cannot be asked is named in the answer.
    engines: tuple[str, ...] | None = None
    #: Where the question comes from (``polymarket``, ``fred``, ...): the sites by which it is resolved are blocked.
    sources: tuple[str, ...] = ()
    #: The question's criteria and its own address: addresses in it are blocked.
    resolution_text: str = ""
    #: How far back engines with a window are asked.
    days_back: int = 365
    #: Longest text of a result.
    snippet_characters: int = 700
    #: Longest text of a page.
    page_characters: int = 20_000
    #: Pages longer than this are read by the reader's model, whose notes stand in for them; None: never.
    summary_above: int | None = 6_000
    #: How long an engine is waited for.
    engine_seconds: float = 60.0
    #: Layers that are on. All, but for tests, and for a run that wants to measure what a layer is worth.
    layers: frozenset[Layer] = field(default_factory=lambda: frozenset(LAYERS))

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        unknown = [name for name in self.engines or () if name not in ENGINES]
        if unknown:
            raise BadSetting(f"there is no search engine {unknown[0]!r}: there are {', '.join(ENGINES)}")
        for name in ("days_back", "snippet_characters", "page_characters", "engine_seconds"):
            if getattr(self, name) <= 0:
                raise BadSetting(f"{name} must be above 0, not {getattr(self, name)}")
        if self.summary_above is not None and self.summary_above < 1:
            raise BadSetting(f"summary_above must be at least 1, not {self.summary_above}")

    @property
    def asked_engines(self) -> tuple[str, ...]:
        """Names of the engines that every search asks."""
        if self.engines is not None:
            return tuple(dict.fromkeys(self.engines))
        return tuple(engine.name for engine in ENGINES.values() if engine.by_default)
