"""Sources that did not ship: YAML files of the user's own, and packages with an entry point."""

import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proxies.broker import ProxySettings, open_broker
from proxies.catalogue import api_doc, load_catalogue
from proxies.catalogue.plugins import installed_plugins
from proxies.errors import CatalogueError
from tests.command_line import run_cli
from tests.fakes.upstream import Sent, Upstream
from tests.proxies.conftest import asker

HOUSE = """
source: house
title: The house's own prices
about: Prices of our own desk.
hosts: {api: http://127.0.0.1:1}
upstream: HOUSE
key: {variable: HOUSE_TOKEN, place: header, name: authorization, prefix: 'Bearer '}
endpoints:
  - path: house/prices
    call: GET v1/prices
    about: One row per day.
    params: {symbol: {required: true, example: X}}
    rows: '[]'
    fields: {day: '', price: ''}
    as_of: {policy: filter_rows, residual: high, stamp: {field: day, grain: day}}
"""
ROWS = [{"day": "2024-05-30", "price": 1, "desk": "now"}, {"day": "2024-06-03", "price": 9}]


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Catalogues and plugins are read once per process: here each test has its own."""
    yield
    load_catalogue.cache_clear()
    installed_plugins.cache_clear()


def home_with(folder: Path, text: str, name: str = "house.yaml") -> Path:
    (folder / "catalogue").mkdir(parents=True, exist_ok=True)
    (folder / "catalogue" / name).write_text(text)
    return folder


async def test_a_file_in_the_users_folder_is_a_source_like_any_other(tmp_path: Path) -> None:
    home = home_with(tmp_path, HOUSE)
    with Upstream(lambda seen: Sent(ROWS)) as upstream:
        environ = {"HOUSE_TOKEN": "s3cret", "WORKBENCH_UPSTREAM_HOUSE": upstream.url}
        settings = ProxySettings.from_environment(environ, catalogue_folder=home / "catalogue")
        broker = open_broker(settings)
        ask = asker(broker, "2024-06-01")
        answer = await ask("house/prices", symbol="X")
        await broker.aclose()
        assert answer.data == [{"day": "2024-05-30", "price": 1}] and answer.meta["residual"] == "high"
        assert upstream.seen[0].headers["authorization"] == "Bearer s3cret"
    assert next(iter(ask.ledger.rows.values())).rows_dropped == 1
    assert "One row per day." in api_doc(settings.catalogue(), ["house/prices"])
    assert "house/prices" not in load_catalogue()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    as_of: {policy: filter_rows, residual: high, stamp: {field: day, grain: day}}\n", "",
         "the endpoint 'house/prices' states no as_of: give it a policy"),
        ("policy: filter_rows, ", "", "as_of.policy"),
        (", stamp: {field: day, grain: day}", "", "needs stamp"),
        ("source: house\n", "source: fmp\n", "there is a source named 'fmp' already"),
        ("HOUSE_TOKEN", "FMP_API_KEY", "FMP_API_KEY is the key of fmp"),
        ("house/prices", "fmp/prices", "does not begin with its source"),
        ("    rows: '[]'\n", "    rows: '[]'\n    rows: '[]'\n", "occurs twice"),
        ("    rows: '[]'\n", "    rows: '[]'\n    codec: chartt\n", "no codec 'chartt'"),
        ("endpoints:\n", "endpoints: !!python/name:os.system\nmore:\n", "uses the tag"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused_with_one_clear_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in HOUSE
    home = home_with(tmp_path, HOUSE.replace(old, new))
    with pytest.raises(CatalogueError, match=words) as caught:
        open_broker(ProxySettings(catalogue_folder=home / "catalogue"))
    assert "\n" not in str(caught.value)
    assert "house" in str(caught.value) or "fmp/" in str(caught.value)


def test_the_command_line_knows_the_users_sources_and_names_a_bad_file(tmp_path: Path) -> None:
    home_with(tmp_path / "home", HOUSE)
    found = run_cli(tmp_path, "apis", "house prices").stdout
    assert re.search(r"house/prices +One row per day\.", found), found
    assert "GET" not in run_cli(tmp_path, "api-doc", "house/prices").stdout
    home_with(tmp_path / "home", HOUSE.replace("    as_of", "    asof"))
    load_catalogue.cache_clear()
    done = run_cli(tmp_path, "apis", "prices")
    assert done.returncode == 2 and "house.yaml" in done.stderr and len(done.stderr.splitlines()) == 1


# -- packages -----------------------------------------------------------------------------------------------------

MODULE = """
from proxies.catalogue.plugins import SourcePlugin
from proxies.errors import QuotaExhausted
from proxies.vendors.base import HttpSource

class AcmeSource(HttpSource):
    def complaint(self, endpoint, response, payload):
        if isinstance(payload, dict) and payload.get("sorry"):
            return QuotaExhausted("acme says sorry: wait")
        return super().complaint(endpoint, response, payload)

PLUGIN = SourcePlugin(yaml={yaml!r}, source=AcmeSource)
BARE = "no plugin"
"""
ACME = HOUSE.replace("house", "acme").replace("HOUSE", "ACME")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A wheel unpacked on ``sys.path``: a module and its entry point."""

    def install(value: str = "acme_source:PLUGIN", *, name: str = "acme", yaml: str = ACME) -> None:
        site = tmp_path / "site"
        info = site / "acme_source-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (site / "acme_source.py").write_text(MODULE.format(yaml=yaml))
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-source\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            textwrap.dedent(f"""
                [analyst_workbench.sources]
                {name} = {value}
            """)
        )
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "acme_source", raising=False)
        load_catalogue.cache_clear()
        installed_plugins.cache_clear()

    return install


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"value": "acme_source:MISSING"}, "the source acme of the package acme-source cannot be loaded"),
        ({"value": "acme_source:BARE"}, "is no SourcePlugin"),
        ({"name": "other"}, "the source is named 'acme', not 'other'"),
        ({"yaml": ACME.replace("policy: filter_rows, ", "")}, "as_of.policy"),
        ({"yaml": ACME.replace("acme", "fred"), "name": "fred"}, "a source named 'fred' already"),
    ],
)
def test_a_package_that_does_not_fit_is_named_in_one_line(
    package: Callable[..., None], changes: dict[str, Any], words: str
) -> None:
    package(**changes)
    with pytest.raises(CatalogueError, match=words) as caught:
        open_broker(ProxySettings())
    assert "\n" not in str(caught.value)
