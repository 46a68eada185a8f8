"""No command reads or runs a file of the folder that it is started in, but `.env` and the files that its words name.

The folder may be a stranger's clone. One process runs every command in it and notes each file below it that is looked at, by an
audit hook of Python; what a program would run writes a marker.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.test_stranger_folder import NAMES
from tests.command_line import cli_environment
from tests.fakes.small_run import RUN, make_small_run
from workbench.cli.main import app

pytestmark = pytest.mark.long

#: What a package that we use reads by such a name in the current folder, or did so in an older version.
SETTINGS = {
    "matplotlibrc": "backend: module://evil\nsavefig.facecolor: red\n",
    "litellm_config.yaml": "litellm_settings: {callbacks: evil.run, api_base: 'http://127.0.0.1:9'}\n",
    "config.yaml": "litellm_settings: {callbacks: evil.run}\n",
    "proxy_server_config.yaml": "litellm_settings: {callbacks: evil.run}\n",
    "model_prices_and_context_window.json": "{}",
    "jupyter_config.json": '{"ServerApp": {"ip": "0.0.0.0"}}',
    "jupyter_server_config.json": '{"ServerApp": {"ip": "0.0.0.0", "token": ""}}',
    "voila.json": '{"VoilaConfiguration": {"enable_nbextensions": true}}',
    "ipython_config.json": "{}",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
    "setup.cfg": "[easy_install]\n",
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:9\n",
    ".netrc": "machine 127.0.0.1 login x password y\n",
    ".condarc": "channels: [http://127.0.0.1:9]\n",
    ".numba_config.yaml": "disable_jit: 1\n",
    "openssl.cnf": "openssl_conf = x\n",
    "cacert.pem": "",
    "workbench.toml": "isolation = 'none'\n",
    "workbench.db": "not a database",
    "settings.json": '{"isolation": "none"}',
    "catalogue/own.yaml": "evil: true\n",
    ".analyst-workbench/settings.json": '{"isolation": "none"}',
    "analyst-workbench/signing_key": "evil",
    ".ipython/profile_default/startup/00.py": "raise SystemExit\n",
}
EVENTS = "date,value\n" + "".join(
    f"2018-{m:02d}-{d:02d},{m + d / 31}\n" for m in range(1, 7) for d in range(1, 28)
)
#: Each command with words that let it work, if only until it needs what it has not got; ``{out}`` is a folder elsewhere.
QUICK = """
read 'The VIX closes above 20 on 2018-12-31' --cutoff 2018-11-01
resume RUN
ask RUN 'why so low?'
review
review RUN --changed
runs
show RUN
show RUN --json
watch RUN
stop RUN
approve RUN
approve RUN P1.1-00000000 --yes
redteam RUN --yes
gc
models try openai/none
whatif RUN --set P1=0.9
sensitivity RUN --report
scenarios RUN
coherence
diff RUN RUN
transcript RUN
refit RUN --yes
noise RUN
audit RUN
verify RUN
export RUN -o {out}/e.zip
export RUN -o {out}/e.html
export RUN -o {out}/e.docx
export RUN -o {out}/e.md
export RUN -o {out}/e.csv
export RUN -o {out}/e.ipynb
export RUN -o {out}/e.json
resolve RUN yes --on 2018-12-31
comment RUN P1 why
estimate RUN P1 0.4 --author Ann
note RUN mine --tag macro
sign-off RUN --author Ann --done all
rm RUN --yes
import {out}/e.zip
evidence RUN P1.1
reground RUN P1.1 --yes
judge RUN --model openai/none
leaks RUN
grounders
grounders RUN
search 'Fed rate cut' --cutoff 2018-06-30
page https://example.org/ --cutoff 2018-06-30
simulate noise
questions import {out}/events.csv --as round
questions fetch kalshi
questions list
questions list round
questions show round
questions resolve round
questions score round --forecasts {out}/forecasts.csv
questions long-short {out}/prices.csv --start 2018-01-02
questions classify round
questions contexts round
questions bet round --forecasts {out}/forecasts.csv
questions settle round --log {out}/trades.csv
questions export round -o {out}/round.json
tournament run round --plan-only
tournament triage round
tournament promote round x
tournament show round
forecast --due
submit metaculus round --forecasts {out}/forecasts.csv -o {out}/submit.json
experiment ready
experiment run {out}/study.yaml
experiment status {out}/study.yaml
experiment report {out}/study.yaml
keys new
keys show
keys trust alice 'ssh-ed25519 AAAA'
source add own {out}/series.csv --date date --lag 1d --yes
source add-documents memos {out} --dated filename --yes
source list
source show own
source check own
source attack own
source remove own --yes
decide RUN
apis
api-doc fred/series/observations
call embedded/series/observations series_id=SP500 --cutoff 2018-06-30
help analyze
score --events {out}/events.csv --forecasts {out}/forecasts.csv
score --own
returns --events {out}/events.csv --forecasts {out}/forecasts.csv
paper-tables --events {out}/events.csv --published {out}/forecasts.csv --trials {out}/forecasts.csv
quantity VIX --cutoff 2018-06-30 --on 2018-07-31 --set past=0
backtest 'The VIX closes above {median} on {end}' --from 2018-06-30 --to 2018-06-30 --horizon 1w --forecaster series
exceed --series {out}/series.csv --cutoff 2018-06-20 --on 2018-12-31 --above 5
elicit --answers {out}/answers.csv
calibrate fit --events {out}/events.csv --forecasts {out}/forecasts.csv -o {out}/c.json
calibrate apply --calibration {out}/c.json --events {out}/events.csv --forecasts {out}/forecasts.csv
calibrate priors {out}/events.csv {out}/p.csv
exam build small --events {out}/events.csv --size 4
exam list
"""
#: These start many kernels, load much or compute for long.
SLOW = """
analyze 'The S&P 500 closes higher on 2018-12-31 than on 2018-06-29' --cutoff 2018-06-30 --model openai/none --yes
demo
claims
docs {out}/manual
models exam openai/none --questions 2 --set grounder=zero-shot --yes
doctor
compare --events {out}/events.csv --forecasts {out}/forecasts.csv --reference 0.5 --set resamples=10
"""
#: In tests of their own: test_stranger_folder.py; mcp leaves the folder first, as they do.
SERVERS = {"serve", "lab", "mcp"}

#: Runs commands in the current folder; prints their exit codes, and the files below the folder that were looked at.
DRIVER = """
import contextlib, io, json, os, shutil, sys
clone = os.getcwd()
looked = set()
WATCHED = {"open": 0, "os.listdir": 0, "os.scandir": 0, "import": 1, "subprocess.Popen": 0, "os.exec": 0, "sqlite3.connect": 0}
def note(event, words):
    place = WATCHED.get(event)
    if place is None or place >= len(words) or not isinstance(words[place], (str, bytes, os.PathLike)):
        return
    if event == "subprocess.Popen" and os.sep not in os.fsdecode(words[place]):
        return  # found by PATH, in which the current folder is not
    if event == "sqlite3.connect" and os.fsdecode(words[place]).startswith((":memory:", "file:/")):
        return
    if event == "open" and sys._getframe(1).f_code.co_filename == shutil.__file__:
        return  # removes a folder by names below the folder's own descriptor, which the event does not tell
    path = os.path.normpath(os.path.join(os.getcwd(), os.fsdecode(words[place])))
    if path.startswith(clone + os.sep) or (path == clone and event != "import"):
        looked.add((event, os.path.relpath(path, clone)))
sys.addaudithook(note)
from workbench.cli.main import main
codes = {}
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    codes[" ".join(words)] = (code, out.getvalue()[-600:])
print(json.dumps([codes, sorted(looked)]))
"""


def commands(text: str) -> list[list[str]]:
    return [shlex.split(line.replace("RUN", RUN)) for line in text.strip().splitlines() if line]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder, out = tmp_path / "clone", tmp_path / "out"
    for made in (folder, out, tmp_path / "markers"):
        made.mkdir()
    for name in (*NAMES, "evil", "matplotlib", "litellm", "pandas", "orjson", "typer", "dotenv"):
        marker = tmp_path / "markers" / name
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    for name, text in SETTINGS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".env").write_text("TAVILY_API_KEY=1\n")
    rows = [f"e{n},q{n // 2},fred,market,{n % 2},0.{n % 8 + 1}" for n in range(20)]
    (out / "events.csv").write_text(
        "\n".join(["event_id,question_key,source,question_type,outcome,crowd", *rows, ""])
    )
    rows = [f"m,e{n},forecast,0.{n % 7 + 2}" for n in range(20)]
    (out / "forecasts.csv").write_text("\n".join(["method,event_id,variant,p", *rows, ""]))
    (out / "series.csv").write_text(EVENTS)
    (out / "answers.csv").write_text("event_id,kind,value,confidence\ne1,variant,0.4,\ne1,variant,0.6,\n")
    make_small_run(tmp_path / "home")
    return folder


def run_in(clone: Path, program: str, *words: str, safe: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *(["-P"] if safe else []), "-c", program, *words],
        cwd=clone,
        env={**cli_environment(clone.parent), "WORKBENCH_HOME": str(clone.parent / "home")},
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_a_plain_program_reads_and_runs_what_lies_there(clone: Path) -> None:
    done = run_in(clone, "import json, matplotlib; print(matplotlib.matplotlib_fname())", safe=False)
    ran = {path.name for path in (clone.parent / "markers").iterdir()}
    assert "json" in ran and "matplotlib" in ran and done.returncode != 0
    done = run_in(clone, "import matplotlib; print(matplotlib.matplotlib_fname())")
    assert done.stdout.strip() in ("matplotlibrc", str(clone / "matplotlibrc")), done.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["quick", "slow"])
def test_no_command_reads_or_runs_what_lies_in_the_current_folder(clone: Path, slow: bool) -> None:
    out = str(clone.parent / "out")
    words = [
        [word.replace("{out}", out) for word in line] for line in commands(SLOW + QUICK if slow else QUICK)
    ]
    done = run_in(clone, DRIVER, json.dumps(words))
    assert done.returncode == 0, done.stderr
    codes, looked = json.loads(done.stdout.splitlines()[-1])
    assert list((clone.parent / "markers").iterdir()) == []
    # what either file may set is bounded: test_env_file.py, test_settings_file.py
    assert {tuple(line) for line in looked} - {("open", "workbench.toml")} == {("open", ".env")}
    assert {line: text for line, (code, text) in codes.items() if code == 1 or "Traceback" in text} == {}
    worked = {line.split()[0] for line, (code, _) in codes.items() if code == 0}
    assert {"export", "rm", "import"} <= worked, codes
    assert len(worked) >= 17, codes  # the others lack a key, a second member, a true key of somebody


def names(commands: dict[str, Any]) -> Iterator[str]:
    """Every command by the name under which it is run here: those of the three groups by their own."""
    for name, command in commands.items():
        if name in ("annotate", "critique", "science"):
            yield from names(command.commands)
        elif hasattr(command, "commands"):
            yield from (f"{name} {part}" for part in command.commands)
        else:
            yield name


def test_every_command_is_run_there() -> None:
    known = set(names(typer.main.get_command(app).commands))  # type: ignore[attr-defined]
    tried = {pair if (pair := " ".join(line[:2])) in known else line[0] for line in commands(SLOW + QUICK)}
    assert known == tried | SERVERS
