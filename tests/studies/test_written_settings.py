"""Files of studies and exams with odd settings: one without a value counts as left out, a count that is none is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import UsageError
from workbench.questions.sets.exams import Exam, ExamError, ExamRules
from workbench.studies.arms.arm_registry import make_arm
from workbench.studies.arms.base import ArmContext
from workbench.studies.study_file import ArmSpec


def made(kind: str, **settings: Any) -> Any:
    return make_arm(ArmSpec(name="x", kind=kind, settings=settings), ArmContext(folder=Path()))


def test_a_setting_of_an_arm_without_a_value_is_as_if_left_out() -> None:
    assert made("base-rate", by=None, pseudo=None) == made("base-rate")
    assert made("base-rate", pseudo=2, by=["source"]).pseudo == 2.0
    assert made("column", column=0.5).spec == "0.5" and made("crowd+prior").spec == "crowd+prior_temporal"


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("base-rate", {"pseudo": "much"}, "pseudo a number of at least 0"),
        ("base-rate", {"by": []}, "by is a list of columns"),
        ("column", {}, "which column\\?"),
        ("market", {"column": "p"}, "no setting 'column'; it has: none"),
        ("price-move", {"share": "half"}, "share is float, not 'half'"),
        ("published", {"method": "m"}, "forecasts is missing"),
        ("published", {"forecasts": "none.csv", "method": "m"}, "there is no file none.csv"),
        ("pooled", {}, "of which arm\\?"),
        ("pooled", {"of": "a", "pool": "stew"}, "stew"),
        ("pooled", {"of": "a", "clip": "x"}, "clip"),
        ("noisy", {"of": "a", "noise": "loud"}, "noise is one of normal"),
        ("noisy", {"of": "a", "level": 2}, "lies in \\[0, 1\\], not 2"),
        ("simulated", {"rule": "none"}, "rule is one of own"),
        ("simulated", {"sd": "x"}, "sd is float, not 'x'"),
        ("simulated", {"sd": -1.0}, "an sd is at least 0"),
        ("series", {"model": "crystal"}, "no time-series model 'crystal'"),
    ],
)
def test_a_setting_that_an_arm_cannot_have_is_one_line(
    kind: str, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        made(kind, **settings)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["questions", "unsafe", "strata"])
@pytest.mark.parametrize("count", ["Infinity", "-Infinity", "NaN", "1e400"])
def test_an_exam_with_a_count_that_is_none_names_its_field(name: str, count: str) -> None:
    exam = Exam(rules=ExamRules(name="x"), event_ids=("a", "b"), questions=2, unsafe=0, strata={"s": 2})
    document = exam.to_json()
    assert Exam.from_json(json.loads(json.dumps(document))) == exam
    document[name] = {"s": json.loads(count)} if name == "strata" else json.loads(count)
    with pytest.raises(ExamError, match=f"^{name}.* of an exam must be a finite number"):
        Exam.from_json(document)
