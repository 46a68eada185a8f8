"""A run in work at the head of its page: how far it is, and what starts, resumes and stops it."""

from collections.abc import Callable
from contextlib import closing

import ipywidgets

from workbench.engine.run.detached import resume_detached, stop_run
from workbench.engine.view import RunView
from workbench.errors import UsageError
from workbench.store import Store
from workbench.widgets import panels
from workbench.widgets.fields import action, html, look, show_if, tried
from workbench.widgets.live import Follower


class Working(ipywidgets.HBox):  # type: ignore[misc]
    """The state of a run that is not done, and a button for what can be done about it.

    Parameters
    ----------
    follower : Follower
    begin : callable
        Called with the open store before a planned run begins: what was edited in its plan is what is grounded.
    follow : callable
        Called when a process has taken the run up, or has been told to stop.
    say : callable
        Shows a refusal: an exception in a widget's callback is seen by nobody.
    """

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
            "Ground it", tried(self._ground, self._refuse), tooltip="write and run the notebooks"
        )
        self.end = action("Stop", tried(self._end, self._refuse), tooltip="the run can be resumed")
        super().__init__([self.state, self.ground, self.end], layout=look(ipywidgets.Layout))
        self.add_class("wb-working")

    def show(self, run: RunView) -> None:
        """Bring it in step with the follower; it is hidden when the run is done."""
        follower, phase = self._follower, self._follower.phase
        show_if(phase != "done", self)
        self.state.value = panels.progress(phase, follower.state, run, list(follower.lines))
        show_if(phase in ("planned", "stopped", "failed"), self.ground)
        self.ground.description = "Ground it" if phase == "planned" else "Resume"
        show_if(phase in ("running", "waiting"), self.end)

    def refuse(self, line: str) -> None:
        """Show why the log could not be read."""
        self.state.value = panels.refusal(line)

    def _ground(self) -> None:
        """Go on with the run in a process of its own: it outlives this page."""
        run = self._follower.view
        with closing(Store(run.home)) as store:
            if self._follower.phase == "planned":
                self._begin(store)
            process = resume_detached(store, run.run_id)
        if process.exit_code:
            raise UsageError(process.line.removeprefix("workbench: ") or "the run ended at once")
        self._follow()

    def _end(self) -> None:
        run = self._follower.view
        with closing(Store(run.home)) as store:
            stop_run(store, run.run_id)
        self._follow()

    def _refuse(self, why: str) -> None:
        self._say(why, True)
