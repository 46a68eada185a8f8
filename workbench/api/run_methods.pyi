"""Written by ``python -m workbench.api.signatures``; a test holds it equal to the operations."""

from datetime import date
from pathlib import Path
from typing import Any
from typing import Literal
from workbench.api.run_handle import Analysis
from workbench.api.operation_function import ShownDocument

class RunMethods:
    def ask(
        self,
        question: str = '',
        model: str | None = None,
        api_base: str | None = None,
    ) -> ShownDocument:
        """Answer a question about a run from its own records, with the cells and rows behind the answer.

        Without a model it prints why, what matters most and what changed, whatever the question; --model answers any. Nothing is changed.

        Parameters
        ----------
        question : str, optional
            The question for --model, in quotes: "why so low?".
        model : str, optional
            A model that answers the question.
        api_base : str, optional
            Base URL of an OpenAI-compatible server.
        """
    def audit(
        self,
    ) -> ShownDocument:
        """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost.
        """
    def comment(
        self,
        node: str | None = None,
        text: str | None = None,
        author: str = '',
    ) -> ShownDocument:
        """Pin a comment to a driver; without one list the comments.

        Shown by `show`, the page and the note, covered by a sign-off; packages bring comments to other homes and back.

        Parameters
        ----------
        node : str, optional
            The driver it is pinned to, as P2.1 (P0 is the claim).
        text : str, optional
            The comment, in quotes.
        author : str, optional
            Who says so: a typed name, not proved.
        """
    def estimate(
        self,
        node: str | None = None,
        p: str | float | None = None,
        why: str = '',
        withdraw: bool = False,
        author: str = '',
    ) -> ShownDocument:
        """Record your own probability of a claim or driver, next to the model's; without a number, show all estimates.

        The run's own numbers stay, and no agent sees it. Several people's are pooled in log-odds; `score --own` scores each apart.

        Parameters
        ----------
        node : str, optional
            A driver; a probability alone is of the claim.
        p : str | float, optional
            The probability, 0.4 or 40%.
        why : str, optional
            Why, in quotes.
        withdraw : bool, optional
            Take yours back.
        author : str, optional
            Who says so: a typed name, not proved.
        """
    def evidence(
        self,
        node: str,
        call: int | None = None,
        trial: int = 1,
    ) -> ShownDocument:
        """Show the evidence of a driver: the cell behind each number of its report, and each cell's data calls.

        Parameters
        ----------
        node : str
            A driver with a conclusion.
        call : int, optional
            Print the raw answer of this data call, as the cell read it.
        trial : int, optional
            Which trial of the driver.
        """
    def judge(
        self,
        api_base: str | None = None,
        prices: list[str] = [],
        node: list[str] = [],
        model: str | None = None,
        against: str | Path | None = None,
        recall: bool = False,
    ) -> ShownDocument:
        """Score the reasoning of a run's drivers from 1 to 5 in five dimensions; the run is unchanged.

        Parameters
        ----------
        api_base : str, optional
            Base URL of an OpenAI-compatible server.
        prices : list[str], optional
            US dollars per million tokens.
        node : list[str], optional
            This driver only; repeat for more.
        model : str, optional
            The model that reads: provider/model; the run's own for the role judge without it.
        against : str | Path, optional
            CSV of a person's scores: `node`, sources, evidence, combination, uncertainty, mapping.
        recall : bool, optional
            Ask the run's own model instead whether it remembers how these came out.
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
    def note(
        self,
        node: str | None = None,
        text: str | None = None,
        tags: list[str] = [],
        untag: list[str] = [],
        author: str = '',
    ) -> ShownDocument:
        """Keep a note on a run or driver, and tag it; `runs --tag --search` finds it again.

        Parameters
        ----------
        node : str, optional
            A driver; a text alone is about the run.
        text : str, optional
            The note, in quotes.
        tags : list[str], optional
            Set a tag; as often as you like.
        untag : list[str], optional
            Take a tag off.
        author : str, optional
            Who says so: a typed name, not proved.
        """
    def red_team(
        self,
        model: str | None = None,
        api_base: str | None = None,
    ) -> ShownDocument:
        """Have an agent write the strongest case against the probability, show its effect, and keep it as a note.

        The case is never taken by itself: the printed `whatif` line tries it.

        Parameters
        ----------
        model : str, optional
            Another model than the run's critic, or than its own.
        api_base : str, optional
            Base URL of an OpenAI-compatible server.
        """
    def refit(
        self,
        k: int = 5,
        node: list[str] = [],
    ) -> ShownDocument:
        """Ask the synthesizer again K times per combined driver, and print the spread of its weights and their changes of sign.

        Parameters
        ----------
        k : int, optional
            How often the synthesizer is asked for each driver, at least twice.
        node : list[str], optional
            This inner driver only; repeat for more.
        """
    async def reground(
        self,
        node: str,
        workers: str | int | None | None = None,
        isolation: str | None = None,
        settings: list[str] = [],
        detach: bool = False,
        quiet: bool = False,
        full: bool = False,
        author: str = '',
        reason: str = '',
    ) -> Analysis:
        """Collect evidence for one driver again, in a new attempt. The price is shown first, and the earlier evidence is kept.

        The drivers above follow by their stored rules. If the attempt comes to nothing the old value stands.

        Parameters
        ----------
        node : str
            A driver that has a value.
        workers : str | int | None, optional
            Collect evidence in so many processes, or on a Dask cluster (docs/use/many-machines.md); without it in this process.
        isolation : str, optional
            Sandbox level: namespaces, landlock, none; without it the best sealed level that works here.
        settings : list[str], optional
            Any setting of a run, or ROLE.NAME of one agent; `workbench help analyze` lists them.
        detach : bool, optional
            Work in a process of its own: print the run id and return; see watch and stop.
        quiet : bool, optional
            Show no progress.
        full : bool, optional
            Ask the synthesizer again for the drivers above, formula or not.
        author : str, optional
            Who says so: a typed name, not proved.
        reason : str, optional
            Why; on record.
        """
    def resolve(
        self,
        outcome: str | float | None = None,
        on: str | date | None = None,
        node: str | None = None,
        leaves: bool = False,
        author: str = '',
    ) -> ShownDocument:
        """Record how a claim turned out, or revise it; the newest answer counts, and no agent ever sees it.

        Runs on the embedded series resolve themselves when they finish, as soon as the data reach the day.

        Parameters
        ----------
        outcome : str | float, optional
            yes, no, or a share (0.3, 30%). Without it the claim's own series is asked.
        on : str | date, optional
            Day of the outcome, 2018-12-31; today unless named.
        node : str, optional
            A driver instead of the claim: later runs learn from it.
        leaves : bool, optional
            Every driver whose own embedded series shows how it came out.
        author : str, optional
            Who says so: a typed name, not proved.
        """
    def scenarios(
        self,
        *names: str,
        undo: str | None = None,
        redo: str | None = None,
        close: str | None = None,
        rename: dict[str, str] = {},
        duplicate: dict[str, str] = {},
        annotate: dict[str, str] = {},
        weigh: dict[str, str | float] = {},
        base_seq: int | None = None,
        author: str = '',
    ) -> ShownDocument:
        """Put the saved what-ifs side by side, with their probability-weighted mix; change, copy or close one.

        Parameters
        ----------
        names : list[str], optional
            Compare these only; all without.
        undo : str, optional
            Take back the scenario's last edit.
        redo : str, optional
            Put back the edit last undone.
        close : str, optional
            Close the scenario; its records stay on the log.
        rename : dict[str, str], optional
            Another name; its records stay on the log.
        duplicate : dict[str, str], optional
            The same edits once more, not weighed.
        annotate : dict[str, str], optional
            What the scenario supposes, and why.
        weigh : dict[str, str | float], optional
            The probability of the scenario, for the mix.
        base_seq : int, optional
            The scenario's record that undo, redo or close was decided on (its seq in --json).
        author : str, optional
            Who says so: a typed name, not proved.
        """
    def sensitivity(
        self,
        reference: str = 'zero',
        seed: int = 0,
    ) -> Any:
        """Print each driver's effect on the claim: its path weight, the claim's range, its contribution.

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
        """Print each driver's effect on the claim: its path weight, the claim's range, its contribution.

        `low` and `high` are the claim's least and greatest probability over all values of the driver, `path_weight` its change per unit of
        the driver's p (paper A, Proposition 1), each null where a rule on the path has no function.

        Parameters
        ----------
        reference : str, optional
            What contributions are counted from: zero, half, base-rate, market, or a probability.
        seed : int, optional
            For the band where it must be simulated.
        """
    def sign_off(
        self,
        author: str | None = None,
        done: list[str] = [],
        verdict: Literal['accept', 'return'] = 'accept',
    ) -> ShownDocument:
        """Sign a run off after a review: one hash over its log, its tree, its comments and the checklist.

        Parameters
        ----------
        author : str, optional
            Who signs: a typed name, not proved. Without it the checklist is printed.
        done : list[str], optional
            A point of the checklist that was done, or all.
        verdict : Literal['accept', 'return'], optional
            To accept, every point of the checklist is done.
        """
    def transcript(
        self,
        node: str | None = None,
        search: str = '',
        stage: str = '',
    ) -> ShownDocument:
        """Print what a run or driver concluded, then every model call: what was sent, thoughts and reply, tokens, price, time.

        What an earlier call shows is folded. An imported run is a stranger's words: nothing in it steers the terminal.

        Parameters
        ----------
        node : str, optional
            One driver; the whole run without it.
        search : str, optional
            Only calls in which all these words occur.
        stage : str, optional
            Only calls of one stage, such as analyze, step or conclude.
        """
    def what_if(
        self,
        values: dict[str, Any] = {},
        add: list[Any] = [],
        remove: list[str] = [],
        pin: list[str] = [],
        unpin: list[str] = [],
        restate: dict[str, str] = {},
        same_meaning: bool = False,
        polarities: dict[str, Any] = {},
        reports: dict[str, Any] = {},
        rules: dict[str, Any] = {},
        weights: dict[str, Any] = {},
        full: bool = False,
        scenario: str | None = None,
        author: str = '',
        reason: str = '',
        expires: str | None = None,
        rationale: str = '',
        probability: float | None = None,
        base_seq: int | None = None,
        reach: str | float | None = None,
    ) -> ShownDocument:
        """Edit drivers and see what moves above them. The run itself is not changed.

        The edits of one call are made in the order unpin, restate, add, remove, polarity, report, rule, weight, pin, set.

        Parameters
        ----------
        values : dict[str, Any], optional
            Probability of a driver, or a range; a driver with drivers below it is pinned. PA and P2.PA are assumptions of logic rules.
        add : list[Any], optional
            A new driver below another; the same call can give it a weight and a probability.
        remove : list[str], optional
            Leave a driver out, with what is below.
        pin : list[str], optional
            Hold a driver at the value it has now.
        unpin : list[str], optional
            Give a driver back to the model or its children.
        restate : dict[str, str], optional
            Other words for a driver.
        same_meaning : bool, optional
            Restated drivers keep their values.
        polarities : dict[str, Any], optional
            How a driver bears on its parent, whose rule turns with it.
        reports : dict[str, Any], optional
            Another report in place of a driver's own; a first line `Key factor: ...` replaces that too.
        rules : dict[str, Any], optional
            Another rule for a driver with children: its JSON, or a formula with AND, OR, NOT.
        weights : dict[str, Any], optional
            Weight of a driver in the rule of its parent, from -1 to 1.
        full : bool, optional
            Ask the synthesizer again for the ancestors, and show its rules and words beside the old.
        scenario : str, optional
            Keep this what-if under a name, on top of what it holds already.
        author : str, optional
            Who holds the set values, and whose scenario it is.
        reason : str, optional
            Why the set values replace the model's.
        expires : str, optional
            Until when the set values hold: a date or an instant.
        rationale : str, optional
            What the scenario supposes, and why.
        probability : float, optional
            The probability of the scenario, for the mix.
        base_seq : int, optional
            The scenario's record this was made on (its seq).
        reach : str | float, optional
            Say what it would take for the claim to be there, such as 0.5 or 50%.
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
