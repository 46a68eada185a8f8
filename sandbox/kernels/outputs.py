"""Convert the messages of a hostile kernel to outputs of a notebook file."""

import re

import orjson

from proxies.json_text import Fields, Row

_MIME = re.compile(r"[a-z]+/[A-Za-z0-9.+_-]+")
_JSON = re.compile(r"application/([A-Za-z0-9.+_-]+\+)?json")  # the only kinds that nbformat lets be no text
#: Of lists and objects: a journal line with more cannot be written, and JupyterLab shows none such.
_MAX_DEPTH = 100
_MAX_KINDS = 50  # of one output


def output_from_message(kind: str, content: Fields) -> Row | None:
    """Convert a kernel's message to an nbformat output; None if it shows nothing or is malformed.

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
        if not isinstance(data, dict) or len(data) > _MAX_KINDS:
            return None
        bundle = {
            mime: _encodable_text(value) if isinstance(value, str) else value
            for mime, value in data.items()
            if _is_storable(mime, value)
        }
        if not bundle:
            return None
        output: Row = {
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
    if _JSON.fullmatch(mime):
        return _encodable(value)
    return isinstance(value, str)


def output_size(output: Fields) -> int:
    """Measure an output against the limits of a cell: characters of a stream, else bytes in the journal."""
    if output["output_type"] == "stream":
        return len(output["text"])
    return len(orjson.dumps(output))


def left_out(what: str) -> Row:
    """Build the output that stands in place of one that is left out."""
    return {"output_type": "stream", "name": "stderr", "text": f"[left out: {what}]\n"}


def _encodable_text(text: object) -> str:
    # a lone surrogate cannot be written as UTF-8; what a text stands for here may be a list of any depth
    return (text if isinstance(text, str) else type(text).__name__).encode("utf-8", "replace").decode("utf-8")


def _encodable(value: object) -> bool:
    # level by level and not by recursion: the depth is what a hostile kernel chooses
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner = [item for item in level if isinstance(item, dict | list)]
        if not inner:
            break
        level = [element for item in inner for element in (item.values() if isinstance(item, dict) else item)]
    else:
        return False
    try:
        orjson.dumps(value)
    except (orjson.JSONEncodeError, RecursionError):
        return False
    return True
