"""A bad study is found before the first call: every mistake at once, a line each."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.small_run import RUN, make_small_run
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.questions.formats.base import QuestionFile
from workbench.questions.question import Question
from workbench.questions.sets.question_sets import add_questions, set_of
from workbench.store import EventUnreadable, Store
from workbench.store import events as ev
from workbench.studies.arms.arm_registry import make_arm
from workbench.studies.arms.base import ArmContext
from workbench.studies.study_file import ArmSpec, StudyError, read_study, study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_state import load_study, stream_of

SIMULATED: dict[str, Any] = {"simulator": {"questions": 20}}
EVENTS = "event_id,question_key,source,question_type,outcome,crowd,forecast_due_date,question\n"


def problems(store: Store, folder: Path, **document: Any) -> list[str]:
    """Every line that is wrong with a study."""
    with pytest.raises(StudyError) as refusal:
        plan_study(store, study_of({"name": "s", "exam": SIMULATED, "arms": ["market"], **document}, folder))
    assert all("\n" not in line for line in refusal.value.problems)
    return refusal.value.problems


def events_file(
    folder: Path, name: str = "e.csv", due: str = "2025-01-01", outcome: str = "1", prefix: str = "a"
) -> Path:
    rows = "".join(
        f"{prefix}{n},{prefix}{n},fred,market,{outcome},0.4,{due},Will {n} happen?\n" for n in range(6)
    )
    (folder / name).write_text(EVENTS + rows)
    return folder / name


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"arms": ["magic"]}, "unknown arm 'magic': one of random, column, market"),
        ({"exam": {"events": "nowhere.csv"}}, "nowhere.csv: cannot be read: No such file"),
        ({"exam": {"set": "nothing"}}, "no set of questions 'nothing'"),
        ({"exam": None}, "exam is missing"),
        ({"exam": {"set": "a", "events": "b"}}, "exactly one of events, set, questions, simulator"),
        ({"exam": {"simulator": {"size": 3}}}, "no setting 'size'"),
        ({"arms": []}, "at least one arm"),
        ({"arms": ["market", "market"]}, "arm 'market' is there twice"),
        ({"arms": [{"arm": "column", "column": "mood"}]}, "'mood'"),
        ({"reference": "nobody"}, "reference: 'nobody' is no arm: market"),
        ({"trials": 0}, "trials: a number of at least 1"),
        ({"seeds": [1, 1]}, "seeds: one stands twice"),
        ({"budget": 3}, "unknown key 'budget'"),
        ({"name": "../x"}, "name: letters, digits"),
        ({"contexts": "none.json"}, "contexts: "),
        (
            {"arms": ["market", "random"], "build_up": ["random", "other"]},
            "build_up: a list of two or more arms",
        ),
    ],
)
def test_each_mistake_is_one_line(store: Store, tmp_path: Path, document: dict[str, Any], says: str) -> None:
    lines = problems(store, tmp_path, **document)
    assert len(lines) == 1 and says in lines[0], lines


@pytest.mark.parametrize(
    ("arm", "says"),
    [
        ({"arm": "simulated", "mood": 1}, "no setting 'mood'"),
        ({"arm": "simulated", "sd": "high"}, "sd is float, not 'high'"),
        ({"arm": "simulated", "sd": -1.0}, "an sd is at least 0"),
        ({"arm": "simulated", "rule": "none"}, "rule is one of own"),
        ({"arm": "series", "model": "tarot"}, "no time-series model 'tarot'"),
        ({"arm": "grounder", "grounder": "oracle"}, "needs the grounder 'oracle', which is not installed here"),
        ({"arm": "notebook", "analytica": "X"}, "analytica is V, S, L, not 'X'"),
        ({"arm": "notebook", "max_leafs": 3}, "max_leafs"),
        ({"arm": "published", "method": "m"}, "forecasts is missing"),
        ({"arm": "published", "forecasts": "none.csv", "method": "m"}, "there is no file"),
        ({"arm": "base-rate", "pseudo": "much"}, "pseudo a number of at least 0"),
        ({"arm": "base-rate", "by": []}, "by is a list of columns"),
        ({"arm": "column"}, "which column?"),
        ({"arm": "market", "column": "p"}, "no setting 'column'; it has: none"),
        ({"arm": "price-move", "share": "half"}, "share is float, not 'half'"),
        ({"arm": "pooled"}, "of which arm"),
        ({"arm": "pooled", "of": "market", "pool": "stew"}, "stew"),
        ({"arm": "pooled", "of": "market", "clip": "x"}, "clip"),
        ({"arm": "pooled", "of": "nobody"}, "there is no arm 'nobody'"),
        ({"arm": "pooled", "of": "market"}, "does not draw"),
        ({"arm": "noisy", "of": "market", "noise": "loud"}, "noise is one of normal"),
        ({"arm": "noisy", "of": "market", "level": 2}, "lies in [0, 1], not 2"),
        ({"arm": "noisy", "of": "market"}, "no drivers to disturb"),
        ({"arm": "noisy", "of": "V"}, "without asking again"),
        ({"arm": "pooled", "of": "random mean"}, "there is no arm 'random mean'"),
    ],
)  # fmt: skip
def test_a_setting_that_an_arm_cannot_have_is_one_line_before_anything_is_paid_for(
    store: Store, tmp_path: Path, arm: dict[str, Any], says: str
) -> None:
    others = ["market", "random", {"arm": "pooled", "name": "random mean", "of": "random"}, {"arm": "search", "name": "V", "analytica": "V"}]  # fmt: skip
    exam = {"events": events_file(tmp_path).name}
    lines = problems(store, tmp_path, exam=exam, arms=[{"name": "odd", **arm}, *others])
    assert len(lines) == 1 and says in lines[0], lines


def test_a_setting_of_an_arm_without_a_value_is_as_if_left_out() -> None:
    def made(kind: str, **settings: Any) -> Any:
        return make_arm(ArmSpec(name="x", kind=kind, settings=settings), ArmContext(folder=Path()))

    assert made("base-rate", by=None, pseudo=None) == made("base-rate")
    assert made("base-rate", pseudo=2, by=["source"]).pseudo == 2.0
    assert made("column", column=0.5).spec == "0.5" and made("crowd+prior").spec == "crowd+prior_temporal"


def test_all_mistakes_come_at_once(store: Store, tmp_path: Path) -> None:
    lines = problems(
        store,
        tmp_path,
        exam={"events": "nowhere.csv"},
        arms=["magic", {"arm": "series", "model": "tarot"}, {"arm": "notebook", "analytica": "X"}],
    )
    assert len(lines) == 4


def test_a_budget_below_one_question(store: Store, tmp_path: Path) -> None:
    exam = {"events": events_file(tmp_path).name}
    arm = {"arm": "zero-shot", "model": "openai/x", "prices": {"openai/x": [1000.0, 1000.0]}}
    lines = problems(store, tmp_path, exam=exam, arms=[arm], budget_usd=0.01)
    assert len(lines) == 1 and "budget_usd 0.01 is below one question of arm 'zero-shot', about $" in lines[0]
    unknown = {"arm": "zero-shot", "model": "openai/my-own"}
    assert (
        "the price of openai/my-own is unknown"
        in problems(store, tmp_path, exam=exam, arms=[unknown], budget_usd=5)[0]
    )


def test_duplicate_ids_and_unresolved_questions_and_different_cutoffs(store: Store, tmp_path: Path) -> None:
    file = events_file(tmp_path)
    twice = [{"events": file.name}, {"events": file.name}]
    assert "event 'a0' is there twice (6 of them in all)" in problems(store, tmp_path, exam=twice)[0]
    events_file(tmp_path, "open.csv", outcome="")
    lines = problems(store, tmp_path, exam={"events": "open.csv"})
    assert "6 of 6 events are not resolved" in lines[0] and "unresolved: leave-out" in lines[0]
    events_file(tmp_path, "later.csv", due="2025-06-01", prefix="b")
    both = [{"events": "e.csv"}, {"events": "later.csv"}]
    lines = problems(store, tmp_path, exam=both)
    assert len(lines) == 1 and "different cutoffs (2025-01-01 and 2025-06-01)" in lines[0]
    plan = plan_study(
        store, study_of({"name": "s", "exam": both, "arms": ["market"], "cutoffs": "per-question"}, tmp_path)
    )
    assert len(plan.exam) == 12


def test_duplicate_ids_of_a_file_name_the_row(store: Store, tmp_path: Path) -> None:
    file = events_file(tmp_path)
    file.write_text(file.read_text() + "a0,a0,fred,market,1,0.4,2025-01-01,Again?\n")
    assert (
        "event a0 appears twice, first in row 1" in problems(store, tmp_path, exam={"events": file.name})[0]
    )


def test_unresolved_events_may_be_left_out_and_are_named(store: Store, tmp_path: Path) -> None:
    questions = [
        Question(id="yes", title="Rain?", asked_on="2025-01-01", outcomes={"yes": 1.0}, crowd={"yes": 0.4}),
        Question(id="open", title="Snow?", asked_on="2025-01-01", crowd={"open": 0.4}),
    ]
    add_questions(store, "q", QuestionFile(questions=tuple(questions)), form="json", origin="test")
    plan = plan_study(
        store, study_of({"name": "s", "exam": {"set": "q"}, "arms": ["market"], "unresolved": "leave-out"})
    )
    assert plan.exam.left_out == ("open",) and plan.exam.events.event_id.tolist() == ["yes"]
    assert set_of(questions).unscored()[0].reason == "not resolved yet"


def test_a_file_that_is_no_study(tmp_path: Path) -> None:
    for text, says in (
        ("- a\n", "a study is a mapping"),
        ("{", "no YAML"),
        ("name: off\n", "not False"),
        ("folder: x\n", "unknown key 'folder'"),
    ):
        (tmp_path / "s.yaml").write_text(text)
        with pytest.raises(StudyError, match=says):
            read_study(tmp_path / "s.yaml")
    with pytest.raises(StudyError, match="cannot be read"):
        read_study(tmp_path / "none.yaml")


def test_the_size_of_a_study_chooses_the_same_questions_everywhere(store: Store, tmp_path: Path) -> None:
    events_file(tmp_path)
    document = {"name": "s", "exam": {"events": "e.csv"}, "arms": ["market"], "size": 3}
    first = plan_study(store, study_of(document, tmp_path)).exam.events.event_id.tolist()
    assert (
        len(first) == 3
        and first == plan_study(store, study_of(document, tmp_path)).exam.events.event_id.tolist()
    )


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
