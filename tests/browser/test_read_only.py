"""``workbench serve --read-only``: the page opens and every way to change something is closed, by request and in a browser."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxies.atomic import READ_ONLY, private_folder, replace_file
from tests.browser.conftest import Served, start
from tests.browser.test_serve_command import kernel_of, kernel_process
from tests.fakes.screens import RUN, asked, make_run
from workbench.annotations.entries import add_comment
from workbench.cli.servers.dashboard_server import is_of_a_page
from workbench.engine.detached import plan_elsewhere, resume_detached, start_elsewhere, stop_run
from workbench.store import HomeUnusable, Store
from workbench.views.run_view import load_run
from workbench.widgets.home_page import Home
from workbench.widgets.run_page import Dashboard


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_run(tmp_path / "home")
    return tmp_path / "home"


def contents(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def test_every_door_that_writes_is_closed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(home)
    with closing(Store(home)) as writer:
        head = writer.log_head(RUN)
    monkeypatch.setenv(READ_ONLY, "1")
    with closing(Store(home)) as store:
        for refused in (
            lambda: add_comment(store, RUN, "P1", "x"),
            lambda: store.put_body("x"),
            lambda: resume_detached(store, RUN),
            lambda: stop_run(store, RUN),
            lambda: plan_elsewhere(home, "x", "now"),
            lambda: start_elsewhere(home, "x", "now"),
        ):
            with pytest.raises(HomeUnusable, match="can only be read here"):
                refused()
        for unwritten in (
            lambda: replace_file(home / "x", b""),
            lambda: replace_file(home / "x", b"", private=True),
            lambda: private_folder(home / "new"),
        ):
            with pytest.raises(OSError, match="can only be read here"):
                unwritten()
        assert store.log_head(RUN) == head
    page = Dashboard(load_run(home, RUN))
    assert "can only be read here" in asked(page.side_panels.review.forms[0], text="x")
    shown = asked(Home(home).new_source, where="/etc/passwd")
    assert "can only be read here" in shown and "root:" not in shown
    assert contents(home) == before


def test_without_the_guard_the_same_doors_are_open(home: Path) -> None:
    with closing(Store(home)) as store:
        add_comment(store, RUN, "P1", "x")
        replace_file(home / "x", b"")
    assert (home / "x").exists()


def test_the_page_has_no_form(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ_ONLY, "1")

    def below(widget: Any) -> Iterator[Any]:
        yield widget
        for child in getattr(widget, "children", ()):
            yield from below(child)

    page, first = Dashboard(load_run(home, RUN)), Home(home)
    assert page.side_panels
    shown = {id(each) for each in (*below(page), *below(first))}
    for hidden in (
        *page.side_panels.review.forms,
        *page.side_panels.estimates.forms,
        page.side_panels.taking,
    ):
        assert id(hidden) not in shown
    assert id(page.side_panels.review.standing) in shown and id(first.answer) not in shown


@pytest.mark.parametrize(
    ("message", "passes"),
    [
        (json.dumps({"header": {"msg_type": "comm_msg"}, "channel": "shell"}), True),
        (json.dumps({"header": {"msg_type": "execute_request"}, "channel": "shell"}), False),
        (json.dumps({"header": {"msg_type": "shutdown_request"}, "channel": "control"}), False),
        (json.dumps({"header": {"msg_type": "debug_request"}, "channel": "control"}), False),
        (json.dumps({"header": {}}), False),
        (json.dumps([]), False),
        ("{", False),
        (b"", False),
        (b"\x09\x00\x00\x00\x00\x00\x00\x00", False),
    ],
)
def test_a_kernel_is_told_of_fields_and_buttons_alone(message: str | bytes, passes: bool) -> None:
    assert is_of_a_page(message) is passes


@pytest.mark.parametrize(
    "message",
    [(2**27).to_bytes(8, "little") + b"x", '{"header":' + "[" * 100_000 + "]" * 100_000 + "}"],
    ids=["a count of places that are not there", "deep lists"],
)
def test_no_message_takes_the_servers_time_or_ends_in_an_error(message: str | bytes) -> None:
    began = time.process_time()
    assert is_of_a_page(message) is False
    assert time.process_time() - began < 1.0


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("shown") / "home"
    make_run(home)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("OPENAI_API_KEY", "sk-a-secret-that-nobody-may-see")
        running = start(home, RUN, "--read-only")
    yield running
    running.close()


@pytest.mark.long
@pytest.mark.browser
def test_in_a_browser_the_page_opens_and_runs_no_code(tab: Any, shown: Served) -> None:
    sockets: list[str] = []
    tab.on("websocket", lambda socket: sockets.append(socket.url))
    tab.goto(shown.url)
    tab.locator("[role=treeitem]").first.wait_for(timeout=120_000)
    tab.get_by_role("tab", name="Review").click()
    tab.get_by_text("No comment yet.").wait_for()
    assert tab.get_by_role("button", name="Comment").count() == 0
    kernel = kernel_process(shown.process.pid, kernel_of(tab))
    environment = Path(f"/proc/{kernel}/environ").read_bytes()
    assert b"sk-a-secret" not in environment and b"WORKBENCH_READ_ONLY=1" in environment
    # Whoever has the page has its token: what they send to the kernel beside the page's own messages gets nowhere.
    proof = shown.home / "was-run"
    (address,) = {url for url in sockets if "/channels" in url}
    sent = tab.evaluate(
        """async ([url, code]) => {
          const socket = new WebSocket(url);
          await new Promise((open) => { socket.onopen = open; });
          const header = {msg_id: 'x', msg_type: 'execute_request', username: '', session: 'x', version: '5.3', date: ''};
          socket.send(JSON.stringify({header, parent_header: {}, metadata: {}, buffers: [], channel: 'shell',
            content: {code, silent: false, store_history: false, user_expressions: {}, allow_stdin: false}}));
          await new Promise((later) => setTimeout(later, 3000));
          return socket.readyState;
        }""",
        [address, f"open({str(proof)!r}, 'w').close()"],
    )
    assert sent is not None and not proof.exists()
    tab.close()
