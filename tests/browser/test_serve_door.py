"""Who gets into ``workbench serve``: its own pages, and nobody who only knows where it is. Real servers, real sockets."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.jupyter.door import is_own_request
from tests.browser.conftest import Served, serving, start
from tests.browser.test_serve_command import children_of, kernel_process
from tests.fakes.browser import open_run_page
from tests.fakes.screens import RUN

pytestmark = [pytest.mark.browser, pytest.mark.long]

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@dataclass
class Door:
    """The server's address, the cookie of somebody who was let in, and the kernel of their page."""

    port: int
    token: str
    cookie: str
    set_cookies: list[str]
    kernel: str

    @property
    def channels(self) -> str:
        return f"/api/kernels/{self.kernel}/channels"

    def status(self, path: str, host: str | None = None, **headers: str) -> int:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return ask(self.port, path, {"Host": host or f"127.0.0.1:{self.port}", **fields})[0]


def ask(port: int, path: str, headers: dict[str, str], method: str = "GET") -> tuple[int, list[str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = "" if answer.status == 101 else answer.read().decode()
        return answer.status, answer.headers.get_all("Set-Cookie") or [], text
    finally:
        connection.close()


def enter(served: Served) -> Door:
    """Open the page as a browser does; nobody connects to its kernel."""
    address = urllib.parse.urlsplit(served.url)
    port = address.port or 0
    token = urllib.parse.parse_qs(address.query)["token"][0]
    status, cookies, page = ask(port, f"/?token={token}", {"Host": f"127.0.0.1:{port}"})
    assert status == 200
    kernel = re.search(r'"kernelId":\s*"([0-9a-f-]{36})"', page)
    assert kernel is not None
    cookie = "; ".join(line.partition(";")[0] for line in cookies)
    return Door(port, token, cookie, cookies, kernel.group(1))


@pytest.fixture(scope="module")
def door(served: Served) -> Iterator[Door]:
    yield enter(served)


def test_a_foreign_name_for_this_machine_is_refused_whatever_it_knows(door: Door) -> None:
    paths = (f"/?token={door.token}", "/voila/static/voila.js", f"/login?token={door.token}")
    for host in (
        "evil.example",
        f"evil.example:{door.port}",
        f"127.0.0.1:{door.port + 1}",
        "127.0.0.1",
        "[::1]",
    ):
        for path in paths:
            assert door.status(path, host) == 403, (host, path)
        assert door.status(door.channels, host, Cookie=door.cookie, **HANDSHAKE) == 403
    for host in (f"127.0.0.1:{door.port}", f"localhost:{door.port}"):
        assert door.status("/voila/static/voila.js", host) == 200


def test_a_page_of_another_origin_gets_no_websocket_and_no_answer(served: Served) -> None:
    door = enter(served)
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{door.port + 1}",
        f"https://127.0.0.1:{door.port}",
    ):
        assert door.status(door.channels, Cookie=door.cookie, Origin=origin, **HANDSHAKE) == 403, origin
        assert door.status(f"/?token={door.token}", Origin=origin) == 403, origin
    own = f"http://127.0.0.1:{door.port}"
    assert door.status(door.channels, Cookie=door.cookie, Origin=own, **HANDSHAKE) == 101
    assert door.status(door.channels, Origin=own, **HANDSHAKE) == 403  # no cookie


def test_what_another_page_embeds_is_refused_and_a_link_that_a_person_follows_is_not(door: Door) -> None:
    port = door.port
    host = {"Host": f"127.0.0.1:{port}"}
    for site in ("cross-site", "same-site"):
        for mode, dest in (
            ("no-cors", "image"),
            ("navigate", "iframe"),
            ("cors", "empty"),
            ("websocket", "websocket"),
        ):
            fields = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
            assert ask(port, "/voila/static/voila.js", {**host, **fields})[0] == 403, fields
        link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert is_own_request({**host, **link}, port)


def test_cookies_stay_with_our_own_pages(door: Door) -> None:
    assert door.set_cookies
    assert all("samesite=strict" in cookie.lower() for cookie in door.set_cookies)
    login = [cookie for cookie in door.set_cookies if not cookie.startswith("_xsrf")]
    assert login and all("httponly" in cookie.lower() for cookie in login)


@pytest.mark.soak
def test_two_servers_do_not_take_each_others_cookies(served: Served, tmp_path: Path) -> None:
    """Cookies know no ports, so a browser sends those of both to both: each has a name and a secret of its own."""
    with serving(tmp_path / "home") as other:
        doors = [enter(served), enter(other)]
        logins = [{line.partition("=")[0] for line in door.set_cookies} - {"_xsrf"} for door in doors]
        assert logins[0] and logins[1] and not logins[0] & logins[1]
        both = "; ".join(door.cookie for door in doors)
        for door, stranger in (doors, doors[::-1]):
            kernel = f"/api/kernels/{door.kernel}"
            assert door.status(kernel, Cookie=stranger.cookie) == 403
            values = [part.partition("=")[2] for part in stranger.cookie.split("; ") if "_xsrf" not in part]
            (name,) = {line.partition("=")[0] for line in door.set_cookies} - {"_xsrf"}
            assert door.status(kernel, Cookie=f"{name}={values[0]}") == 403
            assert door.status(kernel, Cookie=both) == 200


def test_only_a_page_of_the_server_ends_a_kernel(run_home: Path, tmp_path: Path) -> None:
    """With its cookie and the XSRF token beside it; of a kernel that is gone there is nothing to end, and nothing is printed."""
    printed = tmp_path / "stderr.txt"
    with printed.open("w") as stderr:
        running = start(run_home, RUN, stderr=stderr)
        try:
            door = enter(running)
            xsrf = re.search(r"_xsrf=([^;]+)", door.cookie)
            assert xsrf is not None
            process = kernel_process(running.process.pid, door.kernel)
            path, own = f"/voila/api/shutdown/{door.kernel}", {"Host": f"127.0.0.1:{door.port}"}
            knows = {**own, "Cookie": door.cookie, "X-XSRFToken": xsrf.group(1)}

            def leave(**headers: str) -> int:
                return ask(door.port, path, headers, "POST")[0]

            for site in (
                {"Origin": "http://evil.example"},
                {"Origin": "null"},
                {"Sec-Fetch-Site": "cross-site"},
            ):
                assert leave(**{**knows, **site}) == 403, site
            for short in ("Cookie", "X-XSRFToken"):
                assert leave(**{name: value for name, value in knows.items() if name != short}) == 403, short
            assert leave(**own) == 403 and kernel_process(running.process.pid, door.kernel) == process
            refused = printed.read_text()
            assert leave(**knows) == 204
            end = time.monotonic() + 30
            while process in children_of(running.process.pid) and time.monotonic() < end:
                time.sleep(0.1)
            assert process not in children_of(running.process.pid)
            # a page that outlived its kernel, and one whose server was started again: its cookie counts no more
            for headers in (knows, own, {**own, "Cookie": "_xsrf=2|old"}):
                assert leave(**headers) == 204
            for site in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
                assert leave(**{**own, **site}) == 403, site
            # The last two are printed, by when those before them would be.
            while (added := printed.read_text().removeprefix(refused)).count("403 POST") < 2:
                assert time.monotonic() < end, added
                time.sleep(0.1)
            assert "403 POST" in refused and added.count("POST /voila/api/shutdown") == 2, added
        finally:
            running.close()


def test_it_listens_on_loopback_alone_with_a_token_of_128_bits_or_more(served: Served, door: Door) -> None:
    listed = subprocess.run(
        [sys.executable, "-c", _LISTENING, str(served.process.pid)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(listed.stdout) == [f"0100007F:{door.port:04X}"]
    # letters of base64 carry 6 bits each
    assert re.fullmatch(r"[A-Za-z0-9_-]+", door.token) and len(door.token) * 6 >= 128


#: The addresses on which a process listens, out of /proc.
_LISTENING = """
import json, os, re, sys
folder = f'/proc/{sys.argv[1]}'
links = {os.readlink(f'{folder}/fd/{fd}') for fd in os.listdir(f'{folder}/fd')}
inodes = {match.group(1) for link in links if (match := re.fullmatch(r'socket:.(\\d+).', link))}
rows = [line.split() for name in ('tcp', 'tcp6') for line in open(f'{folder}/net/{name}').readlines()[1:]]
print(json.dumps([row[1] for row in rows if row[3] == '0A' and row[9] in inodes]))
"""


@pytest.mark.parametrize("path", ["/voila/files/", "/voila/static/", "/voila/templates/", "/voila/labextensions/", "/api/contents", "/tree"])  # fmt: skip
def test_no_folder_is_listed(door: Door, path: str) -> None:
    status, _, text = ask(door.port, f"{path}?token={door.token}", {"Host": f"127.0.0.1:{door.port}"})
    # what no route knows is our page, whatever it is called
    assert status != 200 or "kernelId" in text
    for name in ("voila.js", "workbench.db", "page.html", "dashboard.ipynb"):
        assert f'href="{name}' not in text and f'"name": "{name}' not in text


@pytest.mark.soak  # it waits for most of a minute; test_server.py looks at the settings in every run
def test_the_kernel_of_a_page_that_went_without_farewell_is_gone_within_a_minute(served: Served) -> None:
    stays, goes = enter(served), enter(served)
    watched = socket.create_connection(("127.0.0.1", stays.port))
    lines = [f"GET {stays.channels} HTTP/1.1", f"Host: 127.0.0.1:{stays.port}", f"Cookie: {stays.cookie}"]
    lines += [f"{name}: {value}" for name, value in HANDSHAKE.items()]
    with watched:
        watched.sendall("\r\n".join([*lines, "", ""]).encode())
        assert watched.recv(12) == b"HTTP/1.1 101"
        own = {"Host": f"127.0.0.1:{goes.port}", "Cookie": goes.cookie}

        def lives(door: Door) -> bool:
            return ask(door.port, f"/api/kernels/{door.kernel}", own)[0] == 200

        processes = {kernel_process(served.process.pid, each.kernel) for each in (stays, goes)}
        assert len(processes) == 2 and lives(goes)
        began, answered = time.monotonic(), time.monotonic()
        while lives(goes) and time.monotonic() - began < 60:
            time.sleep(1)
            if time.monotonic() - answered > 3:
                _answer_pings(watched)
                answered = time.monotonic()
        assert not lives(goes), "the page that went"
        assert lives(stays), "the page that is open, however idle"


def _answer_pings(watched: socket.socket) -> None:
    """Do what a browser does by itself; frames of the kernel are read and dropped."""
    watched.setblocking(False)
    try:
        data = watched.recv(1 << 20)
    except BlockingIOError:
        return
    finally:
        watched.setblocking(True)
    if b"\x89" in data:
        watched.sendall(b"\x8a\x80\0\0\0\0")


def test_a_reload_without_the_token_is_let_in_by_the_cookie(served: Served, tab: Any) -> None:
    for address in (served.url, served.url.partition("?")[0]):
        open_run_page(tab, address)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root, to be a second user")
def test_a_second_user_of_the_machine_is_let_in_nowhere(served: Served) -> None:
    pid, door = served.process.pid, enter(served)
    (folder,) = {
        match.group(1)
        for kernel in children_of(pid)
        if (
            match := re.search(
                r"(/[^\0]*?/voila_[^/\0]+)/kernel-", Path(f"/proc/{kernel}/cmdline").read_text()
            )
        )
    }
    places = [
        folder,
        str(served.home),
        str(served.home / "workbench.db"),
        f"/proc/{pid}/environ",
        f"/proc/{pid}/mem",
    ]
    program = f"""
import json, os, urllib.error, urllib.request
done = {{}}
for place in {places!r}:
    try:
        os.listdir(place) if os.path.isdir(place) else open(place, 'rb').read(1)
        done[place] = 'open'
    except OSError as error:
        done[place] = error.strerror
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
try:
    answer = opener.open('http://127.0.0.1:{door.port}{door.channels[: -len("/channels")]}')
    done['http'] = answer.status
except urllib.error.HTTPError as error:
    done['http'] = error.code
done['listed'] = {door.token!r} in os.popen('ps -eo args').read()
print(json.dumps(done))
"""
    found = subprocess.run(
        ["/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable, "-"],
        input=program, capture_output=True, text=True, check=True, user=65534, group=65534, extra_groups=[], cwd="/",
    )  # fmt: skip
    done = json.loads(found.stdout)
    assert done.pop("http") == 403 and done.pop("listed") is False
    assert done == dict.fromkeys(places, "Permission denied")
    assert all(os.access(place, os.R_OK) for place in places)  # the owner can
