"""Every command that reads a file, on files that strangers made: each in a process of its own that is measured.

``python -m tests.fakes.file_readers FOLDER FIRST,STEP`` tries every STEP-th case and prints those that went wrong, then their number.
A process of its own, because it forks: no thread may be alive.
"""

import contextlib
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.command_line import run_cli
from tests.fakes.hostile_files import hostile_texts, special_files
from tests.fakes.small_run import RUN, make_small_run

SECONDS, MEGABYTES = 5.0, 500
EVENTS = "event_id,question_key,forecast_due_date,resolution_date,series,question,outcome\n" + "".join(
    f"e{i},q{i},2020-01-01,2020-02-01,s,Q{i}?,{i % 2}\n" for i in range(6)
)
FORECASTS = "event_id,method,trial,p\n" + "".join(f"e{i},m,1,0.{i + 2}\n" for i in range(6))

#: The kind of file, and the command; ``FILE`` stands for its name, ``RUN`` for the run.
COMMANDS: tuple[tuple[str, tuple[str, ...]], ...] = tuple(
    (kind, tuple(RUN if word == "RUN" else word for word in command))
    for kind, *command in map(shlex.split, """
yaml experiment run FILE
yaml experiment status FILE
yaml experiment report FILE
toml runs SETTINGS
text runs ENVIRONMENT
yaml apis CATALOGUE
json import FILE
csv import FILE
json import --review FILE
json show FILE.zip
json questions import FILE --as x
csv questions import FILE --as x
csv questions resolve q --from FILE
json questions resolve q --from FILE
csv questions bet q --forecasts FILE
csv questions settle q --log FILE
csv questions long-short FILE --start 2018-01-01
csv score --events FILE --forecasts f.csv
csv score --events e.csv --forecasts FILE
csv score --values FILE --quantiles FILE
csv compare --events e.csv --forecasts FILE --reference m
csv returns --events FILE --forecasts f.csv
json calibrate apply FILE --events e.csv --forecasts f.csv
text analyze 'It holds' --cutoff 2018-06-30 --criteria @FILE --plan-only
csv judge RUN --against FILE --model offline/analyst
text whatif RUN --report P1=FILE
csv backtest FILE.csv --from 2018-01-01 --to 2018-02-01
csv source add mine FILE --date date --yes
csv source add mine good.csv --date date --value value --releases FILE --yes
text keys trust Eve FILE
""".strip().splitlines())
)  # fmt: skip


def cases(folder: Path) -> Iterator[tuple[str, tuple[str, ...], bytes | Path]]:
    """Yield (what it is, the command, the file's bytes or its name)."""
    texts = {kind: list(hostile_texts(kind)) for kind in {kind for kind, _ in COMMANDS}}
    for kind, command in COMMANDS:
        for name, data in texts[kind]:
            yield name, command, data
        for name, path in special_files(folder):
            yield name, command, path


def _placed(folder: Path, command: tuple[str, ...], data: bytes | Path) -> tuple[list[str], dict[str, str]]:
    """Put the file where the command looks for it; return the command's words and its environment."""
    target, environment = folder / "stranger", {}
    if command[-1] == "SETTINGS":
        target, command = folder / "workbench.toml", command[:-1]
    elif command[-1] == "ENVIRONMENT":
        target, command = folder / ".env", command[:-1]
    elif command[-1] == "CATALOGUE":
        target, command = folder / "home" / "catalogue" / "x.yaml", command[:-1]
        target.parent.mkdir(exist_ok=True)
    for suffix in (".zip", ".csv"):
        if any(word == f"FILE{suffix}" for word in command):
            target = folder / f"stranger{suffix}"
    name = str(target)
    if isinstance(data, Path):
        name = str(data)
        if target.parent != folder or target.name in ("workbench.toml", ".env"):
            with contextlib.suppress(OSError, ValueError):
                target.symlink_to(data)
    else:
        target.write_bytes(data)
    words = [
        word.replace("FILE.zip", name).replace("FILE.csv", name).replace("FILE", name) for word in command
    ]
    return words, environment


def tried(folder: Path, command: tuple[str, ...], data: bytes | Path) -> list[str]:
    """Run one case and say what was wrong with it."""
    words, environment = _placed(folder, command, data)
    report = folder / "report"
    begun = time.monotonic()
    pid = os.fork()
    if not pid:
        try:
            done = run_cli(folder, *words, **environment)
            report.write_text(json.dumps([done.returncode, done.stderr[-9_000:]]))
        finally:
            os._exit(0)
    while True:
        ended, _, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - begun > 60:
            os.kill(pid, signal.SIGKILL)
            os.wait4(pid, 0)
            return ["still at it after 60 s"]
        time.sleep(0.003)
    faults = []
    code, said = json.loads(report.read_text()) if report.exists() else [None, "it died"]
    report.unlink(missing_ok=True)
    for left in (
        ".env",
        "workbench.toml",
        "stranger",
        "stranger.csv",
        "stranger.zip",
        "home/catalogue/x.yaml",
    ):
        (folder / left).unlink(missing_ok=True)
    if code not in (0, 2, 3, 6):
        faults.append(f"exit {code}: {said.strip().splitlines()[-1:]}")
    if "Traceback" in said:
        faults.append(f"a traceback: {said[-200:]}")
    if code == 2 and not any(line.startswith("workbench: ") for line in said.splitlines()):
        faults.append(f"no line that says why: {said[-200:]!r}")
    if any(not (char.isprintable() or char in "\n\t") for char in said):
        faults.append("it steers the terminal")
    if usage.ru_utime + usage.ru_stime > SECONDS:
        faults.append(f"{usage.ru_utime + usage.ru_stime:.1f} s of processor time")
    if usage.ru_maxrss > MEGABYTES * 1024:
        faults.append(f"{usage.ru_maxrss // 1024} MB")
    return faults


def main() -> None:
    """Try the cases that the words of the command line name."""
    folder, (first, step) = Path(sys.argv[1]), map(int, sys.argv[2].split(","))
    make_small_run(folder / "home")
    (folder / "e.csv").write_text(EVENTS)
    (folder / "f.csv").write_text(FORECASTS)
    (folder / "good.csv").write_text("date,value\n" + "".join(f"2018-0{i}-01,{i}\n" for i in range(1, 9)))
    (folder / "q.csv").write_text("id,title,asked_on\na,VIX closes above 20 on 2018-12-31,2018-11-01\n")
    if (done := run_cli(folder, "questions", "import", "q.csv")).returncode:
        raise RuntimeError(done.stderr)
    count = 0
    for number, (name, command, data) in enumerate(cases(folder)):
        if number % step != first:
            continue
        count += 1
        if faults := tried(folder, command, data):
            print(json.dumps([number, " ".join(command), name, faults]), flush=True)
    print(count)


if __name__ == "__main__":
    main()
