"""Check a source's policy by its rows: figures shown before publication, totals that count the future."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.catalogue.schema import SourceInfo
from proxies.errors import ProxyError
from proxies.fetch.transport import Transport
from proxies.json_text import Row
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import DATE, KNOWN, PLACE, OwnManifest, own_folder, rows_path
from workbench.errors import Option, TwoReadings, UsageError, sentence
from workbench.formatting import counted
from workbench.sources.own_store import is_intact, source_named
from workbench.sources.row_dates import DatedColumn, DateReading, period_ends, read_dates, with_grain

if TYPE_CHECKING:
    import pandas as pd

Finding = dict[str, str]
#: Of so many rows, the newest, columns are compared; a total is dated from any of them.
SAMPLE = 50_000
#: Of rows with a publication, the share shown too early from which a policy is called wrong.
_EARLY = 0.02


def finding(kind: str, words: str, mend: str = "") -> Finding:
    """Build a finding: ``leaks``, ``wrong`` or ``note``, a description, and a remedy."""
    return {"kind": kind, "words": words, "mend": mend}


def stored_rows(home: Path, manifest: OwnManifest, most: int = SAMPLE) -> pd.DataFrame:
    """Return the newest rows of a version with our internal columns, oldest first."""
    import duckdb

    path = rows_path(own_folder(home), manifest.name, manifest.version)
    with duckdb.connect(config={"threads": 2}) as connection:
        frame = connection.execute(
            f'SELECT * FROM read_parquet(?) ORDER BY "{DATE}" DESC, "{PLACE}" DESC LIMIT {most}', [str(path)]
        ).df()
    return frame.sort_values([DATE, PLACE], ignore_index=True)


async def check_source(home: Path, name: str) -> Row:
    """List faults and doubts of a source: ``workbench source check``.

    Raises `UsageError`: There is no such source.
    """
    manifest = source_named(home, name)
    if not is_intact(home, manifest):
        damaged = finding("wrong", "its copy in the data folder is damaged or gone", "add it again")
        return findings_document(name, manifest.version, [damaged])
    findings = row_findings(stored_rows(home, manifest), manifest)
    findings += await _example(home, manifest)
    return findings_document(name, manifest.version, findings)


def findings_document(name: str, version: str, findings: list[Finding]) -> Row:
    """Build the document of ``source check`` and ``source attack``."""
    leaks = sum(item["kind"] == "leaks" for item in findings)
    faults = sum(item["kind"] == "wrong" for item in findings)
    counts = f"{counted(leaks, 'leak')}, {counted(faults, 'fault')}"
    summary = f"{name}: {counts if leaks or faults else 'nothing leaks'}"
    return {"name": name, "version": version[:12], "findings": findings, "summary": summary}


def row_findings(rows: pd.DataFrame, manifest: OwnManifest) -> list[Finding]:
    """Test the policy against the rows; of documents, whether they were written after their day."""
    if manifest.kind == "documents":
        return list(_late_documents(rows, manifest))
    return [*_late_columns(rows, manifest), *_early_periods(rows, manifest), *_totals(rows, manifest)]


def _late_documents(rows: pd.DataFrame, manifest: OwnManifest) -> Iterator[Finding]:
    import pandas as pd

    first = rows.drop_duplicates("document")
    written = pd.to_datetime(first["written"], format="ISO8601", utc=True, errors="coerce").dt.tz_localize(
        None
    )
    late = first[written > first[KNOWN]]
    if late.empty:
        return
    row = late.iloc[-1]
    yield finding(
        "leaks",
        f"{len(late)} of {len(first)} documents were written or changed after they are shown: {row['document']} on "
        f"{row['written'][:10]}, shown from {row[KNOWN].date()} on",
        sentence(Option("dated", "metadata")) if manifest.policy.column != "metadata" else "",
    )


def _late_columns(rows: pd.DataFrame, manifest: OwnManifest) -> Iterator[Finding]:
    for column in manifest.columns:
        if column.type == "number" or column.name == manifest.policy.column:
            continue
        try:
            dates = read_dates(rows[column.name], column.name, DateReading(zone=manifest.zone))
        except UsageError:
            continue
        values, about = dates.values, rows[DATE].astype("datetime64[us]")
        dated = values.notna()
        # a publication lies after what it is about
        if dated.mean() < 0.5 or (values[dated] < about[dated]).mean() > 0.1:
            continue
        shown_at = about if manifest.policy.kind == "static" else rows[KNOWN].astype("datetime64[us]")
        early = dated & (values > shown_at)
        if early.mean() <= _EARLY:
            continue
        first: Any = early.idxmax()
        since = (
            "at every cutoff" if manifest.policy.kind == "static" else f"from {rows[KNOWN][first].date()} on"
        )
        yield finding(
            "leaks",
            f"{column.name} says {values[first].date()} for the row of {about[first].date()}, which is shown {since} "
            f"({early.mean():.0%} of the rows)",
            sentence("the policy: ", Option("known", column.name))
            if manifest.policy.kind != "known"
            else sentence(Option("known", manifest.policy.column), ": ", Option("known", column.name)),
        )


def _early_periods(rows: pd.DataFrame, manifest: OwnManifest) -> Iterator[Finding]:
    import pandas as pd

    if manifest.policy.kind == "static":
        return
    about = rows[DATE].astype("datetime64[us]")
    period = manifest.grain if manifest.grain[0].isalpha() else f"{manifest.grain} from it on"
    if period == "day":
        ends = about  # what is of today may be published this morning
        yield from _days_like_periods(about, manifest)
    else:
        # midnights of the east are hours before those of UTC
        before = pd.Timedelta(15, unit="h") if manifest.by_day else pd.Timedelta(1, unit="us")
        ends = period_ends(about, manifest.grain) - before
    first: Any
    early = rows[KNOWN].astype("datetime64[us]") <= ends
    if early.mean() <= 0.5:
        if early.any():
            first = early.idxmax()
            yield finding(
                "note",
                f"the row of {about[first].date()} is known before its day or period ends: a forecast?",
            )
        return
    first = early.idxmax()
    yield finding(
        "leaks",
        f"{early.mean():.0%} of the rows are shown before their {period} is over ({about[first].date()} from {rows[KNOWN][first].date()} on)",
        f"--{manifest.policy.kind} {manifest.policy.column or manifest.policy.lag}: name the column of the publication, or a lag",
    )


def _days_like_periods(about: pd.Series[Any], manifest: OwnManifest) -> Iterator[Finding]:
    try:
        grain = with_grain(DatedColumn(about, "day"), "", manifest.zone)[0].grain
    except TwoReadings as error:
        grain = next(iter(error.choices))
    if grain != "day" and len(about) > 1:
        yield finding(
            "note",
            sentence(
                f"dates begin periods ({grain}) and count as days, as ", Option("grain", "day"), " says"
            ),
            sentence("where a row stands for the period: ", Option("grain", grain)),
        )


def _totals(rows: pd.DataFrame, manifest: OwnManifest) -> Iterator[Finding]:
    numbers = [column.name for column in manifest.columns if column.type == "number"]
    if len(rows) < 5:
        return
    for name in numbers:
        cells = rows[name].dropna()
        totals = (
            (label, summed)
            for summed in numbers
            if summed != name and rows[summed].nunique() >= 3
            if (label := _total_of(rows[summed].dropna(), cells))
        )
        if total := next(totals, None):
            what = f"the {total[0]} of {total[1]} over all rows"
        elif cells.nunique() == 1 and float(cells.iloc[0]) == len(rows):
            what = "the number of all rows"
        else:
            continue
        yield finding(
            "leaks", f"{name} is {what}, those after a cutoff too", f"the column {name}: leave it out"
        )


def _total_of(values: pd.Series[Any], cells: pd.Series[Any]) -> str:
    """Name what cells tell of all values: one of their totals in every row, or each value's share; "" for nothing."""
    if cells.nunique() == 1:
        totals = {"sum": values.sum(), "mean": values.mean(), "highest": values.max(), "lowest": values.min()}
        constant = float(cells.iloc[0])
        return next((label for label, total in totals.items() if _same(constant, float(total))), "")
    if values.sum() == 0 or not cells.index.equals(values.index):
        return ""
    return "share of the sum" if _same(float((cells - values / values.sum()).abs().max()), 0.0) else ""


def _same(first: float, second: float) -> bool:
    return abs(first - second) <= 1e-9 * max(1.0, abs(first), abs(second))


async def _example(home: Path, manifest: OwnManifest) -> list[Finding]:
    """Run the documented call on the newest rows, as a cell would."""
    settings = ProxySettings(own_folder=own_folder(home), reader="person")
    params = {**settings.catalogue().resolve(manifest.path).example, "limit": 5}
    (reply,) = await ask_all(settings, Cutoff.parse("now"), [(manifest.path, params)])
    if isinstance(reply, ProxyError):
        return [finding("wrong", f"its example fails: {' '.join(str(reply).split())}", "add it again")]
    return []


async def ask_all(
    settings: ProxySettings,
    cutoff: Cutoff,
    calls: Iterable[tuple[str, Row]],
    transport: Callable[[SourceInfo], Transport] | None = None,
) -> list[Answer | ProxyError]:
    """Return the answer to each call, or its error, from a broker of its own that keeps nothing."""
    broker = open_broker(settings, transport=transport)
    session, replies = broker.session(cutoff, MemoryLedger()), list[Answer | ProxyError]()
    try:
        for step, (path, params) in enumerate(calls):
            address = Address(run="check", node="-", trial=0, attempt=0, stage="call", step=step, retry=0)
            try:
                replies.append(await session.call(path, params, address))
            except ProxyError as error:
                replies.append(error)
    finally:
        await broker.aclose()
    return replies
