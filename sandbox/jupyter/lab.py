"""Filter what an Analyst kernel sends to the browser, as a Jupyter server extension.

JupyterLab trusts what a live kernel sends: HTML runs its scripts, widgets and comms run their own code. Our kernels run
what a language model wrote, so everything they send passes `filter_message` first. Other kernels are left alone.
"""

from collections.abc import Mapping
from typing import Any

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

from proxies.json_text import Fields, Row
from sandbox.jupyter.sanitize import clean_bundle

ANALYST_KERNELS = frozenset({"analyst"})
_PLAIN = frozenset(
    [
        "status",
        "execute_input",
        "stream",
        "error",
        "clear_output",
        "iopub_welcome",
        "complete_reply",
        "is_complete_reply",
        "history_reply",
        "interrupt_reply",
        "shutdown_reply",
        "input_request",
    ]
)
_DISPLAYS = frozenset({"display_data", "update_display_data", "execute_result"})


def filter_message(kind: str, content: Fields) -> Row | None:
    """Return a message's content as the browser may get it, or None to drop the message."""
    if kind in _PLAIN:
        return dict(content)
    if kind in _DISPLAYS:
        return _display(content)
    if kind == "inspect_reply":
        data, metadata = clean_bundle(content.get("data") or {}) if content.get("found") else ({}, {})
        return {"status": "ok", "found": bool(content.get("found")), "data": data, "metadata": metadata}
    if kind == "execute_reply":
        # payloads open pagers and write the next cell; expressions are MIME bundles of their own
        reply = {key: value for key, value in content.items() if key not in ("payload", "user_expressions")}
        return {**reply, "payload": [], "user_expressions": {}}
    if kind == "kernel_info_reply":
        return {
            **content,
            "help_links": [],
            "banner": "Analyst kernel: sealed, no network",
            "debugger": False,
        }
    if kind == "comm_info_reply":
        return {"status": "ok", "comms": {}}
    return None


def _display(content: Fields) -> Row | None:
    data = content.get("data")
    if not isinstance(data, Mapping):
        return None
    metadata = content.get("metadata")
    bundle, sizes = clean_bundle(data, metadata if isinstance(metadata, Mapping) else {})
    cleaned: Row = {"data": bundle, "metadata": sizes}
    transient = content.get("transient")
    display = transient.get("display_id") if isinstance(transient, Mapping) else None
    cleaned["transient"] = {"display_id": display} if isinstance(display, str) else {}
    if isinstance(content.get("execution_count"), int):
        cleaned["execution_count"] = content["execution_count"]
    return cleaned


class FilteredConnection(ZMQChannelsWebsocketConnection):
    """Jupyter's connection with `filter_message` before every message of an Analyst kernel, and TCP_NODELAY."""

    def connect(self) -> Any:
        """Connect a browser to a kernel.

        A widget's message is answered by three small ones. By TCP's default the second waits until the browser confirms the first,
        which it does after 40 ms: an edit in a row of edits took that much longer than on our own server.
        """
        if self.websocket_handler.ws_connection is not None:
            self.websocket_handler.set_nodelay(True)
        return super().connect()

    def handle_outgoing_message(self, stream: Any, outgoing_msg: list[Any]) -> None:
        """Filter and re-sign a message; a malformed one is dropped."""
        if self.kernel_manager.kernel_name in ANALYST_KERNELS:
            try:
                _, parts = self.session.feed_identities(outgoing_msg)
                message = self.session.deserialize(parts)
                content = filter_message(message["header"]["msg_type"], message["content"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self.log.warning("dropped a malformed message of an Analyst kernel: %r", error)
                return
            if content is None:
                return
            message["content"] = content
            message["metadata"] = {}
            message.pop("buffers", None)
            # signed again, since the signature covers content and metadata
            outgoing_msg = self.session.serialize(message)
        super().handle_outgoing_message(stream, outgoing_msg)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "sandbox.jupyter.lab"}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.kernel_websocket_connection_class = FilteredConnection
    # extensions are loaded when the web application has copied its settings already, so both places are set
    server.web_app.settings["kernel_websocket_connection_class"] = FilteredConnection
    server.log.info("Analyst kernels: outputs are filtered before they reach the browser")
