"""What people say of a run: comments, estimates, notes, sign-offs, and how the claim turned out; each is one event on its log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from pydantic import model_validator

from workbench.errors import PROVIDER, UsageError
from workbench.formatting import counted, percent
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Facts, Remark, columns
from workbench.operations.fields import Author, Day, Names, NumberText, RunName
from workbench.propositions import ROOT
from workbench.requests import Says


class Comment(Operation):
    """Pin a comment to a driver; without one list the comments.

    Shown by `show`, the page and the note, covered by a sign-off; packages bring comments to other homes and back.
    """

    places = ("run", "node", "text")
    writes = True

    run: RunName
    node: str | None = None
    """The driver it is pinned to, as P2.1 (P0 is the claim)."""
    text: str | None = None
    """The comment, in quotes."""
    author: Author = ""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return all comments of the run, with the new one."""
        from workbench.annotations.entries import add_comment

        run_id = home.store.resolve_run(self.run)
        if self.node is not None:
            if self.text is None:
                raise UsageError(f"write the comment on {self.node}, in quotes")
            add_comment(home.store, run_id, self.node, self.text, author=self.author)
        comments = home.state(run_id).annotations.comments
        return {"run_id": run_id, "comments": [comment.to_json() for comment in comments]}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the comments, the oldest first."""
        if self.node is not None:
            yield Remark(f"comment on {self.node} of run {document['run_id']} is on record")
        if document["comments"]:
            yield columns(
                document["comments"], driver="node", author="author", written="at_utc .10", comment="text"
            )
        else:
            yield Remark(f"nobody has commented on run {document['run_id']}")


class Estimate(Operation):
    """Record your own probability of a claim or driver, next to the model's; without a number, show all estimates.

    The run's own numbers stay, and no agent sees it. Several people's are pooled in log-odds; `score --own` scores each apart.
    """

    places = ("run", "node", "p")
    short = ("why", "author")
    unlisted = ("withdraw",)
    writes = True

    run: RunName
    node: str | None = None
    """A driver; a probability alone is of the claim."""
    p: NumberText | None = None
    """The probability, 0.4 or 40%."""
    why: str = ""
    """Why, in quotes."""
    withdraw: bool = False
    """Take yours back."""
    author: Author = ""

    @model_validator(mode="before")
    @classmethod
    def _of_the_claim(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("p") is None and values.get("node") is not None and not values.get("withdraw"):
            return {**values, "node": None, "p": values["node"]}
        return values

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the estimates by driver, with their pool and the model's answer."""
        from workbench.annotations.estimates import estimate_rows, give_estimate

        run_id = home.store.resolve_run(self.run)
        if self.withdraw and self.p is not None:
            raise UsageError("leave out the probability to take back an estimate")
        if self.withdraw or self.p is not None:
            p = None if self.p is None else str(self.p)
            give_estimate(home.store, run_id, self.node or ROOT, p, author=self.author, why=self.why)
        return {"run_id": run_id, "estimates": estimate_rows(home.state(run_id))}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a line for each estimate."""
        from workbench.views.wording import estimate_lines

        if self.withdraw or self.p is not None:
            done = "taken back" if self.withdraw else "on record"
            yield Remark(
                f"{self.author}'s estimate of {self.node or ROOT} in run {document['run_id']} is {done}"
            )
        for row in document["estimates"]:
            yield from estimate_lines(row)
        if not document["estimates"]:
            yield Remark(f"nobody has given an estimate for run {document['run_id']}")


class Note(Operation):
    """Keep a note on a run or driver, and tag it; `runs --tag --search` finds it again."""

    places = ("run", "node", "text")
    short = ("tags",)
    writes = True

    run: RunName
    node: str | None = None
    """A driver; a text alone is about the run."""
    text: str | None = None
    """The note, in quotes."""
    tags: Annotated[Names, Says(word="tag", text="Set a tag; as often as you like.", form="NAME")] = []
    untag: Names = []
    """Take a tag off."""
    author: Author = ""

    @model_validator(mode="before")
    @classmethod
    def _of_the_run(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("text") is None and values.get("node") is not None:
            return {**values, "node": None, "text": values["node"]}
        return values

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the run's notes and tags, with the new ones."""
        from workbench.annotations.entries import add_note

        run_id = home.store.resolve_run(self.run)
        add_note(
            home.store, run_id, self.text or "",
            node=self.node, tags=self.tags, untagged=self.untag, author=self.author,
        )  # fmt: skip
        said = home.state(run_id).annotations
        return {"run_id": run_id, "tags": list(said.tags), "notes": [note.to_json() for note in said.notes]}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return that it is on record."""
        place = f"{self.node} of run" if self.node else "run"
        yield Remark(f"note on {place} {document['run_id']} is on record")


class SignOff(Operation):
    """Sign a run off after a review: one hash over its log, its tree, its comments and the checklist."""

    places = ("run",)
    writes = True

    run: RunName
    author: str | None = None
    """Who signs: a typed name, not proved. Without it the checklist is printed."""
    done: Names = []
    """A point of the checklist that was done, or all."""
    verdict: Literal["accept", "return"] = "accept"
    """To accept, every point of the checklist is done."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return all sign-offs, each with what contradicts it (``fault``), and the checklist."""
        from workbench.annotations.entries import CHECKLIST, sign_off, sign_off_rows

        run_id = home.store.resolve_run(self.run)
        if self.author is not None:
            sign_off(home.store, run_id, author=self.author, verdict=self.verdict, done=self.done)
        elif self.done:
            raise UsageError("a sign-off needs a name: --author NAME")
        rows = sign_off_rows(home.store, home.state(run_id))
        return {"run_id": run_id, "checklist": dict(CHECKLIST), "sign_offs": rows}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the new sign-off; without one the checklist and who signed."""
        from workbench.views.wording import sign_off_line

        rows = document["sign_offs"]
        if self.author is not None:
            yield sign_off_line(rows[-1])
            return
        yield Facts([*document["checklist"].items()])
        yield from map(sign_off_line, rows)
        if not rows:
            run_id = document["run_id"]
            yield Remark(f"nobody has signed: `workbench sign-off {run_id} --author NAME --done all`")


class Resolve(Operation):
    """Record how a claim turned out, or revise it; the newest answer counts, and no agent ever sees it.

    Runs on the embedded series resolve themselves when they finish, as soon as the data reach the day.
    """

    places = ("run", "outcome")
    short = ("on", "node", "leaves", "due")
    unlisted = ("quiet",)
    writes = True

    run: str | None = None
    """Run id, the beginning of one, last, or a question: SET/ID."""
    outcome: NumberText | None = None
    """yes, no, or a share (0.3, 30%). Without it the claim's own series is asked."""
    on: Day | None = None
    """Day of the outcome, 2018-12-31; today unless named."""
    node: str | None = None
    """A driver instead of the claim: later runs learn from it."""
    leaves: bool = False
    """Every driver whose own embedded series shows how it came out."""
    due: bool = False
    """Everything open, runs and sets: the embedded series and the venues are asked."""
    quiet: Annotated[
        bool, Says(text="With --due: say nothing unless something was recorded or failed.", short="q")
    ] = False
    author: Author = ""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the outcome with the forecast's Brier score; of leaves, a question or all that is due what stands there now."""
        from workbench.annotations.outcomes import (
            record_outcome,
            resolve_from_series,
            resolve_leaves_from_series,
        )

        if self.due:
            if self.run is not None:
                raise UsageError("--due covers all open claims: leave out the run or question")
            from proxies.vendors.metaculus import MetaculusSite
            from workbench.operations.endpoints import data_caller
            from workbench.studies.rounds.resolution import resolve_open

            async with aclosing(MetaculusSite(home.environ)) as site:
                return await resolve_open(home.store, data_caller(home, "now"), site)
        if self.run is None:
            raise UsageError(
                "name a run or SET/QUESTION to resolve, or --due for all whose outcome can be known"
            )
        if "/" in self.run:
            return self._question(home)
        run_id = home.store.resolve_run(self.run)
        if self.leaves:
            if self.node is not None or self.outcome is not None:
                raise UsageError("--leaves takes outcomes from the series: leave out the outcome and --node")
            await resolve_leaves_from_series(home.store, run_id)
        elif self.outcome is not None:
            record_outcome(
                home.store, run_id, str(self.outcome), on=self._day, author=self.author, node=self.node
            )
        elif self.node is not None:
            raise UsageError(f"give the outcome of {self.node}: yes, no, or a share")
        elif self.on is not None:
            raise UsageError(f"--on {self.on} needs an outcome: yes, no, or a share")
        elif not await resolve_from_series(home.store, run_id):
            raise UsageError(
                f"the built-in series do not decide this claim yet: `workbench resolve {run_id} yes|no|P --on DATE` records it"
            )
        state = home.state(run_id)
        if self.leaves or self.node is not None:
            outcomes = sorted(state.annotations.leaf_outcomes.items())
            rows = [
                {"node": node, "p": (p := state.tree[node].p), "outcome": outcome.to_json(p)}
                for node, outcome in outcomes
            ]
            return {"run_id": run_id, "leaves": rows}
        outcome, p = state.annotations.outcome, state.tree.root.p
        return {"run_id": run_id, "p": p, "outcome": None if outcome is None else outcome.to_json(p)}

    @property
    def _day(self) -> str | None:
        return None if self.on is None else self.on.isoformat()

    def _question(self, home: Home) -> dict[str, Any]:
        from workbench.questions.sets.question_sets import resolve_question
        from workbench.views.question_documents import question_document

        name, _, question = str(self.run).partition("/")
        if self.outcome is None:
            raise UsageError(f"give the outcome of {self.run}: `workbench resolve {self.run} ANSWER`")
        resolved = resolve_question(
            home.store, name, question, str(self.outcome), day=self._day, author=self.author
        )
        return question_document(home.store, name, resolved.id)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what is on record now."""
        from workbench.views.wording import outcome_line

        if self.due:
            yield from (f"run {run_id} is resolved" for run_id in document["runs"])
            yield from (
                f"set {name}: {counted(count, 'outcome')} recorded"
                for name, count in document["sets"].items()
            )
            if not (self.quiet or document["runs"] or document["sets"]):
                yield Remark("nothing that is open can be known yet")
            yield from (Remark(f"workbench: {row['id']}: {row['reason']}") for row in document["failed"])
        elif "question" in document:
            yield from (f"{event['id']}: {event['outcome']:g}" for event in document["events"] if event["outcome"] is not None)  # fmt: skip
        elif "leaves" not in document:
            yield f"{outcome_line(document['outcome'])}; the forecast was {percent(document['p'])}"
        elif document["leaves"]:
            yield columns(
                document["leaves"], driver="node", outcome="outcome.p g", on="outcome.day", forecast="p %"
            )
        else:
            yield Remark("no driver is about an embedded series that shows how it came out")

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 4 where a venue or a source could not be asked."""
        return PROVIDER if document.get("failed") else 0
