"""What people do with a finished run afterwards: comments, notes, outcomes, edits and verdicts, none of which a model may hear of."""

from contextlib import closing
from pathlib import Path

from tests.fakes.small_run import RUN
from workbench.annotations.entries import add_comment, add_note, sign_off
from workbench.annotations.outcomes import record_outcome
from workbench.store import Store
from workbench.synthesis.whatif.edits import SetValue
from workbench.whatif.saved_scenarios import save_scenario


def put_on_record(home: Path, run: str = RUN) -> None:
    """All that people may do with a finished run, and a full what-if's calls."""
    with closing(Store(home)) as store:
        add_comment(store, run, "P1", "It came out otherwise", author="Ann")
        add_note(store, run, "it fell", tags=["wrong"], author="Ann")
        record_outcome(store, run, "no", on="2018-12-31", author="Ann")
        save_scenario(store, run, "mine", [SetValue(node="P1", p=0.01)], author="Ann", probability=0.5)
        sign_off(store, run, author="Bo", verdict="return")
        with store.transaction() as db:  # the calls of a full what-if, and of a refit
            db.execute(
                "INSERT INTO model_calls SELECT NULL, run_id, 'P0', 0, 99, stage, 7, retry, at_utc, request_hash, request,"
                " reply, model, 5, 5, 5, 1.5, 2.0 FROM model_calls LIMIT 1"
            )
