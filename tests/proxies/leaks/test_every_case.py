"""The audit's list of cases: each that applies has a test named after it."""

import re
from pathlib import Path

CASES = {
    *(f"a{n}" for n in range(1, 12)),
    *(f"a{n}" for n in range(20, 40)),
    *(f"a{n}" for n in range(50, 66)),
    *(f"b{n}" for n in range(1, 14)),
}


def test_every_case_of_the_audit_has_a_test() -> None:
    folder = Path(__file__).parent
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("test_*.py")))
    named = set(re.findall(r"^(?:async )?def test_([ab]\d+)_", text, re.MULTILINE))
    assert named == CASES
