"""What a user can do stays as it is: every call of the net, compared with what it came to when it was recorded."""

import json
from pathlib import Path

import pytest

from tests.net.net import RECORDED, lines, made_calls
from tests.net.values import differences

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]


def test_every_call_comes_to_what_was_recorded(tmp_path: Path) -> None:
    recorded = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    assert [row["call"] for row in recorded] == lines() and len(recorded) >= 250
    lost = {
        row["call"]: found
        for before, row in zip(recorded, made_calls(tmp_path), strict=True)
        if (found := differences(before, row))
    }
    assert not lost, json.dumps(lost, indent=1)[:20_000]
