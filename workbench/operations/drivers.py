"""What each driver does to the claim: sensitivities, what disturbed drivers would do, how far weights can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from workbench.formatting import counted, percent, signed_figure
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, Table, columns
from workbench.operations.fields import RunName

#: Pairs of leaves whose errors go together that are named.
_PAIRS = 5


class Sensitivity(Operation):
    """Print each driver's effect on the claim: its path weight, the claim's range, its contribution.

    `low` and `high` are the claim's least and greatest probability over all values of the driver, `path_weight` its change per unit of
    the driver's p (paper A, Proposition 1), each null where a rule on the path has no function.
    """

    tool = "What each driver does to the claim: its weight, its contribution, the range it can move the claim in."
    places = ("run",)
    short = ("report", "reference")
    person = ("report", "reference", "seed")

    run: RunName
    reference: str = "zero"
    """What contributions are counted from: zero, half, base-rate, market, or a probability."""
    report: bool = False
    """Also the reachable range, the claim's band, and what to look at next."""
    seed: int = 0
    """For the band where it must be simulated."""

    def answer(self, home: Home) -> Any:
        """Return the rows, the widest swing first; as a report with ``reachable``, ``band`` and ``ground_next`` beside them."""
        from workbench.synthesis.sensitivity.assumptions import assumption_detail
        from workbench.whatif.band import leaf_correlations, no_band_reason, run_band
        from workbench.whatif.run_edits import require_grounded
        from workbench.whatif.run_sensitivity import run_sensitivity
        from workbench.whatif.tree_documents import sensitivity_rows
        from workbench.whatif.typed_values import reference_of

        state = home.state(self.run)
        require_grounded(state)
        reference = reference_of(state, self.reference)

        def stated(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
            return [{**row, "statement": assumption_detail(state.tree, row["id"])} for row in rows]

        if not self.report:
            return stated(sensitivity_rows(state.tree, reference))
        band, report = run_band(home.store, state), run_sensitivity(home.store, state, seed=self.seed)
        return {
            **report,
            "tornado": stated(report["tornado"]),
            "ground_next": stated(report["ground_next"]),
            "band": None if band is None else band.to_json(),
            "no_band": no_band_reason(state) if band is None else None,
            "correlations": leaf_correlations(home.store, state),
        }

    def show(self, document: Any) -> Iterator[Block]:
        """Return the tornado, and of a report the range, the band and what to look at next."""
        yield columns(
            document["tornado"] if self.report else document,
            driver="id", weight="path_weight +.4f", p="p %", lowest="low %", highest="high %",
            contribution="contribution points", statement="statement",
        )  # fmt: skip
        if not self.report:
            return
        low, high = document["reachable"]
        yield f"Claim {percent(document['root'])}. Over all values of the drivers: {percent(low)} to {percent(high)}."
        yield f"Band: {document['band']['line']}" if document["band"] else f"No band: {document['no_band']}."
        if pairs := document["correlations"]:
            shown = ", ".join(
                f"{row['a']} and {row['b']} {signed_figure(row['correlation'], 2)}" for row in pairs[:_PAIRS]
            )
            more = (
                f", and {counted(len(pairs) - _PAIRS, 'more pair')} (--json)" if len(pairs) > _PAIRS else ""
            )
            yield f"Correlated errors of drivers: {shown}{more}"
        yield columns(
            document["ground_next"],
            look_at_next="id", variance_cut="reground .6f", trials="trials", dollars_a_trial="cost", statement="statement",
        )  # fmt: skip
        if note := document["ground_next_note"]:
            yield Remark(note)


class Noise(Operation):
    """Disturb the drivers and print the claim's distribution; no model is asked (paper A, section 5.3)."""

    places = ("run",)
    short = ("kind", "level")

    run: RunName
    kind: Literal["normal", "uncertain", "reverse"] = "normal"
    """normal: p + N(0, level) held inside [0, 1]; uncertain: 0.5, reverse: 1 - p, with probability level."""
    level: float = 0.1
    """In [0, 1]; 0 disturbs nothing."""
    seed: int = 0
    """The same seed gives the same draws."""
    draws: int = 200
    """Disturbed copies of the tree."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the claim's p of each draw, their mean, quantiles, and standard deviation (ddof 1)."""
        from workbench.synthesis.sensitivity.leaf_noise import noise_study
        from workbench.whatif.run_edits import require_grounded

        state = home.state(self.run)
        require_grounded(state)
        study = noise_study(state.tree, self.kind, self.level, draws=self.draws, seed=self.seed)
        own = {"kind": self.kind, "level": self.level, "seed": self.seed, "draws": self.draws}
        return {**own, **study}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return mean, spread and quantiles, and a histogram."""
        yield (
            f"claim {percent(document['root'])} undisturbed; {self.draws} draws of {self.kind} noise, level {self.level:g}, seed {self.seed}"
        )
        yield f"mean {percent(document['mean'])}, standard deviation {100 * document['sd']:.1f} points"
        shares = document["quantiles"]
        yield Table([f"{share}%" for share in shares], [[*map(percent, shares.values())]])
        counts = [0] * 20
        for value in document["values"]:
            counts[min(19, int(20 * value))] += 1
        yield Table(
            ["claim", "draws", ""],
            [
                [f"{5 * place}-{5 * place + 5}%", count, "#" * max(1, round(40 * count / max(counts)))]
                for place, count in enumerate(counts)
                if count
            ],
        )


class Refit(Operation):
    """Ask the synthesizer again K times per combined driver, and print the spread of its weights and their changes of sign."""

    places = ("run",)

    run: RunName
    k: Annotated[int, Field(ge=2)] = 5
    """How often the synthesizer is asked for each driver, at least twice."""
    node: list[str] = []
    """This inner driver only; repeat for more."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return how far values and coefficients of each driver spread; the run is unchanged."""
        from workbench.engine.assembly import open_gateway
        from workbench.whatif.full_resynthesis import price_line
        from workbench.whatif.run_refits import refit_nodes, refit_run

        state = home.state(self.run)
        nodes = refit_nodes(state, tuple(self.node))
        home.say(price_line(state, nodes, times=self.k))
        home.confirm("go on?")
        gateway = open_gateway(home.store, state)
        rows = await refit_run(home.store, state, nodes, self.k, gateway)
        return {
            "run_id": state.run_id,
            "k": self.k,
            "nodes": [row.to_json() for row in rows],
            "model_calls": gateway.calls,
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a row for each value, coefficient and formula."""
        rows: list[dict[str, Any]] = []
        for row in document["nodes"]:
            unusable = f"({row['failed']} unusable)  " if row["failed"] else ""
            if row["value"] is None:
                unusable = "every reply was unusable  "
            rows.append(
                {"id": row["id"], "of": "value", **(row["value"] or {}), "notes": unusable + row["statement"]}
            )
            for name, spread in (row["coefficients"] or {}).items():
                rows.append({"of": name, **spread, "notes": "sign flips" if spread["flips"] else ""})
            for formula, count in (row["formulas"] or {}).items():
                rows.append({"of": "formula", "notes": f"{count} x {formula}"})
            yield from (Remark(f"{row['id']}: {warning}") for warning in row["warnings"])
        yield columns(rows, driver="id", of="of", mean="mean", sd="sd", low="low", high="high", notes="notes")
        yield f"{document['model_calls']} model calls; the run is unchanged"
