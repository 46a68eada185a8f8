"""Let our servers on loopback answer only their own pages and the holder of the token.

`is_own_request` is the rule; ``workbench serve`` puts it before every route. ``workbench lab`` starts Jupyter's own server,
which takes the classes of `sandbox.jupyter.lab_server` by its options (`lab_options`): if they cannot be loaded it does not start.
"""

from collections.abc import Mapping

HOST = "127.0.0.1"
#: A kernel that no page looks at any more is stopped within a minute: its page went without a word (a killed browser), or
#: its connection answers no ping. One that computes is left to end; one with an open page stays however idle.
# The longest life after a page is two pings, the idle time and one look: 50 s. A dashboard's kernel holds some 72 MB.
IDLE_SECONDS, CULL_SECONDS, PING_SECONDS = 25, 5, 10
#: Settings of the web application, for both servers.
SERVER_SETTINGS = {
    "allow_remote_access": False,  # Jupyter's own look at Host, beside ours; Voila turns it off
    "xsrf_cookie_kwargs": {"samesite": "Strict", "path": "/"},  # not HttpOnly: the page's own script reads it
    "ws_ping_interval": PING_SECONDS * 1000,
    # Jupyter closes at a ping if the last answer is older; with the interval itself the first ping would close
    "ws_ping_timeout": PING_SECONDS * 1500,
}
#: Of the cookie that stands for the token; Jupyter names it after host and port, as cookies know no ports.
COOKIE_OPTIONS = {"samesite": "Strict", "httponly": True}


def is_own_request(headers: Mapping[str, str], port: int) -> bool:
    """Whether a request names this server as its host and comes from a page of this server, or from no page at all.

    A name that a stranger's DNS points at 127.0.0.1 is another host. A page of another origin says so by ``Origin``, or by
    ``Sec-Fetch-Site`` where browsers leave that out; pages on other ports of this machine count as ``same-site`` and get
    our cookies sent, so they are refused too. A link that a person follows is no request of that page's.

    >>> is_own_request({"Host": "127.0.0.1:8866"}, 8866), is_own_request({"Host": "evil.example:8866"}, 8866)
    (True, False)
    """
    addresses = [f"{host}:{port}" for host in (HOST, "localhost")]
    if headers.get("Host") not in addresses:
        return False
    origin = headers.get("Origin")
    if origin is not None and origin not in [f"http://{host}" for host in addresses]:
        return False
    if headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return True
    return (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) == ("navigate", "document")


def lab_options() -> list[str]:
    """Return the options of ``jupyter lab`` that close it to strangers; they win over every settings file."""
    return [
        f"--ServerApp.ip={HOST}",
        "--ServerApp.allow_remote_access=False",  # Jupyter's own look at Host
        "--ServerApp.allow_origin=",
        "--ServerApp.allow_origin_pat=",
        "--ServerApp.allow_credentials=False",
        "--ServerApp.disable_check_xsrf=False",
        "--ServerApp.identity_provider_class=sandbox.jupyter.lab_server.OwnPages",
        "--ServerApp.kernel_manager_class=sandbox.jupyter.lab_server.LabKernels",
        "--ServerApp.kernel_websocket_connection_class=sandbox.jupyter.lab.FilteredConnection",
        f"--MappingKernelManager.cull_idle_timeout={IDLE_SECONDS}",
        f"--MappingKernelManager.cull_interval={CULL_SECONDS}",
        "--MappingKernelManager.cull_connected=False",
        "--MappingKernelManager.cull_busy=False",
    ]
