"""Rows with hidden labels: tokens inside them tell a test what was known before the cutoff and what was not."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

import pytest

from tests.fakes.upstream import SHAPES, Seen, fill
from tests.fakes.upstream_facts import Fact, Fields, Writer, writer_of

#: What a row's token does not stand in: days, names of companies and periods, texts.
AVOID = frozenset(
    [
        "date",
        "symbol",
        "cik",
        "fiscalYear",
        "period",
        "year",
        "quarter",
        "acceptedDate",
        "filingDate",
        "periodOfReport",
        "acceptanceTime",
        "title",
        "text",
        "declarationDate",
        "publishedDate",
        "disclosureDate",
        "ipoDate",
        "inceptionDate",
        "icoDate",
        "dateReported",
        "isEtf",
    ]
)


@dataclass
class Tokens:
    """The state of a world: moments around a cutoff, and the tokens handed out, by what they are."""

    cutoff: datetime
    moments: list[datetime]
    junk: list[Any] = field(default_factory=list)
    early: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    path: str = ""
    fields: tuple[str, ...] = ()
    open_rows: bool = False
    snapshot: bool = False
    # what happened to the entities (companies, markets) after the cutoff: they were delisted, merged, resolved at this moment
    ended: datetime | None = None
    # which of a vendor's doors holds the rows, see the catalogue; "" for the one that holds them as long as nothing ended
    door: str = ""
    seen: list[Seen] = field(default_factory=list)

    # -- tokens ---------------------------------------------------------------------------------------------

    def token(self, kind: str, number: int) -> str:
        text = f"{kind}x{number:04d}z"
        if kind == "late":
            self.late.add(text)
        elif kind == "early":
            self.early.add(text)
        return text

    def label(self, fact: Fact) -> str:
        if fact.known > self.cutoff:
            return "late"
        return "early" if fact.known + fact.slack < self.cutoff else "grey"

    def later(self) -> str:
        """A token of something that is only known today."""
        return self.token("late", 9000 + len(self.late))

    # -- rows -----------------------------------------------------------------------------------------------

    def rows(self, writer: Writer, *, token_field: str) -> list[Fields]:
        """Rows of all moments, then rows whose date is missing or broken, which nobody can vouch for."""
        out = []
        for number, moment in enumerate(self.moments):
            fact = writer(moment)
            row = {**fact.fields, token_field: self.token(self.label(fact), number)}
            out.append(row if self.open_rows else {**row, "surprise": self.later()})
        if self.moments:
            stamps = [
                name
                for name in writer(self.moments[0]).fields
                if name not in ("periodType", "quarter", "period")
            ]
            for bad in self.junk:
                out.append({**{name: bad for name in stamps}, token_field: self.later()})
        return out

    def token_field(self) -> str:
        plain = next((name for name in reversed(self.fields) if name not in AVOID), None)
        return plain or next(name for name in ("year", "fiscalYear", "symbol") if name in self.fields)

    @property
    def writer(self) -> Writer:
        """What stamps the rows of this world's endpoint."""
        writer = writer_of(self.path)
        return writer or self.unfilled("say in tests/fakes/upstream/facts.json when its facts are really out")

    def unfilled(self, step: str) -> NoReturn:
        """Fail the test, past the broker's own handling of exceptions, with what a new endpoint lacks."""
        pytest.fail(f"{self.path} is not filled in: {step}", pytrace=False)

    def facts(self, writer: Writer | None = None) -> list[tuple[Fact, str]]:
        """Each moment's fact with its token."""
        facts = map(writer or self.writer, self.moments)
        return [(fact, self.token(self.label(fact), number)) for number, fact in enumerate(facts)]

    # -- recorded shapes ------------------------------------------------------------------------------------

    def shaped(self, name: str, /, **holes: Any) -> Any:
        """The answer that ``upstream/answers.json`` records under a name, with its holes filled in."""
        return fill(SHAPES[name].get("answer", SHAPES[name]), {"later": self.later, **holes})

    def each(self, name: str, rows: list[Fields], /, **holes: Any) -> list[Any]:
        """The shape under a name around each of these rows."""
        return [
            fill(SHAPES[name], {"later": self.later, **holes, "row": row, "n": n})
            for n, row in enumerate(rows)
        ]

    def rows_shaped(self, more: list[Fields] | None = None, **holes: Any) -> Any:
        """The recorded answer of this world's endpoint, around a row for each moment."""
        if self.path not in SHAPES:
            self.unfilled(
                "write in tests/fakes/upstream/answers.json what the vendor answers around its rows"
            )
        shape = SHAPES[self.path]
        rows = self.rows(self.writer, token_field=shape["token"]) if more is None else more
        item = shape.get("item", {"$row": True})
        items = [fill(item, {"later": self.later, **holes, "row": row, "n": n}) for n, row in enumerate(rows)]
        if "columns" in shape:
            items = [[row.get(name) for name in shape["columns"]] for row in rows]
        return self.shaped(
            self.path, **{"rows": items, "count": len(items), "ones": [1] * len(items), **holes}
        )
