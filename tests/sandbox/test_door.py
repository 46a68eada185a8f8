"""The rule of who is answered, header by header; test_serve_door.py and test_lab_door.py ask real servers."""

import pytest

from sandbox.jupyter.door import is_own_request

PORT = 8866
OWN = {"Host": f"127.0.0.1:{PORT}"}
LINK = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": f"localhost:{PORT}"},
        {"Origin": f"http://127.0.0.1:{PORT}"},
        {"Origin": f"http://localhost:{PORT}"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "cross-site", **LINK},
        {"Sec-Fetch-Site": "same-site", **LINK},
    ],
)
def test_own_pages_and_links_that_a_person_follows_are_answered(headers: dict[str, str]) -> None:
    assert is_own_request(OWN | headers, PORT)


@pytest.mark.parametrize(
    "headers",
    [
        *({"Host": host} for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", "", f"[::1]:{PORT}", f"127.0.0.1:{PORT}.evil.example", f"LOCALHOST.evil:{PORT}")),
        *({"Origin": origin} for origin in ("null", "", "http://evil.example", f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT + 1}", f"http://127.0.0.1:{PORT}.evil.example", f"http://127.0.0.1:{PORT}/")),
        *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site", "", "other")),
        *({"Sec-Fetch-Site": site, **LINK, "Sec-Fetch-Dest": dest} for site in ("cross-site", "same-site") for dest in ("iframe", "embed", "object", "")),
        *({"Sec-Fetch-Site": site, **LINK, "Sec-Fetch-Mode": mode} for site in ("cross-site", "same-site") for mode in ("no-cors", "cors", "websocket", "")),
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "none", "Host": "evil.example"},
    ],
)  # fmt: skip
def test_other_names_other_origins_and_what_other_pages_embed_are_refused(headers: dict[str, str]) -> None:
    assert not is_own_request(OWN | headers, PORT)


def test_a_request_without_a_host_is_refused() -> None:
    assert not is_own_request({}, PORT)
