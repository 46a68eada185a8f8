"""Store copies in the data folder: written whole or not at all, and kept while a run or a source names them."""

from __future__ import annotations

import json
import secrets
import shutil
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.atomic import private_folder, replace_file
from proxies.vendors.own.own_manifest import (
    CURRENT,
    DATE,
    KNOWN,
    PLACE,
    OwnManifest,
    current_version,
    manifest_path,
    own_folder,
    own_sources,
    rows_path,
    versions,
)
from workbench.errors import UsageError, command, sentence
from workbench.sources.new_source import NewSource
from workbench.sources.services import discard_unused_services, last_files, read_service
from workbench.store.removal import began_at, runs_calling, runs_naming

if TYPE_CHECKING:
    from workbench.store import Store

#: How half-written files are named; `discard_unused` deletes them.
_HALF = ".new-"


def store_source(home: Path, new: NewSource) -> OwnManifest:
    """Copy a source into the data folder and return its stored manifest; earlier copies stay as versions.

    A kill leaves the source as it was: the rows are written first, then their description, then the name of the version.
    An unchanged source gets no new version.
    """
    folder = own_folder(home)
    manifest = new.manifest
    before = own_sources(folder).get(manifest.name)
    if before is not None and _unchanged(before, manifest):
        return before
    private_folder(folder / manifest.name)
    half = folder / manifest.name / f"{_HALF}{secrets.token_hex(6)}"
    try:
        _write_rows(half, new)
        half.chmod(0o600)
        half.replace(rows_path(folder, manifest.name, manifest.version))
    except OSError as error:
        raise UsageError(
            f"{manifest.name} could not be stored ({error.strerror or error}): nothing was added"
        ) from None
    finally:
        half.unlink(missing_ok=True)
    replace_file(
        manifest_path(folder, manifest.name, manifest.version),
        manifest.model_dump_json(indent=1).encode(),
        private=True,
    )
    _point_to(folder, manifest.name, {"current": manifest.version})
    return manifest


def _unchanged(before: OwnManifest, after: OwnManifest) -> bool:
    apart = {"version", "added_at"}
    return before.model_dump(exclude=apart) == after.model_dump(exclude=apart)


def _write_rows(path: Path, new: NewSource) -> None:
    import duckdb
    import numpy as np
    import pandas as pd

    # DuckDB 2.0 reads no array that runs backwards, as those of a reversed table do
    rows = pd.DataFrame(
        {
            name: column
            if isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
            else np.ascontiguousarray(column)
            for name, column in new.rows.items()
        }
    )
    kinds = {column.name: column.type for column in new.manifest.columns}
    types = {
        "number": "DOUBLE",
        "boolean": "BOOLEAN",
        "instant": "TIMESTAMP",
        "date": "DATE",
        "text": "VARCHAR",
    }
    # of days the date alone is stored, so that a reader cannot take one for an instant
    dated = f'"{DATE}"::{"DATE" if new.manifest.by_day else "TIMESTAMP"} AS "{DATE}"'
    data_columns = ", ".join(
        f'"{name.replace(chr(34), chr(34) * 2)}"::{types[kind]} AS "{name.replace(chr(34), chr(34) * 2)}"'
        for name, kind in kinds.items()
    )
    listed = ", ".join(
        [dated, f'"{KNOWN}"::TIMESTAMP AS "{KNOWN}"', f'"{PLACE}"', *([data_columns] if data_columns else [])]
    )
    target = str(path).replace("'", "''")
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.register("own_rows", rows)
        # small row groups: a window reads few of them
        connection.execute(
            f"COPY (SELECT {listed} FROM own_rows) TO '{target}' (FORMAT parquet, ROW_GROUP_SIZE 50000)"
        )


def _point_to(folder: Path, name: str, state: dict[str, str]) -> None:
    replace_file(folder / name / CURRENT, json.dumps(state).encode(), private=True)


def source_named(home: Path, name: str) -> OwnManifest:
    """Return the current version of a source.

    Raises `UsageError`: There is none of this name; the known ones are listed.
    """
    sources = own_sources(own_folder(home))
    if name in sources:
        return sources[name]
    there = f"there are {', '.join(sources)}" if sources else "there is none yet"
    raise UsageError(f"there is no source {name!r:.60}: {there} (", command("source add"), ")")


def is_intact(home: Path, manifest: OwnManifest) -> bool:
    """Whether a version's rows exist and are readable, as many as the manifest says."""
    import duckdb

    path = rows_path(own_folder(home), manifest.name, manifest.version)
    try:
        with duckdb.connect() as connection:
            (count,) = connection.execute("SELECT count(*) FROM read_parquet(?)", [str(path)]).fetchone() or (
                None,
            )
    except duckdb.Error:
        return False
    return bool(count == manifest.rows)


def runs_with(store: Store, manifest: OwnManifest, until: datetime | None = None) -> list[str]:
    """List the runs that read a version: they asked for its rows, or their claim names it, and began while it was current.

    ``until`` is when the next version took its place.
    """
    readers = []
    for run_id in sorted(runs_naming(store, manifest.name)):
        began = began_at(store, run_id)
        # a run of another machine, or a person's single call, names no version
        if began is None or began < manifest.added_at or (until is not None and began >= until):
            continue
        readers.append(run_id)
    return readers


def first_shared(store: Store, model: str) -> list[str]:
    """Write a line for each source that a language model may read and no run has read yet, to be shown with the first run."""
    items = own_sources(own_folder(store.home)).values() if model else ()
    return [
        sentence(
            f"own data {item.name}: {model} may read it; it goes into {'packages too' if item.share == 'packages' else 'no package'} (",
            command("source add", "NAME", "FILE", share="none"),
            " keeps it from language models)",
        )
        for item in items
        if item.share != "none" and not runs_with(store, item)
    ]


def unshared_in(store: Store, run_id: str) -> list[str]:
    """List the sources that a run read, or its claim names, and that their owner does not share with packages.

    What counts is what the owner says today; of a removed source, what they said last.
    """
    folder, names = own_folder(store.home), []
    for name in sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ():
        history = versions(folder, name)
        current = current_version(folder, name)
        newest = next((item for item in history if item.version == current), history[-1] if history else None)
        if newest is not None and newest.share != "packages" and run_id in runs_with(store, history[0]):
            names.append(name)
    for name, path in last_files(store.home).items():
        if read_service(path).info.share != "packages" and run_id in runs_calling(store, name):
            names.append(name)
    return names


def remove_source(store: Store, name: str, now: datetime) -> tuple[int, list[str]]:
    """Remove a source; return the number of deleted versions, and the runs that keep others.

    New runs no longer see it. A version that a stored run read stays until that run is removed (``gc`` takes it then).
    """
    source_named(store.home, name)
    folder = own_folder(store.home)
    users = sorted({run for item, until in _reigns(folder, name) for run in runs_with(store, item, until)})
    _point_to(folder, name, {"current": "", "removed_at": now.isoformat()})
    return discard_unused(store), users


def discard_unused(store: Store) -> int:
    """Delete versions that no source and no stored run names, and half-written files; return how many. Called by ``gc``."""
    folder, count = own_folder(store.home), discard_unused_services(store)
    if not folder.is_dir():
        return count
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        for half in place.glob(f"{_HALF}*"):
            half.unlink()
        current = current_version(folder, place.name)
        for item, until in _reigns(folder, place.name):
            if item.version == current or runs_with(store, item, until):
                continue
            # the description goes first: rows without one are nobody's, a description without rows would be a source that fails
            manifest_path(folder, place.name, item.version).unlink()
            rows_path(folder, place.name, item.version).unlink(missing_ok=True)
            count += 1
        described = {item.version for item in versions(folder, place.name)}
        for rows in place.glob("*.parquet"):
            if rows.stem not in described:
                rows.unlink()
        if not described and not current:
            shutil.rmtree(place)
    return count


def _reigns(folder: Path, name: str) -> list[tuple[OwnManifest, datetime | None]]:
    history = versions(folder, name)
    ends = [*(item.added_at for item in history[1:]), None]
    return list(zip(history, ends, strict=True))


def list_sources(home: Path) -> list[dict[str, Any]]:
    """Describe every source for ``workbench source list``."""
    return [
        {
            "name": item.name,
            "series": f"own:{item.name}" if item.kind == "rows" else None,
            "path": item.path,
            "rows": item.rows,
            "counted": item.counted,
            "first": item.first,
            "last": item.last,
            "frequency": item.frequency,
            "value": item.value or None,
            "unit": item.unit or None,
            "policy": item.policy.words(),
            "share": item.share,
            "residual": item.residual,
            "added_at": item.added_at.isoformat(),
            "version": item.version[:12],
            "versions": len(versions(own_folder(home), item.name)),
        }
        for item in own_sources(own_folder(home)).values()
    ]
