"""The options that ``analyze`` and ``resume`` share, spelt once: which models are asked and how, what a run spends, how long it waits."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

import typer

from workbench.errors import UsageError

DETACH = typer.Option(
    "--detach", help="Work in a process of its own: print the run id and return; see watch and stop."
)
YES = typer.Option(
    "--yes",
    help="Do not ask before buying replies again whose requests cannot be made any more (docs/leaks.md).",
)
WORKERS = typer.Option(
    metavar="N|dask://HOST:PORT",
    help="Ground leaves in so many processes, or on a Dask cluster (docs/scale.md); without it in this process.",
)
TRUST_CLUSTER = typer.Option(
    "--trust-cluster",
    help="Needed with dask://: whoever holds the cluster's certificate can run code here, where your keys are.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """One option: its type with its words in the help, and the setting it stands for where that has another name or form."""

    kind: Any
    setting: str | None = None
    read: Callable[[Any], Any] = lambda value: value


def takes_run_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options in place of its parameter ``settings``, where it gets those that were used.

    They come by the names of the settings (``RunSettings``, ``AgentSettings``) they stand for.
    """
    own = inspect.signature(function)
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.parameters.items():
        if name != "settings":
            parameters.append(parameter)
            continue
        for shared_name, shared in _SHARED.items():
            parameters.append(parameter.replace(name=shared_name, default=None, annotation=shared.kind))

    @wraps(function)
    def command(**values: Any) -> None:
        used = {name: values.pop(name) for name in _SHARED}
        function(settings=_settings(used), **values)

    # What typer reads: the names, their types and defaults.
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _settings(used: dict[str, Any]) -> dict[str, Any]:
    # An option that can be given several times is an empty list where it was not.
    return {
        _SHARED[name].setting or name: _SHARED[name].read(value)
        for name, value in used.items()
        if value is not None and value != []
    }


def read_roles(pairs: Sequence[str]) -> dict[str, str]:
    """Return the models that ``--model-for`` names, by role; raises ``UsageError``."""
    models: dict[str, str] = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not (equals and role and name):
            raise UsageError(f"--model-for {pair!r}: write ROLE=MODEL, for example grounder=openai/gpt-5")
        if role in models:
            raise UsageError(f"--model-for names {role} twice: say it once")
        models[role] = name
    return models


def read_prices(pairs: Sequence[str]) -> dict[str, list[float]]:
    """Return the prices that ``--price`` states, by model; raises ``UsageError``."""
    prices = {}
    for pair in pairs:
        # A model's name may hold an equals sign, a price never does.
        model, equals, text = pair.rpartition("=")
        try:
            values = [float(part) for part in text.split(",")]
        except ValueError:
            values = []
        if not equals or not model or len(values) not in (2, 3):
            raise UsageError(
                f"--price {pair!r}: write MODEL=IN,OUT or MODEL=IN,OUT,CACHED in US dollars per million tokens, for example"
                " openai/x=0.5,1.5"
            )
        prices[model] = values
    return prices


_LEAF_BUDGET = typer.Option(help="The same for one leaf; one that reaches it waits, the others go on.")

_SHARED: dict[str, _Shared] = {
    "model": _Shared(
        kind=Annotated[
            str | None, typer.Option(help="offline/analyst, or provider/model as LiteLLM spells it.")
        ]
    ),
    "api_base": _Shared(
        kind=Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")]
    ),
    "model_for": _Shared(
        kind=Annotated[
            list[str] | None,
            typer.Option(
                metavar="ROLE=MODEL",
                help="A model for one role: analyzer, grounder, synthesizer, critic (reads new propositions; without one nobody does),"
                " reader or judge. Can be given several times.",
            ),
        ],
        setting="models",
        read=read_roles,
    ),
    "fallback": _Shared(
        kind=Annotated[
            list[str] | None,
            typer.Option(
                help="A model that answers where another one is down, rejects a request or declines it. Several: in this order."
            ),
        ],
    ),
    "effort": _Shared(
        kind=Annotated[
            str | None,
            typer.Option(help="How hard a reasoning model thinks: low, medium, high, or what it takes."),
        ],
    ),
    "temperature": _Shared(
        kind=Annotated[
            float | None,
            typer.Option(
                help="Sampling temperature; a model that takes none goes without, and each reply says so."
            ),
        ],
    ),
    "max_tokens": _Shared(kind=Annotated[int | None, typer.Option(help="Longest reply, in tokens.")]),
    "max_steps": _Shared(
        kind=Annotated[
            int | None,
            typer.Option(
                help="Notebook steps of a leaf, after which it must conclude; a leaf that was begun keeps its number."
            ),
        ],
        setting="max_proof_steps",
    ),
    "approve": _Shared(
        kind=Annotated[
            str | None,
            typer.Option(
                help="cells, calls (data) or pages (of the web): each waits until a person has said yes, no or an edit; none is the"
                " default."
            ),
        ],
    ),
    "cell_timeout": _Shared(
        kind=Annotated[float | None, typer.Option(help="Seconds a notebook cell may run; 120 without it.")]
    ),
    "reply_form": _Shared(
        kind=Annotated[
            str | None,
            typer.Option(
                help="auto asks for JSON schemas where LiteLLM's list says that the model takes them; text never, schema always."
            ),
        ],
    ),
    "concurrency": _Shared(kind=Annotated[int | None, typer.Option(help="Requests to the model at once.")]),
    "budget_usd": _Shared(
        kind=Annotated[
            float | None,
            typer.Option(help="Most US dollars the model may cost; the run stops before, resumable."),
        ],
    ),
    "budget_tokens": _Shared(kind=Annotated[int | None, typer.Option(help="Most tokens, input and output.")]),
    "budget_calls": _Shared(kind=Annotated[int | None, typer.Option(help="Most requests to the model.")]),
    "budget_seconds": _Shared(
        kind=Annotated[float | None, typer.Option(help="Most seconds of work, all sittings together.")]
    ),
    "leaf_budget_usd": _Shared(kind=Annotated[float | None, _LEAF_BUDGET]),
    "leaf_budget_tokens": _Shared(kind=Annotated[int | None, _LEAF_BUDGET]),
    "leaf_budget_calls": _Shared(kind=Annotated[int | None, _LEAF_BUDGET]),
    "leaf_budget_seconds": _Shared(kind=Annotated[float | None, _LEAF_BUDGET]),
    "price": _Shared(
        kind=Annotated[
            list[str] | None,
            typer.Option(
                metavar="MODEL=IN,OUT[,CACHED]",
                help="US dollars per million input and output tokens of a model, instead of the listed ones; CACHED is the price of"
                " input that comes from the provider's cache, IN without it.",
            ),
        ],
        setting="prices",
        read=read_prices,
    ),
    "timeout": _Shared(
        kind=Annotated[
            float | None, typer.Option(help="Seconds a model may be silent before its answer is given up.")
        ]
    ),
    "patience": _Shared(
        kind=Annotated[
            float | None,
            typer.Option(help="Seconds a provider may answer nobody before the run stops, resumable."),
        ],
    ),
}
