"""What a claim of this home can be about, and what its cells can ask beyond the shipped sources: series, own catalogue files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proxies.catalogue import Availability
from proxies.catalogue.loader import load_catalogue
from workbench.questions.series import SERIES
from workbench.settings import proxy_settings
from workbench.widgets.panels import rendered


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSource:
    """An endpoint that is not of the shipped catalogue; ``obstacle`` says why it cannot be asked, empty if it can."""

    path: str
    about: str
    policy: str
    obstacle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesAtHand:
    """The folder of own catalogue files, their endpoints, and those that are shipped or of packages, counted."""

    folder: str
    own: tuple[OwnSource, ...]
    shipped: int
    usable: int


def own_sources(home: Path, environ: Mapping[str, str]) -> SourcesAtHand:
    """Return what can be asked in a home with the keys of an environment; no key is shown.

    Raises ``CatalogueError`` where an own file does not load: one bad file refuses all, as for a run.
    """
    settings = proxy_settings(environ, home)
    catalogue, shipped = settings.catalogue(), load_catalogue()
    at_hand = Availability.of(settings.keys, None)
    obstacles = {path: at_hand.obstacle(catalogue.resolve(path)) for path in catalogue.paths()}
    own = tuple(
        OwnSource(
            path=path,
            about=(endpoint := catalogue.resolve(path)).description,
            policy=endpoint.as_of.policy,
            obstacle=obstacles[path],
        )
        for path in catalogue.paths()
        if path not in shipped
    )
    return SourcesAtHand(
        folder=str(settings.catalogue_folder),
        own=own,
        shipped=len(obstacles) - len(own),
        usable=sum(not obstacle for path, obstacle in obstacles.items() if path in shipped),
    )


def own_sources_html(at_hand: SourcesAtHand | None) -> str:
    """Return them as a fold; None stands for what is read when it is opened."""
    return rendered("own_sources", at_hand=at_hand, series=list(SERIES.values()))
