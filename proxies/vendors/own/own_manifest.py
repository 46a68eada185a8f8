"""Read and write the manifests of the user's own sources: versions, dating, sharing.

``sources/NAME/source.json`` names the current version, ``sources/NAME/VERSION.json`` describes one, and its rows lie beside it in
``VERSION.parquet``. A version is never changed: a run reads the one that was current when it began, however often the file was added
again since.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxies.errors import CatalogueError

#: Who may see the rows beside the person: nobody, the language model of their own runs, or whoever gets a package too.
Share = Literal["none", "models", "packages"]
SHARES: tuple[Share, ...] = get_args(Share)
#: Who asks the broker: a person (or the analyst that runs on this machine), or a language model.
Reader = Literal["person", "model"]
PolicyKind = Literal["known", "vintage", "lag", "releases", "static", "dated"]
#: What a row's date stands for: a calendar period, a day, an instant, or a length of time such as 1h or 14d that begins at it.
GRAIN = re.compile(r"year|half-year|quarter|month|week|day|instant|\d{1,5}(min|h|d)")
#: Months of the periods that are counted in months.
MONTHS = {"year": 12, "half-year": 6, "quarter": 3, "month": 1}
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
#: Columns of the stored rows that are ours: when a row is about, when it became known (UTC), and its place in the file.
DATE, KNOWN, PLACE = "__date", "__known", "__row"
#: In the place of a column's name: the one that claims about the source mean.
VALUE = "*"
CURRENT = "source.json"
#: Rows of one answer; a cell that needs more asks window by window.
MOST_ROWS = 100_000


def days_alone(grain: str) -> bool:
    """Whether dates of a grain are days, not instants."""
    return re.fullmatch(r"instant|\d+(min|h)", grain) is None


class OwnColumn(BaseModel):
    """A column that callers see."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    type: Literal["number", "text", "boolean", "date", "instant"]
    #: From when on a row holds a value (UTC): before, the file had no such column.
    since: datetime | None = None


class OwnPolicy(BaseModel):
    """The policy of when a row became known: a column, a vintage column, a lag, releases, or "static"; for documents the place of their date."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: PolicyKind
    column: str = ""
    lag: str = ""
    releases: str = ""

    def words(self) -> str:
        """Describe the policy for a person."""
        return {
            "known": f"a row counts from its column {self.column}",
            "vintage": f"of each date the newest row counts that column {self.column} dates before the cutoff",
            "lag": f"a row counts {self.lag} after the end of its day or period",
            "releases": f"a row counts from its release in {self.releases}",
            "static": "every row counts at every cutoff (static)",
            "dated": f"a document counts from the end of the day that {self.column} says",
        }[self.kind]


class OwnManifest(BaseModel):
    """One version of a source: its origin, its dating, its sharing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    v: Literal[1] = 1
    name: Annotated[str, Field(pattern=NAME.pattern)]
    kind: Literal["rows", "documents"] = "rows"
    version: Annotated[str, Field(pattern=r"[0-9a-f]{64}")]
    added_at: datetime
    origin: str
    policy: OwnPolicy
    date: str
    grain: Annotated[str, Field(pattern=rf"^(?:{GRAIN.pattern})$")] = "day"
    zone: str = "America/New_York"
    value: str = ""
    by: str = ""
    unit: str = ""
    frequency: str = ""
    share: Share = "models"
    residual: Literal["none", "low", "medium", "high"] = "high"
    #: How the file is read, as its owner said: the next version of it is read alike.
    reading: dict[str, Any] = {}
    columns: tuple[OwnColumn, ...] = ()
    rows: int = 0
    first: str = ""
    last: str = ""
    data_hash: str = ""

    @property
    def by_day(self) -> bool:
        """Whether its dates are days, not instants."""
        return days_alone(self.grain)

    @property
    def path(self) -> str:
        """The endpoint that returns its rows, or searches its documents."""
        return f"own/{self.name}/{'rows' if self.kind == 'rows' else 'search'}"

    @property
    def counted(self) -> str:
        """The word for its rows: rows, or pages of documents."""
        return "rows" if self.kind == "rows" else "pages"

    @property
    def pages_path(self) -> str:
        """The endpoint that returns the pages of one of its documents."""
        return f"own/{self.name}/pages"


class _Current(BaseModel):
    """The content of ``source.json``: the version of new runs, "" after a removal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    current: Annotated[str, Field(pattern=r"([0-9a-f]{64})?")]
    removed_at: datetime | None = None


def own_folder(home: Path) -> Path:
    """Return the folder of own sources in a data folder."""
    return home / "sources"


def manifest_path(folder: Path, name: str, version: str) -> Path:
    """Return the path of a version's manifest."""
    return folder / name / f"{version}.json"


def rows_path(folder: Path, name: str, version: str) -> Path:
    """Return the path of a version's rows."""
    return folder / name / f"{version}.parquet"


def read_manifest(path: Path) -> OwnManifest:
    """Read a version's manifest.

    Raises `CatalogueError`: It cannot be read, or does not have the form.
    """
    try:
        return OwnManifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read ({type(error).__name__})") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CatalogueError(f"{path}: {place}: {first['msg']}") from None


def versions(folder: Path, name: str) -> list[OwnManifest]:
    """Return every version of a source, the oldest first; none for a name that was never added."""
    paths = sorted((folder / name).glob("*.json")) if NAME.fullmatch(name) else []
    manifests = [read_manifest(path) for path in paths if path.name != CURRENT]
    return sorted(manifests, key=lambda item: (item.added_at, item.version))


def current_version(folder: Path, name: str, *, instant: datetime | None = None) -> str:
    """Return the version of new runs, "" if the source was never added or was removed (by ``instant``, if given)."""
    path = folder / name / CURRENT
    if not path.is_file():
        return ""
    try:
        state = _Current.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise CatalogueError(f"{path}: names no version: add {name} again") from None
    if instant is not None and (state.removed_at is None or instant < state.removed_at):
        earlier = [item for item in versions(folder, name) if item.added_at <= instant]
        return earlier[-1].version if earlier else ""
    return state.current


def own_sources(folder: Path | None, instant: datetime | None = None) -> dict[str, OwnManifest]:
    """Return the sources of a data folder by name.

    `instant`: For a run that began then: the versions of that time, of sources too that were replaced or removed since.

    Raises `CatalogueError`: A manifest does not load. One bad manifest refuses all: a source that vanished would read like data that never
    were.
    """
    if folder is None or not folder.is_dir():
        return {}
    manifests: dict[str, OwnManifest] = {}
    for name in sorted(path.name for path in folder.iterdir() if NAME.fullmatch(path.name)):
        version = current_version(folder, name, instant=instant)
        if version:
            manifests[name] = read_manifest(manifest_path(folder, name, version))
    return manifests
