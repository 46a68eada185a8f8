"""A service of one's own in one YAML: added, asked, checked and attacked; what is wrong in it is named with its line."""

import base64
import json
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import ProxySettings, open_broker
from proxies.catalogue import load_catalogue
from proxies.errors import CutoffRefused, SourceRejected, SourceUnavailable, UnknownPath
from proxies.ledger import Address
from tests.command_line import run_cli
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.proxies.conftest import asker
from workbench.errors import UsageError
from workbench.questions.series.series_reference import SeriesRef
from workbench.sources.own_store import unshared_in
from workbench.sources.service_check import attack_service, check_service
from workbench.sources.services import Service, read_service, services, store_service
from workbench.sources.source_origin import open_source
from workbench.store import ApiLedger, Store

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "services"
DESK = """source: desk
title: The desk's own prices
about: Prices of our own desk.
hosts: {api: http://127.0.0.1:1}
upstream: DESK
key: {variable: DESK_LOGIN, place: basic}
endpoints:
- path: desk/prices
  call: GET prices
  about: One row per month.
  params: {symbol: {required: true, example: X}}
  rows: 'rows[]'
  fields: {month: about, published: from when it was known, price: ''}
  as_of:
    policy: filter_rows
    stamp: {field: published, grain: day}
"""
HOST = "http://127.0.0.1:1"
#: What a stranger's file may call its service: files, scripts, a password, a cloud machine's own credentials in four spellings.
NO_SERVICES = (
    "file:///etc", "javascript:alert(1)", "https://u:p@desk.example", "https://", "https://desk.example?x=1", "https://a:99999",
    "http://169.254.169.254", "http://2852039166", "http://0xa9fea9fe", "http://[::ffff:169.254.169.254]",
)  # fmt: skip
MONTHS = [
    {"month": f"2018-{n:02d}-01", "published": f"2018-{n + 1:02d}-12", "price": float(n * n % 7 + n)}
    for n in range(1, 11)
]


@pytest.fixture(autouse=True)
def read_anew() -> Any:
    yield
    load_catalogue.cache_clear()


def service(tmp_path: Path, text: str, name: str = "desk.yaml") -> Service:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_service(tmp_path / name)


def environ(upstream: Upstream, **more: str) -> dict[str, str]:
    return {"WORKBENCH_UPSTREAM_DESK": upstream.url, "DESK_LOGIN": "ann:pass-word-1", **more}


def findings(document: dict[str, Any], kind: str) -> str:
    return " | ".join(f"{x['words']} -> {x['mend']}" for x in document["findings"] if x["kind"] == kind)


# -- an internal store: OAuth2, cursors, days of its own, knowledge time as a parameter ------------------------------


class OrdersStore:
    """Orders by month with revisions, told as of a day; two pages of five; a token per client."""

    def __init__(self) -> None:
        self.tokens = 0

    def __call__(self, seen: Seen) -> Sent:
        if seen.path == "/oauth/token":
            assert (
                seen.headers["authorization"] == "Basic " + base64.b64encode(b"me:s3cret-of-store").decode()
            )
            assert seen.body == {"grant_type": "client_credentials", "scope": "read"}
            self.tokens += 1
            return Sent({"access_token": "token-of-an-hour", "token_type": "bearer", "expires_in": 3600})
        if seen.headers.get("authorization") != "Bearer token-of-an-hour":
            return Sent({"error": "who?"}, status=401)
        day, month, year = map(int, seen.query["known_on"].split("."))
        rows = [
            {"month": f"2018-{n:02d}-01", "orders": n + 100 * revised, "booked": booked.strftime("%d.%m.%Y")}
            for n in range(1, 11)
            for revised, booked in ((0, date(2018, n + 1, 5)), (1, date(2018, n + 1, 25)))
            if booked <= date(year, month, day)
        ]
        begin = int(seen.query.get("cursor") or 0)
        more = {"next": str(begin + 5)} if len(rows) > begin + 5 else {}
        return Sent({"items": rows[begin : begin + 5], **more})


async def test_the_store_is_asked_with_a_token_page_by_page_as_it_knew(tmp_path: Path) -> None:
    pytest.importorskip("authlib")
    store_service(tmp_path, read_service(EXAMPLES / "store.yaml"))
    store = OrdersStore()
    with Upstream(store) as upstream:
        settings = ProxySettings.from_environment(
            {"WORKBENCH_UPSTREAM_STORE": upstream.url, "STORE_CLIENT": "me:s3cret-of-store"},
            catalogue_folder=tmp_path / "catalogue",
        )
        broker = open_broker(settings)
        early = await asker(broker, "2018-06-10")("store/orders", shop="berlin")
        late = await asker(broker, "2018-06-26")("store/orders", shop="berlin")
        await broker.aclose()
    assert [row["orders"] for row in early.data["items"]] == [1, 101, 2, 102, 3, 103, 4, 104, 5]
    assert late.data["items"][-1] == {"month": "2018-05-01", "orders": 105, "booked": "25.06.2018"}
    assert store.tokens == 1
    asked = [seen.query["known_on"] for seen in upstream.seen if seen.path == "/v2/orders"]
    assert {"09.06.2018", "25.06.2018"} >= set(asked) and len(asked) >= 4


async def test_a_client_that_is_refused_is_one_line_without_the_secret(tmp_path: Path) -> None:
    pytest.importorskip("authlib")
    store_service(tmp_path, read_service(EXAMPLES / "store.yaml"))
    with Upstream(
        lambda seen: Sent({"error": "invalid_client", "got": "s3cret-of-store"}, status=401)
    ) as upstream:
        settings = ProxySettings.from_environment(
            {"WORKBENCH_UPSTREAM_STORE": upstream.url, "STORE_CLIENT": "me:s3cret-of-store"},
            catalogue_folder=tmp_path / "catalogue",
        )
        broker = open_broker(settings)
        with pytest.raises(SourceRejected) as caught:
            await asker(broker, "2018-06-10")("store/orders", shop="berlin")
        await broker.aclose()
    assert "s3cret" not in str(caught.value) and "\n" not in str(caught.value)


async def test_a_series_of_the_store_holds_each_month_once_as_it_was_last_known(tmp_path: Path) -> None:
    pytest.importorskip("authlib")
    store_service(tmp_path, read_service(EXAMPLES / "store.yaml"))
    with Upstream(OrdersStore()) as upstream:
        settings = ProxySettings.from_environment(
            {"WORKBENCH_UPSTREAM_STORE": upstream.url, "STORE_CLIENT": "me:s3cret-of-store"},
            catalogue_folder=tmp_path / "catalogue",
        )
        broker = open_broker(settings)
        ref = SeriesRef.of("service:store/orders&shop=berlin")
        assert ref is not None
        path, params = ref.call(Cutoff.parse("2018-06-10").instant)
        seen = await asker(broker, "2018-06-10")(path, **params)
        none = await asker(broker, "2018-01-10")(path, **params)
        with pytest.raises(CutoffRefused, match="more rows than one answer holds"):
            await asker(broker, "2018-06-10")(path, **params, limit=2)
        await broker.aclose()
    assert [row["value"] for row in ref.rows(seen.data)] == [101, 102, 103, 104, 5]
    assert none.data == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("{date: month, value: volume}", "the series names 'volume', which is no field of its rows"),
        ("{date: month}", "endpoints.0.series.value: Field required"),
    ],
)
def test_a_series_of_fields_that_are_not_there_is_refused(tmp_path: Path, fields: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        service(tmp_path, DESK.replace("  as_of:\n", f"  series: {fields}\n  as_of:\n"))


@pytest.mark.long
def test_a_claim_about_a_services_series_goes_from_its_words_to_its_outcome(tmp_path: Path) -> None:
    text = DESK.replace("  as_of:\n", "  series: {date: month, value: price}\n  as_of:\n")
    (tmp_path / "desk.yaml").write_text(text)
    rows = [
        {
            "month": f"{year}-{month:02d}-01",
            "published": f"{year + month // 12}-{month % 12 + 1:02d}-12",
            "price": 50.5 + (12 * year + month) * 7 % 13,
        }
        for year in range(2010, 2020)
        for month in range(1, 13)
    ]
    with Upstream(lambda seen: Sent({"rows": rows})) as upstream:
        keys = environ(upstream)
        assert run_cli(tmp_path, "source", "add", "desk", "desk.yaml", "--yes", **keys).returncode == 0
        assert "service:desk/prices&symbol=X" in run_cli(tmp_path, "source", "list").stdout
        claim = "service:desk/prices&symbol=X is above 55 on 2018-12-31"
        done = run_cli(tmp_path, "analyze", claim, "--cutoff", "2018-06-30", "--json", **keys)
        assert done.returncode == 0, done.stderr
        (run,) = json.loads(run_cli(tmp_path, "runs", "--json", **keys).stdout)
        early = claim.replace("2018", "2010")
        late = run_cli(tmp_path, "analyze", early, "--cutoff", "2010-01-30", **keys)
    assert {seen.query["symbol"] for seen in upstream.seen} == {"X"}
    december = next(row["price"] for row in rows if row["month"] == "2018-12-01")
    assert (december > 55) is bool(run["outcome"]) and 0 < run["p"] < 1, run
    assert late.returncode == 2 and "no value of service/desk/prices&symbol=X is visible" in late.stderr


async def test_a_service_whose_call_was_mended_is_asked_anew(tmp_path: Path) -> None:
    def respond(seen: Seen) -> Sent:
        return Sent({"rows": [{**row, "price": 1.0 if seen.path == "/prices" else 2.0} for row in MONTHS]})

    prices = []
    with Upstream(respond) as upstream:
        for text in (DESK, DESK.replace("GET prices", "GET v2/prices"), DESK):
            store_service(tmp_path, service(tmp_path, text))
            load_catalogue.cache_clear()
            settings = ProxySettings.from_environment(
                environ(upstream), catalogue_folder=tmp_path / "catalogue", cache_path=tmp_path / "raw.db"
            )
            broker = open_broker(settings)
            seen = await asker(broker, "2018-06-30")("desk/prices", symbol="X")
            prices.append(seen.data["rows"][0]["price"])
            await broker.aclose()
        # one that is as it was before is answered by what it was told then
        assert (prices, len(upstream.seen)) == ([1.0, 2.0, 1.0], 2)


# -- versions: what a run used stays what it is asked by --------------------------------------------------------------


def changed_desk(text: str) -> str:
    """The same service after its owner moved it to another address, another key and another column of days."""
    return (
        text.replace("GET prices", "GET v2/prices")
        .replace("field: published", "field: booked")
        .replace("published: from", "booked: from")
        .replace("DESK_LOGIN", "DESK_PASSWORD")
    )


@pytest.mark.long
def test_a_run_goes_on_by_the_version_of_a_service_that_it_used(tmp_path: Path) -> None:
    text = DESK.replace("  as_of:\n", "  series: {date: month, value: price}\n  as_of:\n")
    home, file = tmp_path / "home", tmp_path / "desk.yaml"
    rows = [
        {"month": f"{year}-{month:02d}-01", day: f"{year + month // 12}-{month % 12 + 1:02d}-12", "price": 50.5 + (12 * year + month) * 7 % 13}
        for day in ("published", "booked") for year in range(2010, 2020) for month in range(1, 13)
    ]  # fmt: skip
    claim = "service:desk/prices&symbol=X is above 55 on 2018-12-31"

    def answer(seen: Seen) -> Sent:
        column = "booked" if seen.path == "/v2/prices" else "published"
        return Sent({"rows": [row for row in rows if column in row]})

    with Upstream(answer) as upstream:
        keys = environ(upstream, DESK_PASSWORD="ann:pass-word-2")

        def command(*words: str) -> str:
            done = run_cli(tmp_path, *words, **keys)
            assert done.returncode == 0, done.stderr
            return done.stdout

        def asked_by(*words: str) -> set[tuple[str, str]]:
            before = len(upstream.seen)
            (home / "cache.db").unlink(missing_ok=True)
            command(*words)
            return {(seen.path, base64.b64decode(seen.headers["authorization"].split()[1]).decode()) for seen in upstream.seen[before:]}  # fmt: skip

        old_way, new_way = {("/prices", "ann:pass-word-1")}, {("/v2/prices", "ann:pass-word-2")}
        analyze = ("analyze", claim, "--cutoff", "2018-06-30", "--json")
        file.write_text(text)
        command("source", "add", "desk", "desk.yaml", "--yes")
        assert asked_by(*analyze) == old_way
        (old,) = (run["run_id"] for run in json.loads(command("runs", "--json")))
        command("analyze", claim.replace("2018-12-31", "2020-03-31"), "--cutoff", "2018-06-30")
        (watched,) = {run["run_id"] for run in json.loads(command("runs", "--json"))} - {old}
        for changed in (text.replace("Prices of", "All prices of"), changed_desk(text)):
            file.write_text(changed)
            command("source", "add", "desk", "desk.yaml", "--yes")
        assert [(len(each["version"]), each["runs"]) for each in json.loads(command("source", "show", "desk"))["versions"]] == [(12, sorted([old, watched])), (12, []), (12, [])]  # fmt: skip
        assert "; 3 versions" in command("source", "list")
        # gc takes the one between, which no run used
        assert "1 versions of own data" in run_cli(tmp_path, "gc", **keys).stderr
        assert asked_by("resolve", old) == old_way
        assert asked_by("review", watched, "--changed", "--set", "cutoff=2018-09-30") == old_way
        command("rm", watched, "--yes")
        assert asked_by(*analyze) == new_way
        new = next(run["run_id"] for run in json.loads(command("runs", "--json")) if run["run_id"] != old)
        assert asked_by("resolve", old) == old_way and asked_by("resolve", new) == new_way
        assert json.loads(command("show", old, "--json"))["statement"] and run_cli(tmp_path, "verify", old, **keys).returncode == 0  # fmt: skip
        assert "what 2 stored runs read stays" in command("source", "remove", "desk", "--yes")
        assert asked_by("resolve", old) == old_way
        assert "no endpoint 'desk/prices/series'" in run_cli(tmp_path, *analyze, **keys).stderr
        copies = home / "catalogue" / "versions" / "desk"
        assert len(list(copies.glob("*.yaml"))) == 2
        command("rm", old, "--yes")
        command("gc")
        assert len(list(copies.glob("*.yaml"))) == 1
        command("rm", new, "--yes")
        command("gc")
        assert not copies.exists()


# -- EDGAR, and a warehouse ------------------------------------------------------------------------------------------


async def test_filings_are_found_as_of_the_cutoff(tmp_path: Path) -> None:
    store_service(tmp_path, read_service(EXAMPLES / "filings.yaml"))
    hits = [
        {"_id": n, "_source": {"adsh": f"a{n}", "form": "10-K", "file_date": f"2018-0{n}-15"}} for n in (5, 7)
    ]
    with Upstream(lambda seen: Sent({"hits": {"total": {"value": 2}, "hits": hits}})) as upstream:
        settings = ProxySettings.from_environment(
            {"WORKBENCH_UPSTREAM_FILINGS": upstream.url}, catalogue_folder=tmp_path / "catalogue"
        )
        broker = open_broker(settings)
        answer = await asker(broker, "2018-06-30")("filings/search", q='"supply chain"', startdt="2018-01-01")
        await broker.aclose()
    assert "a5" in json.dumps(answer.data) and "a7" not in json.dumps(answer.data)
    assert "total" not in json.dumps(answer.data) and upstream.seen[0].query["enddt"] == "2018-06-29"


async def test_a_query_in_a_file_is_a_source_with_its_vintages(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as base:
        base.execute("CREATE SCHEMA facts")
        base.execute("CREATE TABLE facts.revenue (month DATE, booked DATE, amount DOUBLE, region VARCHAR)")
        base.execute(
            "INSERT INTO facts.revenue VALUES ('2018-01-01','2018-02-10',5,'EMEA'), ('2018-01-01','2018-05-10',7,'EMEA'),"
            " ('2018-02-01','2018-03-10',6,'EMEA'), ('2018-02-01','2018-03-10',99,'APAC')"
        )
    text = (EXAMPLES / "warehouse.yaml").read_text()
    address = "'postgresql://analyst:$WAREHOUSE_PASSWORD@warehouse.example.org/sales'"
    assert address in text
    path = tmp_path / "revenue.yaml"
    path.write_text(text.replace(address, f"'{tmp_path / 'warehouse.duckdb'}'"))
    new = await open_source(tmp_path, "revenue", path, {}, environ={})
    assert (new.manifest.value, new.manifest.unit, new.manifest.policy.kind) == ("revenue", "EUR", "vintage")
    assert new.rows["revenue"].tolist() == [5, 7, 6]
    path.write_text(path.read_text() + "colour: red\n")
    with pytest.raises(UsageError, match=r"revenue\.yaml line 11: there is no 'colour' here"):
        await open_source(tmp_path, "revenue", path, {}, environ={})


# -- CSV and a name with a password ----------------------------------------------------------------------------------


async def test_a_csv_answer_has_rows_and_its_days_hold_the_cutoff(tmp_path: Path) -> None:
    text = DESK.replace("  rows: 'rows[]'\n", "  answer: csv\n  rows: '[]'\n").replace(
        "stamp: {field: published, grain: day}", "stamp: {field: published, pattern: '%d/%m/%y', grain: day}"
    )
    store_service(tmp_path, service(tmp_path, text))
    body = "\ufeffmonth;published;price\n2018-01-01;12/02/18;1,5\n2018-02-01;12/03/18;\n2018-06-01;12/07/18;9,25\n"
    with Upstream(lambda seen: Sent(body.encode())) as upstream:
        broker = open_broker(
            ProxySettings.from_environment(environ(upstream), catalogue_folder=tmp_path / "catalogue")
        )
        answer = await asker(broker, "2018-06-30")("desk/prices", symbol="X")
        await broker.aclose()
    assert [row["price"] for row in answer.data] == [1.5, None]
    sent = base64.b64encode(b"ann:pass-word-1").decode()
    assert upstream.seen[0].headers["authorization"] == f"Basic {sent}"


# -- check and attack ------------------------------------------------------------------------------------------------


async def checked(tmp_path: Path, text: str, answer: Any) -> dict[str, Any]:
    with Upstream(lambda seen: Sent(answer)) as upstream:
        return await check_service(service(tmp_path, text), environ(upstream))


async def test_a_right_file_is_left_alone(tmp_path: Path) -> None:
    document = await checked(tmp_path, DESK, {"rows": MONTHS})
    assert document["summary"] == "desk: nothing leaks" and not findings(document, "wrong")
    assert findings(await attack_service(service(tmp_path, DESK)), "leaks") == ""


async def test_the_wrong_date_column_is_caught_with_its_line(tmp_path: Path) -> None:
    wrong = DESK.replace("stamp: {field: published", "stamp: {field: month")
    found = findings(await checked(tmp_path, wrong, {"rows": MONTHS}), "leaks")
    assert "published says 2018-02-12" in found and "desk.yaml line 16" in found
    assert wrong.splitlines()[15].strip().startswith("stamp: {field: month")


async def test_a_total_that_counts_the_future_is_caught_with_its_line(tmp_path: Path) -> None:
    wrong = DESK.replace("  rows: 'rows[]'\n", "  rows: 'rows[]'\n  envelope: [total]\n")
    found = findings(await checked(tmp_path, wrong, {"rows": MONTHS, "total": len(MONTHS)}), "leaks")
    assert "total is the number of all rows" in found and "desk.yaml line 13: leave total out" in found
    attacked = findings(await attack_service(service(tmp_path, wrong)), "leaks")
    assert "later rows show" in attacked and "desk.yaml line 13" in attacked


async def test_rows_that_are_called_static_are_caught_with_their_line(tmp_path: Path) -> None:
    wrong = DESK.replace(
        "    policy: filter_rows\n    stamp: {field: published, grain: day}\n", "    policy: static\n"
    )
    assert "published says" in findings(await checked(tmp_path, wrong, {"rows": MONTHS}), "leaks")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  as_of:\n    policy: filter_rows\n    stamp: {field: published, grain: day}\n", "",
         "desk.yaml line 8: the endpoint 'desk/prices' states no as_of"),
        ("    stamp: {field: published, grain: day}\n", "", "desk.yaml line 14: desk/prices: policy filter_rows needs stamp"),
        ("policy: filter_rows", "policy: filter_row", "desk.yaml line 15"),
        *(("grain: day", f"grain: {other}", f"{other!r} is no grain") for other in ("quarter", "weekly", "years", "2hour", "Day")),
        ("DESK_LOGIN", "ANTHROPIC_API_KEY", "desk.yaml line 6: ANTHROPIC_API_KEY is the key of a provider of models"),
        ("DESK_LOGIN", "FRED_API_KEY", "FRED_API_KEY is the key of fred"),
        ("place: basic", "place: oauth2", "desk.yaml line 6: oauth2 and the path"),
        ("source: desk", "source: own", "desk.yaml: there is a source named 'own'"),
        *((HOST, wrong, "is no https://HOST or http://HOST") for wrong in NO_SERVICES),
        ("path: desk/prices", "path: desk/../fred/prices", "desk.yaml line 8: write path and call without"),
        ("example: X", "example: X, chars: '(a+)+b'", "chars of symbol is a row of characters and classes"),
        ("example: X", "example: X, chars: 'a*a*a*a*a*b'", "chars of symbol is a row of characters and classes"),
        ("example: X", "example: X, chars: '('", "chars of symbol is a row of characters and classes"),
        ("call: GET prices", 'call: "GET prices\\r\\nX: y"', "holds characters that no request's head can have"),
        ("upstream: DESK", 'agent: "x\\r\\nHost: evil"', "holds characters that no request's head can have"),
        ("place: basic", 'place: header, name: "X\\nY"', "desk.yaml line 6: 'X\\nY' holds characters"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_adds_nothing(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in DESK
    with pytest.raises(UsageError) as refused:
        store_service(tmp_path, service(tmp_path, DESK.replace(old, f'"{new}"' if old == HOST else new)))
    assert words in str(refused.value) and "\n" not in str(refused.value)
    assert services(tmp_path) == {}


def test_the_command_names_what_does_not_fit_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(DESK.replace("policy: filter_rows", "policy: filter_row"))
    done = run_cli(tmp_path, "source", "add", "desk", "desk.yaml", "--yes")
    assert done.returncode == 2 and "line 15" in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert services(tmp_path / "home") == {}


def test_the_command_line_shows_key_and_hosts_and_takes_it_back(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(DESK)
    added = run_cli(tmp_path, "source", "add", "desk", "desk.yaml", "--yes")
    assert added.returncode == 0 and "DESK_LOGIN (not set)" in added.stderr and "127.0.0.1" in added.stderr
    assert "desk/prices" in run_cli(tmp_path, "source", "list").stdout
    assert "desk/prices" in run_cli(tmp_path, "apis", "desk prices").stdout
    assert run_cli(tmp_path, "source", "attack", "desk").returncode == 0
    assert run_cli(tmp_path, "source", "remove", "desk", "--yes").returncode == 0
    assert services(tmp_path / "home") == {}


async def test_a_service_that_is_shared_with_nobody_is_for_no_language_model(tmp_path: Path) -> None:
    store_service(
        tmp_path, service(tmp_path, DESK.replace("upstream: DESK\n", "upstream: DESK\nshare: none\n"))
    )
    folder = tmp_path / "catalogue"
    person = ProxySettings(catalogue_folder=folder, reader="person").catalogue()
    model = ProxySettings(catalogue_folder=folder).catalogue()
    assert "desk/prices" in person and "desk/prices" not in model
    with pytest.raises(UnknownPath, match="desk says share: none"):
        model.resolve("desk/prices")


async def test_a_network_that_was_switched_off_is_said_by_the_variable_and_nothing_is_sent(
    tmp_path: Path,
) -> None:
    store_service(tmp_path, service(tmp_path, DESK))
    with Upstream(lambda seen: Sent({"rows": MONTHS})) as upstream:
        settings = ProxySettings.from_environment(
            environ(upstream, WORKBENCH_NETWORK="off"), catalogue_folder=tmp_path / "catalogue"
        )
        broker = open_broker(settings)
        with pytest.raises(SourceUnavailable, match="WORKBENCH_NETWORK=off"):
            await asker(broker, "2018-06-30")("desk/prices", symbol="X")
        await broker.aclose()
    assert upstream.seen == []


@pytest.mark.parametrize(("share", "names"), [("", ["desk"]), ("share: packages\n", [])])
async def test_what_a_service_answered_goes_into_no_package_unless_its_file_says_so(
    tmp_path: Path, share: str, names: list[str]
) -> None:
    store_service(tmp_path, service(tmp_path, DESK.replace("upstream: DESK\n", f"upstream: DESK\n{share}")))
    with closing(Store(tmp_path)) as store:
        with Upstream(lambda seen: Sent({"rows": MONTHS})) as upstream:
            settings = ProxySettings.from_environment(
                environ(upstream), catalogue_folder=tmp_path / "catalogue"
            )
            broker = open_broker(settings)
            session = broker.session(Cutoff.parse("2018-06-30"), ApiLedger(store))
            address = Address(run="r1", node="P1", trial=1, attempt=1, stage="call", step=0, retry=0)
            await session.call("desk/prices", {"symbol": "X"}, address)
            await broker.aclose()
        assert unshared_in(store, "r1") == names and unshared_in(store, "r2") == []
