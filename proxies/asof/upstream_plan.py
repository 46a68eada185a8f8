"""Plan what is sent upstream for a checked request: the policy's plan, forced parameters, lookups."""

from dataclasses import replace

from proxies.asof import guards
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, Plan, policy_of
from proxies.asof.policies.base import pass_on
from proxies.asof.readjust import adjust_lookups
from proxies.catalogue.schema import Residual, exceeds
from proxies.errors import CutoffRefused, Refused


def plan_request(request: ApiRequest, cutoff: Cutoff, *, most: Residual = "high") -> Plan:
    """Plan what is sent upstream for a request; the broker calls it before anything is fetched.

    Raises `Refused`: The policy refuses, errs, or leaves more residual risk than ``most``.
    """
    as_of = request.as_of
    policy = policy_of(request.endpoint)
    # what only tells the present is refused by its policy, in words that say what to ask for instead
    is_answered = as_of.policy != "snapshot_refused" and not cutoff.live
    if as_of.until and (cutoff.live or cutoff.last_visible_day.isoformat() > as_of.until):
        raise CutoffRefused(
            f"{request.endpoint.path} holds nothing after {as_of.until}: it answers at cutoffs up to then"
            + (f"; use {as_of.instead}" if as_of.instead else "")
        )
    if is_answered and exceeds(as_of.residual, most):
        raise CutoffRefused(
            f"{request.endpoint.path} has a {as_of.residual} residual risk of later knowledge: refused, since at most {most} is allowed here"
        )
    try:
        # without a cutoff there is nothing to hold
        plan = pass_on(request, cutoff) if cutoff.live else policy.prepare(request, cutoff)
        # the catalogue's defaults are sent too: the vendor's own may change
        defaults = {
            name: param.default
            for name, param in request.endpoint.params.items()
            if param.default is not None
        }
        plan = replace(plan, params={**defaults, **plan.params})
        if cutoff.live:
            return plan
        params = {**plan.params, **{k: v for k, v in as_of.force.items() if not k.endswith("_min")}}
        # NAME_min is a floor for the parameter NAME: Polymarket keeps fine price points for open markets only, so that a
        # fine answer would tell whether a market is open today
        for name, value in as_of.force.items():
            if name.endswith("_min"):
                plain = name.removesuffix("_min")
                params[plain] = max(int(params.get(plain) or 0), int(value))
        lookups = (*plan.lookups, *adjust_lookups(request, cutoff))
    except Refused:
        raise
    except Exception as error:  # fail closed: a policy that errs must never let a request through
        raise CutoffRefused(
            f"{request.endpoint.path} cannot be computed as of the cutoff ({type(error).__name__})"
        ) from error
    notes = (*plan.notes, *(guards.NOTES[name] for name in as_of.guards if name in guards.NOTES))
    return replace(plan, params=params, lookups=lookups, notes=notes)
