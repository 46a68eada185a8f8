"""What search engines, Wikipedia and the Wayback Machine answer in a world."""

import contextlib
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import event, ny, writer_of
from tests.fakes.upstream_tokens import SHAPES, Tokens


class WebAnswers(Tokens):
    """Search results, pages, edits."""

    def _hits(self, rest: str, seen: Seen) -> Sent:
        """Hits of a search engine: one for each moment, and old pages that speak of later days as past."""
        shape, writer = SHAPES[self.path], writer_of(self.path)
        assert writer is not None
        sent = self.rows_shaped()
        ahead = ny(self.cutoff).date() + timedelta(days=1 + len(self.moments))
        old = {**writer(self.cutoff - timedelta(days=500)).fields, "title": "Old page", shape["token"]: "u"}
        body = sent.body.get("web", sent.body)
        hits = body["organic" if "organic" in body else "results"]
        for words in (ahead.isoformat(), ahead.strftime("%B %-d, %Y"), ahead.strftime("%-d %b %Y")):
            hits.append({**old, shape["text"]: f"As of {words} it rose to {self.later()}."})
        return sent

    _exa = _brave = _tavily = _searxng = _hits

    def _serper(self, rest: str, seen: Seen) -> Sent:
        sent = self._hits(rest, seen)
        # as Google writes days; one that counts from today is no date
        for hit in sent.body["organic"]:
            if isinstance(hit["date"], str) and re.fullmatch(r"\d{4}-\d\d-\d\d", hit["date"]):
                with contextlib.suppress(ValueError):
                    hit["date"] = datetime.fromisoformat(hit["date"]).strftime("%b %-d, %Y")
        recent = {"title": "A page", "link": "r", "snippet": self.later(), "date": "3 days ago"}
        sent.body["organic"].append(recent)
        return sent

    def _gdelt(self, rest: str, seen: Seen) -> Sent:
        sent = self.rows_shaped()
        return sent if sent.body["articles"] else Sent({})

    def _wayback(self, rest: str, seen: Seen) -> Sent:
        writer = writer_of(self.path)
        assert writer is not None
        if rest.startswith("cdx"):
            rows = self.rows(writer, token_field="original")
            names = ["timestamp", "original", "surprise"]
            return Sent([names, *([row.get(name) for name in names] for row in rows)] if rows else [])
        # the newest copy up to the day that was asked for; a second without a copy leads to the nearest one
        facts = sorted((writer(m) for m in self.moments), key=lambda fact: fact.known)
        wanted = rest.split("/")[1].removesuffix("id_")
        standing = [fact for fact in facts if fact.fields["timestamp"][: len(wanted)] <= wanted]
        if not standing:
            return Sent(b"Hrm. The Wayback Machine has not archived that URL.", 404)
        moment = datetime.strptime(standing[-1].fields["timestamp"], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return Sent(
            f"<p>{self.token(self.label(standing[-1]), 0)}</p>".encode(),
            headers={
                "content-type": "text/html; charset=utf-8",
                "memento-datetime": format_datetime(moment, usegmt=True),
                "x-archive-src": self.later(),
            },
        )

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
