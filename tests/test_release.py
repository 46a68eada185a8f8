"""What a release and the first minutes of a contributor rest on: version, changelog, beginnings of new parts."""

import ast
import shutil
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proxies.catalogue.loader import CatalogueText, load_sources
from tests import scaffold
from tests.fakes.upstream import Seen
from tests.fakes.upstream_world import World
from tests.release_check import faults
from workbench.version import __version__

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-24\n\n## [1.1.0] - 2026-06-01\n"


def test_a_commit_with_its_tag_and_its_section_may_be_released() -> None:
    assert faults("1.2.0", ["v1.2.0"], CHANGELOG, "") == []


@pytest.mark.parametrize(
    ("version", "tags", "changelog", "changed", "said"),
    [
        ("1.2.0", [], CHANGELOG, "", "no tag v1.2.0"),
        ("1.2.0", ["v1.1.0"], CHANGELOG, "", "no tag v1.2.0"),
        ("1.3.0", ["v1.3.0"], CHANGELOG, "", "newest section of CHANGELOG.md is 1.2.0"),
        ("1.2.0", ["v1.2.0"], CHANGELOG.replace(" - 2026-11-24", ""), "", "is 1.2.0: head it"),
        ("1.2.0", ["v1.2.0"], "# Changelog\n", "", "is none"),
        ("1.2.0", ["v1.2.0"], CHANGELOG, " M README.md\n", "not committed"),
    ],
)
def test_what_does_not_agree_is_not_released(
    version: str, tags: list[str], changelog: str, changed: str, said: str
) -> None:
    (fault,) = faults(version, tags, changelog, changed)
    assert said in fault


def test_the_changelog_knows_nothing_later_than_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text or f"## [{__version__}]" in text


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The places that a beginning is written into."""
    for name in ("pyproject.toml", "tests/agents/grounder_cases.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("workbench/agents/grounders", "proxies/catalogue"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_a_new_grounder_is_registered_and_stands_in_the_contract_suite(checkout: Path) -> None:
    scaffold.new_grounder("price-panel", checkout)
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    entry = project["entry-points"]["analyst_workbench.grounders"]["price-panel"]
    module, _, name = entry.partition(":")
    tree = ast.parse((checkout / f"{module.replace('.', '/')}.py").read_text())
    assert name in [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    cases = (checkout / "tests/agents/grounder_cases.py").read_text()
    ast.parse(cases)
    assert '"price-panel": Case(' in cases
    with pytest.raises(SystemExit, match="there already"):
        scaffold.new_grounder("price-panel", checkout)


def test_a_new_source_is_a_catalogue_file_that_loads(checkout: Path) -> None:
    scaffold.new_source("acme", checkout)
    text = (checkout / "proxies/catalogue/acme.yaml").read_text()
    assert load_sources([CatalogueText(name="acme.yaml", text=text)])
    world = World(datetime(2018, 6, 30, tzinfo=UTC), [], path="acme/observations")
    with pytest.raises(pytest.fail.Exception, match=r"acme/observations is not filled in: .*answers\.json"):
        world.answer(Seen("GET", "/acme/v1/observations", {}, {}, None))


@pytest.mark.parametrize(
    "words", [[], ["grounder"], ["rule", "x"], ["source", "../x"], ["source", "Ünder"], ["source", ""]]
)
def test_an_odd_name_is_said_in_one_line(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="say grounder or source"):
        scaffold.main(words)
