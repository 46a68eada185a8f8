"""Who gets into ``workbench lab``: the door of ``workbench serve`` before Jupyter's own server. Real sockets."""

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from tests.browser.test_serve_door import HANDSHAKE, ask
from tests.fakes.browser import TOKEN, WORKBENCH, Lab

pytestmark = [pytest.mark.browser, pytest.mark.long]


def port_of(lab: Lab) -> int:
    return urllib.parse.urlsplit(lab.url).port or 0


def status(lab: Lab, path: str, host: str | None = None, method: str = "GET", **headers: str) -> int:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(port_of(lab), path, {"Host": host or f"127.0.0.1:{port_of(lab)}", **fields}, method)[0]


@pytest.fixture(scope="module")
def channels(lab: Lab) -> str:
    """The path of a websocket to a running kernel."""
    request = urllib.request.Request(
        f"{lab.url}/api/kernels",
        data=json.dumps({"name": "python3"}).encode(),
        headers={"Authorization": f"token {TOKEN}"},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return f"/api/kernels/{json.load(answer)['id']}/channels"


def test_a_foreign_name_for_this_machine_is_refused_with_the_token_too(lab: Lab, channels: str) -> None:
    paths = (f"/api/contents?token={TOKEN}", f"/lab?token={TOKEN}", f"/files/x?token={TOKEN}")
    for host in ("evil.example", f"evil.example:{port_of(lab)}", f"127.0.0.1:{port_of(lab) + 1}"):
        for path in paths:
            assert status(lab, path, host) == 403, (host, path)
        assert status(lab, f"{channels}?token={TOKEN}", host, **HANDSHAKE) == 403
    for host in (f"127.0.0.1:{port_of(lab)}", f"localhost:{port_of(lab)}"):
        assert status(lab, paths[0], host) == 200
        assert status(lab, paths[1], host) == 200


def test_a_page_of_another_origin_gets_no_websocket_and_no_answer(lab: Lab, channels: str) -> None:
    port = port_of(lab)
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{port + 1}",
        f"https://127.0.0.1:{port}",
    ):
        assert status(lab, f"{channels}?token={TOKEN}", Origin=origin, **HANDSHAKE) == 403, origin
        assert status(lab, f"/api/contents?token={TOKEN}", Origin=origin) == 403, origin
    embedded = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    assert ask(port, f"/api/contents?token={TOKEN}", {"Host": f"127.0.0.1:{port}", **embedded})[0] == 403
    own = f"http://127.0.0.1:{port}"
    assert status(lab, f"{channels}?token={TOKEN}", Origin=own, **HANDSHAKE) == 101
    assert status(lab, channels, Origin=own, **HANDSHAKE) == 403  # no token, no cookie


def test_its_cookies_stay_with_its_own_pages_and_name_their_port(lab: Lab) -> None:
    port = port_of(lab)
    _, cookies, _ = ask(port, f"/lab?token={TOKEN}", {"Host": f"127.0.0.1:{port}"})
    assert cookies and all("samesite=strict" in cookie.lower() for cookie in cookies)
    (login,) = [cookie for cookie in cookies if not cookie.startswith("_xsrf")]
    assert "httponly" in login.lower() and str(port) in login.partition("=")[0]
    # the cookie opens the door, and a change needs the page's own token against forged requests too
    own = {"Cookie": login.partition(";")[0], "Host": f"127.0.0.1:{port}"}
    assert ask(port, "/api/contents", own)[0] == 200
    assert ask(port, "/api/contents/x.txt", own, "DELETE")[0] == 403


@pytest.mark.soak
def test_an_analyst_kernel_that_was_left_ends_within_a_minute_and_a_persons_own_stays(lab: Lab) -> None:
    made = {}
    for name in ("analyst", "python3"):
        request = urllib.request.Request(
            f"{lab.url}/api/kernels",
            data=json.dumps({"name": name}).encode(),
            headers={"Authorization": f"token {TOKEN}"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            made[name] = json.load(answer)["id"]
    began = time.monotonic()
    while made["analyst"] in {row["id"] for row in lab.ask("/api/kernels")} and time.monotonic() - began < 60:
        time.sleep(1)
    left = {row["id"] for row in lab.ask("/api/kernels")}
    assert made["analyst"] not in left and made["python3"] in left


def test_a_token_that_can_be_guessed_is_refused_before_it_listens(lab: Lab) -> None:
    environment = {**os.environ, "WORKBENCH_HOME": str(lab.home), "JUPYTER_TOKEN": "short"}
    done = subprocess.run(
        [*WORKBENCH, "lab", "--no-browser"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2 and "at least 22 are needed" in done.stderr
    assert "short" not in done.stderr.replace("workbench: the token", "")
