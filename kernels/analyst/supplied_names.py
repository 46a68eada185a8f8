"""The names that cells are given (`CALL_API` and its errors): looked at after each cell, and put back where one took them.

Advice for an honest author, and no wall: a cell can rewrite this as well as anything else in here. What was read is told
by the ledger outside alone.
"""

import builtins
from collections.abc import Mapping
from typing import Any

import call_api

#: Attributes of `CALL_API` that stay what they are; the others change with each call.
_FIXED = ("_socket", "_owner", "_lock", "_received")


class SuppliedNames:
    """What the cells of a session are given, as it was before the first of them.

    Parameters
    ----------
    shell : IPython's shell
    supplied : the names in its namespace, `CALL_API` among them
    """

    def __init__(self, shell: Any, supplied: Mapping[str, Any]) -> None:
        self._shell = shell
        self._supplied = dict(supplied)
        self._api: call_api.CallApi = supplied["CALL_API"]
        self._methods = dict(vars(call_api.CallApi))
        self._attributes = dict(vars(self._api))

    def restore(self) -> list[str]:
        """Put back what a cell replaced or deleted; return the names of it, as a cell writes them, sorted."""
        replaced = set()
        for name, value in self._supplied.items():
            if self._shell.user_ns.get(name) is not value:
                replaced.add(name)
            if vars(builtins).pop(name, None) is not None:
                replaced.add(f"builtins.{name}")
        self._shell.user_ns.update(self._supplied)
        self._shell.user_ns_hidden.update(self._supplied)
        replaced |= {f"CALL_API.{name}" for name in (*self._restore_class(), *self._restore_attributes())}
        return sorted(replaced)

    def _restore_class(self) -> list[str]:
        kind = call_api.CallApi
        replaced = []
        if object.__getattribute__(self._api, "__class__") is not kind:
            object.__setattr__(self._api, "__class__", kind)
            replaced.append("__class__")
        for name, value in self._methods.items():
            if vars(kind).get(name) is not value:
                setattr(kind, name, value)
                replaced.append(name)
        # Python itself puts the annotations there when somebody asks for them
        for name in [name for name in vars(kind) if name not in self._methods and "annotat" not in name]:
            delattr(kind, name)
            replaced.append(name)
        return replaced

    def _restore_attributes(self) -> list[str]:
        own = object.__getattribute__(self._api, "__dict__")
        replaced = [name for name in own if name not in self._attributes]
        for name in replaced:
            del own[name]
        for name, value in self._attributes.items():
            if name not in own or (name in _FIXED and own[name] is not value):
                own[name] = value
                replaced.append(name)
        return replaced
