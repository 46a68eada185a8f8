"""Files by chance (labels, spacing, zones, separators, lags): each row counts when its period is over, and `attack` finds what was planted."""

import asyncio
import csv
import io
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from proxies.vendors.own.own_manifest import DATE, KNOWN
from workbench.sources.own_store import store_source
from workbench.sources.source_attack import attack_source
from workbench.sources.source_origin import open_source

HOUR = -1
#: Months of a period and how its first moment is written; 0: weeks, None: days.
LABELS: dict[str, tuple[int | None, str]] = {
    "year": (12, "{y}"),
    "half": (6, "{y}H{h}"),
    "quarter": (3, "{y}Q{q}"),
    "quarter behind": (3, "Q{q} {y}"),
    "month": (1, "{y}-{m:02}"),
    "month in words": (1, "{b} {y}"),
    "statistical month": (1, "{y}M{m:02}"),
    "first day": (1, "{y}-{m:02}-01"),
    "first day in words": (1, "1 {b} {y}"),
    "week": (0, "{w}"),
    "Monday": (0, "{y}-{m:02}-{d:02}"),
    "day": (None, "{y}-{m:02}-{d:02}"),
    "day with slashes": (None, "{y}/{m:02}/{d:02}"),
    "midnight of a month": (1, "{z}"),
    "midnight": (None, "{z}"),
    "hour": (HOUR, "{z}"),
    "hour of UTC": (HOUR, "{u}"),
}
ZONES = ["UTC", "America/New_York", "Europe/London", "Asia/Kolkata", "Pacific/Auckland"]
PLANTS = ["", "", "out", "late", "early", "static", "total", "share"]


def starts(
    months: int | None, every: int, count: int, first: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """First days of periods and of what follows them, reckoned without pandas."""
    for number in range(count):
        if months == HOUR:
            start = first + number * timedelta(hours=1)
            yield start, start + timedelta(hours=1)
        elif months:
            month = 12 * first.year + months * every * number
            yield tuple(datetime(m // 12, m % 12 + 1, 1) for m in (month, month + months))  # type: ignore[misc]  # noqa: DTZ001
        else:
            length = timedelta(days=7 if months == 0 else 1)
            start = first + number * every * length
            yield start, start + length


def written(form: str, start: datetime, zone: ZoneInfo) -> str:
    year, week, _ = start.isocalendar()
    return form.format(
        y=start.year, m=start.month, d=start.day, b=start.strftime("%b"), q=(start.month + 2) // 3, h=(start.month + 5) // 6,
        w=f"{year}-W{week:02}", u=f"{start.replace(tzinfo=zone).astimezone(UTC):%Y-%m-%dT%H:%MZ}", z=start.replace(tzinfo=zone).isoformat(sep=" "),
    )  # fmt: skip


def number(value: float, decimal: str, thousands: str) -> str:
    text = f"{value:,.2f}" if thousands else f"{value:.2f}"
    return text.replace(",", "T").replace(".", decimal).replace("T", thousands)


def generated(seed: int) -> tuple[str, dict[str, Any], list[datetime], str]:
    """A file, what is said of it, when each row is over by its zone, and what was planted."""
    chance = random.Random(seed)
    months, form = LABELS[chance.choice(list(LABELS))]
    plant = chance.choice(PLANTS)
    name, lag, every = chance.choice(ZONES), chance.choice([0, 1, 9, 45]), chance.choice([1, 1, 2, 3])
    if form == "1 {b} {y}" or form.endswith("-01") or form in ("{z}", "{u}"):
        every = 1  # days that are two periods apart may stand for both
    if (months == 0 or months == 12) and every == 2 and "w" not in form:
        every = 1
    zone, count = ZoneInfo(name), chance.randrange(8, 30)
    first = datetime(1990 + chance.randrange(20), 1, 1)  # noqa: DTZ001
    if months == 0:
        first += timedelta(days=-first.weekday() % 7)
    periods = list(starts(months, every, count, first))
    ends = [end.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None) for _, end in periods]
    separator = chance.choice(",;\t|")
    decimal = chance.choice(".,")
    thousands = chance.choice(["", ",."[decimal == ","]])
    values = [round(chance.uniform(-5_000, 90_000), 2) for _ in periods]
    total = sum(values)
    more = {
        "out": lambda n: f"{ends[n] + timedelta(days=lag):%Y-%m-%d}",
        "late": lambda n: f"{ends[n] + timedelta(days=lag + 20):%Y-%m-%d}",
        "early": lambda n: (
            f"{periods[n][0] if (months or 0) > 0 else ends[n] - timedelta(days=3):{'%Y-%m-%d' if months != HOUR else '%Y-%m-%dT%H:%MZ'}}"
        ),
        "total": lambda n: number(total, decimal, thousands),
        "share": lambda n: repr(values[n] / total),
    }.get(plant)
    text = io.StringIO()
    rows = csv.writer(text, delimiter=separator)
    rows.writerow(["when", "x", *(["more"] if more else [])])
    for place, (start, _) in enumerate(periods):
        cells = [written(form, start, zone), number(values[place], decimal, thousands)]
        rows.writerow([*cells, *([more(place)] if more else [])])
    said: dict[str, Any] = {"date": "when", "value": "x", "zone": name}
    said |= {"early": {"known": "more"}, "static": {"static": True}}.get(plant, {"lag": f"{lag}d"})
    return text.getvalue(), said, [end + timedelta(days=lag) for end in ends], plant


def hold(seed: int, folder: Path) -> None:
    text, said, over, plant = generated(seed)
    path = folder / "file.csv"
    path.write_text(text)
    new = asyncio.run(open_source(folder, "orders", path, said, environ={}))
    if "lag" in said:
        assert new.rows[KNOWN].tolist() == over, text[:200]
    else:
        assert len(new.rows) == len(over) and new.rows[DATE].is_monotonic_increasing
    store_source(folder, new)
    found = asyncio.run(attack_source(folder, "orders"))["findings"]
    leaks = [line["words"] for line in found if line["kind"] == "leaks"]
    assert bool(leaks) == (plant not in ("", "out")), (plant, leaks, text[:300])


@pytest.mark.parametrize("seed", range(2))
def test_some_files_by_chance(seed: int, tmp_path: Path) -> None:
    hold(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 50))
def test_more_files_by_chance(seed: int, tmp_path: Path) -> None:
    hold(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(50, 200))
def test_two_hundred_files_by_chance(seed: int, tmp_path: Path) -> None:
    hold(seed, tmp_path)
