"""A model for questions about a stored run: full what-ifs and refits ask it through the run's ledger and budget."""

from workbench.engine.run.asking import Budget, ModelGateway
from workbench.engine.run.state import RunState
from workbench.models.registry import open_model
from workbench.store import ModelLedger, Store


def open_gateway(store: Store, state: RunState) -> ModelGateway:
    """Return the gateway to the run's own model; raises ``UsageError`` if an imported run names a server of its sender's."""
    state.require_own_server()
    model = open_model(state.settings.model, api_base=state.settings.api_base)
    ledger = ModelLedger(store)
    return ModelGateway(model, ledger, Budget(state.settings.budget_usd, ledger.cost(state.run_id) or 0.0))
