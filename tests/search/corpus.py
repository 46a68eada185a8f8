"""The leak corpus: several hundred search results in our own words: hand-written templates (corpus.yaml) over twelve events.

The cutoff is 2024-06-01. Each late result holds a ``fact`` that nobody could have known then, in its body, address, title, a reader's
comment, the description of a picture or a stamp; the honest ones speak of the past or look ahead. Engines date them rightly, wrongly
or not at all.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

CUTOFF = "2024-06-01"
#: What is asked; its own address is blocked.
QUESTION = "Which of the twelve events of 2024 happen as planned? Resolution: https://rules.example.net/q/12"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was ahead at the cutoff: what it is, how it came out, and when."""

    key: str
    what: str
    outcome: str
    day: date
    who: str


EVENTS = (
    Event("rate", "the rate decision of the Fed", "the Fed lowered its rate by half a point", date(2024, 9, 18), "the central bank"),
    Event("vote-uk", "the general election in Britain", "Labour won a large majority", date(2024, 7, 5), "the opposition"),
    Event("games", "the medal table of the Paris Games", "the United States came out level with China on gold", date(2024, 8, 11), "the American team"),
    Event("capsule", "the return of the Starliner crew", "the capsule landed without its crew", date(2024, 9, 7), "the space agency"),
    Event("vote-us", "the presidential election in the United States", "the Republican candidate won every swing state", date(2024, 11, 6), "the Republicans"),
    Event("vote-fr", "the next vote for the French assembly", "the left became the largest group in a hung assembly", date(2024, 7, 8), "the government in Paris"),
    Event("yen", "the policy meeting of the Bank of Japan", "the bank raised its rate to a quarter of a percent", date(2024, 7, 31), "the bank in Tokyo"),
    Event("coin", "the price of bitcoin at the end of the year", "bitcoin traded above one hundred thousand dollars", date(2024, 12, 5), "the exchanges"),
    Event("storm", "the hurricane season in Florida", "the storm Milton made landfall near Siesta Key", date(2024, 10, 10), "the weather service"),
    Event("final", "the final of the European football championship", "Spain beat England by two goals to one", date(2024, 7, 15), "the Spanish team"),
    Event("prices", "the June report on consumer prices", "prices were lower than in the month before", date(2024, 7, 11), "the statistics office"),
    Event("caracas", "the presidential election in Venezuela", "both sides claimed the victory", date(2024, 7, 28), "the electoral council"),
)  # fmt: skip


#: The results about one event, by ``cases`` and ``held_out``; the fields in their texts are those of ``_fields``.
TEMPLATES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True, slots=True)
class Case:
    """One result. ``fact`` is what must not be told, "" for an honest one; ``kind`` is its row of the table."""

    kind: str
    url: str
    title: str
    published: str | None
    text: str
    fact: str = ""


def corpus() -> list[Case]:
    """All cases, in an order that does not change."""
    return _made("cases", date(2024, 3, 4), 7, "%B %-d, %Y")


def held_out() -> list[Case]:
    """Cases written after the rules were done: no rule was changed for them."""
    return _made("held_out", date(2024, 2, 1), 9, "%-d %B %Y")


def _made(group: str, first: date, apart: int, form: str) -> list[Case]:
    """The cases of a group: those of each event are said to be published ``apart`` days after those of the one before."""
    return [
        _case(template, _fields(number, event, form), first + timedelta(days=apart * number))
        for number, event in enumerate(EVENTS)
        for template in TEMPLATES[group]
    ]


def _case(template: dict[str, Any], fields: dict[str, str], past: date) -> Case:
    when = {"past": past.isoformat(), "late": fields["iso"], None: None}[template["published"]]
    texts = {
        name: template.get(name, "").format_map(fields) for name in ("kind", "url", "title", "text", "fact")
    }
    return Case(**texts, published=when)


def _fields(number: int, event: Event, form: str) -> dict[str, str]:
    fields = {"what": event.what, "outcome": event.outcome, "who": event.who}
    days = {
        "long_day": form, "month": "%B %Y", "iso": "%Y-%m-%d", "dotted": "%d.%m.%Y", "path": "%Y/%m/%d", "weekday": "%A",
        "stamp": "%Y%m%d101500",
    }  # fmt: skip
    return {
        **fields,
        **{name.capitalize(): text[0].upper() + text[1:] for name, text in fields.items()},
        **{name: event.day.strftime(day) for name, day in days.items()},
        "key": event.key,
        "calm": f"Little is known yet of {event.what}, and {event.who} keeps quiet.",
        "epoch": str(1_719_000_000 + 100_000 * number),
    }
