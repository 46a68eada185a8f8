"""Every request of a whole run says the day, the days left and all that is known of the question, at the wire."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.model_policy import Asked, Policy, text_of
from tests.fakes.openai_server import OpenAIServer

pytestmark = pytest.mark.long

STATEMENT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
PARTS = {
    "background": "Rates were rising since spring.",
    "criteria": "By the official close; a fine print excludes halted days.",
    "choices": "Higher; Lower; Unchanged",
    "news": "Traders expect a calm summer.",
    "horizon": "the last session of the year",
}
DAY = "The last day that you can see in full is 2018-06-29 (New York time)."
#: Until the claim's end, or a part's own.
LEFT = re.compile(r"\d+ days? (?:is|are) left from then until 2018-\d\d-\d\d\.")


#: Stages that a run goes through, as the fake tells them apart; it takes a prior for a conclusion.
STAGES = {
    "notebook": {"analyze", "critic", "step", "conclude", "linear"},
    "belief": {"analyze", "critic", "act", "linear"},
    "batch": {"analyze", "critic", "act", "linear"},
    "zero-shot": {"analyze", "critic", "conclude", "linear", "judge"},
    "baseline": {"conclude", "judge"},
}
#: What names these stages beside the preset ``best``; a baseline is asked for the claim alone.
WORDS = {
    "batch": ("--grounder", "belief", "--set", "grounder.mode=batch"),
    "baseline": ("--grounder", "zero-shot", "--set", "analyzer=single", "--trials", "1"),
}


@pytest.mark.parametrize(
    ("way", "left_out"),
    [*((way, "") for way in STAGES), ("zero-shot", "news"), ("baseline", "criteria")],
)  # fmt: skip
def test_no_stage_is_asked_without_a_part_of_the_question(tmp_path: Path, way: str, left_out: str) -> None:
    told = [word for name, text in PARTS.items() if name != left_out for word in ("--set", f"{name}={text}")]
    with OpenAIServer(Policy()) as server:
        done = run_cli(
            tmp_path, "analyze", STATEMENT, "--cutoff", "2018-06-30", "--model", "openai/x", "--api-base", server.url,
            "--preset", "best", *WORDS.get(way, ("--grounder", way)), "--isolation", "none", *told,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if "judge" in STAGES[way]:
            (run,) = json.loads(run_cli(tmp_path, "runs", "--json").stdout)
            judged = run_cli(
                tmp_path, "judge", run["run_id"], "--model", "openai/judge", "--set", f"api_base={server.url}"
            )
            assert judged.returncode == 0, judged.stderr
        asked = list(server.asked)
    holds_to_all(asked, STAGES[way], left_out)


def holds_to_all(asked: list[Asked], stages: set[str], left_out: str) -> None:
    """Every request of these stages holds every part; but for one that nobody told, which none then holds."""
    lacking = Counter(
        (one.stage, part)
        for one in asked
        for text in ["\n".join(map(text_of, one.body["messages"]))]
        for part in (*PARTS.values(), DAY, LEFT)
        if (part not in text if isinstance(part, str) else not part.search(text))
    )
    assert {part for _, part in lacking} == ({PARTS[left_out]} if left_out else set()), lacking
    assert stages <= {one.stage for one in asked}, Counter(one.stage for one in asked)
    if left_out:  # the law sees it: not one request holds the part
        assert sum(lacking.values()) == len(asked)
