"""``workbench claims``: every example is read by the reader that a claim is read by."""

import json
from pathlib import Path

import pytest

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from workbench.offline.claim_examples import EXAMPLE_CUTOFF, example_texts
from workbench.questions.readings.choice import day_of
from workbench.questions.readings.read import read


@pytest.mark.long  # each is treated as before a run
def test_the_document_has_every_example_with_its_readings(tmp_path: Path) -> None:
    examples = json.loads(run_cli(tmp_path, "claims", "--json").stdout)["claims"]
    assert [each["text"] for each in examples] == [
        text for texts in example_texts().values() for text in texts
    ]
    assert all(each["readings"] and each["answered"] for each in examples)


@pytest.mark.long
def test_the_command_prints_them_for_people(tmp_path: Path) -> None:
    assert "the S&P 500 closes 2018 higher" in run_cli(tmp_path, "claims").stdout


@pytest.mark.parametrize("text", [text for texts in example_texts().values() for text in texts])
def test_every_line_has_a_reading(text: str) -> None:
    found = read(text, day_of(Cutoff.parse(EXAMPLE_CUTOFF)))
    assert found.choices and not found.leftover, text
