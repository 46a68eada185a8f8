"""A worker process gets no key, runs no file of the current folder, and ends with its parent."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proxies.process_pool import process_pool

pytestmark = pytest.mark.long

KEY = "sEcReTkEy0123456789"


def test_no_key_of_the_environment_reaches_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FMP_API_KEY", KEY)
    monkeypatch.setenv("SOME_MODELS_TOKEN", KEY)
    with process_pool(1) as pool:
        process = Path(f"/proc/{pool.submit(os.getpid).result(60)}")
        environment = (process / "environ").read_bytes()
        assert KEY.encode() not in environment and b"PYTHONSAFEPATH=1" in environment
        assert KEY.encode() not in (process / "cmdline").read_bytes()
        assert pool.submit(os.getenv, "FMP_API_KEY").result(60) == ""


SCRIPT = """
import os, sys
print("top", flush=True)
from proxies.process_pool import process_pool
pool = process_pool(1)
print(pool.submit(os.getpid).result(60), flush=True)
{then}
"""


def script(folder: Path, then: str) -> "subprocess.Popen[str]":
    """A plain script without a guard around its main part, in a folder whose files must not be imported."""
    (folder / "main.py").write_text(SCRIPT.replace("{then}", then))
    for name in ("loky", "orjson", "proxies"):
        (folder / f"{name}.py").write_text("raise SystemExit('a file of the current folder ran')")
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.Popen(
        [sys.executable, "-P", str(folder / "main.py")], cwd=folder, text=True, stdout=-1, stderr=-1,
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip


def test_the_callers_script_is_not_run_again_nor_a_file_of_the_current_folder(tmp_path: Path) -> None:
    process = script(tmp_path, "pool.shutdown(wait=True, kill_workers=True)")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[0] == "top" and len(out.splitlines()) == 2, out
    assert not Path(f"/proc/{out.split()[1]}").exists()


def test_the_command_line_starts_no_process_that_imports_from_the_current_folder() -> None:
    """loky and multiprocessing start trackers with ``python -c``, which puts the current folder first."""
    code = "import os, sys\nsys.argv = ['workbench', '--version']\nfrom workbench.cli.main import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    print(os.environ['PYTHONSAFEPATH'])"
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "1", done.stderr


def test_a_broker_that_is_killed_leaves_no_worker_behind(tmp_path: Path) -> None:
    process = script(tmp_path, "os.kill(os.getpid(), 9)")
    out, _ = process.communicate(timeout=60)
    worker = Path(f"/proc/{out.split()[1]}/stat")
    for _ in range(100):
        if not worker.exists() or " Z " in worker.read_text():
            return
        time.sleep(0.1)
    raise AssertionError("the worker is still there")
