import re
import sys
import tempfile
from pathlib import Path

import pytest

from tests.sandbox import ordinary_user

CHECKOUT = Path(__file__).resolve().parents[2]


def test_the_seal_holds_for_an_ordinary_user_too():
    reason = ordinary_user.possible()
    if reason:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="aw-user-", dir="/tmp") as folder:
        done = ordinary_user.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "pytest",
                    "-p",
                    "no:cacheprovider",
                    "-q",
                    "-rs",
                    "--rootdir",
                    str(CHECKOUT),
                ),
                *("-c", str(CHECKOUT / "pyproject.toml"), f"--basetemp={folder}/t"),
                f"{CHECKOUT}/tests/sandbox/test_attacks.py",
                f"{CHECKOUT}/tests/sandbox/test_unmediated.py",
                f"{CHECKOUT}/tests/sandbox/test_session.py",
                f"{CHECKOUT}/tests/sandbox/test_disk.py",
                f"{CHECKOUT}/tests/sandbox/test_exhaustion.py::test_what_is_open_at_landlock_is_what_the_docs_name",
                *(
                    "-k",
                    "not close_from_after and not root_whose_python and not (full_disk and not closed)",
                    "--verbosity=0",
                ),
            ],
            Path(folder),
        )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    [passed] = re.findall(r"(\d+) passed", done.stdout)
    assert int(passed) >= 25
    assert "skipped" not in done.stdout, done.stdout[-2000:]
