"""`resolve --due`: everything open that can be known, in one line; a source that fails does not stop the others."""

import json
from pathlib import Path

from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.questions.test_selection import event, market

OPEN = [
    event("FED-24NOV", market("CUT"), market("HOLD")),
    event("FAR-99", market("A", close_time="2099-01-01T00:00:00Z")),
]


def test_series_and_venues_are_asked_and_quiet_means_quiet(tmp_path: Path) -> None:
    (tmp_path / "venue.json").write_text(json.dumps({"events": OPEN}))
    (tmp_path / "q.csv").write_text(
        "id,title,asked_on\nup,The S&P 500 closes higher on 2018-12-31 than on 2018-06-29,2018-06-30\n"
    )
    run_ok(tmp_path, "questions", "import", "venue.json", "--set", "format=kalshi")
    run_ok(tmp_path, "questions", "import", "q.csv")
    asked: list[str] = []

    def answer(seen: Seen) -> Sent:
        asked.append(seen.path)
        markets = [market("CUT", result="yes", status="finalized"), market("HOLD", result="no")]
        return Sent({"event": event("FED-24NOV", *markets)})

    with Upstream(answer) as venue:
        words = ("resolve", "--due", "--quiet")
        env = {"WORKBENCH_UPSTREAM_KALSHI": venue.url}
        done = run_json(tmp_path, *words, **env)
        assert done == {"runs": [], "sets": {"venue": 2, "q": 1}, "failed": []}
        assert len(asked) == 1 and asked[0].endswith("/events/FED-24NOV")
        again = run_cli(tmp_path, *words, **env)
        assert (again.returncode, again.stdout, again.stderr) == (0, "", "") and len(asked) == 1
    assert "leave out the run" in run_cli(tmp_path, "resolve", "x", "--due").stderr
    assert "to resolve, or --due" in run_cli(tmp_path, "resolve").stderr


def test_a_venue_that_does_not_answer_is_named_and_the_rest_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "venue.json").write_text(json.dumps({"events": OPEN}))
    (tmp_path / "q.csv").write_text(
        "id,title,asked_on\nup,The S&P 500 closes higher on 2018-12-31 than on 2018-06-29,2018-06-30\n"
    )
    for name in ("venue.json", "q.csv"):
        run_ok(tmp_path, "questions", "import", name)
    with Upstream(lambda seen: Sent({"error": "gone"}, 404)) as venue:
        done = run_cli(tmp_path, "resolve", "--due", WORKBENCH_UPSTREAM_KALSHI=venue.url)
    assert done.returncode == 4 and "set q: 1 outcome recorded" in done.stdout
    assert "workbench: venue/FED-24NOV: " in done.stderr
