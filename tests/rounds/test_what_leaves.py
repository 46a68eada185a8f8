"""What leaves the house: no probability nearer to 0 or 1 than the setting, on any face. A claim that values have decided is forecast no more."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.command_line import run_ok
from workbench.questions.formats.format_registry import OWN
from workbench.questions.question import Question
from workbench.questions.sets.question_sets import QuestionSet
from workbench.questions.sets.submission_files import METACULUS_WRITES, within

DAY = "2025-10-26"
SET: list[dict[str, Any]] = [
    {"id": "sure", "title": "Rain?", "asked_on": DAY, "source": "fred", "closes_on": "2025-12-01"},
    {"id": "never", "title": "Snow?", "asked_on": DAY, "source": "fred", "closes_on": "2025-12-01"},
]


def numbers(path: Path) -> list[float]:
    """Every probability of a file that is handed in, whatever its form."""
    text = path.read_text()
    if path.suffix == ".md":
        return [float(share) / 100 for share in re.findall(r": (\d+\.\d) ?%", text)]
    found: list[float] = []

    def collect(value: Any, name: str = "") -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                collect(item, key)
        elif isinstance(value, list):
            for item in value:
                collect(item, name)
        elif isinstance(value, float | int) and re.search("forecast|probability|p_yes", name):
            found.append(float(value))

    for line in [text] if path.suffix == ".json" else text.splitlines():
        collect(json.loads(line))
    return found


@pytest.mark.parametrize(
    ("form", "output", "read"),
    [("forecastbench", "f.json", "f.json"), ("prophet", "p.json", "p.json"), ("metaculus", "m.md", "m.md"), ("metaculus", "m.md", "m.json")],
)  # fmt: skip
@pytest.mark.parametrize("least", [None, 0.05, 0.0])
def test_every_form_keeps_its_distance(
    tmp_path: Path, form: str, output: str, read: str, least: float | None
) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"format": OWN, "questions": SET}))
    run_ok(tmp_path, "questions", "import", "q.json", "--as", "s")
    (tmp_path / "f.csv").write_text("method,event_id,trial,p\nm,sure,1,1.0\nm,never,1,0.0\n")
    words = [
        "submit",
        form,
        "s",
        "--forecasts",
        "f.csv",
        "-o",
        output,
        "--set",
        "organization=We",
        "--set",
        "model=ours",
        "--set",
        "pool=mean",
    ]
    run_ok(tmp_path, *words, *([] if least is None else ["--set", f"least={least}"]))
    takes = {"metaculus": METACULUS_WRITES, "prophet": 0.01}
    bound = 0.01 if least is None else max(least, takes.get(form, 0))
    stated = numbers(tmp_path / read)
    assert len(stated) >= 2 and (min(stated), max(stated)) == pytest.approx(
        (bound, 1 - bound), abs=5e-4 if read == "m.md" else None
    )


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=6), st.floats(0.0, 0.2))
def test_what_is_decided_keeps_its_0_or_1_and_the_rest_its_distance(
    weights: list[float], least: float
) -> None:
    """Of a choice one option is out; a second question came true; a third is open."""
    assume(sum(weights) > 0.01)
    names = tuple(f"o{place}" for place in range(len(weights)))
    choice = Question(id="c", title="Who?", kind="options", options=("out", *names), outcomes={"c#out": 0.0})
    asked = [
        choice,
        Question(id="came", title="Rain?", outcomes={"came": 1.0}),
        Question(id="open", title="Snow?"),
    ]
    p = {"c#out": 0.0, "came": 1.0, "open": 1.0}
    p |= {f"c#{name}": weight / sum(weights) for name, weight in zip(names, weights, strict=True)}
    kept = within(QuestionSet(name="s", questions={each.id: each for each in asked}), p, least)
    assert (kept["c#out"], kept["came"], kept["open"]) == (0.0, 1.0, 1 - least)
    rest = [kept[f"c#{name}"] for name in names]
    assert sum(rest) == pytest.approx(1) and min(rest) >= min(least, 1 / len(rest)) - 1e-9
