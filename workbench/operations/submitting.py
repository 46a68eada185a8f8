"""Forecasts of a set as tournaments take them: written to a file, or posted to Metaculus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from workbench.errors import WANTING, UsageError
from workbench.formatting import counted
from workbench.operations.base import Home, Operation
from workbench.operations.bets import Method, pooled_events
from workbench.operations.blocks import Block, Remark
from workbench.operations.fields import SetName
from workbench.output_files import write_output
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.questions.sets.posting import Posting
    from workbench.questions.sets.question_sets import QuestionSet
    from workbench.studies.rounds.round_results import RoundResults


@dataclass(slots=True)
class _Forecasts:
    """Probabilities by event, quantiles and words by question."""

    p: dict[str, float] = field(default_factory=dict)
    quantiles: dict[str, Mapping[str, float | str]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


class Submit(Operation):
    """Write forecasts of a set in a tournament's format, checked field by field; with --post hand them in to Metaculus.

    Without --post nothing is sent: for Metaculus the dry run says what would be. Each forecast is posted once, with its reasons as a
    private comment, and a posting that was stopped goes on with the same command. Needs METACULUS_TOKEN.
    """

    places = ("form", "name")
    short = ("output", "forecasts", "method", "partial", "check", "post")
    unlisted = ("night",)

    form: Literal["forecastbench", "prophet", "metaculus"]
    """Whom it is for."""
    name: SetName
    output: Annotated[Path | None, Says(text="File to write.", form="FILE", short="o")] = None
    forecasts: Path | None = None
    """CSV: method, event_id, trial or variant, p. Without it and --night: the newest round of each question."""
    night: Annotated[
        str | None, Says(text="Take forecasts and rationales from this round of the set.", form="NIGHT")
    ] = None
    rationales: Path | None = None
    """JSON: question id to text; a round has its own."""
    method: Method = ""
    pool: str = "logit-mean"
    """How trials are pooled."""
    organization: str = ""
    """Who forecasts."""
    model: str = ""
    """With what."""
    model_organization: str = ""
    """Whose model it is; the organization's own without it."""
    partial: bool = False
    """Leave out questions without a forecast."""
    least: float = 0.01
    """No probability leaves nearer to 0 or 1 than this."""
    check: bool = False
    """Write nothing: read the file that is there and say what is wrong with it."""
    post: bool = False
    """Post to Metaculus what was not posted before."""
    public: bool = False
    """Comments that everybody can read."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the files that were written, what was left out of them and what is wrong, and of Metaculus what was or would be posted."""
        from workbench.questions.sets.question_sets import load_set
        from workbench.questions.sets.submission_files import METACULUS_WRITES, within

        questions = load_set(home.store, self.name)
        metaculus = self.form == "metaculus"
        if self.check:
            return self._checked(questions)
        if self.output is None and not metaculus:
            raise UsageError("which file is written? -o FILE")
        if self.post and not metaculus:
            raise UsageError("--post goes to Metaculus alone: write a file with -o FILE and upload it")
        found = self._forecasts(home, questions)
        found.p = within(questions, found.p, max(self.least, METACULUS_WRITES) if metaculus else self.least)
        document: dict[str, Any] = {"form": self.form, "files": [], "left_out": [], "problems": []}
        if self.output is not None:
            document |= self._written(questions, found)
        if not metaculus or (document["problems"] and not self.partial):
            return document
        posting, problems = self._posting(home, questions, found)
        if not self.post:
            rows = posting.planned()
        else:
            rows = await _posted(home, posting)
        refused = [f"{row.question}: {row.reason}" for row in rows if row.state == "refused"]
        lacking = [
            f"{question.id}: no forecast"
            for question in questions.questions.values()
            if question.source == "metaculus" and not question.outcomes and question.id not in posting.entries
        ]
        return {
            **document,
            "left_out": document["left_out"] or lacking,
            "problems": [*document["problems"], *problems, *refused],
            "posted": [row._asdict() for row in rows],
        }

    def _paths(self) -> tuple[Path, Path]:
        """The file, which for Metaculus holds comments, and the one with its forecasts beside it."""
        if self.output is None:
            raise UsageError("name the file to check: -o FILE")
        metaculus = self.form == "metaculus"
        return self.output.with_suffix(".md") if metaculus else self.output, self.output.with_suffix(".json")

    def _checked(self, questions: QuestionSet) -> dict[str, Any]:
        from workbench.questions.formats.format_registry import read_text
        from workbench.questions.sets.submission_files import check_metaculus_forecasts, check_submission

        output, beside = self._paths()
        problems = check_submission(read_text(output), self.form, questions)
        files = [str(output)]
        if self.form == "metaculus":
            files.append(str(beside))
            problems += check_metaculus_forecasts(read_text(beside), questions)
        return {"form": self.form, "files": files, "left_out": [], "problems": problems}

    def _written(self, questions: QuestionSet, found: _Forecasts) -> dict[str, Any]:
        from workbench.questions.sets.submission_files import (
            check_submission,
            metaculus_forecasts,
            submission,
        )

        output, beside = self._paths()
        text, left_out = submission(
            questions, found.p, self.form, organization=self.organization, model=self.model,
            maker=self.model_organization,
            rationales=found.words, partial=self.partial or self.post,
        )  # fmt: skip
        problems = check_submission(text, self.form, questions)
        if problems and not self.partial:
            return {"left_out": left_out, "problems": problems}
        write_output(output, text.encode())
        files = [str(output)]
        if self.form == "metaculus":
            entries = metaculus_forecasts(questions, found.p, found.quantiles)
            write_output(beside, (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode())
            files.append(str(beside))
        return {"files": files, "left_out": left_out, "problems": problems}

    def _forecasts(self, home: Home, questions: QuestionSet) -> _Forecasts:
        from workbench.questions.formats.format_registry import read_text
        from workbench.questions.sets.submission_files import read_rationales

        if self.forecasts is not None and self.night is not None:
            raise UsageError("forecasts come from one place: --forecasts FILE, or --night NAME")
        if self.forecasts is not None:
            found = _Forecasts(pooled_events(questions, self.forecasts, self.method, self.pool))
        else:
            found = self._of_rounds(home, questions)
        if self.rationales is not None:
            found.words |= read_rationales(read_text(self.rationales))
        return found

    def _of_rounds(self, home: Home, questions: QuestionSet) -> _Forecasts:
        """Forecasts of one round, or of each question those of the newest round that made some."""
        from workbench.studies.rounds.round_page import rationales, write_round
        from workbench.studies.rounds.round_state import load_round, rounds_of

        names = [self.night] if self.night is not None else list(reversed(rounds_of(home.store, self.name)))
        if not names:
            raise UsageError(
                f"set {self.name} had no round: --forecasts FILE, or `workbench tournament run {self.name}`"
            )
        found = _Forecasts()
        taken: set[str] = set()
        for name in names:
            results, folder = write_round(home.store, load_round(home.store, name))
            if results.night.set_name != self.name:
                raise UsageError(
                    f"round {results.night.name} is of set {results.night.set_name}, not of {self.name}"
                )
            _say_record(home, results)
            p = pooled_events(questions, folder / "forecasts.csv", self.method or "final", self.pool)
            fresh = {
                row.question for row in results.rows if row.event in p or row.question in results.quantiles
            } - taken
            taken |= fresh
            found.p |= {
                row.event: p[row.event] for row in results.rows if row.question in fresh and row.event in p
            }
            found.quantiles |= {name: each for name, each in results.quantiles.items() if name in fresh}
            found.words |= {name: text for name, text in rationales(results).items() if name in fresh}
        return found

    def _posting(self, home: Home, questions: QuestionSet, found: _Forecasts) -> tuple[Posting, list[str]]:
        from workbench.questions.sets.posting import Posting
        from workbench.questions.sets.submission_files import (
            check_metaculus_forecasts,
            comment_on,
            metaculus_forecasts,
        )

        entries, problems, comments = {}, [], dict[str, list[str]]()
        for entry in metaculus_forecasts(questions, found.p, found.quantiles):
            question = questions[str(entry["question"])]
            if question.source != "metaculus" or not (question.id.isdigit() and question.source_id.isdigit()):
                continue
            faults = check_metaculus_forecasts(json.dumps([entry]), questions)
            problems += [f"{question.id}: {fault}" for fault in faults]
            if not faults:
                entries[question.id] = entry
                text = comment_on(
                    question, found.p, found.words.get(question.id, ""), found.quantiles.get(question.id)
                )
                comments.setdefault(question.source_id, []).append(text)
        if self.post and not entries and not problems:
            raise UsageError(
                f"set {self.name} has no forecast of a question from Metaculus: `workbench questions fetch metaculus:TOURNAMENT` brings those"
            )
        posting = Posting(
            store=home.store, questions=questions, entries=entries, now=datetime.now(UTC), private=not self.public,
            comments={post: "\n\n".join(texts) for post, texts in comments.items()},
        )  # fmt: skip
        return posting, problems

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the files, how many forecasts and comments came to what, and what is wrong."""
        yield from document["files"]
        counts = Counter((row["part"], row["state"]) for row in document.get("posted", []))
        for (part, state), count in counts.items():
            words = {"before": "posted before", "closed": "of closed questions"}.get(state, state)
            yield f"{counted(count, part)} {words}"
        if any(state == "to post" for _, state in counts):
            yield Remark("nothing was sent: --post sends it")
        yield from (Remark(f"left out: {line}") for line in document["left_out"])
        yield from document["problems"]

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where something is wrong with the file, or was refused."""
        return WANTING if document["problems"] and not (self.partial and not self.check) else 0


def _say_record(home: Home, results: RoundResults) -> None:
    if results.record is not None:
        raw = "; --method raw hands in what was said" if results.record.corrects else ""
        home.say(results.record.line() + raw)


async def _posted(home: Home, posting: Posting) -> list[Any]:
    from proxies.vendors.metaculus import MetaculusSite
    from workbench.engine.ownership import own_folder

    # Two at once would comment twice.
    lock = home.folder / "nights" / f"{posting.questions.name}.posting.lock"
    async with aclosing(MetaculusSite(home.environ)) as site:
        with own_folder(lock, what=f"posting set {posting.questions.name}"):
            return await posting.post(site)
