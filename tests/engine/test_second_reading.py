"""A second model reads a finished run: scores, memories, and what was known too early, beside the date rules."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.record.verify import content_hash
from tests.command_line import run_cli
from tests.fakes.model_policy import fenced
from tests.fakes.openai_server import answered
from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.stored_run import RunWriter
from tests.fakes.upstream import Seen, Sent, Upstream
from workbench.agents.errors import MalformedReply
from workbench.agents.judges import DIMENSIONS, Judgement, Recall, parse_leaks
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.science.comparing.mean_intervals import rate_over_runs, wilson_interval
from workbench.store import Store
from workbench.store import events as ev

EARLY = "The index closed at 2,718 on June 29, 2018, and analysts expect a rate decision in September 2018."
LATE = "The index fell to 2,507 on December 31, 2018, after it had closed at 2,718 in June."
GOOD = dict.fromkeys(DIMENSIONS, 4)


class Reader:
    """Answers as a model would that calls a text a leak where it names December, and is unsure where it says perhaps."""

    def __init__(self) -> None:
        self.temperatures: list[Any] = []
        self.broken = False

    def __call__(self, seen: Seen) -> Sent:
        if not seen.body.get("stream"):
            self.temperatures.append(seen.body.get("temperature"))
        return answered(seen, lambda text: "no JSON at all" if self.broken else fenced(self._answer(text)))

    def _answer(self, prompt: str) -> dict[str, Any]:
        if '"scores"' in prompt:
            return {
                "scores": {**GOOD, "sources": 2 if "second" in prompt else 5},
                "reasons": {"sources": "one page"},
            }
        if '"recognized_event"' in prompt:
            known = "small claim" in prompt
            facts = ["2,507 on the last day"] if known else []
            return {
                "recognized_event": known,
                "evidence_facts": facts,
                "recalled_outcome": "yes" if known else None,
                "probability": 0.6,
            }
        texts = prompt.split("[begin text ")[1:]
        verdict = [
            "leak" if "December" in part else "unsure" if "perhaps" in part else "no leak" for part in texts
        ]
        return {
            "texts": [{"id": n, "verdict": v, "quote": "fell to 2,507"} for n, v in enumerate(verdict, 1)]
        }


@pytest.fixture
def reader() -> Iterator[Reader]:
    yield Reader()


@pytest.fixture
def server(reader: Reader) -> Iterator[Upstream]:
    with Upstream(reader) as upstream:
        yield upstream


def small_run(home: Path, server: Upstream, *hits: str) -> None:
    """A finished run of openai/gpt-small whose first leaf kept these hits of a search."""
    make_small_run(home / "home")
    store = Store(home / "home")
    store.append(RUN, ev.RunChanged(changes={"model": "openai/gpt-small", "api_base": f"{server.url}/v1"}))
    rows = {
        "web": {
            "results": [
                {"title": "A page", "description": hit, "url": f"https://x/{n}"} for n, hit in enumerate(hits)
            ]
        }
    }
    meta = {
        "content_hash": content_hash(rows),
        "as_of": "2018-06-29",
        "rows_dropped": 0,
        "residual": "medium",
    }
    if hits:
        RunWriter(store, RUN).call(
            "P1", rows, meta=meta, stage="tool", step=7, path="brave/web", asked={"q": "x"}
        )
    store.close()


def cli(home: Path, *words: str) -> Any:
    return run_cli(home, *words, OPENAI_API_KEY="sk-test")


def test_a_result_that_both_call_late_fails_the_audit(server: Upstream, tmp_path: Path) -> None:
    small_run(tmp_path, server, EARLY, LATE, "It is perhaps known by now that the index has fallen since.")
    store = Store(tmp_path / "home")
    before = (load_state(store, RUN).changed_seq, load_state(store, RUN).tree.to_json())
    store.close()
    done = cli(tmp_path, "leaks", RUN, "--model", "openai/claude-second", "--json")
    assert done.returncode == 6, done.stderr
    document = json.loads(done.stdout)
    assert document["table"]["leak"] == {"late": 1, "not late": 0}
    assert sum(document["table"]["unsure"].values()) == 1
    assert (
        document["results"]["n"] == 3
        and document["results"]["leaks"] == 1
        and document["results"]["unsure"] == 1
    )
    assert document["results"]["rate_with_unsure"] == pytest.approx(2 / 3)
    assert (
        document["reasoning"] == {"n": 0, "leaks": 0, "unsure": 0, "rate": None}
        or document["reasoning"]["leaks"] == 0
    )
    audit = cli(tmp_path, "audit", RUN, "--json")
    assert audit.returncode == 6
    check = next(row for row in json.loads(audit.stdout)["checks"] if row["name"] == "second reading")
    assert check["verdict"] == "bad" and "brave/web (P1)" in check["found"]
    # the newest reading counts, and what is on record is read again without a model
    assert cli(tmp_path, "leaks", RUN).returncode == 6
    store = Store(tmp_path / "home")
    after = load_state(store, RUN)
    # A reading is a remark: no request of the run moves to another address, and nothing of its tree is another.
    assert (after.changed_seq, after.tree.to_json()) == before
    store.close()


def test_one_of_them_alone_warns_and_passes(server: Upstream, tmp_path: Path) -> None:
    # December 2018 as a plan is early by the rules; the model, here a careless one, calls it a leak
    small_run(
        tmp_path,
        server,
        EARLY,
        "The Fed will meet on December 19, 2018, and nobody knows what it will decide.",
    )
    done = cli(tmp_path, "leaks", RUN, "--model", "openai/claude-second", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["table"]["leak"] == {"late": 0, "not late": 1}
    audit = json.loads(cli(tmp_path, "audit", RUN, "--json").stdout)
    assert next(row for row in audit["checks"] if row["name"] == "second reading")["verdict"] == "warn"


def test_what_cannot_be_read_is_unsure_and_not_clean(
    server: Upstream, reader: Reader, tmp_path: Path
) -> None:
    small_run(tmp_path, server, EARLY)
    reader.broken = True
    document = json.loads(cli(tmp_path, "leaks", RUN, "--model", "openai/claude-second", "--json").stdout)
    assert document["results"]["unsure"] == 1 and document["results"]["leaks"] == 0


def test_the_second_model_is_of_another_family(server: Upstream, tmp_path: Path) -> None:
    small_run(tmp_path, server, EARLY)
    for model, words in (
        ("openai/gpt-large", "is of the family of"),
        ("offline/analyst", "only a language model"),
    ):
        done = cli(tmp_path, "leaks", RUN, "--model", model)
        assert done.returncode == 2 and words in done.stderr
    done = cli(tmp_path, "leaks", RUN)
    assert done.returncode == 2 and "no model has read run" in done.stderr
    assert server.seen == []


def test_reports_are_judged_at_temperature_0_and_compared_to_a_person(
    server: Upstream, reader: Reader, tmp_path: Path
) -> None:
    small_run(tmp_path, server)
    people = tmp_path / "people.csv"
    people.write_text("node,sources,evidence,combination,uncertainty,mapping\nP1,4,4,4,4,4\nP2,2,3,4,4,4\n")
    done = cli(tmp_path, "judge", RUN, "--model", "openai/claude-second", "--against", str(people), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [row["scores"]["sources"] for row in document["reports"]] == [5, 2]
    gaps = document["against"]["dimensions"]
    # |5 - 4| and |2 - 2|, mean 0.5, variance 0.5 (ddof 1); |4 - 4| and |4 - 3|
    assert gaps["sources"] == {"mean_absolute_difference": 0.5, "variance": 0.5, "within_one": 1.0}
    assert gaps["evidence"]["mean_absolute_difference"] == 0.5
    assert document["against"]["mean_absolute_difference"] == pytest.approx(0.2)
    assert set(reader.temperatures) == {0.0}
    one = json.loads(
        cli(tmp_path, "judge", RUN, "--node", "P2", "--model", "openai/claude-second", "--json").stdout
    )
    assert [row["node"] for row in one["reports"]] == ["P2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node,sources\nP1,4\n", "line 2"),
        ("node,sources,evidence,combination,uncertainty,mapping\nP1,4,4,4,4,9\n", "outside 1 to 5"),
        ("node,sources,evidence,combination,uncertainty,mapping\nP9,4,4,4,4,4\n", "other drivers"),
    ],
)
def test_a_bad_file_of_scores_is_one_line(text: str, words: str, server: Upstream, tmp_path: Path) -> None:
    small_run(tmp_path, server)
    (tmp_path / "people.csv").write_text(text)
    done = cli(
        tmp_path, "judge", RUN, "--model", "openai/claude-second", "--against", str(tmp_path / "people.csv")
    )
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_recall_counts_what_is_remembered_and_what_is_remembered_wrongly(
    server: Upstream, tmp_path: Path
) -> None:
    small_run(tmp_path, server)
    assert cli(tmp_path, "resolve", RUN, "no", "--on", "2018-12-31").returncode == 0
    done = cli(tmp_path, "judge", RUN, "--recall", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["recognized"]["n"] == 3 and document["recognized"]["rate"] == pytest.approx(1 / 3)
    assert document["misrecalled"]["n"] == 1 and document["misrecalled"]["rate"] == 1.0
    refused = cli(tmp_path, "judge", RUN, "--recall", "--node", "P1")
    assert refused.returncode == 2


# --- parts -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parse", "reply"),
    [
        (Judgement.read, {"scores": {**GOOD, "sources": 6}, "reasons": {}}),
        (Judgement.read, {"scores": {"sources": 3}, "reasons": {}}),
        (
            Recall.read,
            {"recognized_event": True, "evidence_facts": [], "recalled_outcome": "yes", "probability": 1},
        ),
        (Recall.read, {"recognized_event": False, "probability": 1.5}),
        (lambda text: parse_leaks(text, 2), {"texts": [{"id": 1, "verdict": "leak", "quote": ""}]}),
        (lambda text: parse_leaks(text, 1), {"texts": [{"id": 1, "verdict": "maybe", "quote": ""}]}),
    ],
)
def test_replies_that_break_the_form_are_sent_back(parse: Any, reply: dict[str, Any]) -> None:
    with pytest.raises(MalformedReply):
        parse(fenced(reply))


def test_the_papers_rate_has_the_papers_interval() -> None:
    # BLF, App. B: 21 leaks in 1,375 kept results, 1.5 %
    rate, low, high = wilson_interval(21, 1375)
    assert (round(rate, 3), round(low, 3), round(high, 3)) == (0.015, 0.01, 0.023)


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_intervals_hold_their_rate_and_stay_in_bounds(counts: list[int]) -> None:
    totals = [5] * len(counts)
    rate, low, high = wilson_interval(sum(counts), sum(totals))
    assert 0 <= low <= rate + 1e-12 and rate <= high + 1e-12 <= 1 + 1e-11
    over_runs = rate_over_runs(counts, totals)
    assert (over_runs is None) == (len(counts) < 6)
    if over_runs is not None:
        assert 0 <= over_runs[0] <= rate + 1e-12 and rate <= over_runs[1] + 1e-12 <= 1 + 1e-11


def test_findings_of_another_shape_are_not_counted(store: Store, tmp_path: Path) -> None:
    make_small_run(tmp_path)
    body = store.put_body(b'[{"id": "x", "model": "leak"}]')
    store.append(RUN, ev.LeaksAudited(model="x/y", findings=body))
    from workbench.annotations.second_opinions import stored_findings

    with pytest.raises(UsageError, match="cannot be read"):
        stored_findings(store, load_state(store, RUN))
