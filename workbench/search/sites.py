"""Read the lists of sites, by what they are, out of ``sites.yaml``."""

from functools import cache
from importlib.resources import files
from typing import Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict

from workbench.search.urls import is_below

Quality = Literal["primary", "wire", "press", "blog", "unknown"]
#: From the nearest to the event to the farthest from it.
QUALITIES: tuple[Quality, ...] = get_args(Quality)


class Sites(BaseModel):
    """Hosts by what they are; ``sites.yaml`` says what each list is for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    resolution: dict[str, tuple[str, ...]]
    markets: tuple[str, ...]
    outcomes: tuple[str, ...]
    shorteners: frozenset[str]
    opaque: tuple[str, ...]
    archives: tuple[str, ...]
    hyphenated: tuple[str, ...]
    quality: dict[Quality, tuple[str, ...]]

    @property
    def always_blocked(self) -> frozenset[str]:
        """Sites that are blocked for every question."""
        return frozenset([*self.outcomes, *(site for name in self.markets for site in self.resolution[name])])


@cache
def sites() -> Sites:
    """Return the lists, read once."""
    text = files("workbench.search").joinpath("sites.yaml").read_text("utf-8")
    return Sites.model_validate(yaml.safe_load(text))


def is_below_any(host: str, domains: tuple[str, ...] | frozenset[str]) -> bool:
    """Whether a host is one of some domains or one of their subdomains."""
    return any(is_below(host, domain) for domain in domains)
