"""Looking after watched claims, for a person or a cron line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.errors import DONE
from workbench.formatting import counted, percent
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark
from workbench.operations.fields import Level
from workbench.reviews.review_request import ReviewRequest

#: Exit code where something moved, or a day is near.
MOVED = 10


class Review(ReviewRequest, Operation):
    """Review the watched claims: check their data, collect evidence again where the data changed, and show how the probability moved.

    Each review is a run of its own that names the one before; a driver whose data say the same carries over. Exit 10: one moved by more
    than --alert, or its day is near; for a cron line with --notify, or [review] in your own workbench.toml.
    """

    places = ("run",)
    short = ("due", "changed", "budget_usd", "notify")
    unlisted = ("alert",)
    awaited = True

    notify: str = ""
    """Command that gets the result as JSON on stdin when there is something to tell."""
    isolation: Level = None

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what came of each claim; raises ``UsageError`` for a run without an answer, or while another review is at work."""
        from workbench.engine.run_settings import check_level
        from workbench.engine.settings_file import review_defaults
        from workbench.reviews.claim_review import Doors, mark_told, review
        from workbench.reviews.notification import notify, notify_command

        own = review_defaults() if home.in_folder is not None else {}
        words = self.notify or own.get("notify", "")
        # before evidence is paid for
        receiver = notify_command(words) if words or "notify" in self.model_fields_set else None
        asked = (
            self
            if "alert" in self.model_fields_set
            else self.model_copy(update={"alert": own.get("alert", self.alert)})
        )
        doors = Doors(
            environ=home.environ,
            isolation=self.isolation and check_level(self.isolation),
            progress=home.run_progress,
            say=home.say,
            agrees=lambda line: home.agrees(f"{line}. Collect it?"),
        )
        document = await review(home.store, asked, doors)
        code = self.exit_code(document)
        if (
            receiver is None
            or code == DONE
            or notify(receiver, {**document, "exit": code}, home.environ, home.say)
        ):
            mark_told(home.store, document)
        return document

    def goes_on(self) -> str:
        """Return the command: it goes on where it was, and pays for nothing twice."""
        return "workbench review"

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return the worst end of a review that failed, 10 where something moved or is due."""
        failed = max((row["exit"] for row in document["claims"]), default=DONE)
        return failed or (MOVED if document["moved"] or document["due"] else DONE)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return each claim with its answer, what came of its review, and what moved it."""
        if not document["claims"]:
            yield Remark(
                "You are not watching any claim. Click the star on the home page, or run `workbench annotate note RUN --tag watch`."
            )
        for row in document["claims"]:
            yield from _row_lines(row)


def _row_lines(row: Mapping[str, Any]) -> Iterator[str]:
    from workbench.views.run_changes import change_lines

    left = row["days_left"]
    days = "" if left is None else f", {counted(left, 'day')} left" if left >= 0 else ", closed"
    p = percent(row["after"])
    if row["after"] != row["before"]:
        p = f"{percent(row['before'])} to {p}"
    yield f"{'!' if row['moved'] or row['near'] else ' '} {p}  {row['statement']}  ({row['run']}{days})"
    yield f"    {row['words']}" + (f"; run {row['review']}" if row["review"] else "")
    if row["changes"]:
        yield from (f"    {line}" for line in change_lines(row["changes"])[1:])
    else:
        yield from (
            f"    {node}  {leaf['reason']}" for node, leaf in row["leaves"].items() if leaf["changed"]
        )
    if row["releases"]:
        name, day = min(row["releases"].items(), key=lambda item: item[1])
        yield f"    next rows expected by {day}: {name}"
