"""Check a user's service by its live example, and attack it by a made upstream in several worlds."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import stamp_of
from proxies.asof.rows import RowStep, ShapeError, get, rows_at, steps_of
from proxies.asof.stamps import known_from
from proxies.catalogue.schema import Endpoint, SourceInfo
from proxies.errors import ProxyError
from proxies.fetch.transport import HttpRequest, HttpResponse, Transport
from proxies.json_text import Fields, Row
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import DATE, KNOWN, PLACE, OwnColumn, OwnManifest, OwnPolicy
from workbench.sources.services import Service
from workbench.sources.source_check import Finding, ask_all, finding, findings_document, row_findings

if TYPE_CHECKING:
    import pandas as pd

#: Months of the upstream that is made for an attack, and the cutoffs that it is asked as of.
_MONTHS = 36
_ATTACKED = ("2016-07-01", "2017-01-01", "2018-03-01")


async def check_service(service: Service, environ: Mapping[str, str]) -> Row:
    """Ask the service for the example of each endpoint and list faults of its file: ``workbench source check``.

    Rows where the file says that they lie, dates that can be read, no other date that lies later (the wrong column), no total that
    counts all rows. Each finding names the line to mend.
    """
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="workbench-check-") as folder:
        (Path(folder) / f"{service.name}.yaml").write_text(service.text, encoding="utf-8")
        settings = ProxySettings.from_environment(environ, catalogue_folder=Path(folder))
        for endpoint in service.endpoints:
            try:
                data = await _call_example(settings, endpoint, Cutoff.parse("now"))
                rows = _rows_of(data, endpoint)
            except (ProxyError, ShapeError) as error:
                words = " ".join(str(error).split())
                findings.append(finding("wrong", f"the example of {endpoint.path} fails: {words}", service.line(endpoint, "path")))  # fmt: skip
                continue
            findings += _example_findings(service, endpoint, data, rows)
    return findings_document(service.name, "", findings)


def _example_findings(service: Service, endpoint: Endpoint, data: Any, rows: list[Row]) -> Iterator[Finding]:
    if not rows:
        yield finding("wrong", f"{endpoint.path}: there are no rows at {endpoint.rows!r}", service.line(endpoint, "rows"))  # fmt: skip
        return
    names = {name for row in rows for name in row}
    for name in endpoint.fields:
        if name not in names:
            yield finding("note", f"{endpoint.path}: no row has the field {name}", service.line(endpoint, "fields", name))  # fmt: skip
    if unlisted := sorted(names - {*endpoint.fields}):
        yield finding("note", f"{endpoint.path}: not passed on, because fields do not list them: {', '.join(unlisted)[:200]}", service.line(endpoint, "fields"))  # fmt: skip
    stamp = endpoint.as_of.stamp
    place = service.line(endpoint, "as_of", "stamp", "field")
    moments: list[datetime | None] = [None] * len(rows)
    if stamp is not None:
        how = stamp_of(stamp, stamp.grain)
        moments = [known_from(get(row, stamp.field), how) for row in rows]
        unread = [row for row, moment in zip(rows, moments, strict=True) if moment is None]
        if unread:
            yield finding("wrong", f"{endpoint.path}: {len(unread)} of {len(rows)} rows have no {stamp.field} that can be read ({str(get(unread[0], stamp.field))[:40]!r})", place)  # fmt: skip
    frame, manifest = _as_own_rows(service, endpoint, rows, moments)
    static = endpoint.as_of.policy == "static"
    for line in row_findings(frame, manifest):
        if line["kind"] != "leaks" or " shown before " in line["words"]:
            continue
        column, _, words = line["words"].partition(" ")
        mend = place if words.startswith("says ") and not static else service.line(endpoint, "as_of")
        if not words.startswith("says "):
            mend = f"{service.line(endpoint, 'fields', column)}: leave {column} out"
        yield finding("leaks", f"{endpoint.path}: {line['words']}", mend)
    yield from _envelope_totals(service, endpoint, data, rows)


def _envelope_totals(service: Service, endpoint: Endpoint, data: Any, rows: list[Row]) -> Iterator[Finding]:
    sums = {"the number of all rows": float(len(rows))}
    for name in {name for row in rows for name in row}:
        values = [row[name] for row in rows if isinstance(row.get(name), int | float)]
        if len(values) > 1:
            sums |= {f"the sum of {name} over all rows": float(sum(values)), f"the highest {name}": float(max(values))}  # fmt: skip
    for name in endpoint.envelope:
        value = get(data, name) if isinstance(data, dict) else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        total_name = next((words for words, total in sums.items() if abs(total - value) <= 1e-9 * max(1.0, abs(value))), "")  # fmt: skip
        if total_name:
            yield finding("leaks", f"{endpoint.path}: {name} is {total_name}, those after a cutoff too", f"{service.line(endpoint, 'envelope')}: leave {name} out")  # fmt: skip


def _as_own_rows(
    service: Service, endpoint: Endpoint, rows: list[Row], moments: list[datetime | None]
) -> tuple[pd.DataFrame, OwnManifest]:
    import pandas as pd

    stamp = endpoint.as_of.stamp
    lag = endpoint.as_of.lag_days if isinstance(endpoint.as_of.lag_days, int) else 0
    moments = [moment.replace(tzinfo=None) + timedelta(days=lag) if moment else None for moment in moments]
    plain = [{name: value for name, value in row.items() if not isinstance(value, dict | list)} for row in rows]  # fmt: skip
    columns = pd.DataFrame(plain)
    dated = [column for column in columns if stamp is None or column != stamp.field]
    dates = pd.to_datetime(pd.Series(moments), errors="coerce")
    if dates.isna().all():
        # static rows are about the first of their dates that can be read
        texts = [columns[column] for column in columns if not pd.api.types.is_numeric_dtype(columns[column])]
        read = [pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True) for text in texts]
        dates = next((parsed.dt.tz_localize(None) for parsed in read if parsed.notna().any()), dates)
    about = dates - pd.Timedelta(lag + 1, unit="D")
    frame = pd.concat([columns[dated], pd.DataFrame({DATE: about, KNOWN: dates, PLACE: range(len(rows))})], axis=1)  # fmt: skip
    policy = OwnPolicy(kind="static") if stamp is None else OwnPolicy(kind="known", column=stamp.field)
    manifest = OwnManifest(
        name=service.name, version="0" * 64, added_at=datetime.now(UTC), origin=service.path, policy=policy, date=DATE, zone="UTC",
        columns=tuple(OwnColumn(name=str(name), type="number" if pd.api.types.is_numeric_dtype(columns[name]) else "text") for name in dated),
    )  # fmt: skip
    return frame, manifest


async def attack_service(service: Service) -> Row:
    """List what a service's file lets through of the time after past cutoffs: ``workbench source attack``; no network.

    An upstream is made from the file: rows of three years, dated as the file says. Worlds that agree on everything before a cutoff
    (later rows left out, with other values, under other names) must give the same bytes as of it.
    """
    findings: list[Finding] = []
    for endpoint in service.endpoints:
        for text in _ATTACKED:
            cutoff = Cutoff.parse(text)
            leak = await _worlds_differ(service, endpoint, cutoff)
            if leak is not None:
                findings.append(leak)
                break
        if endpoint.as_of.policy not in ("vintage", "revision_at") and not (endpoint.as_of.window and endpoint.as_of.window.at):  # fmt: skip
            findings.append(finding("note", f"{endpoint.path}: a value that is revised in place shows at every cutoff, which is why its residual risk is {endpoint.as_of.residual}"))  # fmt: skip
    return findings_document(service.name, "", findings)


async def _worlds_differ(service: Service, endpoint: Endpoint, cutoff: Cutoff) -> Finding | None:
    plain = await _world_answer(service, endpoint, cutoff, lambda day, row: row)
    other_worlds: dict[str, Callable[[date, Row], Row | None]] = {
        "later rows": lambda day, row: None,
        "later values": lambda day, row: {name: value * 3 + 1_000_003 if isinstance(value, float) else value for name, value in row.items()},
        "later names": lambda day, row: {name: "renamed" if isinstance(value, str) and value.startswith("name") else value for name, value in row.items()},
    }  # fmt: skip
    for world, change in other_worlds.items():
        changed = await _world_answer(service, endpoint, cutoff, change)
        if changed == plain:
            continue
        try:
            rows_differ = _rows_of(changed, endpoint) != _rows_of(plain, endpoint)
        except (ShapeError, TypeError):
            rows_differ = True
        mend = service.line(endpoint, "as_of") if rows_differ or not endpoint.envelope else f"{service.line(endpoint, 'envelope')}: leave out what counts all rows"  # fmt: skip
        return finding("leaks", f"{endpoint.path}: {world} show as of {cutoff.text[:10]}", mend)
    return None


async def _world_answer(
    service: Service,
    endpoint: Endpoint,
    cutoff: Cutoff,
    change: Callable[[date, Row], Row | None],
) -> Any:
    rows = []
    for number in range(_MONTHS):
        day = date(2016 + number // 12, number % 12 + 1, 15)
        row: Row | None = _made_row(endpoint, number, day)
        if day >= cutoff.last_moment_day:
            row = change(day, dict(row or {}))
            if row is not None and endpoint.as_of.stamp is not None:
                _put(row, endpoint.as_of.stamp.field, _stamp_written(endpoint, day))
        if row is not None:
            rows.append(row)
    with tempfile.TemporaryDirectory(prefix="workbench-attack-") as folder:
        (Path(folder) / f"{service.name}.yaml").write_text(service.text, encoding="utf-8")
        keys = {service.name: "client:attack-key"} if service.info.key else {}
        fixed = datetime(2020, 1, 1, tzinfo=UTC)
        settings = ProxySettings(catalogue_folder=Path(folder), keys=keys, now=lambda: fixed)
        try:
            return await _call_example(settings, endpoint, cutoff, lambda info: _MadeUpstream(endpoint, rows))
        except ProxyError as error:
            return str(error)


class _MadeUpstream(Transport):
    """Answers every request with the same rows, in the form that an endpoint's file states."""

    def __init__(self, endpoint: Endpoint, rows: Sequence[Fields]) -> None:
        self._body = _made_body(endpoint, rows)

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        """Return the rows whatever was asked: an upstream that ignores windows is the hardest to clamp."""
        return HttpResponse(status=200, headers={}, body=self._body)

    async def aclose(self) -> None:
        """Do nothing."""


def _made_body(endpoint: Endpoint, rows: Sequence[Fields]) -> bytes:
    if endpoint.answer == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    data = _nested(steps_of(endpoint.rows or ""), rows)
    if isinstance(data, dict):
        data |= {name: float(len(rows)) for name in endpoint.envelope if name not in data}
    return orjson.dumps(data)


def _made_row(endpoint: Endpoint, number: int, day: date) -> Row:
    stamp = endpoint.as_of.stamp
    row: Row = {}
    for place, name in enumerate(endpoint.fields):
        # every other one is a name: what is renamed later must not show either
        row[name] = float((number * 7 + place) % 13) if place % 2 else f"name {number % 3}"
    if stamp is not None:
        _put(row, stamp.field, _stamp_written(endpoint, day))
    return row


def _put(row: Row, field: str, value: Any) -> None:
    *way, last = field.split(".")
    for name in way:
        row = row.setdefault(name, {}) if isinstance(row.get(name, {}), dict) else row
    row[last] = value


def _stamp_written(endpoint: Endpoint, day: date) -> Any:
    stamp = endpoint.as_of.stamp
    assert stamp is not None
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    if stamp.pattern:
        return noon.strftime(stamp.pattern)
    form: Row = {
        "epoch": int(noon.timestamp()), "month": f"{day:%Y-%m}", "compact": f"{day:%Y%m%d}", "year": day.year,
        "digits": f"{noon:%Y%m%dT%H%M%SZ}",
    }  # fmt: skip
    return form.get(stamp.form, noon.isoformat() if stamp.grain == "instant" else day.isoformat())


def _nested(steps: Sequence[RowStep], rows: Sequence[Fields]) -> Any:
    if not steps:
        return rows[0] if rows else {}
    step, inner = steps[0], steps[1:]
    if step.kind == "key":
        return {step.names[0]: _nested(inner, rows)}
    if step.kind == "any":
        return {"series": _nested(inner, rows)}
    if step.kind == "columns":
        return {name: [row.get(name) for row in rows] for name in step.names}
    if any(later.kind == "each" for later in inner):
        return [_nested(inner, rows)]
    return [_nested(inner, [row]) for row in rows]


async def _call_example(
    settings: ProxySettings,
    endpoint: Endpoint,
    cutoff: Cutoff,
    transport: Callable[[SourceInfo], Transport] | None = None,
) -> Any:
    (reply,) = await ask_all(settings, cutoff, [(endpoint.path, endpoint.example)], transport)
    if isinstance(reply, ProxyError):
        raise reply
    return reply.data


def _rows_of(data: Any, endpoint: Endpoint) -> list[Row]:
    return [row for row in rows_at(data, endpoint.rows or "") if isinstance(row, dict)]
