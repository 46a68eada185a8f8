"""Files of studies and exams with odd settings: one without a value counts as left out, a count that is none is refused."""

import json
from typing import Any

import pytest

from workbench.questions.sets.exams import Exam, ExamError, ExamRules
from workbench.studies.arms.base import ArmError, take

KNOWN: dict[str, Any] = {"by": ["source"], "pseudo": 1.0, "column": None}


def test_a_setting_of_an_arm_without_a_value_is_as_if_left_out() -> None:
    assert (
        take({"by": None, "pseudo": None, "column": None}, KNOWN, arm="x")
        == take({}, KNOWN, arm="x")
        == KNOWN
    )
    assert take({"pseudo": 2, "column": "p"}, KNOWN, arm="x") == {**KNOWN, "pseudo": 2.0, "column": "p"}
    with pytest.raises(ArmError, match="pseudo is float"):
        take({"pseudo": "much"}, KNOWN, arm="x")


@pytest.mark.parametrize("name", ["questions", "unsafe", "strata"])
@pytest.mark.parametrize("count", ["Infinity", "-Infinity", "NaN", "1e400"])
def test_an_exam_with_a_count_that_is_none_has_a_broken_field(name: str, count: str) -> None:
    exam = Exam(rules=ExamRules(name="x"), event_ids=("a", "b"), questions=2, unsafe=0, strata={"s": 2})
    document = exam.to_json()
    assert Exam.from_json(json.loads(json.dumps(document))) == exam
    document[name] = {"s": json.loads(count)} if name == "strata" else json.loads(count)
    with pytest.raises(ExamError, match="broken field"):
        Exam.from_json(document)
