"""Sets of questions: read, fetched, made, listed, resolved, sorted by topic, and written to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from workbench.errors import PROVIDER, UsageError
from workbench.formatting import counted
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, blocks_of, columns, table_of
from workbench.operations.fields import ApiBase, Count, CutoffText, Dollars, PricePairs, SetName, Words
from workbench.questions.sets.selection import RULES, SelectionRules
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.models.base import Asker
    from workbench.questions.formats.base import LeftOut, QuestionFile
    from workbench.questions.question import Question
    from workbench.questions.sets.question_sets import QuestionSet
    from workbench.questions.sets.schedule import HalvingSchedule
    from workbench.studies.contexts.collection import Wanted

NewName = Annotated[
    str | None, Says(text="Name of the set; the file's or the venue's without it.", word="as", form="NAME")
]


class _Selects(SelectionRules, Operation):
    rules: Literal["none", "analytica-paper", "prophet-paper"] = "none"
    """Which events are kept; the options of the filters change single bounds."""
    name: NewName = None

    def kept(self, home: Home, name: str, reading: QuestionFile, *, form: str, origin: str) -> dict[str, Any]:
        """Put the events that pass the filters into the set."""
        from workbench.questions.formats.base import LeftOut, QuestionFile
        from workbench.questions.sets.question_sets import add_questions
        from workbench.questions.sets.selection import select

        bounds = {
            field: value
            for field, info in SelectionRules.model_fields.items()
            if (value := getattr(self, field)) != info.default
        }
        selection = select(reading.questions, RULES[self.rules].model_copy(update=bounds))
        dropped = [LeftOut(v.event, f"{v.filter}: {v.reason}") for v in selection.verdicts if v.filter]
        remaining = QuestionFile(questions=selection.questions, left_out=(*reading.left_out, *dropped))
        changed = add_questions(home.store, name, remaining, form=form, origin=origin)
        return {
            "set": name,
            "format": form,
            "read": len(reading.questions),
            "kept": len(selection.questions),
            "new_or_changed": changed,
            "filters": [count._asdict() for count in selection.counts],
            "left_out": left_out_rows(remaining.left_out),
        }


class ImportQuestions(_Selects):
    """Import a file of questions into a set. Refused rows are listed with the reason."""

    places = ("file",)
    short = ("name", "rules", "closes_from", "closes_to", "min_volume", "size")

    file: Path
    """CSV, JSON, ForecastBench, Prophet Arena, Metaculus, Kalshi, Polymarket."""
    form: Annotated[
        str | None, Says(text="Name of the format, if it is not to be told from the file.", word="format")
    ] = None

    def answer(self, home: Home) -> dict[str, Any]:
        """Return what was read and kept, and what every filter dropped."""
        from workbench.questions.formats.format_registry import read_file

        reading, form = read_file(self.file, self.form)
        name = self.name or self.file.name.partition(".")[0]
        return self.kept(home, name, reading, form=form, origin=self.file.name)


class FetchQuestions(_Selects):
    """Fetch open questions of a venue into a set, and keep those that pass the filters. The count of each filter is printed.

    Run it again at any time: new questions join the set, and closed ones are no longer forecast.
    """

    places = ("venue",)
    short = ("name", "series", "rules", "closes_from", "closes_to", "size")

    venue: str
    """kalshi, polymarket, metaculus:TOURNAMENT (id or slug) or metaculus:questions/ID."""
    rules: Literal["none", "analytica-paper", "prophet-paper"] | None = None  # type: ignore[assignment]
    """Which events are kept; by default prophet-paper for markets, none for Metaculus."""
    series: Words = []
    """Kalshi series or Polymarket tag ids, by comma."""
    limit: Count = 200
    """Most events of each series."""
    cutoff: CutoffText = "now"
    """Of markets: what they showed then."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what was read and kept, and what every filter dropped."""
        from proxies.vendors.metaculus import MetaculusSite
        from workbench.operations.endpoints import data_caller
        from workbench.questions import venue_calls

        venue, _, part = self.venue.partition(":")
        if venue == venue_calls.METACULUS:
            if not part:
                raise UsageError(
                    "name the questions: metaculus:TOURNAMENT (its id or slug) or metaculus:questions/ID"
                )
            async with aclosing(MetaculusSite(home.environ)) as site:
                reading = await venue_calls.fetch_metaculus(site, part)
            request, name = self.model_copy(update={"rules": self.rules or "none"}), part.rpartition("/")[2]
        else:
            call = data_caller(home, self.cutoff)
            reading = await venue_calls.fetch_events(call, self.venue, series=self.series, limit=self.limit)
            part = ",".join(self.series) or "newest"
            request, name = self.model_copy(update={"rules": self.rules or "prophet-paper"}), venue
        return request.kept(home, self.name or name, reading, form=venue, origin=f"{venue} {part}")


class LongShort(Operation):
    """Make long-or-short questions from price histories, with the payoffs of both sides. Histories that cannot be evaluated are listed."""

    places = ("file",)

    file: Path
    """CSV of prices: symbol, date, close; also category, name."""
    start: Annotated[str, Says(text="Cutoff of the questions, a day.", form="DAY")]
    days: int = 365
    """Horizon; a year in paper A."""
    payoff: str = "analytica-paper"
    """What a dollar long or short comes to: plain or analytica-paper (costs, discount, cap)."""
    name: NewName = None

    def answer(self, home: Home) -> dict[str, Any]:
        """Return what was made, by category, and what was left out."""
        from workbench.questions.formats.format_registry import read_text
        from workbench.questions.formats.price_questions import read_price_history
        from workbench.questions.formats.question_tables import read_rows
        from workbench.questions.sets.question_sets import add_questions

        reading = read_price_history(
            read_rows(read_text(self.file)), self.start, days=self.days, payoff=self.payoff
        )
        name = self.name or self.file.name.partition(".")[0]
        changed = add_questions(home.store, name, reading, form="long-short", origin=self.file.name)
        counts = Counter(question.category or "none" for question in reading.questions)
        return {
            "set": name,
            "questions": len(reading.questions),
            "new_or_changed": changed,
            "categories": dict(counts.most_common()),
            "left_out": left_out_rows(reading.left_out),
        }


class ListQuestions(Operation):
    """List the question sets of this home, or the questions of one set."""

    places = ("name",)

    name: Annotated[str | None, Says(text="A set; all sets without it.", form="SET")] = None
    open_only: Annotated[bool, Says(text="Only questions that are not resolved.", word="open")] = False

    def answer(self, home: Home) -> dict[str, Any]:
        """Return a row for each set, or for each question of one."""
        from workbench.views.question_documents import set_document, sets_document

        if self.name is None:
            return sets_document(home.store)
        document = set_document(home.store, self.name)
        if self.open_only:
            document["questions"] = [row for row in document["questions"] if row["state"] != "resolved"]
        return document

    def show(self, document: dict[str, Any]) -> Iterable[Block]:
        """Return the rows."""
        if self.name is None:
            none = "no set yet: `workbench questions import FILE`, or `questions fetch VENUE`"
            return blocks_of(document) if document["sets"] else [Remark(none)]
        shown = ("id", "kind", "asked_on", "resolves", "crowd", "state")
        fields = {name: name for name in shown} | {"question": "title .90"}
        return [columns(document["questions"], **fields)]


class ShowQuestions(Operation):
    """Show one question with its events, or a set with the events that cannot be scored and why.

    A resolved question that was forecast gets a look back: forecast and outcome, the driver that was wrong, what was known when.
    """

    places = ("reference",)

    reference: Annotated[str, Says(text="A set or one of its questions.", form="SET[/QUESTION]")]
    against: Annotated[
        str | None,
        Says(
            text="Another set, or a file of questions or events: how the shares of a set compare with its.",
            form="SET|FILE",
        ),
    ] = None

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the question or the set, or how the set compares with another."""
        from workbench.questions.sets.question_sets import load_set
        from workbench.studies.rounds.post_mortem import post_mortem
        from workbench.studies.rounds.round_results import newest_quantiles
        from workbench.views.question_documents import question_document, set_document

        name, _, question = self.reference.partition("/")
        if self.against is not None:
            return _against(home, name, self.against)
        if not question:
            return set_document(home.store, name)
        entry = load_set(home.store, name)[question]
        document = {
            **question_document(home.store, name, question),
            "quantiles": newest_quantiles(home.store, name, entry),
        }
        looked_back = post_mortem(home.store, name, entry)
        return document if looked_back is None else {**document, "post_mortem": looked_back}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the facts of a question or set, or the shares by column."""
        if self.against is not None:
            yield from blocks_of(
                {**document, "columns": [column["column"] for column in document["columns"]]}
            )
            for column in document["columns"]:
                p = "-" if column["p"] is None else f"{column['p']:.3g}"
                yield f"{column['column']}: distance {column['distance']:.3f}, p {p}"
                yield table_of(column["values"])
        elif "question" not in document:
            yield from blocks_of({**document, "questions": len(document["questions"])})
        else:
            from workbench.views.fan_chart import quantile_line

            looked_back = document.get("post_mortem", {"sentences": []})
            shown = {name: value for name, value in document.items() if name != "post_mortem"}
            yield from blocks_of({**shown, **document["question"], "question": self.reference})
            yield from looked_back["sentences"]
            if document["quantiles"]:
                yield quantile_line(document["quantiles"])


def _against(home: Home, name: str, corpus: str) -> dict[str, Any]:
    from workbench.questions.formats.format_registry import read_file
    from workbench.questions.sets.question_sets import SORT, load_set, set_of
    from workbench.questions.sets.representation import against_document

    stored = corpus in home.store.streams(SORT)
    other = load_set(home.store, corpus) if stored else set_of(read_file(Path(corpus))[0].questions, corpus)
    return against_document(load_set(home.store, name), other, corpus)


class ExportQuestions(Operation):
    """Write a set to a file; `events` is what `score`, `exam` and `compare` read, `values` what `score --quantiles` does."""

    places = ("name",)

    name: SetName
    output: Annotated[Path, Says(text="File to write.", form="FILE", short="o")]
    form: Annotated[
        str | None,
        Says(
            text="json, csv, events, values, forecastbench, prophet; csv or json by the suffix.",
            word="format",
        ),
    ] = None

    def answer(self, home: Home) -> dict[str, Any]:
        """Write the file and return its format and how many questions it has."""
        from workbench.output_files import write_output
        from workbench.questions.formats.format_registry import WRITERS
        from workbench.questions.sets.question_sets import load_set

        form = self.form or self.output.suffix.removeprefix(".")
        if form not in WRITERS:
            raise UsageError(
                f"a set cannot be written as {form!r}: choose --format among {', '.join(WRITERS)}"
            )
        questions = list(load_set(home.store, self.name).questions.values())
        write_output(self.output, WRITERS[form](questions).encode())
        return {"set": self.name, "file": str(self.output), "format": form, "questions": len(questions)}


class ResolveQuestions(Operation):
    """Record outcomes: of one question by hand, of many from a file, or automatically for claims on embedded series.

    With --model a model reads dated pages and proposes outcomes of questions whose time is over. A proposal counts once a person
    records an outcome, or --accept takes it: two independent pages, dated after the question was asked, must hold the quoted sentences.
    """

    places = ("name", "question", "outcome")
    short = ("on", "source", "model", "accept")

    name: SetName
    question: str | None = None
    """Id of a question; with its answer."""
    outcome: Annotated[
        str | None,
        Says(text="yes, no, a share, an option, a number or a day, as the question asks.", form="ANSWER"),
    ] = None
    on: Annotated[str | None, Says(text="Day of the outcome; today unless named.", form="DAY")] = None
    horizon: str = ""
    """Which resolution day of a question with several."""
    source: Annotated[
        Path | None,
        Says(
            text="File of outcomes: a ForecastBench resolution set, CSV, or questions.",
            word="from",
            form="FILE",
        ),
    ] = None
    model: str | None = None
    """Reads dated pages and proposes outcomes of questions whose time is over, or of the one named."""
    accept: bool = False
    """Record proposals that two independent dated sources support."""
    api_base: ApiBase = None
    prices: PricePairs = []
    budget_usd: Dollars = None
    """Most US dollars that the model may cost."""
    engines: Words = []
    """Search engines by comma; all that work here without it."""
    author: str = ""
    """Who says so: a typed name, not proved."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return how many outcomes were recorded, and what cannot be scored yet."""
        from workbench.questions.sets import question_sets as book
        from workbench.studies.rounds.resolution import resolve_from_series

        skipped, more = 0, dict[str, Any]()
        if self.question is not None and self.outcome is not None:
            resolved = book.resolve_question(
                home.store, self.name, self.question, self.outcome,
                horizon=self.horizon, day=self.on, author=self.author,
            )  # fmt: skip
            count = len(resolved.outcomes) + len(resolved.values)
        elif self.model is not None or self.accept:
            count, more = await self._by_pages(home)
        elif self.question is not None:
            raise UsageError(
                f"give the outcome of {self.question}: `workbench questions resolve {self.name} {self.question} yes|no|ANSWER`"
            )
        elif self.source is not None:
            count, skipped = self._from_file(home, self.source)
        else:
            count = await resolve_from_series(home.store, self.name)
        entry = book.load_set(home.store, self.name)
        return {
            "set": self.name,
            "recorded": count,
            "of_other_events": skipped,
            "events": len(entry.events()),
            "scored": len(entry.scored_events()),
            "numbers": sum(target.value is not None for target in entry.targets()),
            "unscored": left_out_rows(entry.unscored()),
            **more,
        }

    async def _by_pages(self, home: Home) -> tuple[int, dict[str, Any]]:
        """Propose outcomes, and accept those that are supported; return how many were recorded, and the proposals that stand."""
        from workbench.questions.sets import proposals
        from workbench.questions.sets import question_sets as book
        from workbench.studies.rounds.resolution import ready_questions

        entry = book.load_set(home.store, self.name)
        chosen = entry.questions.values() if self.question is None else [entry[self.question]]
        parts = {
            part.asked.id: part
            for question in chosen
            for part in proposals.answerable(question)
            if self.horizon in ("", part.horizon)
        }
        failed: list[dict[str, str]] = []
        if self.model is not None:
            # a person who names a question, or a day of one, need not wait until its time is over
            named = self.question is not None and (bool(self.horizon) or len(parts) == 1)
            ready = ready_questions(home.store, self.name, datetime.now(UTC))
            asked = (
                [part.asked for part in parts.values()]
                if named
                else [each for each in ready if each.id in parts]
            )
            failed = await self._propose(home, self.model, asked)
        standing = [
            proposal
            for name, proposal in proposals.proposals(home.store, self.name).items()
            if name in parts and not parts[name].settled
        ]
        count = 0
        for proposal in standing if self.accept else ():
            if proposal.answer and not proposal.lacking:
                count += proposals.accept(
                    home.store, self.name, parts[proposal.node], proposal, author=self.author
                )
        return count, {"proposed": [proposals.proposal_row(each) for each in standing], "failed": failed}

    async def _propose(self, home: Home, model: str, questions: Sequence[Question]) -> list[dict[str, str]]:
        from proxies.asof.clock import Cutoff
        from workbench.engine.access.own_web import own_asker
        from workbench.engine.named_settings import read_prices
        from workbench.search.web_options import WebOptions
        from workbench.studies.rounds.resolution import Proposer

        run = f"resolving:{self.name}"
        ask = own_asker(
            home.store, model, self.api_base, run=run, budget_usd=self.budget_usd, prices=read_prices(self.prices)
        )  # fmt: skip
        cutoff = Cutoff.parse("now")
        # Nothing is blocked, as the outcome is what is looked for; and whole pages, as a quotation must stand on them.
        options = WebOptions(
            engines=tuple(self.engines) or None, layers=frozenset({"rules"}), summary_above=None
        )
        proposer = Proposer(
            store=home.store, set_name=self.name, web=home.web(cutoff, options=options), ask=ask, model=model, cutoff=cutoff
        )  # fmt: skip
        _, failed = await proposer.propose(questions)
        return failed

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what is on record, and each proposal with its sources."""
        yield from blocks_of(
            {name: value for name, value in document.items() if name not in ("proposed", "failed")}
        )
        for row in document.get("proposed", []):
            yield f"{row['question']}: {row['answer'] or 'nothing settles it'}" + (
                f" (not accepted by itself: {row['lacking']})" if row["lacking"] else ""
            )
            for source in row["sources"]:
                yield f'  {source["published"] or "no date"}  {source["url"]}: "{source["quote"]}"' + "".join(
                    f"; {fault}" for fault in source["faults"]
                )
        yield from (Remark(f"workbench: {row['id']}: {row['reason']}") for row in document.get("failed", []))

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 4 where a question could not be looked into."""
        return PROVIDER if document.get("failed") else 0

    def _from_file(self, home: Home, source: Path) -> tuple[int, int]:
        from workbench.questions.formats.format_registry import read_resolutions
        from workbench.questions.sets import question_sets as book

        entry = book.load_set(home.store, self.name)
        final = read_resolutions(source, entry.questions)
        events, targets = {event.id for event in entry.events()}, {target.id for target in entry.targets()}
        own = [
            each._replace(day=each.day or self.on or "")
            for each in final
            if each.event in (targets if each.numeric else events)
        ]
        count = book.record_resolutions(home.store, self.name, own, author=self.author, source="file")
        return count, len(final) - len(own)


class ClassifyQuestions(Operation):
    """Give each question one topic of a fixed list; stored with the set, usable as `--by topic`."""

    places = ("name",)
    short = ("model", "budget_usd")

    name: SetName
    model: str | None = None
    """Reads the questions; without one their words decide."""
    api_base: ApiBase = None
    prices: PricePairs = []
    budget_usd: Dollars = None
    """Most US dollars."""
    again: bool = False
    """Also questions that have a topic."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return how many topics changed, and how many questions each topic has."""
        from workbench.engine.access.own_web import own_asker
        from workbench.engine.named_settings import read_prices
        from workbench.questions.sets.question_sets import load_set
        from workbench.questions.sets.topics import COLUMN, record_topics, topic_by_rule

        questions = load_set(home.store, self.name)
        chosen = [each.id for each in questions.questions.values() if self.again or COLUMN not in each.extra]
        if self.model is None:
            topics = {each: topic_by_rule(questions[each]) for each in chosen}
        else:
            ask = own_asker(
                home.store, self.model, self.api_base, run=f"topics:{self.name}",
                budget_usd=self.budget_usd, prices=read_prices(self.prices),
            )  # fmt: skip
            topics = await _topics(questions, chosen, ask)
        changed = record_topics(home.store, self.name, topics)
        entries = load_set(home.store, self.name).questions.values()
        counts = Counter(question.extra.get(COLUMN, "none") for question in entries)
        return {"set": self.name, "changed": changed, "topics": dict(counts.most_common())}


async def _topics(questions: QuestionSet, chosen: Sequence[str], ask: Asker) -> dict[str, str]:
    from proxies.asof.clock import Cutoff
    from workbench.agents.topic_sorter import BATCH, classify_questions
    from workbench.questions.sets.topics import NAMES

    # A fixed day: the same questions are the same request, which is not paid for twice.
    cutoff = Cutoff.parse("2100-01-01")
    topics: dict[str, str] = {}
    for start in range(0, len(chosen), BATCH):
        batch = chosen[start : start + BATCH]
        titles = [questions[each].title for each in batch]
        topics |= zip(batch, await classify_questions(titles, NAMES, cutoff=cutoff, ask=ask), strict=True)
    return topics


class GatherContexts(Operation):
    """Gather contexts: ten ranked sources with summaries and the market, under each question's cutoff. Stored contexts are kept."""

    places = ("reference",)
    short = ("cutoff", "model", "engines", "budget_usd", "plan_only")

    reference: Annotated[
        str, Says(text="A set, or one question whose contexts are shown.", form="SET[/QUESTION]")
    ]
    cutoff: Annotated[
        str,
        Says(
            text="asked (the day each question was asked, else now), now, a day, or an instant.", form="DATE"
        ),
    ] = "asked"
    schedule: bool = False
    """Every time of the halving schedule from asking to closing that has passed."""
    gap_hours: Annotated[float, Field(ge=0)] = 1.0
    """Least hours between two times."""
    most: Count = 8
    """Most times of one question."""
    model: str | None = None
    """Searches, filters, ranks and sums up; without one rules alone do."""
    api_base: ApiBase = None
    prices: PricePairs = []
    engines: Words = []
    """Engines by comma; all that work here without it."""
    queries: Count = 4
    """Searches of one context."""
    budget_usd: Dollars = None
    """Most US dollars of this session."""
    plan_only: bool = False
    """Print what would be gathered and its price, and ask nobody."""
    output: Annotated[
        Path | None,
        Says(
            text="Also write the newest of each question, for `contexts:` of a study.", form="FILE", short="o"
        ),
    ] = None

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the contexts on record, what was to be gathered and its price, and what failed; or those of one question."""
        from workbench.engine.named_settings import read_prices
        from workbench.output_files import write_output
        from workbench.questions.sets.question_sets import load_set
        from workbench.questions.sets.schedule import HalvingSchedule
        from workbench.studies.contexts import context_store as book
        from workbench.studies.contexts.collection import (
            GatherOptions,
            context_cost,
            missing_contexts,
            open_gatherer,
        )

        name, _, question = self.reference.partition("/")
        questions = load_set(home.store, name)
        if question:
            rows = book.stored_contexts(home.store, name, questions[question].id)
            entries = [book.read_context(home.store, row) for row in rows]
            return {
                "question": self.reference,
                "contexts": [{**each.to_json(), "text": each.text} for each in entries],
            }
        named = self.model_dump(include={"model", "api_base", "queries", "budget_usd"})
        options = GatherOptions(**named, engines=tuple(self.engines) or None, prices=read_prices(self.prices))
        schedule = (
            HalvingSchedule(least_gap=timedelta(hours=self.gap_hours), most=self.most)
            if self.schedule
            else None
        )
        wanted, unscheduled = self._wanted(questions.questions.values(), schedule)
        wishes = missing_contexts(home.store, name, wanted)
        calls, usd = context_cost(len(wishes), options, live=all(wish.cutoff.live for wish in wishes))
        dollars = "whose price is unknown" if usd is None else f"about ${usd:.2f}"
        home.say(
            f"{counted(len(wanted), 'context')}, {len(wanted) - len(wishes)} of them on record; {len(wishes)} to gather:"
            f" {self.queries} searches each, about {calls} model calls, {dollars}"
        )
        failed = []
        if wishes and not self.plan_only:
            async with open_gatherer(home.store, name, environ=home.environ, options=options) as gatherer:
                tried = await gatherer.gather_all(wishes, say=home.say)
            failed = [
                {"question": each.wanted.question.id, "reason": each.reason}
                for each in tried
                if each.stored is None
            ]
        rows = book.stored_contexts(home.store, name)
        if self.output is not None:
            write_output(self.output, book.write_contexts(home.store, rows).encode())
        return {
            "set": name,
            "wanted": len(wanted),
            "to_gather": len(wishes),
            "expected_calls": calls,
            "expected_usd": usd,
            "contexts": [row._asdict() for row in rows],
            "failed": failed,
            "without_schedule": unscheduled,
        }

    def _wanted(
        self, questions: Iterable[Question], schedule: HalvingSchedule | None
    ) -> tuple[list[Wanted], list[str]]:
        """Return what is wanted, and the questions that do not say when they were asked and when they close."""
        from proxies.asof.clock import Cutoff
        from workbench.questions.sets.schedule import closing
        from workbench.studies.contexts.collection import Wanted

        now = datetime.now(UTC)
        wanted, unscheduled = [], []
        for question in questions:
            close = closing(question)
            if schedule is None:
                own = (question.asked_on or "now") if self.cutoff == "asked" else self.cutoff
                wanted.append(Wanted(question, Cutoff.parse(own, now=now)))
            elif question.asked_on and close is not None:
                first = Cutoff.parse(question.asked_on).instant
                times = [moment for moment in schedule.times(first, close) if moment <= now]
                wanted += [Wanted(question, Cutoff.parse(f"{moment:%Y-%m-%dT%H:%M:%SZ}")) for moment in times]
            else:
                unscheduled.append(question.id)
        return wanted, unscheduled

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the texts of one question's contexts, or the contexts that a set has."""
        if "set" in document:
            yield from blocks_of(document)
            if failed := document["failed"]:
                yield Remark(
                    f"workbench: {len(failed)} contexts could not be gathered; the same command tries them again"
                )
            return
        for each in document["contexts"]:
            yield f"as of {each['instant'][:16]} (cutoff {each['cutoff']}), ranked by {each['ranked_by']}\n{each['text']}\n"
        if not document["contexts"]:
            yield Remark(
                f"{self.reference} has no context: `workbench questions contexts {self.reference.partition('/')[0]}`"
            )

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 4 where a context could not be gathered."""
        return PROVIDER if document.get("failed") else 0


def left_out_rows(left_out: Iterable[LeftOut]) -> list[dict[str, str]]:
    """Return what was left out, each with its reason."""
    return [{"id": each.id, "reason": each.reason} for each in left_out]
