"""What a stranger's journal says about how its outputs are shown is not believed at import."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sandbox.record.passive import passive_outputs, passive_text
from tests.fakes.hostile_packages import JOURNAL, members_of, pack, with_database, with_journal
from tests.fakes.hostile_text import HONEST, active, corpus, hostile_outputs, links, whole
from tests.fakes.small_run import RUN, make_small_run
from workbench.packages.export import export_run
from workbench.packages.package import PackageAltered, import_run
from workbench.store import Store

CANARY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    home = tmp_path_factory.mktemp("honest") / "home"
    make_small_run(home)
    with closing(Store(home)) as store:
        return export_run(store, RUN, "zip")[0]


def package(honest: bytes, output: dict[str, Any], shown: dict[str, Any]) -> bytes:
    """The honest package with another output, shown so; journal and notebook agree, every hash is right."""

    def change(lines: list[dict[str, Any]]) -> None:
        (line,) = [line for line in lines if line["kind"] == "result"]
        line["result"]["outputs"] = [output]
        line["shown"] = shown

    return changed(honest, change)


def changed(honest: bytes, change: Callable[[list[dict[str, Any]]], None]) -> bytes:
    """The package with another journal of P1, whose head the log names."""
    members = with_journal(members_of(honest), change, notebook=True)
    head = json.loads(members[JOURNAL].splitlines()[-1])["hash"]
    statement = "UPDATE events SET data = json_set(data, '$.journal_head', ?) WHERE kind = 'leaf.grounded' AND node = 'P1'"
    return pack(with_database(members, lambda db: db.execute(statement, (head,))))


def imported(tmp_path: Path, data: bytes) -> list[str]:
    """The findings at import."""
    (tmp_path / "p.zip").write_bytes(data)
    with closing(Store(tmp_path / "home")) as store:
        try:
            import_run(store, tmp_path / "p.zip")
        except PackageAltered as error:
            assert store.run_ids() == []
            return [finding.check for finding in error.findings]
    return []


def display(kind: str, text: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {kind: text}, "metadata": {}}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("script", "text/html"),
        ("event handler", "text/markdown"),
        ("picture", "image/svg+xml"),
        ("stylesheet", "text/html"),
        ("iframe", "application/javascript"),
    ],
)
def test_an_active_output_shown_as_it_is_is_found(
    tmp_path: Path, honest: bytes, name: str, kind: str
) -> None:
    output = display(kind, active(CANARY)[name])
    assert imported(tmp_path, package(honest, output, {})) == ["shown"]


def test_a_forged_passive_form_is_found(tmp_path: Path, honest: bytes) -> None:
    output = display("text/html", "<b>fine</b>")
    forged = display("text/html", active(CANARY)["script"])
    assert imported(tmp_path, package(honest, output, {"0": forged})) == ["shown"]
    sized = {**display("image/png", "aGVsbG8="), "metadata": {"image/png": {"width": '1" onerror="x'}}}
    assert imported(tmp_path, package(honest, sized, {})) == ["shown"]


@pytest.mark.parametrize(
    "text", [active(CANARY)["script"], links(CANARY)["markdown"], "![x](https://a.example/x.png)"]
)
def test_an_active_text_cell_is_found(tmp_path: Path, honest: bytes, text: str) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        (line,) = [line for line in lines if line["kind"] == "markdown"]
        line["source"] = text

    assert imported(tmp_path, changed(honest, change)) == ["shown"]


def test_what_our_own_sessions_write_of_the_whole_corpus_is_taken(tmp_path: Path, honest: bytes) -> None:
    outputs = hostile_outputs(CANARY)
    texts = [whole(text) for text in corpus(CANARY).values()]

    def change(lines: list[dict[str, Any]]) -> None:
        (line,) = [line for line in lines if line["kind"] == "result"]
        line["result"]["outputs"], line["shown"] = outputs, passive_outputs(outputs)
        (line,) = [line for line in lines if line["kind"] == "markdown"]
        line["source"] = "\n\n".join([*texts, HONEST])
        line["shown"] = passive_text(line["source"])

    assert imported(tmp_path, changed(honest, change)) == []
    notebook = (tmp_path / "home" / "runs" / RUN / "proofs" / "P1.ipynb").read_text()
    assert "dataframe" in notebook and "https://example.org/source" in notebook
