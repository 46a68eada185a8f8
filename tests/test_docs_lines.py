"""Every command line of the manual is run, or named here with the reason why a test cannot and what runs it instead."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.test_docs_code import PAGES, ROOT, blocks_of

pytestmark = pytest.mark.long
DEMO = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"

#: What a line holds that is not run here, and what shows it.
ELSEWHERE = {
    r"^make|^pip |^pipx |--spec": "installs: tests/test_packaging.py, tests/test_makefile.py",
    r"workbench demo": "tests/offline/test_demo.py",
    r"workbench (?:serve|mcp|docs)": "runs until it is ended: tests/browser, tests/mcp, tests/test_manual.py",
    r"^export |--model|MODEL|--preset blf-paper|models\.judge": "asks a model: tests/agents, tests/models, against servers on loopback",
    r"--cutoff now": "asks Yahoo: tests/offline/test_live_claims.py, against one on loopback",
    r"workbench approve": "a step of a model's that waits: tests/engine/test_approvals.py",
    r"dask://": "a cluster of the reader's own: tests/engine, with one on loopback",
    r"postgresql://": "a database of the reader's own: tests/sources/test_sql_query.py",
    r"store\.yaml|store/orders": "a service of the reader's own: tests/sources/test_services.py, with one on loopback",
    r"tournament|questions (?:import|fetch)|submit ": "files of a round and venues: tests/rounds, tests/questions",
    r"--notify": "a command of the reader's own: tests/review/test_review.py",
    r"^[\d*]\S* \S+ \* \* ": "lines of cron",
    r"AAAAC3\.\.\.": "a key that is cut short",
}
_LANGUAGES = ("console", "sh", "bash", "")


def command_lines() -> list[tuple[str, str]]:
    """Each line of the manual that is typed, by page, in its order."""
    listed = []
    for page in PAGES:
        for language, text in blocks_of(page):
            if language not in _LANGUAGES:
                continue
            for line in text.replace("\\\n", " ").splitlines():
                typed = line.removeprefix("$ ").strip()
                is_typed = line.startswith("$ ") if language == "console" else "workbench " in line
                if is_typed and re.search(r"\bworkbench |^(?:make|pip|pipx|export) ", typed):
                    listed.append((page.relative_to(ROOT).as_posix(), re.sub(r"\s+#.*", "", typed)))
    return listed


def elsewhere(line: str) -> str:
    return next((why for words, why in ELSEWHERE.items() if re.search(words, line)), "")


def test_no_reason_is_left_over() -> None:
    lines = [line for _, line in command_lines()]
    assert len(lines) >= 55
    assert [words for words in ELSEWHERE if not any(re.search(words, line) for line in lines)] == []


def test_every_other_line_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one home, in the order of the pages, each with the name that the line before it printed."""
    (tmp_path / "research").mkdir()
    (tmp_path / "research" / "2018-03-02 outlook.md").write_text(
        "# Outlook\n\nThe rate outlook is mild.\n\n# Risks\n\nFew.\n"
    )
    months = [f"{2010 + n // 12}-{n % 12 + 1:02}-28,{100 + n % 45}" for n in range(102)]
    (tmp_path / "orders.csv").write_text("month,orders\n" + "\n".join(months) + "\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    comment, ran, failed = "", list[str](), list[str]()
    run = json.loads(run_cli(tmp_path, "analyze", DEMO, "--cutoff", "2018-06-30", "--json").stdout)["run_id"]  # fmt: skip
    for page, line in command_lines():
        if elsewhere(line):
            continue
        if "source add orders" in line and any("source add orders" in each for each in ran):
            run_cli(tmp_path, "source", "remove", "orders", "--yes")
        words = _words_of(line, tmp_path, run, comment)
        done = run_cli(tmp_path, *words)
        if found := re.search(r"^comment ([0-9a-f]{8}) on", done.stdout + done.stderr, re.MULTILINE):
            comment = found[1]
        ran.append(line)
        if done.returncode != 0 and not (words[0] == "review" and done.returncode == 10):
            failed.append(f"{page}: {line}: {done.stderr.strip()[-300:]}")
    assert failed == []
    assert len(ran) >= 25
    assert (tmp_path / "note.pdf").stat().st_size > 10_000


def _words_of(line: str, folder: Path, run: str, comment: str) -> list[str]:
    line = (
        line.replace("~/", f"{folder}/")
        .replace("3fa9c1d2", comment)
        .replace(" RUN", f" {run}")
        .replace("P2.1", "P1")
    )
    words = shlex.split(line)
    words = words[words.index(next(word for word in words if word.endswith("workbench"))) + 1 :]
    words = [str(folder / word) if word in ("orders.csv", "note.pdf", "run.zip") else word for word in words]
    return [*words, "--yes"] if words[:1] == ["source"] and words[1].startswith("add") else words


def test_what_runs_them_instead_is_there() -> None:
    named = re.findall(r"tests/[\w/.]+", " ".join(ELSEWHERE.values()))
    assert named and [name for name in named if not (ROOT / name).exists()] == []
