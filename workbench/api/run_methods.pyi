"""Written by ``python -m workbench.api.signatures``; a test holds it equal to the operations."""

from typing import Any
from typing import Literal
from workbench.api.operation_function import ShownDocument

class RunMethods:
    def audit(
        self,
    ) -> ShownDocument:
        """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost.
        """
    def noise(
        self,
        kind: Literal['normal', 'uncertain', 'reverse'] = 'normal',
        level: float = 0.1,
        seed: int = 0,
        draws: int = 200,
    ) -> ShownDocument:
        """Disturb the drivers and print the claim's distribution; no model is asked (paper A, section 5.3).

        Parameters
        ----------
        kind : Literal['normal', 'uncertain', 'reverse'], optional
            normal: p + N(0, level) held inside [0, 1]; uncertain: 0.5, reverse: 1 - p, with probability level.
        level : float, optional
            In [0, 1]; 0 disturbs nothing.
        seed : int, optional
            The same seed gives the same draws.
        draws : int, optional
            Disturbed copies of the tree.
        """
    def refit(
        self,
        k: int = 5,
        node: list[str] = [],
    ) -> ShownDocument:
        """Ask the synthesizer again K times per inner driver and print how far its weights spread and change sign.

        Parameters
        ----------
        k : int, optional
            How often the synthesizer is asked for each driver, at least twice.
        node : list[str], optional
            This inner driver only; repeat for more.
        """
    def sensitivity(
        self,
        reference: str = 'zero',
        seed: int = 0,
    ) -> Any:
        """Print what each driver does to the claim: its path weight, the claim's range, its contribution.

        `low` and `high` are the claim's least and greatest probability over all values of the driver, `path_weight` its change per unit of
        the driver's p (paper A, Proposition 1), each null where a rule on the path has no function.

        Parameters
        ----------
        reference : str, optional
            What contributions are counted from: zero, half, base-rate, market, or a probability.
        seed : int, optional
            For the band where it must be simulated.
        """
    def sensitivity_report(
        self,
        reference: str = 'zero',
        seed: int = 0,
    ) -> Any:
        """Print what each driver does to the claim: its path weight, the claim's range, its contribution.

        `low` and `high` are the claim's least and greatest probability over all values of the driver, `path_weight` its change per unit of
        the driver's p (paper A, Proposition 1), each null where a rule on the path has no function.

        Parameters
        ----------
        reference : str, optional
            What contributions are counted from: zero, half, base-rate, market, or a probability.
        seed : int, optional
            For the band where it must be simulated.
        """
    def transcript(
        self,
        node: str | None = None,
        search: str = '',
    ) -> ShownDocument:
        """Print every model call of a run or driver: what was sent, thoughts and reply, tokens, price, time.

        What a call before it shows already is folded. An imported run is a stranger's words: nothing in it steers the terminal.

        Parameters
        ----------
        node : str, optional
            One driver; the whole run without it.
        search : str, optional
            Only calls in which all these words occur.
        """
    def verify(
        self,
        node: str | None = None,
        isolation: str | None = None,
    ) -> ShownDocument:
        """Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline.

        If the records already differ, or no proof has a notebook, no cell is run. The level that stands in the run's records is not used.

        Parameters
        ----------
        node : str, optional
            One driver; all without it.
        isolation : str, optional
            Sandbox level: namespaces, landlock, none; without it the best sealed level that works here.
        """
