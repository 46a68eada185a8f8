"""Hand forecasts in to Metaculus, once each: what is about to be sent stands on the set's log first, so that a kill in the middle is looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from proxies.errors import NoSuch, SourceRejected
from proxies.hashing import content_hash
from proxies.vendors.metaculus import MetaculusSite
from workbench.questions.formats import metaculus
from workbench.questions.question import Question
from workbench.questions.sets.question_sets import SORT, QuestionSet
from workbench.questions.sets.schedule import closing
from workbench.store import Store
from workbench.store import events as ev

#: What a forecast is written by.
_SHAPE = ("kind", "options", "low", "high", "open_low", "open_high", "zero_point", "earliest", "latest")


def _shape(question: Question) -> dict[str, Any]:
    return {part: getattr(question, part) for part in _SHAPE} | {"steps": question.extra.get("steps")}


#: Forecasts of one request: the site takes all of them or none.
_BATCH = 20
Part = Literal["forecast", "comment"]


class Posted(NamedTuple):
    """What became of a forecast or comment: ``state`` is posted, before (it had been, also for another set), closed, refused, or in a dry run to post."""

    question: str
    part: Part
    state: str
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Posting:
    """The forecasts of a set, by question as Metaculus takes them, and the comments by post."""

    store: Store
    questions: QuestionSet
    entries: Mapping[str, Mapping[str, Any]]
    comments: Mapping[str, str]
    now: datetime
    private: bool = True

    def planned(self) -> list[Posted]:
        """Return what would be posted, and what is left; asks nobody."""
        entries, comments, rest = self._work()
        rows = [Posted(name, "forecast", "to post") for name in entries]
        return [*rows, *(Posted(post, "comment", "to post") for post in comments), *rest]

    async def post(self, site: MetaculusSite) -> list[Posted]:
        """Post what was not posted before and return what became of each; one that is refused does not stop the others.

        Raises `ProxyError`: The site does not answer, or no token is set; the same call goes on.
        """
        entries, _, rows = self._work()
        sent = self._sent("forecast")
        for name in [name for name, digest in entries.items() if sent.get(name) == ("sending", digest)]:
            if await self._arrived(site, name):
                rows.append(self._ended(name, "forecast", entries.pop(name)))
        held = await self._as_asked_now(site, list(entries))
        rows += held
        waiting = [name for name in entries if name not in {row.question for row in held}]
        for names in (waiting[start : start + _BATCH] for start in range(0, len(waiting), _BATCH)):
            with self.store.transaction():
                for name in names:
                    self._record(name, "forecast", "sending", entries[name])
            rows += await self._send(site, {name: entries[name] for name in names})
        entries, comments, _ = self._work()
        lacking = {self.questions[name].source_id for name in entries}
        for post, digest in comments.items():
            if post not in lacking:
                rows.append(await self._comment(site, post, digest))
        return rows

    async def _send(self, site: MetaculusSite, digests: Mapping[str, str]) -> list[Posted]:
        """Send forecasts in one request, and each by itself where one of them is refused."""
        try:
            await site.send_forecasts([self.entries[name] for name in digests])
        except SourceRejected as error:
            if len(digests) == 1:
                return [self._ended(name, "forecast", digest, str(error)) for name, digest in digests.items()]
            return [row for name, digest in digests.items() for row in await self._send(site, {name: digest})]
        with self.store.transaction():
            return [self._ended(name, "forecast", digest) for name, digest in digests.items()]

    async def _as_asked_now(self, site: MetaculusSite, names: Sequence[str]) -> list[Posted]:
        """Return the forecasts that are not sent: of questions that the site has closed, settled or changed since they were fetched.

        A distribution is a list of places between two ends: sent for other ends, it says something else, and the site takes it.
        """
        by_post: dict[str, list[str]] = {}
        for name in names:
            by_post.setdefault(self.questions[name].source_id, []).append(name)
        held = []
        for post, own in by_post.items():
            try:
                shown = [await site.post(post)]
            except NoSuch:
                shown = []
            now = metaculus.read_questions(shown)
            left_out, questions = dict(now.left_out), {question.id: question for question in now.questions}
            for name in own:
                if name not in questions:
                    why = left_out.get(name, "the site shows it no more")
                    held.append(Posted(name, "forecast", "closed", why))
                elif (row := self._held(name, questions[name])) is not None:
                    held.append(row)
        return held

    def _held(self, name: str, asked: Question) -> Posted | None:
        """What keeps a forecast back, if anything does, where the question stands as ``asked`` on the site."""
        if asked.values or self._is_over(asked):
            return Posted(name, "forecast", "closed", "closed on the site since it was fetched")
        known = _shape(self.questions[name])
        changed = [part for part, value in _shape(asked).items() if value != known[part]]
        if not changed:
            return None
        why = f"the site has changed {', '.join(changed)} since it was fetched: fetch and forecast it again"
        return Posted(name, "forecast", "refused", why)

    def _is_over(self, question: Question) -> bool:
        close = closing(question)
        return bool(question.outcomes) or (close is not None and close <= self.now)

    async def _comment(self, site: MetaculusSite, post: str, digest: str) -> Posted:
        text = self.comments[post]
        maybe = self._sent("comment").get(post) == ("sending", digest)
        if not maybe or text not in await site.own_comments(post, private=self.private):
            self._record(post, "comment", "sending", digest)
            try:
                await site.send_comment(int(post), text, private=self.private)
            except SourceRejected as error:
                return self._ended(post, "comment", digest, str(error))
        return self._ended(post, "comment", digest)

    async def _arrived(self, site: MetaculusSite, name: str) -> bool:
        try:
            standing = (await site.standing(self.questions[name].source_id)).get(name)
        except NoSuch:
            return False
        expected = _values(self.questions[name], self.entries[name])
        return (
            standing is not None
            and len(standing) == len(expected)
            and all(abs((one or 0.0) - other) < 1e-9 for one, other in zip(standing, expected, strict=True))
        )

    def _work(self) -> tuple[dict[str, str], dict[str, str], list[Posted]]:
        """The digests of forecasts and of comments that are to be posted, and the rest with its reason."""
        over = [name for name in self.entries if self._is_over(self.questions[name])]
        entries = {name: content_hash(entry) for name, entry in self.entries.items() if name not in over}
        by_post: dict[str, list[str]] = {}
        for name, digest in entries.items():
            by_post.setdefault(self.questions[name].source_id, []).append(digest)
        comments = {post: content_hash(sorted(digests)) for post, digests in by_post.items()}
        rest = [Posted(name, "forecast", "closed") for name in over]
        parts: tuple[tuple[Part, dict[str, str]], ...] = (("forecast", entries), ("comment", comments))
        for part, digests in parts:
            accepted = self._accepted(part)
            for node in [node for node, digest in digests.items() if (node, digest) in accepted]:
                del digests[node]
                rest.append(Posted(node, part, "before"))
        return entries, {post: comments[post] for post in comments if self.comments.get(post)}, rest

    def _sent(self, part: Part, name: str | None = None) -> dict[str, tuple[str, str]]:
        """State and digest of what was sent last of each question or post, from this set or another."""
        stream = f"{SORT}:{name or self.questions.name}"
        return {
            stored.event.node: (stored.event.state, stored.event.digest)
            for stored in self.store.events(stream, kinds=["forecast.posted"])
            if isinstance(stored.event, ev.ForecastPosted) and stored.event.part == part
        }

    def _accepted(self, part: Part) -> set[tuple[str, str]]:
        """What this set and others have posted last: a question may be in two tournaments."""
        return {
            (node, digest)
            for name in self.store.streams(SORT)
            for node, (state, digest) in self._sent(part, name).items()
            if state == "accepted"
        }

    def _ended(self, node: str, part: Part, digest: str, refused: str | None = None) -> Posted:
        """Record what became of a part that was sent; ``refused`` is the site's reason where it was not taken."""
        self._record(node, part, "accepted" if refused is None else "refused", digest, refused or "")
        return Posted(node, part, "posted" if refused is None else "refused", refused or "")

    def _record(
        self,
        node: str,
        part: Part,
        state: Literal["sending", "accepted", "refused"],
        digest: str,
        reason: str = "",
    ) -> None:
        event = ev.ForecastPosted(node=node, part=part, state=state, digest=digest, reason=reason[:400])
        self.store.append(f"{SORT}:{self.questions.name}", event)


def _values(question: Question, entry: Mapping[str, Any]) -> list[float]:
    """A forecast as the site gives it back."""
    if "probability_yes" in entry:
        return [1 - entry["probability_yes"], entry["probability_yes"]]
    if "continuous_cdf" in entry:
        return list(entry["continuous_cdf"])
    return [entry["probability_yes_per_category"][option] for option in question.options]
