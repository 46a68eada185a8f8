"""What Exa, Brave and Wikipedia answer in a world."""

from datetime import UTC, datetime, timedelta

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import Fields, event, ny, writer_of
from tests.fakes.upstream_tokens import Tokens


class WebAnswers(Tokens):
    """Search results, pages, edits."""

    def _exa(self, rest: str, seen: Seen) -> Sent:
        return Sent(
            {
                **self._envelope({"results": self._hits("publishedDate", "text")}),
                "autopromptString": self.later(),
            }
        )

    def _brave(self, rest: str, seen: Seen) -> Sent:
        hits = self._hits("page_age", "description")
        if rest.startswith("news"):
            return Sent(self._envelope({"results": hits}))
        return Sent(
            {
                **self._envelope({"web": {"results": hits}}),
                "infobox": self.later(),
                "summarizer": {"key": self.later()},
            }
        )

    def _hits(self, stamp: str, text: str) -> list[Fields]:
        writer = writer_of(self.path)
        assert writer is not None
        hits = [
            {
                "title": "A page",
                "summary": self.later(),
                "age": self.later(),
                "extras": {"links": [self.later()]},
                **row,
            }
            for row in self.rows(writer, token_field="url")
        ]
        ahead = ny(self.cutoff).date() + timedelta(days=1 + len(self.moments))
        old = writer(self.cutoff - timedelta(days=500))
        told = [ahead.isoformat(), ahead.strftime("%B %-d, %Y"), ahead.strftime("%-d %b %Y")]
        hits += [
            {**old.fields, "title": "Old page", "url": self.later(), text: f"As of {words} it rose."}
            for words in told
        ]
        return hits

    def _wikipedia(self, rest: str, seen: Seen) -> Sent:
        writer = event("timestamp")
        if rest.startswith("wikimedia"):
            made = writer_of(self.path)
            assert made is not None
            return Sent(self._envelope({"items": self.rows(made, token_field="views")}))
        if self.path == "wikipedia/search":
            if seen.query.get("list") == "search":
                hits = [
                    {"pageid": n, "title": self.token(self.label(writer(m)), n), "snippet": self.later()}
                    for n, m in enumerate(self.moments)
                ]
                return Sent({"query": {"search": hits}})
            number = int(seen.query["pageids"])
            return Sent(
                {"query": {"pages": [{"pageid": number, "revisions": [writer(self.moments[number]).fields]}]}}
            )
        if self.path == "wikipedia/revisions":
            return Sent(
                {"query": {"pages": [{"title": "T", "revisions": self.rows(writer, token_field="comment")}]}}
            )
        # the newest revision up to rvstart, as the service does; one that ignores it is a hostile answer
        facts = sorted((writer(m) for m in self.moments), key=lambda fact: fact.known)
        wanted = (
            datetime.fromisoformat(seen.query["rvstart"])
            if "rvstart" in seen.query
            else datetime.max.replace(tzinfo=UTC)
        )
        standing = [fact for fact in facts if fact.known <= wanted]
        if not standing:
            return Sent({"query": {"pages": [{"title": "T", "missing": True}]}})
        fact = standing[-1]
        text = f"Lead.\n== {self.token(self.label(fact), 0)} ==\nText."
        return Sent(
            {
                "query": {
                    "pages": [
                        {
                            "title": "T",
                            "touched": self.later(),
                            "revisions": [{"revid": 1, **fact.fields, "slots": {"main": {"content": text}}}],
                        }
                    ]
                }
            }
        )
