"""The state of a run: all that is known of it after its events (``fold``), and what follows from that."""

from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.engine.record.followed_run import FollowedRun
from workbench.engine.record.imported_run import Imported
from workbench.engine.record.people import Annotations, Outcome
from workbench.engine.run_settings import RunSettings
from workbench.errors import Option, UsageError, command, sentence
from workbench.formatting import counted
from workbench.models.base import PastShare
from workbench.plug_points import EVIDENCE, plugin_names
from workbench.propositions import ROOT, Belief, NodeId, Tree
from workbench.propositions.shared_dict import SharedDict
from workbench.quoting import PLAIN_MARKS, Marks
from workbench.store import events as ev
from workbench.synthesis.whatif.scenarios import ScenarioSet

#: The check that finds cells which show another result each time they are run.
REPEATS = "cannot repeat"


@dataclass(frozen=True, slots=True)
class TrialState:
    """Where one trial of a leaf stands. ``attempt`` is the newest begun; ``open`` when it neither concluded nor failed.

    An open one with a ``failure`` waits for another sitting: what stopped it was no fault of its proof. ``seconds`` is how
    long its attempts were in work before ``since``, all sittings counted; ``since`` is None while none is in work. ``gave_up``
    is where the attempt's dialogue got no usable reply, one (step, retry) for each sitting that ended so; while ``goes_on``
    holds, a later sitting takes the attempt up there. ``max_steps`` is the bound on steps that the attempt began with: it
    stands in its prompts, as do the ``known_calls`` that it was offered and the day ``asked_on`` of its first requests.
    ``concluded`` is the attempt that ``belief`` is of, ``findings`` what is wrong with that; ``again`` says that a later one is to replace it.
    """

    attempt: int = 0
    open: bool = False
    goes_on: bool = False
    gave_up: tuple[tuple[int, int], ...] = ()
    max_steps: int | None = None
    known_calls: tuple[str, ...] = ()
    asked_on: str = ""
    belief: Belief | None = None
    failure: str | None = None
    verified: bool | None = None
    evidence: ev.EvidenceRecord | None = None
    journal_head: str | None = None
    seconds: float = 0.0
    since: str | None = None
    concluded: int = 0
    again: bool = False
    findings: tuple[ev.FindingRecord, ...] = ()

    def until(self, at_utc: str) -> float:
        """Return how long its attempts were in work at an instant, in seconds."""
        return self.seconds + (0.0 if self.since is None else max(0.0, seconds_between(self.since, at_utc)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierGrounding:
    """What a leaf counted as before it was grounded again, who wanted that, and why; ``attempts`` by trial."""

    p: float
    key_factor: str
    attempts: tuple[int, ...]
    reopened_utc: str
    author: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def seconds_between(start: str, end: str) -> float:
    """Return the seconds from one stored instant to another; 0 where either is none."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):  # a stranger's package may hold what is no instant
        return 0.0


#: Stands for the model in the settings of a run that was made of a tree file.
IMPORTED_TREE = "import"

#: What a decision on a step is known by (``approval_key``).
ApprovalKey = tuple[NodeId, int, str, str]


@dataclass(slots=True)
class RunState:
    """All that is known of a run after its events. ``tree`` carries the beliefs and rules recorded so far.

    ``pooled`` has the probability of each leaf whose trials have all ended.
    """

    run_id: str
    statement: str
    cutoff: str
    cutoff_instant: str
    started_utc: str
    settings: RunSettings
    tree: Tree
    planned: bool = False
    isolation: str | None = None
    trials: SharedDict[tuple[NodeId, int], TrialState] = field(default_factory=SharedDict)
    pooled: SharedDict[NodeId, float] = field(default_factory=SharedDict)
    failures: dict[NodeId, tuple[str, ...]] = field(default_factory=dict)
    kept: dict[NodeId, str] = field(
        default_factory=dict
    )  # leaves that a deeper analysis came to nothing for, and why
    waiting: dict[NodeId, str] = field(default_factory=dict)
    reopened: dict[NodeId, str] = field(default_factory=dict)  # how the nodes above follow
    earlier: dict[NodeId, tuple[EarlierGrounding, ...]] = field(default_factory=dict)
    reopened_late: tuple[NodeId, ...] = ()
    refits: dict[NodeId, ev.NodeRefitted] = field(default_factory=dict)
    provider_waiting: ev.RunWaiting | None = None
    undecided: dict[ApprovalKey, ev.ApprovalAsked] = field(default_factory=dict)
    decided: dict[ApprovalKey, ev.ApprovalGiven] = field(default_factory=dict)
    worked_seconds: float = 0.0
    last_utc: str = ""
    started_seq: int = 0
    server_seq: int = 0
    stopped: ev.RunStopped | None = None
    finished: bool = False
    models: tuple[str, ...] = ()
    cut: tuple[ev.CutText, ...] = ()
    #: What the search before everything else came to; None where there was none.
    news: ev.NewsSearched | None = None
    read_as: dict[str, Any] | None = None
    #: What history says of the claim, known before any evidence.
    history: PastShare | None = None
    #: The quantiles of the simulation of its series, as they were drawn before any evidence.
    fan: dict[str, Any] | None = None
    follows: FollowedRun | None = None
    marks: Marks = PLAIN_MARKS
    scenarios: ScenarioSet = field(default_factory=ScenarioSet)
    annotations: Annotations = field(default_factory=Annotations)
    imported: Imported | None = None
    missing: tuple[str, ...] = ()
    missing_sources: tuple[str, ...] = ()
    seq: int = 0
    changed_seq: int = 0

    def copy(self) -> "RunState":
        """Return a copy: applying an event to it leaves this one as it was. What they have in common is shared."""
        # Made at every event, so field by field: `replace` goes through all the checks of a constructor.
        state = RunState.__new__(RunState)
        for name in _FIELDS:
            setattr(state, name, getattr(self, name))
        for name in _COPIED:
            setattr(state, name, getattr(self, name).copy())
        return state

    def require_own_server(self) -> None:
        """Raise ``UsageError`` if work on this run would send requests, and a key, where a stranger's package says."""
        own = self.imported is not None and self.server_seq > self.imported.seq
        if self.imported is not None and self.settings.api_base is not None and not own:
            raise UsageError(
                f"run {self.run_id} was imported and names the model server {self.settings.api_base!r:.120}:"
                " nothing is sent to that server; name your own with ",
                Option("api_base"),
            )
        if self.imported is not None and (self.settings.headers or self.settings.body):
            raise UsageError(
                f"run {self.run_id} was imported and sets headers or a body for the model's requests: nothing is sent with"
                " settings that a stranger chose; analyze the claim anew"
            )

    def require_model(self) -> None:
        """Raise ``UsageError`` for a run that was made of a tree file: it has no model that could be asked."""
        if self.settings.model == IMPORTED_TREE:
            valueless = (
                "" if self.tree.root.p is not None else "give P0 its p in the file and import it again, or "
            )
            raise UsageError(
                f"run {self.run_id} is a tree from a file and has no model to ask: {valueless}analyze the"
                " claim anew with your own model"
            )

    def trial(self, node: NodeId, trial: int) -> TrialState:
        """Return where one trial of a leaf stands; an empty state if nothing was begun."""
        return self.trials.get((node, trial), _NOT_BEGUN)

    def parsed_cutoff(self) -> Cutoff:
        """Return the knowledge cutoff; ``now`` is the instant at which the run was opened."""
        return Cutoff.parse(
            self.cutoff, now=datetime.fromisoformat(self.cutoff_instant.replace("Z", "+00:00"))
        )

    def require_installed(self) -> None:
        """Refuse to change a run that needs a package which is not installed here; reading it goes on working.

        Raises ``UsageError`` that names the package.
        """
        if self.missing:
            raise UsageError(f"run {self.run_id} can be read but not changed here: {'; '.join(self.missing)}")

    def require_sources(self) -> None:
        """Refuse to go on with a run that has read from a source which is not installed here; what-ifs need none.

        Without it the next leaf would take data that are gone for data that never were. Raises ``UsageError``.
        """
        if self.missing_sources:
            raise UsageError(
                f"run {self.run_id} reads from what is not installed here: {'; '.join(self.missing_sources)}"
            )

    def not_installed(self) -> str | None:
        """Return the sentence for the screens that names what the run needs and this installation lacks; None if nothing."""
        parts = [*self.settings.not_installed(), *self.missing_sources, *self.missing]
        for trial in self.trials.values():
            record = trial.evidence
            if record is not None and record.package and record.kind not in plugin_names(EVIDENCE):
                parts.append(f"evidence {record.kind} (package {record.package})")
        if not parts:
            return None
        return f"Not installed here, so the run can only be read: {'; '.join(dict.fromkeys(parts))}"

    @property
    def status(self) -> str:
        """``done`` when the root has a probability, ``failed`` after a failure for good, else ``partial``."""
        if self.finished:
            return "done"
        failed = self.stopped is not None and self.stopped.why in ("failure", "refused", "outage")
        return "failed" if failed else "partial"

    @property
    def proposed(self) -> bool:
        """Whether another program proposed the run and no person has decided yet."""
        return any(each.what == "run" for each in self.undecided.values())

    def require_approved(self) -> None:
        """Raise ``UsageError`` where another program proposed the run and no person said yes."""
        if self.proposed:
            raise UsageError(
                f"run {self.run_id} was proposed by another program and waits for your approval: ",
                command("approve", self.run_id),
            )
        turned_down = [each for each in self.decided.values() if (each.what, each.verdict) == ("run", "no")]
        if turned_down:
            raise UsageError(f"run {self.run_id} was rejected by {turned_down[0].author} and does not run")

    @property
    def phase(self) -> str:
        """``proposed``, ``planned``, ``running``, ``waiting``, ``stopped``, ``done`` or ``failed``: finer than ``status``.

        ``running`` says what the log says last; after a kill nobody works on the run any more, which only its lock tells.
        """
        if self.finished:
            return "done"
        if self.proposed:
            return "proposed"
        if self.stopped is not None:
            if self.stopped.why == "plan-only":
                return "planned"
            return "failed" if self.status == "failed" else "stopped"
        return "waiting" if self.provider_waiting is not None or self.undecided else "running"

    @property
    def reason(self) -> str | None:
        """Why the run stands where it does, in words; None where there is nothing to say."""
        if self.stopped is not None:
            return self.stopped.detail
        if self.provider_waiting is None and self.undecided:
            return approval_line(self.run_id, tuple(self.undecided.values()))
        return self.provider_waiting.reason if self.provider_waiting is not None else None

    def begun(self, node: NodeId) -> dict[tuple[NodeId, int], TrialState]:
        """Return the trials of a leaf that were begun, by their keys in `trials`, in the order of their numbers."""
        # Looked up, not searched for: among ten thousand leaves a search at each would cost more than their grounding.
        keys = ((node, number) for number in range(1, self.settings.trials_at(node) + 1))
        return {key: self.trials[key] for key in keys if key in self.trials}

    def trials_of(self, node: NodeId) -> list[TrialState]:
        """Return the trials of a leaf that were begun, by number."""
        return [*self.begun(node).values()]

    def verified(self, node: NodeId) -> bool | None:
        """Whether all trials of a leaf were verified; None where one was not looked at yet."""
        checks = [trial.verified for trial in self.trials_of(node) if trial.belief]
        return None if not checks or None in checks else all(checks)

    def unverified(self) -> list[tuple[NodeId, int]]:
        """Return leaf and trial of each concluded proof that was checked and does not hold."""
        return [key for key, trial in self.trials.items() if trial.belief and trial.verified is False]

    def unverified_line(self) -> str | None:
        """Return the sentence for the screens about proofs that do not hold; None if there is none."""
        nodes = dict.fromkeys(node for node, _ in self.unverified())
        return f"Not verified: the proofs of {', '.join(nodes)} differ from their records" if nodes else None

    def late_line(self) -> str | None:
        """Return the sentence for the screens about leaves grounded again when the outcome was known; None if there is none."""
        if not self.reopened_late:
            return None
        return (
            f"Hindsight: {', '.join(self.reopened_late)} got new evidence when the outcome was on record: the score is of a number"
            " that somebody chose to renew"
        )

    def news_line(self) -> str:
        """Return the sentence for the screens about the search before everything else; "" where there was none."""
        if self.news is None:
            return ""
        if self.news.news is None:
            return f"No news was read: {self.news.reason}."
        if not self.news.sources:
            return "The search for news found nothing about the claim."
        verb = "was" if self.news.sources == 1 else "were"
        return f"{counted(self.news.sources, 'news source')} {verb} read before the first forecast, as of the cutoff."

    def leaf_outcomes(self) -> dict[NodeId, Outcome]:
        """Return what came of the leaves; a claim without drivers is one."""
        outcomes = self.annotations.outcomes()
        return {node: outcomes[node] for node in outcomes if node != ROOT or not self.tree.root.children}

    def due(self, leaf: NodeId) -> bool:
        """Whether a leaf is to be grounded: it has no value, or a person wants a new one."""
        return self.tree[leaf].belief is None or any(trial.again for trial in self.trials_of(leaf))

    def node_status(self, node: NodeId) -> str:
        """``pending``, ``grounding``, ``grounded``, ``synthesized`` or ``failed``."""
        proposition = self.tree[node]
        if node in self.reopened and any(
            trial.again and trial.open and trial.failure is None for trial in self.trials_of(node)
        ):
            return "grounding"
        if proposition.belief is not None:
            return "synthesized" if proposition.children else "grounded"
        if proposition.children and (self.failures.get(node) or node in self.waiting):
            return "failed"
        tries = self.trials_of(node)
        if proposition.children:  # its direct forecasts, of which some may be dead
            return "failed" if any(state.open and state.failure for state in tries) else "pending"
        if any(state.open and state.failure is None for state in tries):
            return "grounding"
        return "failed" if any(state.failure for state in tries) else "pending"


_NOT_BEGUN = TrialState()
_FIELDS = tuple(item.name for item in fields(RunState))
_COPIED = tuple(item.name for item in fields(RunState) if item.default_factory in (dict, SharedDict))


def approval_key(event: ev.ApprovalAsked | ev.ApprovalGiven) -> ApprovalKey:
    """Return what a decision is known by: leaf, trial, kind of step, hash of what would be run or sent."""
    return event.node, event.trial, event.what, event.subject


def approval_line(run_id: str, undecided: tuple[ev.ApprovalAsked, ...]) -> str:
    """Return the sentence for the screens about steps that wait for a person."""
    first, more = undecided[0], len(undecided) - 1
    if first.what == "run":
        return sentence("proposed by another program, waits for your word: ", command("approve", run_id))
    others = f" and {more} more" if more else ""
    return sentence(
        f"waiting for approval of a {first.what} of {first.node}{others}: ", command("approve", run_id)
    )
