"""Commands on a home of thousands of runs, beside the same home without its one run of ten thousand propositions.

    python -m benchmarks.large_home [--runs 2000] [--nodes 10000]

The runs are copies of one finished run, made row by row in the database, each with its folder. Figures are processor time,
user and system. The first look at a home makes what later ones read (summaries, which runs are whole): both are timed, and the
limits hold for the later one.
"""

import argparse
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.arguments import parse
from tests.fakes.large_tree import make_large_run
from tests.fakes.small_run import RUN, make_small_run

_HOME_PAGE = "import sys, pathlib; from workbench.widgets.home_page import list_runs; list_runs(pathlib.Path(sys.argv[1]))"
#: Command -> processor seconds that it may take.
COMMANDS = {
    "runs": 1.5,
    "review --changed": 5.0,
    "doctor --check": 5.0,
    "home page": 5.0,
    "gc": 5.0,
}
RATIO = 1.3


def clone_runs(home: Path, count: int) -> None:
    """Copy the one run of a home under so many new ids."""
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        for place in range(count):
            run_id = f"20190101-{place // 3600:02}{place // 60 % 60:02}{place % 60:02}-{place:04x}"
            for table in ("events", "model_calls", "api_calls"):
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                kept = ", ".join(name for name in columns if name not in ("id", "seq", "run_id"))
                db.execute(
                    f"INSERT INTO {table} (run_id, {kept}) SELECT ?, {kept} FROM {table} WHERE run_id = ?",
                    (run_id, RUN),
                )
            shutil.copytree(home / "runs" / RUN, home / "runs" / run_id, copy_function=os.link)
        db.commit()


def processor_seconds(home: Path, command: str) -> float:
    """Run a command in a process of its own; return what it took of the processor."""
    words = (
        ["-c", _HOME_PAGE, str(home)]
        if command == "home page"
        else ["-m", "workbench.cli.main", *command.split()]
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "WORKBENCH_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 6, 10):
        raise RuntimeError(f"{command}: {done.returncode} {done.stderr[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print what each command takes in both homes, and where that is too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=10_000)
    options = parse(parser, runs=3, nodes=50)
    with tempfile.TemporaryDirectory() as folder:
        plain, large = Path(folder, "plain"), Path(folder, "large")
        make_small_run(plain)
        clone_runs(plain, options.runs)
        shutil.copytree(plain, large)
        make_large_run(large, options.nodes, "20260101-000000-ffff")
        print(f"{options.runs} runs, and one with {options.nodes} propositions; processor seconds\n")
        print("| command | first time | without the large run | with it | ratio | at most |")
        print("| --- | --- | --- | --- | --- | --- |")
        for command, most in COMMANDS.items():
            processor_seconds(plain, command)
            first = processor_seconds(large, command)
            without, with_it = (processor_seconds(home, command) for home in (plain, large))
            ratio = with_it / without
            fault = " TOO MUCH" if not options.smoke and (with_it > most or ratio > RATIO) else ""
            print(
                f"| {command} | {first:.1f} | {without:.2f} | {with_it:.2f} | {ratio:.2f} | {most:g}, {RATIO}{fault} |"
            )


if __name__ == "__main__":
    main()
