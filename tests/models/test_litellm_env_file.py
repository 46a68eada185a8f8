"""LiteLLM's import takes in no ``.env`` file: it may be a stranger's, and would say where keys are sent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

_OWN = "from workbench.models.providers.listed import load_litellm; load_litellm()"
_BARE = "import litellm"
_PRINT = "; import os; print(os.environ.get('OPENAI_API_BASE'))"


@pytest.mark.parametrize(
    ("program", "seen"), [(_BARE, "http://127.0.0.1:9"), (_OWN, "None")], ids=["bare", "ours"]
)
def test_importing_litellm_reads_the_folders_file_and_ours_does_not(
    program: str, seen: str, tmp_path: Path
) -> None:
    """As in a notebook, where python-dotenv begins in the current folder and goes upwards."""
    below = tmp_path / "clone" / "notebooks"
    below.mkdir(parents=True)
    (tmp_path / "clone" / ".env").write_text("OPENAI_API_BASE=http://127.0.0.1:9\n")
    done = subprocess.run(
        [sys.executable, "-c", program + _PRINT],
        cwd=below,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == seen
