"""A look back at a resolved question: what was forecast, which driver was wrong, what was known when; from the records alone."""

import json
from pathlib import Path

import pytest

from tests.command_line import run_json, run_ok
from tests.rounds.killed import scene
from workbench.formatting import percent
from workbench.store import Store
from workbench.store import events as ev


def settle(home: Path, published: str, url: str) -> None:
    """A proposal that counts one page, as `questions resolve --model` puts it on record."""
    store = Store(home / "home")
    try:
        source = {
            "url": url,
            "title": "News",
            "published": published,
            "quote": "It did not rain.",
            "counts": True,
            "faults": [],
        }
        store.append(
            "questions:q",
            ev.OutcomeProposed(node="rain", answer="no", day=published, model="openai/x", sources=(source,)),
        )
    finally:
        store.close()


@pytest.mark.long
def test_a_look_back_names_the_driver_that_was_wrong_and_what_was_known(tmp_path: Path) -> None:
    with scene(tmp_path) as made:
        assert made.run(*made.words()).returncode == 0
        show = ("questions", "show", "q/rain")
        assert "post_mortem" not in run_json(tmp_path, *show)
        p = next(
            row["p"]
            for row in run_json(tmp_path, "tournament", "show", "q")["forecasts"]
            if row["event"] == "rain"
        )
        run_ok(tmp_path, "questions", "resolve", "q", "rain", "no")
        asked = len(made.policy.keys)
        back = run_json(tmp_path, *show)["post_mortem"]
        (row,) = back["forecasts"]
        assert (row["p"], row["crowd"], row["outcome"]) == (p, 0.1, 0.0)
        assert row["brier"] == pytest.approx(p**2)
        words = " ".join(back["sentences"])
        assert (
            f"was {percent(p)}" in words
            and "the less likely side" in words
            and "nearer to the outcome" in words
        )
        assert "read 1 source, the newest of 20 May 2024" in words
        pushed = back["drivers"][0]
        assert pushed["outcome"] is None and pushed["moved"] < 0, "at 50 % the claim had been nearer to no"
        assert f'"{pushed["statement"]}" at 60.0%' in words
        run_ok(tmp_path, "resolve", pushed["run_id"], "no", "--node", pushed["node"])
        after = run_json(tmp_path, *show)["post_mortem"]
        assert (after["drivers"][0]["node"], after["drivers"][0]["outcome"]) == (pushed["node"], 0.0)
        assert after["drivers"][0]["moved"] < pushed["moved"] and "came out no" in " ".join(
            after["sentences"]
        )

        for published, url, says in (
            ("2099-01-02", "https://www.bbc.co.uk/late", "after the forecast"),
            ("2024-05-21", "https://www.bbc.co.uk/early", "the search did not find it"),
            ("2024-05-20", "https://reuters.com/a", "was among them"),
        ):
            settle(tmp_path, published, url)
            assert says in run_json(tmp_path, *show)["post_mortem"]["sentences"][-1]
        assert "was among them" in run_ok(tmp_path, *show)
        assert len(made.policy.keys) == asked, json.dumps("no model is asked")
