"""A review that comes back: comments, estimates and sign-offs out of a package, taken into the home in which the run was made.

A reviewer imports a package, comments, signs off and exports it again. The run itself is here; only what was said of it is taken,
and only over a log that begins as the one here does. The sign-offs are checked where they were made, in the package's own log.
"""

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.annotations.entries import LONGEST_LINE, LONGEST_TEXT, sign_off_rows
from workbench.engine.record.fold import load_state
from workbench.engine.record.people import Annotations
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.packages.package import ExaminedPackage, PackageAltered, examined_package
from workbench.store import Store
from workbench.store import events as ev

#: What a home may add to the log of a run that it did not make, without changing the run.
_ADDED = (ev.RunImported, ev.Annotation, ev.ScenarioRecorded, ev.NodeRefitted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedReview:
    """What a package brought back to a run."""

    run_id: str
    comments: tuple[ev.ReturnedComment, ...]
    estimates: tuple[ev.ReturnedEstimate, ...]
    sign_offs: tuple[ev.ReturnedSignOff, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        brought = {"comments": self.comments, "estimates": self.estimates, "sign_offs": self.sign_offs}
        rows = {name: [row.model_dump(mode="json") for row in rows] for name, rows in brought.items()}
        return {"run_id": self.run_id, **rows}


def take_review(store: Store, path: Path, *, run_id: str | None = None) -> ReturnedReview:
    """Take the comments, estimates and sign-offs of a package into the run that is here already, and return what was new.

    Notes, tags, outcomes and scenarios of the reviewer stay in the package: they are the reviewer's own. With a ``run_id`` a
    package of any other run is refused.

    Raises `UsageError`: The file is no package, the run is not here, its log here began otherwise, nothing in it is new, or a comment is
    on a driver that the run does not have or longer than one may be. Raises `PackageRefused, PackageAltered`: As at an import; also for a
    sign-off that does not hold over the package's own log.
    """
    # `Path.is_file` raises for a name that is too long
    if not os.path.isfile(path) or not zipfile.is_zipfile(path):
        raise UsageError(
            f"{str(path)[:200]} is not a package: a review comes back as ",
            command("export", "RUN", output="FILE.zip"),
        )

    def refuse_a_stranger(brought: str) -> None:
        if run_id is not None and brought != run_id:
            raise UsageError(f"{path} is of run {brought}, not of {run_id}")
        if brought not in store.run_ids():
            raise UsageError(
                f"run {brought} is not in this home: ",
                command("import", str(path)),
                " imports the run with its review",
            )

    with examined_package(store.home, path, refuse_a_stranger) as package:
        if package.findings:
            raise PackageAltered(path, package.findings)
        rows = sign_off_rows(package.store, package.state)
        for row in rows:
            if row["fault"]:
                raise UsageError(
                    f"the sign-off by {row['author']:.60} in {path} does not hold: {row['fault']}"
                )
        with store.transaction():
            return _take(store, package)


def _take(store: Store, package: ExaminedPackage) -> ReturnedReview:
    run_id = package.state.run_id
    shared = _shared(store, package)
    state = load_state(store, run_id)
    standing, said = state.annotations, package.state.annotations
    known = {(row.node, row.author, row.at_utc, row.text) for row in standing.comments}
    comments = tuple(
        ev.ReturnedComment(node=row.node or "P0", text=row.text, author=row.author, at_utc=row.at_utc)
        for row in said.comments
        if (row.node, row.author, row.at_utc, row.text) not in known
    )
    known_estimates = {(row.node, row.author, row.at_utc) for row in standing.estimates}
    estimates = tuple(
        ev.ReturnedEstimate(node=row.node, p=row.p, why=row.why, author=row.author, at_utc=row.at_utc)
        for row in said.estimates
        if (row.node, row.author, row.at_utc) not in known_estimates
    )
    attested = {row["attested"] for row in sign_off_rows(store, state)}
    sign_offs = tuple(row for row in _sign_offs(said) if row.attested not in attested)
    for comment in comments:
        _refuse_what_nobody_typed(state, "a comment", comment, comment.text)
    for estimate in estimates:
        _refuse_what_nobody_typed(state, "an estimate", estimate, estimate.why)
        if estimate.author.startswith("("):  # as what all say together is called
            raise UsageError(f"an estimate is under the name {estimate.author:.60}; nothing was imported")
    authors = [row.author for rows in (comments, estimates, sign_offs) for row in rows]
    longest = max(map(len, authors), default=0)
    if longest > LONGEST_LINE:
        raise UsageError(f"a name has {longest} characters, at most {LONGEST_LINE}; nothing was imported")
    review = ReturnedReview(run_id=run_id, comments=comments, estimates=estimates, sign_offs=sign_offs)
    if not (comments or estimates or sign_offs):
        raise UsageError(f"the package brings no new comment, sign-off or estimate for run {run_id}")
    event = ev.ReviewReturned(
        package=package.digest, shared=shared, comments=comments, estimates=estimates, sign_offs=sign_offs
    )
    store.append(run_id, event)
    return review


def _refuse_what_nobody_typed(
    state: RunState, what: str, said: ev.ReturnedComment | ev.ReturnedEstimate, text: str
) -> None:
    """Raise ``UsageError`` for a word on a driver that the run does not have, or one longer than any door takes."""
    if said.node not in state.tree:
        fault = f"is on {said.node}, which the run does not have"
    elif len(text) > LONGEST_TEXT:
        fault = f"has {len(text)} characters, at most {LONGEST_TEXT} are taken"
    else:
        return
    raise UsageError(f"{what} by {said.author or 'nobody':.60} {fault}; nothing was imported")


def _sign_offs(said: Annotations) -> list[ev.ReturnedSignOff]:
    signed = []
    for stored in said.sign_offs:
        content = stored.event.model_dump(mode="json", include=set(ev.ReturnedSignOff.model_fields))
        signed.append(ev.ReturnedSignOff.model_validate({**content, "at_utc": stored.at_utc}))
    for stored in said.returned:
        assert isinstance(stored.event, ev.ReviewReturned)
        signed += stored.event.sign_offs
    return signed


def _shared(store: Store, package: ExaminedPackage) -> int:
    """Return with how many events both logs begin alike.

    Raises ``UsageError`` where what follows in the package is more than what a home adds to a run it was given.
    """
    run_id = package.state.run_id
    ours, theirs = store.log_lines(run_id), package.store.log_lines(run_id)
    pairs = zip(ours, theirs, strict=False)
    shared = next(
        (place for place, (left, right) in enumerate(pairs) if left != right), min(len(ours), len(theirs))
    )
    strange = [
        item.event.kind
        for item in package.store.events(run_id)[shared:]
        if not isinstance(item.event, _ADDED)
    ]
    if strange or not shared:
        raise UsageError(
            f"the package and run {run_id} here differ from event {shared + 1} on"
            f" ({strange[0] if strange else 'no event'}); nothing was imported"
        )
    return shared
