"""Put back, after each cell, the names that cells are given and the hooks that run them (`CALL_API`, the shell's).

Advice for an honest author, and no wall: a cell can rewrite this as well as anything else in here. What was read is told
by the ledger outside alone. But a hook that changes what later cells run would not be seen in the notebook that shows them.
"""

import builtins
import sys
import threading
from collections.abc import Iterator, Mapping
from operator import attrgetter, is_
from typing import Any

import call_api

#: Attributes of `CALL_API` that stay what they are; the others change with each call.
_FIXED = ("_socket", "_owner", "_lock", "_received")
#: Lists of the shell through which every later cell goes.
_LISTS = (
    "ast_transformers",
    "input_transformers_post",
    "input_transformer_manager.cleanup_transforms",
    "input_transformer_manager.line_transforms",
    "input_transformer_manager.token_transformers",
    "prefilter_manager._transformers",
    "prefilter_manager._checkers",
    "display_pub._hooks",
)
_PARTS = (
    "ast_transformers",
    "display_formatter",
    "display_pub",
    "events",
    "input_transformer_manager",
    "input_transformers_post",
    "prefilter_manager",
    "user_ns",
)
#: Objects of the shell through whose methods every later cell goes.
_RUNS = (
    "kernel", "compile", "events", "display_pub", "displayhook", "display_formatter", "input_transformer_manager",
    "prefilter_manager",
)  # fmt: skip
_STREAMS = ("stdout", "stderr", "displayhook")
#: They take their own hooks of figures in and out, as cells choose how to show them.
_PLOTS = ("matplotlib", "matplotlib_inline")


class SuppliedNames:
    """The supplied names and hooks of a session, as they were before its first cell.

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
        self._begun = False

    def begin(self) -> None:
        """Record the proper state, once, before the first cell."""
        if self._begun:
            return
        self._begun, shell = True, self._shell
        self._parts = {name: getattr(shell, name) for name in _PARTS}
        self._lists = {name: list(attrgetter(name)(shell)) for name in _LISTS}
        self._events = {name: list(called) for name, called in shell.events.callbacks.items()}
        self._streams = {name: getattr(sys, name) for name in _STREAMS}
        self._builtins = dict(vars(builtins))
        self._finders = list(sys.meta_path)
        runs = [attrgetter(name)(shell) for name in _RUNS]
        # a method that is replaced on a class runs for every later cell as one on the object does
        kinds = [kind for holder in (shell, *runs) for kind in type(holder).__mro__]
        classes = {
            kind: None for kind in kinds if kind.__module__.partition(".")[0] not in ("builtins", "traitlets")
        }
        self._code = [(holder, dict(vars(holder))) for holder in (shell, *runs, *classes)]
        sys.addaudithook = _no_audit_hook

    def restore(self) -> list[str]:
        """Put back what a cell replaced or deleted; return those names as a cell writes them, sorted."""
        replaced = {*self._restore_shell(), *self._restore_interpreter()}
        if self._shell.user_ns.get("__builtins__", builtins) not in (builtins, vars(builtins)):
            self._shell.user_ns["__builtins__"] = builtins
            replaced.add("__builtins__")
        for name, value in self._supplied.items():
            if self._shell.user_ns.get(name) is not value:
                replaced.add(name)
            if vars(builtins).pop(name, None) is not None:
                replaced.add(f"builtins.{name}")
        self._shell.user_ns.update(self._supplied)
        self._shell.user_ns_hidden.update(self._supplied)
        replaced |= {f"CALL_API.{name}" for name in (*self._restore_class(), *self._restore_attributes())}
        return sorted(replaced)

    def _restore_shell(self) -> Iterator[str]:
        shell = self._shell
        for name, part in self._parts.items():
            if getattr(shell, name) is not part:
                setattr(shell, name, part)
                self._parts[name] = getattr(shell, name)  # a trait keeps a copy of a list
                yield name
        for name, before in self._lists.items():
            if not _same(now := attrgetter(name)(shell), before):
                now[:] = before
                yield name.rpartition(".")[2].removeprefix("_")
        for name, before in self._events.items():
            now = shell.events.callbacks.setdefault(name, [])
            if not _same(_without_plots(now), _without_plots(before)):
                now[:] = [*_without_plots(before), *(called for called in now if _of_plots(called))]
                yield f"events.{name}"
        for holder, original in self._code:
            attributes = vars(holder)
            fresh = [name for name in attributes if name not in original and callable(attributes[name])]
            for name in fresh:
                # what a class has no method of changes nothing that is called
                if isinstance(holder, type) or hasattr(type(holder), name):
                    delattr(holder, name)
                    yield name
            for name, value in original.items():
                if callable(value) and attributes.get(name) is not value:
                    setattr(holder, name, value)
                    yield name

    def _restore_interpreter(self) -> Iterator[str]:
        for name, value in self._streams.items():
            if getattr(sys, name, None) is not value:
                setattr(sys, name, value)
                yield f"sys.{name}"
        for name, value in self._builtins.items():
            if callable(value) and vars(builtins).get(name) is not value:
                setattr(builtins, name, value)
                yield f"builtins.{name}"
        added = [finder for finder in sys.meta_path if not _among(finder, self._finders)]
        libraries = [finder for finder in added if _of_library(finder)]
        if len(libraries) < len(added) or not all(_among(finder, sys.meta_path) for finder in self._finders):
            sys.meta_path[:] = [*self._finders, *libraries]
            yield "sys.meta_path"
        for module in (sys, threading):
            if module.gettrace() is not None:
                module.settrace(None)
                yield f"{module.__name__}.settrace"
            if (hook := module.getprofile()) is not None and not _of_library(hook):
                module.setprofile(None)
                yield f"{module.__name__}.setprofile"

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
        attributes = object.__getattribute__(self._api, "__dict__")
        replaced = [name for name in attributes if name not in self._attributes]
        for name in replaced:
            del attributes[name]
        for name, value in self._attributes.items():
            if name not in attributes or (name in _FIXED and attributes[name] is not value):
                attributes[name] = value
                replaced.append(name)
        return replaced


def _no_audit_hook(hook: Any) -> None:
    raise RuntimeError("a cell may add no audit hook: nothing could take it out again")


def _among(item: Any, items: list[Any]) -> bool:
    return any(item is candidate for candidate in items)


def _same(now: Any, before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _without_plots(hooks: list[Any]) -> list[Any]:
    return [hook for hook in hooks if not _of_plots(hook)]


def _of_plots(hook: Any) -> bool:
    name = str(getattr(hook, "__module__", ""))
    function = vars(sys.modules.get(name, builtins)).get(getattr(hook, "__name__", ""))
    return name.partition(".")[0] in _PLOTS and function is hook


def _of_library(hook: Any) -> bool:
    kind = hook if isinstance(hook, type) else type(hook)
    module = sys.modules.get(kind.__module__)
    return kind.__module__ not in ("__main__", "builtins") and getattr(module, kind.__name__, None) is kind
