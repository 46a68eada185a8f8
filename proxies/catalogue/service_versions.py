"""Version the user's own services: a run keeps asking by the YAML with which it began, however often the file is added again.

``catalogue/NAME.yaml`` is what new runs read. ``catalogue/versions/NAME/HASH.yaml`` is a copy by content hash, and ``history.json``
beside it says since when which version counts. A file that somebody put into the folder by hand has no history and counts always.
"""

import hashlib
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from proxies.atomic import replace_file
from proxies.errors import CatalogueError

_HISTORY = "history.json"
_ALWAYS = datetime(1, 1, 1, tzinfo=UTC)


class ServiceEntry(BaseModel):
    """One line of a history: the version that counts from this instant on, "" for a removal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Annotated[str, Field(pattern=r"([0-9a-f]{64})?")]
    since: AwareDatetime


_ENTRIES = TypeAdapter(tuple[ServiceEntry, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceVersion:
    """A version of a service, its first instant, and its file; None for the time after a removal."""

    version: str
    since: datetime
    path: Path | None


def version_of(text: bytes) -> str:
    """Return the version of a text: its content hash."""
    return hashlib.sha256(text).hexdigest()


def service_history(folder: Path, name: str) -> list[ServiceVersion]:
    """Return the versions of a service, the oldest first; the last one is what new runs read.

    A file that was changed by hand since it was added counts as a version from its last change on.

    Raises `CatalogueError`: The history cannot be read: without it nobody knows what a stored run was asked by.
    """
    live = folder / f"{name}.yaml"
    current = version_of(live.read_bytes()) if live.is_file() else ""
    entries = _read_entries(folder, name)
    if current and not entries:
        entries = (ServiceEntry(version=current, since=_ALWAYS),)
    elif current and current != entries[-1].version:
        changed = datetime.fromtimestamp(live.stat().st_mtime, UTC)
        entries = (*entries, ServiceEntry(version=current, since=max(changed, entries[-1].since)))
    return [
        ServiceVersion(
            version=version.version,
            since=version.since,
            # the file itself where it is unchanged, so that old runs and new ones share one loaded catalogue
            path=live if version.version == current else _copy_of(folder, name, version.version),
        )
        if version.version
        else ServiceVersion(version="", since=version.since, path=None)
        for version in entries
    ]


def service_at(folder: Path, name: str, instant: datetime) -> ServiceVersion | None:
    """Return the version that counted at an instant, the first one for an older run (it came from elsewhere)."""
    history = service_history(folder, name)
    earlier = [version for version in history if version.since <= instant]
    return earlier[-1] if earlier else next(iter(history), None)


def service_files(folder: Path | None, instant: datetime | None = None) -> tuple[Path, ...]:
    """Return the files of the user's services of today, or of a run's beginning. Raises as `service_history`."""
    if folder is None:
        return ()
    if instant is None:
        return tuple(sorted(folder.glob("*.yaml")))
    versions = (service_at(folder, name, instant) for name in service_names(folder))
    return tuple(version.path for version in versions if version is not None and version.path is not None)


def service_names(folder: Path) -> list[str]:
    """Return the names of present and past services, in order."""
    live = {path.stem for path in folder.glob("*.yaml")}
    return sorted(live | {path.parent.name for path in (folder / "versions").glob(f"*/{_HISTORY}")})


def record_version(folder: Path, name: str) -> None:
    """Copy the current file of a service under its hash and record the instant; called before and after a change.

    A kill between the two leaves a file without an entry, which counts from its own change on.
    """
    history = service_history(folder, name)
    live = folder / f"{name}.yaml"
    if live.is_file():
        text = live.read_bytes()
        copy = _copy_of(folder, name, version_of(text))
        if not copy.is_file():
            replace_file(copy, text, private=True)
    elif history and history[-1].version:
        history.append(ServiceVersion(version="", since=datetime.now(UTC), path=None))
    _write_history(folder, name, history)


def keep_versions(folder: Path, name: str, used: frozenset[str]) -> int:
    """Delete the copies of versions that are neither current nor among ``used``; return how many."""
    history = service_history(folder, name)
    current = history[-1].version
    staying = [
        version
        for version in history
        if not version.version or version.version == current or version.version in used
    ]
    copies = list(_copy_of(folder, name, "").parent.glob("*.yaml"))
    stale = [path for path in copies if path.stem not in {version.version for version in staying}]
    # the history goes first: a copy without an entry is nobody's, an entry without its copy would refuse every run of then
    if not any(version.version for version in staying):
        (_copy_of(folder, name, "").parent / _HISTORY).unlink(missing_ok=True)
    elif len(staying) < len(history):
        _write_history(folder, name, staying)
    for path in stale:
        path.unlink()
    if not any(_copy_of(folder, name, "").parent.glob("*")):
        shutil.rmtree(_copy_of(folder, name, "").parent, ignore_errors=True)
    return len(stale)


def _copy_of(folder: Path, name: str, version: str) -> Path:
    return folder / "versions" / name / f"{version}.yaml"


def _read_entries(folder: Path, name: str) -> tuple[ServiceEntry, ...]:
    path = folder / "versions" / name / _HISTORY
    try:
        return _ENTRIES.validate_json(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError):
        raise CatalogueError(f"{path}: says of no version when it counted: restore it") from None


def _write_history(folder: Path, name: str, history: list[ServiceVersion]) -> None:
    rows = [
        ServiceEntry(version=version.version, since=version.since).model_dump(mode="json")
        for version in history
    ]
    replace_file(folder / "versions" / name / _HISTORY, orjson.dumps(rows), private=True)
