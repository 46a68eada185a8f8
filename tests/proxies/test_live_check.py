"""`doctor --live` against loopback upstreams: what answers, what has no key, what fails, and nothing that was cached."""

import json
from collections.abc import Callable
from pathlib import Path

from proxies.broker import Broker
from proxies.catalogue import load_catalogue
from proxies.live_check import SourceCheck, check_sources
from tests.command_line import run_cli
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.fakes.vendors import TELLTALE

KEY = "v3nd0rk3yv3nd0rk3yv3nd0rk3yv3nd0"
GRADES = [{"symbol": "AAPL", "date": f"2024-0{n}-01", "analystRatingsBuy": n} for n in range(1, 8)]
HTML = {"content-type": "text/html"}


def _replies(seen: Seen) -> Sent:
    """A day on which some sources work and the others each fail in a way of their own."""
    source = seen.path.split("/")[1]
    if source == "fmp":
        return Sent(GRADES if seen.headers.get("apikey") == KEY else [])
    return {
        "fred": Sent({"error_code": 400, "error_message": f"Bad Request. api_key {KEY} is not registered, {TELLTALE}"}, 400),
        "exa": Sent({"requestId": "a", "results": [{"id": n, "title": "t", "published": "2024-01-01"} for n in range(9)]}),
        "brave": Sent(b"<html>sign in</html>", 302, {"location": "http://127.0.0.1:9/"} | HTML),
        "kalshi": Sent({"markets": [], "cursor": ""}),
        "dbnomics": Sent(b"<html>moved</html>", 404, HTML),
        "wikipedia": Sent({"error": {"code": "missingtitle", "info": TELLTALE}}),
    }.get(source, Sent({"message": TELLTALE}, 418))  # fmt: skip


def _environment(url: str) -> dict[str, str]:
    sources = [source for source in load_catalogue().sources() if source.upstream]
    keys = {source.key.variable: KEY for source in sources if source.key and source.name != "msd"}
    return keys | {f"WORKBENCH_UPSTREAM_{source.upstream}": f"{url}/{source.name}" for source in sources}


async def _checked(
    broker_of: Callable[..., Broker], handler: Callable[[Seen], Sent]
) -> dict[str, SourceCheck]:
    with Upstream(handler) as upstream:
        sources = load_catalogue().sources()
        broker = broker_of(
            keys={source.name: KEY for source in sources if source.key and source.name != "msd"},
            upstreams={source.name: f"{upstream.url}/{source.name}" for source in sources if source.upstream},
        )
        return {check.source: check for check in await check_sources(broker)}


async def test_each_source_says_what_became_of_its_example(broker_of: Callable[..., Broker]) -> None:
    checks = await _checked(broker_of, _replies)
    assert set(checks) == {source.name for source in load_catalogue().sources()}
    verdicts = {name: check.verdict for name, check in checks.items()}
    assert verdicts["fmp"] == verdicts["embedded"] == "answers"
    assert verdicts["msd"] == "no key" and "MSD_API_KEY" in checks["msd"].says
    # Hits that name no date are left out of a search, however many: what is undated tells nothing of the vendor's form.
    assert verdicts["kalshi"] == verdicts["wikipedia"] == verdicts["exa"] == "no rows"
    shipped = set(verdicts) - {"stranger"}  # of the package that other tests install in this process
    assert {name for name in shipped if verdicts[name] == "fails"} == {
        "fred", "brave", "dbnomics", "gdelt", "gt", "polymarket", "sec", "yfinance", "serper",
        "tavily", "searxng", "wayback",
    }  # fmt: skip
    assert "FRED_API_KEY" in checks["fred"].says
    assert "HTTP 302" in checks["brave"].says
    for check in checks.values():
        assert KEY not in check.says and TELLTALE not in check.says and "\n" not in check.says


def test_doctor_asks_the_sources_only_when_told_to_and_shows_no_key(tmp_path: Path) -> None:
    with Upstream(_replies) as upstream:
        environment = _environment(upstream.url)
        assert "sources" not in json.loads(run_cli(tmp_path, "doctor", "--json", **environment).stdout)
        assert upstream.seen == []
        done = run_cli(tmp_path, "doctor", "--live", **environment)
        asked = len(upstream.seen)
        assert done.returncode == 0 and asked >= 11 and KEY not in done.stdout + done.stderr
        shown = " ".join(done.stdout.split())
        assert "fmp: verdict answers" in shown and "brave gave no answer" in shown
        # asked anew each time: what was cached would hide that a source is gone
        sources = json.loads(run_cli(tmp_path, "doctor", "--live", "--json", **environment).stdout)["sources"]
        assert sources["fmp"]["verdict"] == "answers" and len(upstream.seen) == 2 * asked
