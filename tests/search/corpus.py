"""The leak corpus: several hundred search results in our own words, made of hand-written templates over twelve events.

The cutoff is 2024-06-01. Each late result holds a ``fact`` that nobody could have known then, in its body, address, title, a reader's
comment, the description of a picture or a stamp; the honest ones speak of the past or look ahead. Engines date them rightly, wrongly
or not at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

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
    return [case for number, event in enumerate(EVENTS) for case in _cases(number, event)]


def held_out() -> list[Case]:
    """Cases written after the rules were done: no rule was changed for them."""
    return [case for number, event in enumerate(EVENTS) for case in _held_out(number, event)]


def _held_out(number: int, event: Event) -> Iterator[Case]:
    past, iso = (date(2024, 2, 1) + timedelta(days=9 * number)).isoformat(), event.day.isoformat()
    long_day, month, dotted = (
        event.day.strftime("%-d %B %Y"),
        event.day.strftime("%B %Y"),
        event.day.strftime("%d.%m.%Y"),
    )

    def case(name: str, kind: str, text: str, fact: str = "") -> Case:
        return Case(
            kind,
            f"https://{name}-{event.key}.example.com/{event.key}/{name}",
            f"{event.what}: {name}",
            past,
            text,
            fact,
        )

    ordinary, honest = "held out, honest, ordinary prose", "held out, honest, no word of the future"
    dated, undated = "held out, late, with a day", "held out, late, no day"
    yield case(
        "due",
        ordinary,
        f"Officials prepare for {event.what}; a decision is due on {long_day}, people who know the plans said.",
    )
    yield case(
        "asked",
        ordinary,
        f"We do not know yet, {event.who} told reporters on 14 May 2024 when asked about {long_day}.",
    )
    yield case(
        "third",
        ordinary,
        f"{event.what[0].upper()}{event.what[1:]}, planned for {month}, would be the third in ten years.",
    )
    yield case(
        "survey",
        ordinary,
        f"A survey of April 2024 found 48 percent hopeful about {event.what}; the next one is out in {month}.",
    )
    yield case(
        "calendar",
        honest,
        f"The calendar of {event.who} names {long_day} as the day on which {event.what} is held.",
    )
    yield case("weekday", honest, f"{long_day} is a {event.day:%A}, rarely a good day for turnout.")
    yield case("tickets", honest, f"Tickets for {long_day} sold out in January 2024, and prices doubled.")
    yield case("bets", honest, f"A bet on {event.what} pays three to one on {iso}, bookmakers say.")
    yield case(
        "habit", honest, f"Since 2019 the day has been named two months early; this time it is {long_day}."
    )
    yield case(
        "model", honest, f"Our model, which has seen nothing after 2023, gives 62 percent for {month}."
    )
    yield case("ticker", dated, f"{iso} | {event.outcome} | more to follow", event.outcome)
    yield case("footage", dated, f"Footage of {dotted}. In short: {event.outcome}.", event.outcome)
    yield case("also", dated, f"Read also: {event.outcome} ({month})", event.outcome)
    yield case("thread", dated, f"anna_k · {long_day} · told you, {event.outcome}!", event.outcome)
    yield case("stands", dated, f"As things stand in {month}, {event.outcome}.", event.outcome)
    yield case("morning", undated, f"The morning after: {event.outcome}. Reactions poured in.", event.outcome)


def _cases(number: int, event: Event) -> Iterator[Case]:
    early = (date(2024, 3, 4) + timedelta(days=7 * number)).isoformat()
    past, late, iso = early, event.day.isoformat(), event.day.isoformat()
    long_day, month = event.day.strftime("%B %-d, %Y"), event.day.strftime("%B %Y")
    calm = f"Little is known yet of {event.what}, and {event.who} keeps quiet."
    outcome = event.outcome[0].upper() + event.outcome[1:]

    def site(name: str) -> str:
        return f"https://{name}-{event.key}.example.org"

    def honest(name: str, title: str, text: str, published: str | None = past, kind: str = "honest") -> Case:
        return Case(kind, f"{site(name)}/story/{event.key}-{name}", title, published, text)

    def wrong(name: str, kind: str, text: str, fact: str, title: str = "") -> Case:
        return Case(
            kind,
            f"{site(name)}/story/{event.key}-{name}",
            title or f"Notes on {event.what}, {name}",
            past,
            text,
            fact,
        )

    # honest, dated rightly; most of them look ahead
    yield honest(
        "ahead",
        f"What to expect of {event.what}",
        f"Analysts expect a close call on {long_day}; polls published in May 2024 point both ways.",
    )
    yield honest(
        "diary",
        f"Dates for the diary: {event.what}",
        f"It is scheduled for {long_day}. Preparations began in January 2024.",
    )
    yield honest(
        "odds",
        f"How likely is a surprise in {event.what}?",
        f"Traders see a chance of 41 percent ahead of {iso}, down from 55 percent in February 2024.",
    )
    yield honest(
        "history",
        f"A short history of {event.what}",
        "The last time, in 2021, turnout was low. It was higher in 2017, when 9.4 million took part.",
    )
    yield honest(
        "plan",
        f"{event.who[0].upper()}{event.who[1:]} sets out its plans",
        "By the end of 2025 spending is to fall by a tenth, according to a paper of 12 March 2024.",
    )
    yield honest(
        "doubt",
        f"Doubts grow over {event.what}",
        f"If nothing changes, {event.who} will have to explain itself. Nobody should be surprised by a delay.",
    )
    yield honest(
        "vow",
        f"The parties before {event.what}",
        "The members resolved to meet again in the autumn, and they settled an old quarrel over money in April.",
    )
    yield honest(
        "revised",
        f"Corrected: what we wrote on {event.what}",
        "Updated on 3 March 2024: an earlier version gave a wrong name. The forecast for the second half of 2024 stands.",
    )
    yield honest(
        "numbers",
        f"{event.what[0].upper()}{event.what[1:]} in numbers",
        "Order 20240118 was filed first; 1710000000 bytes of papers followed. The bond matures in 2031.",
    )
    yield honest("undated", f"Background on {event.what}", calm, None, "honest, no date")

    # late, and dated so
    yield Case(
        "late by date",
        f"{site('news')}/story/{event.key}",
        outcome,
        late,
        f"{outcome} on {long_day}.",
        event.outcome,
    )
    yield Case(
        "late by date",
        f"{site('wrap')}/story/{event.key}-w",
        f"After {event.what}",
        late,
        f"It is over: {event.outcome}.",
        event.outcome,
    )
    # no date at all
    yield Case(
        "no date",
        f"{site('wiki')}/story/{event.key}",
        f"All about {event.what}",
        None,
        f"On {long_day} {event.outcome}.",
        event.outcome,
    )
    yield Case(
        "no date",
        f"{site('forum')}/story/{event.key}-f",
        f"Talk about {event.what}",
        None,
        f"Who would have thought that {event.outcome}?",
        event.outcome,
    )
    # dated wrongly: the engine's date is before the cutoff
    yield wrong("body", "body, with its day", f"{calm} On {long_day} {event.outcome}.", event.outcome)
    yield wrong(
        "month",
        "body, with its day",
        f"In {month} {event.outcome}, which few had seen coming.",
        event.outcome,
    )
    yield wrong("iso", "body, with its day", f"Last edited {iso}: {event.outcome}.", event.outcome)
    yield wrong(
        "plain", "body, no day", f"In the end {event.outcome}, and {event.who} celebrated.", event.outcome
    )
    yield wrong("since", "body, no day", f"Much has changed since {event.outcome}.", event.outcome)
    yield wrong("title", "title, with its day", calm, event.outcome, f"{outcome} on {long_day}")
    yield wrong("headline", "title, no day", calm, event.outcome, f"It is done: {event.outcome}")
    yield wrong(
        "talk",
        "comment, with its day",
        f"{calm} Comment by Ann, {long_day}: it was clear that {event.outcome}.",
        event.outcome,
    )
    yield wrong("chat", "comment, no day", f"{calm} Bo writes: so {event.outcome} after all!", event.outcome)
    yield wrong(
        "photo",
        "picture, with its day",
        f"{calm} Picture: the crowd on {long_day}, after it was known that {event.outcome}.",
        event.outcome,
    )
    yield wrong("image", "picture, no day", f"{calm} Picture: cheers as {event.outcome}.", event.outcome)
    dated = f"{site('paper')}/{event.day:%Y/%m/%d}/{event.key}"
    yield Case("address", dated, f"A look at {event.what}", past, calm, f"{event.day:%Y/%m/%d}")
    stamp = f"{event.day:%Y%m%d}101500"
    yield Case(
        "stamp",
        f"{site('copy')}/snap/{stamp}/{event.key}",
        f"Copy of a page on {event.what}",
        past,
        calm,
        stamp,
    )
    epoch = str(1_719_000_000 + 100_000 * number)
    yield wrong("meta", "stamp", f"{calm} modified={epoch}", epoch)
    settled = f"This question has resolved: {event.outcome}."
    yield wrong("settled", "settled outcome", settled, event.outcome)
    # where outcomes stand, and the ways there
    market = f"polymarket.com/event/{event.key}"
    yield Case("site of outcomes", f"https://{market}", f"Market on {event.what}", past, "41 percent", market)
    yield Case(
        "site of outcomes",
        f"https://m.kalshi.com/markets/{event.key}",
        f"Contract on {event.what}",
        past,
        "38 cents",
        f"kalshi.com/markets/{event.key}",
    )
    yield Case(
        "site of outcomes",
        f"https://rules.example.net/q/12?part={event.key}",
        f"Rules on {event.what}",
        past,
        calm,
        "rules.example.net/q/12",
    )
    yield Case(
        "way round",
        f"https://web.archive.org/web/2023/https://{market}",
        f"Archive: market on {event.what}",
        past,
        "41 percent",
        market,
    )
    yield Case(
        "way round",
        f"https://polymarket-com.translate.goog/event/{event.key}",
        f"Translated: market on {event.what}",
        past,
        "41 percent",
        "translate.goog",
    )
    yield Case(
        "way round",
        f"https://go.example.org/out?u=https%3A%2F%2Fpolymarket.com%2Fevent%2F{event.key}",
        f"Link: {event.what}",
        past,
        calm,
        "polymarket.com",
    )
    yield Case("way round", f"https://bit.ly/{event.key}", f"Short: {event.what}", past, calm, "bit.ly")
