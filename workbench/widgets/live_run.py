"""A run that is still in work, as a page sees it: how far it is, what starts and stops it; the log is read again and again."""

import threading
import time
from collections import deque
from collections.abc import Callable

import ipywidgets

from workbench.engine.detached import resume_detached, stop_run
from workbench.engine.ownership import owner_of
from workbench.engine.record.fold import apply
from workbench.engine.record.progress import progress_line
from workbench.engine.record.stages import Stages, pace_of, replay
from workbench.engine.record.state import RunState
from workbench.propositions import NodeId
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import RunView, view_of
from workbench.views.wording import work_words
from workbench.widgets import panels
from workbench.widgets.fields import action, html, look, show_if, tried
from workbench.widgets.page_terms import line_on_page
from workbench.widgets.tree_rows import Mark

#: Seconds between two looks at the log, and the part of the time that looking may take: a long log is looked at less often.
_LOOK_SECONDS = 1.0
_BUSY_PART = 0.1
#: Lines of progress that the page holds.
_LINES = 200


class Follower:
    """The state of a run, kept in step with its log."""

    def __init__(self, run: RunView) -> None:
        self._home, self._run_id = run.home, run.run_id
        self.lines: deque[str] = deque(maxlen=_LINES)
        #: How far each leaf is; read from the log when it is first looked at.
        self.stages = Stages()
        self._stages_read = False
        # A copy, since events are applied in place: the log need not be folded a second time.
        self.state: RunState = run.state.copy()
        self.in_work = owner_of(run.folder) is not None
        #: Whether the last look found work on the run, not only what people said of it.
        self.worked = False
        self.view = run
        # The page's poller and its clicks look both: an event must not be applied twice.
        self._looking = threading.Lock()

    def look(self) -> bool:
        """Read what the log has got since the last look; True if anything changed."""
        with self._looking:
            return self._look()

    def _look(self) -> bool:
        with Store(self._home) as store:
            if not self._stages_read:
                self._stages_read = True
                if not self.state.finished:
                    past = [each for each in store.events(self._run_id) if each.seq <= self.state.seq]
                    self.stages = replay(Stages(pace_of(store, self.state)), past)
            # Asked before the log is read: what the owner wrote last is seen in the look after its end.
            in_work = owner_of(store.folder(self._run_id)) is not None
            events = store.events(self._run_id, after=self.state.seq)
            for stored in events:
                apply(store, self.state, stored)
                line = progress_line(self.state, stored)
                if line is not None:
                    self.lines.append(line.strip())
                self.stages.take(stored.event)
            # Scenarios are the page's own, and read where they are shown.
            said = [each for each in events if not isinstance(each.event, ev.ScenarioRecorded)]
            self.worked = in_work != self.in_work or any(
                not isinstance(each.event, ev.Annotation) for each in said
            )
            changed = self.worked or bool(said)
            self.in_work = in_work
            if changed:
                self.view = view_of(store, self.state)
        return changed

    @property
    def phase(self) -> str:
        """State of the run in a word, with what the log cannot know: whether somebody works on it now."""
        phase = self.state.phase
        if phase in ("running", "waiting"):
            return phase if self.in_work else "stopped"
        # A process that has just taken the run has written nothing yet.
        return "running" if self.in_work and phase != "done" else phase

    def marks(self) -> dict[NodeId, list[Mark]]:
        """Return what is to be said of the propositions that have no value yet."""
        marks: dict[NodeId, list[Mark]] = {}
        for node in self.state.tree.propositions():
            status = self.state.node_status(node.id)
            if status == "grounding":
                name = "working" if self.in_work else "begun"
                at_first = "opening its notebook" if self.in_work else "its notebook was begun"
                marks[node.id] = [Mark(name=name, why=self.stages.words.get(node.id, at_first))]
            elif status == "failed":
                reasons = [trial.failure for trial in self.state.trials_of(node.id) if trial.failure]
                reasons += self.state.failures.get(node.id, [])
                marks[node.id] = [
                    Mark(name="failed", why=line_on_page(reasons[-1]) if reasons else "see the log")
                ]
        return marks


class Poller:
    """Calls a function again and again on a thread of its own, until it returns False or the page ends."""

    def __init__(self, look: Callable[[], bool], seconds: float = _LOOK_SECONDS) -> None:
        self._look, self._seconds = look, seconds
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, unless it is at work already."""
        if self._thread is None or not self._thread.is_alive():
            self._ended.clear()
            self._thread = threading.Thread(target=self._work, name="page-poller", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End it after the look it is at."""
        self._ended.set()

    def _work(self) -> None:
        pause = self._seconds
        while not self._ended.wait(pause):
            began = time.thread_time()
            if not self._look():
                return
            pause = max(self._seconds, (time.thread_time() - began) / _BUSY_PART)


class Working(ipywidgets.HBox):  # type: ignore[misc]
    """The state of a run that is not done, and a button for what can be done about it."""

    def __init__(
        self,
        follower: Follower,
        begin: Callable[[Store], None],
        follow: Callable[[], None],
        say: Callable[[str, bool], None],
    ) -> None:
        self._follower, self._begin, self._follow, self._say = follower, begin, follow, say
        self.state = html()
        self.ground = action(
            "Collect evidence", tried(self._ground, self._refuse), tooltip="write and run the notebooks"
        )
        self.end = action("Stop", tried(self._end, self._refuse), tooltip="the run can be resumed")
        super().__init__([self.state, self.ground, self.end], layout=look(ipywidgets.Layout))
        self.add_class("wb-working")

    def show(self, run: RunView, *, always: bool = False) -> None:
        """Bring it in step with the follower; unless it is to be there ``always`` it is hidden when the run is done."""
        follower, phase = self._follower, self._follower.phase
        show_if(always or phase != "done", self)
        if phase == "done" and not always:
            return
        self.state.value = panels.progress(
            phase,
            follower.state,
            run,
            list(follower.lines),
            share=follower.stages.share(follower.state),
            words=self.words(),
        )
        show_if(phase in ("planned", "stopped", "failed"), self.ground)
        self.ground.description = "Collect evidence" if phase == "planned" else "Resume"
        show_if(phase in ("running", "waiting"), self.end)

    def words(self) -> str:
        """Say in a few words how far the run is."""
        return work_words(self._follower.state, self._follower.phase, self._follower.stages)

    def refuse(self, line: str) -> None:
        """Show why the log could not be read."""
        self.state.value = panels.refusal(line)

    def _ground(self) -> None:
        run = self._follower.view
        with Store(run.home) as store:
            if self._follower.phase == "planned":
                self._begin(store)
            process = resume_detached(store, run.run_id)
        process.require_running()
        self._follow()

    def _end(self) -> None:
        run = self._follower.view
        with Store(run.home) as store:
            stop_run(store, run.run_id)
        self._follow()

    def _refuse(self, why: str) -> None:
        self._say(why, True)
