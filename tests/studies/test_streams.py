"""Sets and studies lie in the log beside the runs: no run lists them, none may hold their events."""

from pathlib import Path

import pytest

from tests.fakes.small_run import RUN, make_small_run
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.questions.formats.base import QuestionFile
from workbench.questions.question import Question
from workbench.questions.sets.question_sets import add_questions
from workbench.store import EventUnreadable, Store
from workbench.store import events as ev
from workbench.studies.study_state import load_study, stream_of


def test_a_stream_is_no_run_and_a_run_holds_no_event_of_a_stream(tmp_path: Path) -> None:
    make_small_run(tmp_path)
    store = Store(tmp_path)
    try:
        add_questions(
            store, "set", QuestionFile(questions=(Question(id="q", title="?"),)), form="json", origin="test"
        )
        store.append(stream_of("s"), ev.StudyOpened(study={"name": "s"}, manifest={}))
        assert (
            store.run_ids() == [RUN]
            and store.streams("questions") == ["set"]
            and store.streams("study") == ["s"]
        )
        assert load_state(store, RUN).finished and load_study(store, "s").study == {"name": "s"}
        with pytest.raises(UsageError, match="the studies here are s"):
            load_study(store, "other")
        store.append(RUN, ev.QuestionAdded(node="q", question={"id": "q", "title": "?"}))
        with pytest.raises(EventUnreadable, match=r"belongs to no run: question\.added"):
            load_state(store, RUN)
    finally:
        store.close()
