"""Combine the models of a run: one for everything, or one per role, and a chain of fallbacks.

The engine asks a team as it asks any model; who asks stands in the request. A model of the chain answers where the one before
it is down, rejects the request, or declines it also in other words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.models.base import Model, ModelReply, ModelRequest, ModelRole
from workbench.models.errors import ContextOverflow, ModelRefused, ModelUnavailable
from workbench.models.registry import open_model

_DECLINED = ("refused", "filtered")


class ModelTeam:
    """Several models that are asked as one.

    `others`: Asked by name (`ModelRequest.asked_of`). `fallback`: Asked in this order where the role's own model does not answer.
    """

    def __init__(
        self,
        main: Model,
        *,
        roles: Mapping[ModelRole, Model] | None = None,
        others: Sequence[Model] = (),
        fallback: Sequence[Model] = (),
    ) -> None:
        self.main = main
        self.roles = dict(roles or {})
        self.others = {model.name: model for model in others}
        self.fallback = tuple(fallback)

    @property
    def name(self) -> str:
        """Name of the main model, for manifests and messages."""
        return self.main.name

    def model_of(self, request: ModelRequest) -> Model:
        """Return the model that a request names, or that of its role; the filter defaults to the reader's."""
        if request.asked_of in self.others:
            return self.others[request.asked_of]
        role = request.role
        if role == "filter" and role not in self.roles:
            role = "reader"
        return self.main if role is None else self.roles.get(role, self.main)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer one request with the role's model, or with the first of the chain that can.

        Raises `ModelError`: Of the role's own model, if no model of the chain answers either.
        """
        model = self.model_of(request)
        try:
            reply = await model.complete(request)
        except ContextOverflow:
            raise  # agents make room; a longer context would only put it off
        except (ModelRefused, ModelUnavailable) as problem:
            fallback_reply = await self._fall_back(request, model, str(problem))
            if fallback_reply is None:
                raise
            return fallback_reply
        if reply.finish in _DECLINED and request.may_fall_back:
            return await self._fall_back(request, model, f"its reply was {reply.finish}") or reply
        return reply

    async def _fall_back(self, request: ModelRequest, declined: Model, why: str) -> ModelReply | None:
        for model in self.fallback:
            if model is declined:
                continue
            try:
                reply = await model.complete(request)
            except (ModelRefused, ModelUnavailable):
                continue
            if reply.finish in _DECLINED:
                continue
            note = f"{model.name} answered in place of {declined.name}: {why}"
            return replace(reply, notes=(*reply.notes, note[:300]))
        return None


def model_names(model: Model) -> tuple[str, ...]:
    """Return the names of all models that may answer."""
    if not isinstance(model, ModelTeam):
        return (model.name,)
    return tuple(
        dict.fromkeys(
            member.name
            for member in (model.main, *model.others.values(), *model.roles.values(), *model.fallback)
        )
    )


def names_for(model: Model, request: ModelRequest) -> tuple[str, ...]:
    """Return the names of the models that may answer a request, its role's own first; a budget reserves the dearest."""
    first = name_for(model, request)
    chain = (member.name for member in model.fallback) if isinstance(model, ModelTeam) else ()
    return tuple(dict.fromkeys((first, *chain)))


def open_models(
    main: str,
    *,
    roles: Mapping[ModelRole, str] | None = None,
    others: Sequence[str] = (),
    fallback: Sequence[str] = (),
    api_base: str | None = None,
    **options: Any,
) -> Model:
    """Open the model of a run: one, or a team where roles, others beside it or a fallback chain are named too.

    ``api_base`` is the main model's; others of the same provider share it, no other model is sent there: its requests carry
    another provider's key. ``options`` are those of ``open_model``.

    Raises `UnknownModel`: A name that no model answers to.
    """
    provider = main.partition("/")[0]
    opened: dict[str, Model] = {}

    def model_named(name: str) -> Model:
        if name not in opened:
            shared = api_base if name.partition("/")[0] == provider else None
            opened[name] = open_model(name, api_base=shared, **options)
        return opened[name]

    first = model_named(main)
    if not roles and not fallback and not others:
        return first
    team = {role: model_named(name) for role, name in (roles or {}).items()}
    beside, chain = ([model_named(name) for name in names] for names in (others, fallback))
    return ModelTeam(first, roles=team, others=beside, fallback=chain)


def name_for(model: Model, request: ModelRequest) -> str:
    """Return the model name under which a request is filed: that of its role.

    Called by the engine: the hash of a request holds this name, so a role that moves to another model asks anew.
    """
    return model.model_of(request).name if isinstance(model, ModelTeam) else model.name
