"""Settings of one leaf's web, as a grounder or the command line states them."""

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
    """How a leaf searches and reads.

    Parameters
    ----------
    engines : tuple of str or None
        By name, from ``ENGINES``; None: those that are asked by default. One that cannot be asked is named in the answer.
    sources : tuple of str
        Where the question comes from (``polymarket``, ``fred``, ...): the sites by which it is resolved are blocked.
    resolution_text : str
        The question's criteria and its own address: addresses in it are blocked.
    days_back : int
        How far back engines with a window are asked.
    snippet_characters : int
        Longest text of a result.
    page_characters : int
        Longest text of a page.
    summary_above : int or None
        Pages longer than this are read by the reader's model, whose notes stand in for them; None: never.
    engine_seconds : float
        How long an engine is waited for.
    layers : frozenset of str
        Layers that are on. All, but for tests, and for a run that wants to measure what a layer is worth.
    """

    engines: tuple[str, ...] | None = None
    sources: tuple[str, ...] = ()
    resolution_text: str = ""
    days_back: int = 365
    snippet_characters: int = 700
    page_characters: int = 20_000
    summary_above: int | None = 6_000
    engine_seconds: float = 60.0
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
        """Names of the engines that are asked."""
        if self.engines is not None:
            return tuple(dict.fromkeys(self.engines))
        return tuple(engine.name for engine in ENGINES.values() if engine.by_default)
