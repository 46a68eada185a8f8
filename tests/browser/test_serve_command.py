"""``workbench serve`` as a process: its line, its door, its end."""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Served, start
from tests.fakes.browser import open_run_page, patient
from tests.fakes.screens import RUN
from workbench.cli.servers.warm_kernels import REFILL_SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]


def children_of(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(line) for line in found.stdout.split()]


def kernel_process(pid: int, kernel_id: str) -> int:
    """The process of a kernel of a server: its connection file is named after it."""
    (kernel,) = [
        child for child in children_of(pid) if kernel_id in Path(f"/proc/{child}/cmdline").read_text()
    ]
    return kernel


def kernel_of(page: Any) -> str:
    """The id of a page's kernel, which is in the page's settings."""
    return str(
        page.evaluate("JSON.parse(document.getElementById('jupyter-config-data').textContent).kernelId")
    )


def children_at_rest(pid: int) -> set[int]:
    """The kernels of a server once the one that it makes ahead is there too."""
    kernels, since = set(children_of(pid)), time.monotonic()
    while time.monotonic() - since < REFILL_SECONDS + 1:
        time.sleep(0.2)
        if (now := set(children_of(pid))) != kernels:
            kernels, since = now, time.monotonic()
    return kernels


def status(url: str) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=60) as answer:
            return answer.status, answer.geturl()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, url


def test_it_prints_one_line_with_the_full_address_once_it_answers(served: Served) -> None:
    address = urllib.parse.urlsplit(served.url)
    assert address.hostname == "127.0.0.1" and len(urllib.parse.parse_qs(address.query)["token"][0]) >= 32
    assert served.lines == [served.url + "\n"]


def test_without_the_token_there_is_no_dashboard_and_no_kernel(served: Served) -> None:
    base = served.url.split("?")[0]
    before = children_at_rest(served.process.pid)
    code, url = status(base)
    assert code == 403 or "/login" in url
    assert status(base + "?token=wrong")[0] == 403 or "/login" in status(base + "?token=wrong")[1]
    kernel = "api/kernels/00000000-0000-0000-0000-000000000000"
    assert status(base + kernel)[0] == 403
    # an idle kernel of another test may end meanwhile
    assert children_at_rest(served.process.pid) <= before


def test_a_page_says_why_nothing_was_drawn_and_reads_no_markup_in_it(served: Served, tab: Any) -> None:
    asked: list[str] = []

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(body="The page could not be drawn: <b>OSError</b>", content_type="text/plain")

    tab.route("**/voila.js", lambda route: route.abort())  # nothing is drawn
    tab.route("**/voila/drawing/*", answer)
    tab.goto(served.url)
    tab.get_by_text("The page could not be drawn: <b>OSError</b>").wait_for()
    assert [url.rpartition("/")[2] for url in asked] == [kernel_of(tab)]


def test_why_nothing_was_drawn_is_for_whoever_knows_the_token(served: Served) -> None:
    base, _, query = served.url.partition("?")
    asked = f"{base}voila/drawing/00000000-0000-0000-0000-000000000000"
    code, url = status(asked)
    assert code == 403 or "/login" in url
    assert status(f"{asked}?{query}")[0] == 200


def test_files_beside_the_notebook_are_not_served(served: Served) -> None:
    base, _, query = served.url.partition("?")
    for name in ("dashboard.ipynb", "../pyproject.toml", "tutorial.ipynb"):
        assert status(f"{base}voila/files/{name}?{query}")[0] in (403, 404)


def test_the_token_is_on_no_command_line(served: Served) -> None:
    token = urllib.parse.parse_qs(urllib.parse.urlsplit(served.url).query)["token"][0]
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert token not in listed


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_its_kernels(run_home: Path, signum: int) -> None:
    served = start(run_home, RUN)
    assert status(served.url)[0] == 200  # a page was opened, so a kernel runs
    kernels = children_of(served.process.pid)
    assert kernels
    assert served.stop(signum) == 0
    end = time.monotonic() + 60
    while any(map(alive, kernels)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(alive, kernels))
    with pytest.raises(urllib.error.URLError):
        status(served.url)
    served.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_leaving_the_page_stops_its_kernel(served: Served, tab: Any) -> None:
    open_run_page(tab, served.url)
    kernel = kernel_process(served.process.pid, kernel_of(tab))
    tab.goto("about:blank")
    end = time.monotonic() + 60
    while kernel in children_of(served.process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert kernel not in children_of(served.process.pid)


def test_a_kernel_is_made_ahead_serves_one_page_only_and_is_followed_by_another(
    served: Served, chromium: Any
) -> None:
    pid = served.process.pid
    waiting = children_at_rest(pid)
    pages = [patient(chromium.new_page()) for _ in range(2)]
    for page in pages:
        page.goto(f"{served.url}&run={RUN}&node=P2.1")
        page.wait_for_selector('[data-id="P2.1"][aria-selected="true"]')
    first, second = (kernel_process(pid, kernel_of(page)) for page in pages)
    assert first in waiting and first != second  # each window has a kernel of its own
    assert children_at_rest(pid) - waiting - {second}, "no kernel waits for the next page"
    for page in pages:
        page.goto("about:blank")
        page.close()


def test_a_clean_start_warns_of_nothing(run_home: Path, chromium: Any, tmp_path: Path) -> None:
    log = tmp_path / "stderr"
    with log.open("w") as stderr:
        served = start(run_home, RUN, stderr=stderr)
        page = patient(chromium.new_page())
        open_run_page(page, served.url)
        said = log.read_text()
        page.close()
        served.close()
    assert said.splitlines() == ["Starting the dashboard; Ctrl-C ends it."]
