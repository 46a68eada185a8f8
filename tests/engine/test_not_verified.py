"""A proof that does not hold is said by terminal, page, report, `show` and `audit`, which ends with exit code 6."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.progress import progress_line
from workbench.reports.note_content import note_of
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import resynthesize
from workbench.views.run_view import load_run
from workbench.widgets import panels


@pytest.mark.parametrize("holds", [True, False])
def test_every_screen_says_that_a_proof_does_not_hold(tmp_path: Path, holds: bool) -> None:
    make_small_run(tmp_path / "home")
    with closing(Store(tmp_path / "home")) as store:
        check = ev.LeafVerified(
            node="P2", trial=1, verified=holds, differing=("cells c2: gave 3",) * (not holds)
        )
        store.append(RUN, check)
        state, (*_, last) = load_state(store, RUN), store.events(RUN)
        # not the audit in its appendix: the first page has to say it
        report = "\n".join(note_of(store, state).warnings)
    show, audit = run_cli(tmp_path, "show", RUN), run_cli(tmp_path, "audit", RUN)
    run = load_run(tmp_path / "home", RUN)
    page = panels.header(run.document(), resynthesize(run.tree, {}), 0, None)
    terminal = progress_line(state, last) or ""
    said = [text for text in (show.stdout, audit.stdout, page, report, terminal) if "NOT VERIFIED" in text]
    assert len(said) == (0 if holds else 5)
    assert all("P2" in text for text in said)
    assert (show.returncode, audit.returncode) == (0, 0 if holds else 6)
