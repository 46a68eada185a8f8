"""What EDGAR answers in a world."""

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import Fields, writer_of
from tests.fakes.upstream_tokens import Tokens


class SecAnswers(Tokens):
    """Filings, reported figures, hits of the full-text search."""

    def _sec(self, rest: str, seen: Seen) -> Sent:
        writer = writer_of(self.path)
        assert writer is not None
        if self.path == "sec/submissions":
            rows = [
                {"accessionNumber": f"n{n}", "act": "", **row}
                for n, row in enumerate(self.rows(writer, token_field="primaryDocument"))
            ]
            # what was filed since pushes older filings into files of their own
            old = rows[: {"recent": 0, "file": len(rows)}.get(self.door, len(self.moments) // 2)]
            if rest.endswith("-submissions-001.json"):
                # older files have no columns for what was not asked then
                return Sent({name: column for name, column in _columns(old).items() if name != "act"})
            files = [{"name": "CIK-submissions-001.json", "filingCount": len(old), "filingFrom": "1994-01-26", "filingTo": "2099-01-01"}]  # fmt: skip
            filings = {"recent": _columns(rows[len(old) :]), "files": files if old else []}
            return Sent(
                self._envelope(
                    {"cik": "1", "name": self.later(), "tickers": [self.later()], "filings": filings}
                )
            )
        return self.rows_shaped()


def _columns(rows: list[Fields]) -> Fields:
    names = dict.fromkeys(name for row in rows for name in row)
    return {"accessionNumber": []} | {name: [row.get(name) for row in rows] for name in names}
