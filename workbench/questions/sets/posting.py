"""Hand forecasts in to Metaculus, once each: what is about to be sent stands on the set's log first, so that a kill in the middle is looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from proxies.errors import SourceRejected
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
        entries, _, rest = self._work()
        rows = [*rest]
        sent = self._states("forecast")
        for name in [name for name, digest in entries.items() if sent.get(name) == ("sending", digest)]:
            if await self._arrived(site, name):
                self._record(name, "forecast", "accepted", entries.pop(name))
                rows.append(Posted(name, "forecast", "posted"))
        standing = await self._as_asked_now(site, list(entries))
        rows += standing
        waiting = [name for name in entries if name not in {row.question for row in standing}]
        for names in (waiting[start : start + _BATCH] for start in range(0, len(waiting), _BATCH)):
            with self.store.transaction():
                for name in names:
                    self._record(name, "forecast", "sending", entries[name])
            try:
                await site.send_forecasts([self.entries[name] for name in names])
            except SourceRejected as error:
                rows += [
                    await self._alone(site, name, entries[name], error if len(names) == 1 else None)
                    for name in names
                ]
                continue
            with self.store.transaction():
                for name in names:
                    self._record(name, "forecast", "accepted", entries[name])
            rows += [Posted(name, "forecast", "posted") for name in names]
        entries, comments, _ = self._work()
        lacking = {self.questions[name].source_id for name in entries}
        for post, digest in comments.items():
            if post not in lacking:
                rows.append(await self._comment(site, post, digest))
        return rows

    async def _as_asked_now(self, site: MetaculusSite, names: Sequence[str]) -> list[Posted]:
        """Return the forecasts that are not sent: of questions that the site has closed, settled or changed since they were fetched.

        A distribution is a list of places between two ends: sent for other ends, it says something else, and the site takes it.
        """
        by_post: dict[str, list[str]] = {}
        for name in names:
            by_post.setdefault(self.questions[name].source_id, []).append(name)
        held = []
        for post, own in by_post.items():
            now = metaculus.read_questions([await site.post(post)])
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
        close = closing(asked)
        if asked.outcomes or asked.values or (close is not None and close <= self.now):
            return Posted(name, "forecast", "closed", "closed on the site since it was fetched")
        known = _shape(self.questions[name])
        changed = [part for part, value in _shape(asked).items() if value != known[part]]
        if not changed:
            return None
        why = f"the site has changed {', '.join(changed)} since it was fetched: fetch and forecast it again"
        return Posted(name, "forecast", "refused", why)

    async def _alone(
        self, site: MetaculusSite, name: str, digest: str, error: SourceRejected | None
    ) -> Posted:
        if error is None:
            try:
                await site.send_forecasts([self.entries[name]])
            except SourceRejected as refused:
                error = refused
        self._record(name, "forecast", "refused" if error else "accepted", digest, str(error or ""))
        return Posted(name, "forecast", "refused" if error else "posted", str(error or ""))

    async def _comment(self, site: MetaculusSite, post: str, digest: str) -> Posted:
        text = self.comments[post]
        maybe = self._states("comment").get(post) == ("sending", digest)
        if not maybe or text not in await site.own_comments(post, private=self.private):
            self._record(post, "comment", "sending", digest)
            try:
                await site.send_comment(int(post), text, private=self.private)
            except SourceRejected as error:
                self._record(post, "comment", "refused", digest, str(error))
                return Posted(post, "comment", "refused", str(error))
        self._record(post, "comment", "accepted", digest)
        return Posted(post, "comment", "posted")

    async def _arrived(self, site: MetaculusSite, name: str) -> bool:
        standing = (await site.standing(self.questions[name].source_id)).get(name)
        expected = _values(self.questions[name], self.entries[name])
        return (
            standing is not None
            and len(standing) == len(expected)
            and all(abs((one or 0.0) - other) < 1e-9 for one, other in zip(standing, expected, strict=True))
        )

    def _work(self) -> tuple[dict[str, str], dict[str, str], list[Posted]]:
        """The digests of forecasts and of comments that are to be posted, and the rest with its reason."""
        entries: dict[str, str] = {}
        rest: list[Posted] = []
        sent, by_post, elsewhere = (
            self._states("forecast"),
            dict[str, list[str]](),
            self._elsewhere("forecast"),
        )
        for name, entry in self.entries.items():
            digest = content_hash(entry)
            question = self.questions[name]
            close = closing(question)
            if question.outcomes or (close is not None and close <= self.now):
                rest.append(Posted(name, "forecast", "closed"))
                continue
            by_post.setdefault(question.source_id, []).append(digest)
            if sent.get(name) == ("accepted", digest) or (name, digest) in elsewhere:
                rest.append(Posted(name, "forecast", "before"))
            else:
                entries[name] = digest
        said, comments, elsewhere = self._states("comment"), dict[str, str](), self._elsewhere("comment")
        for post, digests in by_post.items():
            digest = content_hash(sorted(digests))
            if said.get(post) == ("accepted", digest) or (post, digest) in elsewhere:
                rest.append(Posted(post, "comment", "before"))
            elif self.comments.get(post):
                comments[post] = digest
        return entries, comments, rest

    def _states(self, part: Part, name: str | None = None) -> dict[str, tuple[str, str]]:
        """State and digest of what was sent last of each question or post, from this set or another."""
        return {
            stored.event.node: (stored.event.state, stored.event.digest)
            for stored in self.store.events(
                f"{SORT}:{name or self.questions.name}", kinds=["forecast.posted"]
            )
            if isinstance(stored.event, ev.ForecastPosted) and stored.event.part == part
        }

    def _elsewhere(self, part: Part) -> set[tuple[str, str]]:
        """What other sets have posted last: a question may be in two tournaments."""
        return {
            (node, digest)
            for name in self.store.streams(SORT)
            if name != self.questions.name
            for node, (state, digest) in self._states(part, name).items()
            if state == "accepted"
        }

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
