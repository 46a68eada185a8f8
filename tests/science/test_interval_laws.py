"""Laws of the intervals behind `score` and `returns`: about the score, as wide as the questions are uncertain, the same every time."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_science.runner import files, run, run_json
from workbench.science.comparing import score_intervals as intervals
from workbench.science.comparing.mean_intervals import Resampling
from workbench.science.comparing.score_intervals import interval_card
from workbench.science.scoring.scorecard import ACCURACY_BY_OUTCOME, METRICS, difficulty_of, scorecard
from workbench.science.tables import Events

ALL = tuple(METRICS)
PLAIN_METRICS = ("brier", "brier_index", "metaculus_baseline", "log_loss", "accuracy", "brier_by_question")


def example(seed: int, n: int = 60) -> tuple[np.ndarray, Events]:
    rng = np.random.default_rng(seed)
    truth = rng.random(n)
    kind = np.where(np.arange(n) % 3 == 0, "market", "dataset")
    question = np.array([f"q{i // 2}" for i in range(n)])
    crowd = np.clip(truth + rng.normal(0, 0.1, n), 0.01, 0.99)
    events = Events.of((rng.random(n) < truth).astype(float), kind=kind, question=question, crowd=crowd)
    return np.clip(truth + rng.normal(0, 0.2, n), 0, 1), events


def test_an_adjusted_index_of_all_events_has_the_interval_of_the_plain_one() -> None:
    """It is the same number: what questions were drawn is as uncertain in it."""
    p, events = example(0)
    rows = np.arange(len(p))
    difficulty = difficulty_of(events, {"m": p, "half": np.full(len(p), 0.5)})
    card = interval_card(p, rows, events, ALL, scorecard(p, rows, events, ALL, difficulty), difficulty)
    for part in ("market", "dataset", "overall"):
        assert card["abi"][part] == pytest.approx(card["brier_index"][part])


@pytest.mark.parametrize("answered", [100, 160])
def test_an_adjusted_index_of_some_events_is_as_uncertain_as_a_bootstrap_of_all_questions_says(
    answered: int,
) -> None:
    rng = np.random.default_rng(answered)
    truth = rng.random(200)
    o = (rng.random(200) < truth).astype(float)
    crowd, p = (np.clip(truth + rng.normal(0, spread, 200), 0.02, 0.98) for spread in (0.1, 0.2))
    events = Events.of(o, kind="market", crowd=crowd)
    rows = np.sort(rng.permutation(200)[:answered])
    difficulty = difficulty_of(events, {})
    card = interval_card(
        p[rows], rows, events, ("abi",), scorecard(p[rows], rows, events, ("abi",), difficulty), difficulty
    )
    hard, gap = (crowd - o) ** 2, (p - o) ** 2 - (crowd - o) ** 2
    drawn = rng.integers(0, 200, (4000, 200))
    seen = np.isin(drawn, rows)
    adjusted = (gap[drawn] * seen).sum(axis=1) / seen.sum(axis=1) + hard[drawn].mean(axis=1)
    wanted = 2 * 1.96 * (100 * np.sqrt(adjusted)).std()
    low, high = card["abi"]["overall"] or (0.0, 0.0)
    assert high - low == pytest.approx(wanted, rel=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_flipped_has_the_score_for_its_mean(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For every metric and part: with intervals of no width each is the score itself, on its printed scale."""
    monkeypatch.setattr(
        intervals,
        "mean_intervals",
        lambda columns, clusters, *, weights, resampling: [
            [float(np.average(each, weights=weights))] * 2 for each in columns
        ],
    )
    monkeypatch.setattr(
        intervals,
        "share_interval",
        lambda hits, clusters, *, weights=None: [float(np.average(hits, weights=weights))] * 2,
    )
    p, events = example(seed)
    rows = np.arange(len(p))[3:]
    difficulty = difficulty_of(events, {"m": p, "half": np.full(len(p), 0.5)})
    scores = scorecard(p[rows], rows, events, ALL, difficulty)
    card = interval_card(p[rows], rows, events, ALL, scores, difficulty)
    assert set(card) == set(ALL)
    for metric, parts in scores.items():
        assert set(card[metric]) == set(parts)
        for part, score in parts.items():
            if metric.startswith(("ece", "reliability", "resolution", "uncertainty")):
                assert card[metric][part] is None
            else:
                assert card[metric][part] == pytest.approx([score, score], abs=1e-9), (metric, part)


@given(st.integers(0, 10**6))
def test_an_interval_lies_about_its_score(seed: int) -> None:
    p, events = example(seed % 50)
    rows = np.arange(len(p))
    scores = scorecard(p, rows, events, PLAIN_METRICS)
    card = interval_card(p, rows, events, PLAIN_METRICS, scores, None, Resampling(resamples=200, seed=seed))
    for metric, parts in card.items():
        for part, bounds in parts.items():
            assert (
                bounds is not None
                and bounds[0] <= scores[metric][part] + 1e-9
                and scores[metric][part] <= bounds[1] + 1e-9
            )
    index = card["brier_index"]["market"]
    assert index is not None
    # One interval per quantity: the index's ends are those of the Brier score.
    brier = [((100 - end) / 100) ** 2 for end in reversed(index)]
    assert card["brier"]["market"] == pytest.approx(brier)


@given(st.integers(0, 10**6))
def test_accuracy_on_true_claims_has_the_interval_of_accuracy_where_nothing_else_was_asked(seed: int) -> None:
    p, events = example(seed % 50)
    p[:4] = 0.5
    for metric, outcome in ACCURACY_BY_OUTCOME.items():
        every, inside = np.arange(len(p)), np.flatnonzero(events.outcome == outcome)
        whole = interval_card(p, every, events, [metric], scorecard(p, every, events, [metric]))[metric]
        for part in ("market", "dataset"):
            rows = inside[events.kind[inside] == part]
            alone = interval_card(
                p[rows], rows, events, ["accuracy"], scorecard(p[rows], rows, events, ["accuracy"])
            )
            assert whole[part] == pytest.approx(alone["accuracy"][part])
        assert whole["overall"] is not None and whole["overall"][1] - whole["overall"][0] > 0.1


def test_five_questions_have_no_interval() -> None:
    events = Events.of([1, 0] * 5 + [1], kind=["market"] * 5 + ["dataset"] * 6)
    p, rows = np.linspace(0.1, 0.9, 11), np.arange(11)
    card = interval_card(p, rows, events, ["brier"], scorecard(p, rows, events, ["brier"]))["brier"]
    assert card["market"] is None and card["overall"] is None and card["dataset"] is not None


def test_score_prints_an_interval_with_every_number(tmp_path: Path) -> None:
    p, events = example(2)
    ids = np.array([f"e{i}" for i in range(len(p))])
    trials = {"method": "m", "event_id": np.repeat(ids, 2), "trial": [1, 2] * len(p), "p": np.repeat(p, 2)}
    words = ("score", *files(tmp_path, events.frame.assign(crowd=0.5, source="s"), trials))
    plain = run_json(*words, "--by", "source", "--metrics", ",".join(ALL))
    entry = plain["methods"]["m"]
    for scores, bounds in ((entry, entry["intervals"]), (entry["by"]["s"], entry["by"]["s"]["intervals"])):
        for metric in ALL:
            for part, score in scores[metric].items():
                if metric.startswith(("ece", "reliability", "resolution", "uncertainty")):
                    assert bounds[metric][part] is None
                else:
                    assert bounds[metric][part][0] <= score <= bounds[metric][part][1], (metric, part)
    assert plain["interval"]["resamples"] == 2000 and plain["interval"]["unit"] == "cluster"
    subset = run_json(*words, "--subsets", 1)["methods"]["m"]
    assert subset["intervals"]["accuracy"]["overall"][0] < subset["accuracy"]["overall"]
    assert entry["calibrated"]["ece"]["overall"]["expected"] < entry["calibrated"]["ece"]["overall"]["high"]
    assert "[" in run(*words).stdout and "[" not in run(*words, "--set", "resamples=0").stdout
    assert "intervals" not in run_json(*words, "--set", "resamples=0")["methods"]["m"]
    assert (
        run_json(*words, "--set", "seed=1")
        == run_json(*words, "--set", "seed=1")
        != run_json(*words, "--set", "seed=2")
    )
    assert run(*words, "--set", "resamples=-1").exit_code == 2
