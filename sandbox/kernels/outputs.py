"""Outputs of a cell as notebook files hold them, from the messages of a kernel that is hostile."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

_MIME = re.compile(r"[a-z]+/[A-Za-z0-9.+_-]+")


def output_from_message(kind: str, content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The nbformat output dict of a kernel's message, or None when the message shows nothing or is malformed.

    Called for every output of a running cell. It makes the output fit for a file; what a browser may see of it is
    decided by `sandbox.jupyter.sanitize`.
    """
    if kind == "stream":
        name, text = content.get("name"), content.get("text")
        if name in ("stdout", "stderr") and isinstance(text, str):
            return {"output_type": "stream", "name": name, "text": _encodable_text(text)}
        return None
    if kind == "error":
        traceback = content.get("traceback")
        return {
            "output_type": "error",
            "ename": _encodable_text(content.get("ename", "")),
            "evalue": _encodable_text(content.get("evalue", "")),
            "traceback": [_encodable_text(line) for line in traceback] if isinstance(traceback, list) else [],
        }
    if kind in ("display_data", "execute_result"):
        data, metadata = content.get("data"), content.get("metadata")
        if not isinstance(data, dict):
            return None
        bundle = {
            mime: _encodable_text(value) if isinstance(value, str) else value
            for mime, value in data.items()
            if _is_storable(mime, value)
        }
        if not bundle:
            return None
        output: dict[str, Any] = {
            "output_type": kind,
            "data": bundle,
            "metadata": metadata if isinstance(metadata, dict) and _encodable(metadata) else {},
        }
        if kind == "execute_result":
            output["execution_count"] = None
        return output
    return None


def _is_storable(mime: object, value: object) -> bool:
    if not isinstance(mime, str) or not _MIME.fullmatch(mime):
        return False
    if mime == "application/json" or mime.endswith("+json"):
        return _encodable(value)
    return isinstance(value, str)


def _encodable_text(text: object) -> str:
    # a lone surrogate cannot be written as UTF-8
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _encodable(value: object) -> bool:
    try:
        orjson.dumps(value)
    except (orjson.JSONEncodeError, RecursionError):
        return False
    return True
