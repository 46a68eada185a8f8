"""Data of one's own: files, tables, queries and documents, dated by a policy that says when each row became known."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from proxies.vendors.own.own_manifest import Share
from workbench.errors import WANTING, TwoReadings
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Json, Remark
from workbench.questions.series.series_reference import SeriesRef
from workbench.requests import Says
from workbench.sources.document_files import open_documents
from workbench.sources.new_source import NewSource, SourceRequest
from workbench.sources.own_store import list_sources, remove_source, source_named, store_source
from workbench.sources.service_check import attack_service, check_service
from workbench.sources.services import (
    is_service,
    read_service,
    remove_service,
    service_named,
    service_versions,
    services,
    store_service,
)
from workbench.sources.source_attack import attack_source
from workbench.sources.source_check import check_source
from workbench.sources.source_origin import is_query_file, open_source

_SHARED = {
    "none": "nobody but you sees it; no language model",
    "models": "the language model of your own runs sees it; it goes into no package",
    "packages": "the language model of your runs sees it, and packages hold what was read of it",
}
SourceName = Annotated[str, Says(text="The source's name.", place=True)]
NameOrFile = Annotated[
    str, Says(text="The source's name, or a service's YAML before it is added.", place=True)
]


class AddSource(SourceRequest, Operation):
    """Copy a file, the rows of a query or a service's YAML into the data folder. A preview by cutoff comes first.

    Of a known name only what changes has to be said.
    """

    places = ("name", "where")
    short = ("date", "value", "known", "vintage", "lag", "releases", "static", "unit", "share")
    unlisted = ("decimal", "thousands", "skip", "comment")

    where: Any
    """CSV, Parquet, Excel, Feather; a database; a YAML. In Python a DataFrame or a Series too."""
    query: str = ""
    """One SELECT, for a database."""
    sheet: str = ""
    """Sheet of an Excel file; the first by itself."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what cutoffs see of the source, its version and its path; nothing is stored before a person said yes."""
        if (
            isinstance(self.where, str | os.PathLike)
            and is_service(self.where)
            and not is_query_file(Path(self.where))
        ):
            return self._add_service(home)
        said = {
            name: getattr(self, name) for name in SourceRequest.model_fields if name in self.model_fields_set
        }
        while True:
            try:
                new = await open_source(
                    home.folder, self.name, self.where, said,
                    environ=home.environ, sheet=self.sheet, query=self.query,
                )  # fmt: skip
                return _stored(new, home)
            except TwoReadings as unclear:
                answer = home.choose(str(unclear), unclear.choices)
                if answer is None:
                    raise
                said[unclear.option] = answer

    def _add_service(self, home: Home) -> dict[str, Any]:
        service = read_service(Path(self.where), self.name)
        preview = service.preview(home.environ)
        for line in service_lines(preview):
            home.say(line)
        home.confirm("add it?")
        store_service(home.folder, service)
        return preview

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return how the source is named in claims and calls."""
        if "endpoints" in document:
            yield f"{document['name']}  {', '.join(_paths(document))}"
        else:
            yield _stored_line(document)


class AddDocuments(Operation):
    """Copy the text of a folder's documents into the data folder. A search finds those known at its cutoff."""

    places = ("name", "folder")
    short = ("dated",)

    name: str
    """What to call them: own/NAME/search in calls."""
    folder: Path
    """PDF, Word, Excel, HTML, Markdown, text."""
    dated: str
    """Where their days stand: filename, metadata, or a CSV file of names and days."""
    share: Share | None = None
    """Who may see them."""
    zone: str = ""
    """Zone of the days; New York by itself."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what cutoffs see of the documents; a file that cannot be read is left out and named."""
        new = await open_documents(
            home.folder, self.name, self.folder, dated=self.dated, share=self.share or "", zone=self.zone
        )
        return _stored(new, home)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return how they are named in calls."""
        yield _stored_line(document)


class ListSources(Operation):
    """List your sources."""

    def answer(self, home: Home) -> list[dict[str, Any]]:
        """Return the services, then the sources of rows and documents."""
        named = [service_named(home.folder, name) for name in services(home.folder)]
        return [
            *(
                {**each.preview(home.environ), "versions": len(service_versions(home.store, each.name))}
                for each in named
                if each is not None
            ),
            *list_sources(home.folder),
        ]

    def show(self, document: list[dict[str, Any]]) -> Iterator[Block]:
        """Return a line for each."""
        for row in document:
            if "endpoints" in row:
                versions = f"; {row['versions']} versions" if row["versions"] > 1 else ""
                yield f"{row['name']}  a service: {', '.join(_paths(row))}{versions}"
            else:
                yield (
                    f"own:{row['name']}  {row['rows']} {row['counted']}, {row['first']} to {row['last']}, {row['frequency']};"
                    f" {row['policy']}; share {row['share']}"
                )
        if not document:
            yield Remark("no source yet: `workbench source add NAME FILE --date COLUMN --lag 3d`")


class ShowSource(Operation):
    """Print all that is known of a source, as JSON."""

    places = ("name",)

    name: SourceName

    def answer(self, home: Home) -> dict[str, Any]:
        """Return a row of the list, of a service with its versions; raises ``UsageError`` for no such source."""
        if service := service_named(home.folder, self.name):
            return {
                **service.preview(home.environ),
                "versions": service_versions(home.store, self.name),
            }
        source_named(home.folder, self.name)
        return next(row for row in list_sources(home.folder) if row["name"] == self.name)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return it as it is."""
        yield Json(document)


class RemoveSource(Operation):
    """Remove a source from new runs; versions that stored runs read stay until those are removed."""

    places = ("name",)

    name: SourceName

    def answer(self, home: Home) -> dict[str, Any]:
        """Return how many versions were deleted (None of a service), and the runs that keep theirs."""
        if self.name in services(home.folder):
            home.confirm(f"remove {self.name}?")
            return {"name": self.name, "deleted": None, "runs": remove_service(home.store, self.name)}
        source_named(home.folder, self.name)
        home.confirm(f"remove {self.name}?")
        deleted, runs = remove_source(home.store, self.name, datetime.now(UTC))
        return {"name": self.name, "deleted": deleted, "runs": runs}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what went and what stays."""
        deleted, runs = document["deleted"], len(document["runs"])
        gone = "" if deleted is None else f": {deleted} version{'' if deleted == 1 else 's'} deleted"
        stays = f"; what {runs} stored run{'' if runs == 1 else 's'} read stays" if runs else ""
        yield f"removed {document['name']}{gone}{stays}"


class _Findings(Operation):
    places = ("name",)

    name: NameOrFile

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 if something leaks."""
        return WANTING if any(row["kind"] == "leaks" for row in document["findings"]) else 0


class CheckSource(_Findings):
    """Check a source against its policy: dates, releases, totals that include the future. Exit 6 if a check fails."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the findings."""
        service = service_named(home.folder, self.name)
        return await (
            check_service(service, home.environ) if service else check_source(home.folder, self.name)
        )


class AttackSource(_Findings):
    """Query a copy with later rows, revisions and new names as of past cutoffs, and print every leak. Exit 6 if there is one."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the findings."""
        service = service_named(home.folder, self.name)
        return await (attack_service(service) if service else attack_source(home.folder, self.name))


def _stored(new: NewSource, home: Home) -> dict[str, Any]:
    preview = new.preview(datetime.now(UTC))
    for line in preview_lines(preview):
        home.say(line)
    home.confirm("add it?")
    stored = store_source(home.folder, new)
    return {**preview, "version": stored.version, "path": stored.path}


def _stored_line(document: Mapping[str, Any]) -> str:
    return f"own:{document['name']}  {document['rows']} {document['counted']}, {document['first']} to {document['last']}  ({document['path']})"


def _paths(service: Mapping[str, Any]) -> list[str]:
    return [*(each["path"] for each in service["endpoints"]), *service["series"]]


def share_line(share: str) -> str:
    """Say who sees a source, for a person who adds it."""
    return f"share {share}: {_SHARED[share]}"


def service_lines(preview: Mapping[str, Any]) -> list[str]:
    """Return what a person reads of a service before they confirm."""
    key = preview["key"]
    lines = [f"{preview['name']}: {preview['title']}", f"asks {', '.join(preview['hosts'])}"]
    if key:
        state = "set" if key["set"] else "not set"
        lines.append(
            f"the key in {key['variable']} ({state}) goes there, and nowhere else ({key['sent_as']})"
        )
    lines += [
        f"{each['path']}: {each['policy']}{' by ' + each['dated_by'] if each['dated_by'] else ''}, risk of later knowledge {each['residual']}"
        for each in preview["endpoints"]
    ]
    return [*lines, share_line(preview["share"]), *preview["notes"]]


def preview_lines(preview: Mapping[str, Any]) -> list[str]:
    """Return the preview that a person confirms: the first rows, the policy, and what three cutoffs see."""
    lines = ["  ".join(f"{name}={value}" for name, value in row.items()) for row in preview["head"]]
    lines.append(
        f"{preview['rows']} {preview['counted']}, {preview['first']} to {preview['last']}, {preview['frequency']}; {preview['policy']}"
    )
    for view in preview["cutoffs"]:
        last = f"the newest is {view['last']}" + ("" if view["value"] is None else f" ({view['value']})")
        lines.append(
            f"cutoff {view['cutoff']}: {view['rows']} {preview['counted']}{', ' + last if view['last'] else ''}"
        )
    lines += [
        share_line(preview["share"]),
        f"risk of later knowledge {preview['residual']}",
        *preview["notes"],
    ]
    if preview["value"]:
        # the calendar of the resolver comes with pandas
        from workbench.questions.series.value_states import untold

        lines.append(
            f"no track record with its claims: {untold(SeriesRef(source='own', id=preview['name']))}"
        )
    return lines
