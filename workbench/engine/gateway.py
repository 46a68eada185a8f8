"""A model for questions about a stored run: full what-ifs and refits ask it through the run's ledger and budget."""

import os

from workbench.engine.run.asking import ModelGateway, run_gateway
from workbench.engine.run.state import RunState
from workbench.models.roles import open_models
from workbench.store import Store


def open_gateway(store: Store, state: RunState, *, judge: str | None = None) -> ModelGateway:
    """Return the gateway to the run's own model; with ``judge`` requests of the role judge go to that one.

    Raises ``UsageError`` for a run made of a tree file, which has none, and if an imported run names a server of its
    sender's.
    """
    state.require_model()
    state.require_own_server()
    settings = state.settings
    options = settings.model_options(os.environ)
    if judge is not None:
        options["roles"] = {**options["roles"], "judge": judge}
    model = open_models(settings.model, **options)
    gateway = run_gateway(store, state, model)
    gateway.require_price()
    return gateway
