"""Written by ``python -m workbench.api.signatures``; a test holds it equal to the operations."""

from datetime import date
from pathlib import Path
from typing import Any
from typing import Literal
from workbench.api.run_handle import Analysis
from workbench.api.operation_function import ShownDocument
from workbench.api.operation_function import ShownList

def add_documents(
    name: str,
    folder: str | Path,
    *,
    dated: str,
    share: Literal['none', 'models', 'packages'] | None = None,
    zone: str = '',
) -> ShownDocument:
    """Copy the text of a folder's documents into the data folder. A search finds those known at its cutoff.

    Parameters
    ----------
    name : str
        What to call them: own/NAME/search in calls.
    folder : str | Path
        PDF, Word, Excel, HTML, Markdown, text.
    dated : str
        Where their days stand: filename, metadata, or a CSV file of names and days.
    share : Literal['none', 'models', 'packages'], optional
        Who may see them.
    zone : str, optional
        Zone of the days; New York by itself.
    """

def add_source(
    name: str,
    where: Any,
    *,
    date: str = '',
    value: str = '',
    known: str = '',
    vintage: str = '',
    lag: str = '',
    releases: str | Path | None = None,
    static: bool = False,
    unit: str = '',
    share: Literal['none', 'models', 'packages'] = 'models',
    by: str = '',
    residual: Literal['none', 'low', 'medium', 'high'] = 'high',
    zone: str = '',
    date_format: list[str] | dict[str, str] | str = {},
    grain: str = '',
    last_year: str = '',
    decimal: str = '',
    thousands: str = '',
    skip: int = 0,
    comment: str = '',
    query: str = '',
    sheet: str = '',
) -> ShownDocument:
    """Copy a file, the rows of a query or a service's YAML into the data folder. A preview by cutoff comes first.

    Of a known name only what changes has to be said.

    Parameters
    ----------
    name : str
        What to call it: own:NAME in claims, own/NAME/rows in calls.
    where : Any
        CSV, Parquet, Excel, Feather; a database; a YAML. In Python a DataFrame or a Series too.
    date : str, optional
        Column that says what a row is about.
    value : str, optional
        Column that claims mean.
    known : str, optional
        Column of when a row became known.
    vintage : str, optional
        As --known, where a date has several rows.
    lag : str, optional
        How long after its date a row was known: 3d, 12h.
    releases : str | Path, optional
        File of dates and their releases.
    static : bool, optional
        Every row at every cutoff.
    unit : str, optional
        Unit of the values.
    share : Literal['none', 'models', 'packages'], optional
        Who may see it.
    by : str, optional
        Column that tells rows of one date apart.
    residual : Literal['none', 'low', 'medium', 'high'], optional
        Risk of later knowledge.
    zone : str, optional
        Zone of times without one; New York by itself.
    date_format : list[str] | dict[str, str] | str, optional
        How dates are written, such as %d/%m/%Y; COLUMN=%d/%m/%Y for one column.
    grain : str, optional
        What a date stands for: year, half-year, quarter, month, week, day, instant, 1h.
    last_year : str, optional
        The last year that two digits may mean, such as 2026.
    decimal : str, optional
        The sign before decimals, . or ,.
    thousands : str, optional
        The sign between thousands.
    skip : int, optional
        Lines before the header.
    comment : str, optional
        How lines begin that are no rows.
    query : str, optional
        One SELECT, for a database.
    sheet : str, optional
        Sheet of an Excel file; the first by itself.
    """

async def analyze(
    statement: str,
    *,
    workers: str | int | None | None = None,
    isolation: Literal['namespaces', 'landlock', 'none'] | None = None,
    settings: list[str] = [],
    detach: bool = False,
    quiet: bool = False,
    model: list[str] | None = None,
    api_base: str | None = None,
    analyzer: str | None = None,
    grounder: str | None = None,
    rule: str | None = None,
    preset: str | None = None,
    depth: int | None = None,
    leaf_target: int | None = None,
    trials: int | None = None,
    framings: list[str] | None = None,
    direct: int | None = None,
    direct_models: list[str] | None = None,
    tree_weight: float | None = None,
    search_first: bool | None = None,
    concurrency: int | None = None,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    budget_calls: int | None = None,
    budget_seconds: float | None = None,
    leaf_budget_usd: float | None = None,
    leaf_budget_tokens: int | None = None,
    leaf_budget_calls: int | None = None,
    leaf_budget_seconds: float | None = None,
    prices: dict[str, Any] | None = None,
    reply_tokens: int | None = None,
    limits: dict[str, dict[str, float]] | None = None,
    models: dict[str, str] | None = None,
    fallback: list[str] | None = None,
    reply_form: Literal['auto', 'text', 'schema'] | None = None,
    headers: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
    cell_timeout: float | None = None,
    timeout: float | None = None,
    patience: float | None = None,
    approve: Literal['none', 'calls', 'pages'] | None = None,
    max_proof_retries: int | None = None,
    strict: bool | None = None,
    max_residual: Literal['none', 'low', 'medium', 'high'] | None = None,
    threshold: float | None = None,
    max_leaves: int | None = None,
    max_analyzer_rounds: int | None = None,
    max_proof_steps: int | None = None,
    debug_max_retries: int | None = None,
    max_exception_retry: int | None = None,
    max_interrupt_times: int | None = None,
    abs_intercept_max: float | None = None,
    stated_p_tolerance: float | None = None,
    stand_by: bool | None = None,
    require_pa: bool | None = None,
    truncate_debug: bool | None = None,
    output_chars: int | None = None,
    step_output_chars: int | None = None,
    elide_tokens: int | None = None,
    crowded_share: float | None = None,
    extra_ask_share: float | None = None,
    temperature: float | None = None,
    critic: bool | None = None,
    tree_critic: bool | None = None,
    max_tokens: int | None = None,
    effort: str | None = None,
    combine_per_node: bool | None = None,
    share_calls: bool | None = None,
    root_prior: bool | None = None,
    rule_seed: int | None = None,
    background: str | None = None,
    criteria: str | None = None,
    choices: str | None = None,
    news: str | None = None,
    horizon: str | None = None,
    crowd: float | None = None,
    cutoff: str,
    ground_with: dict[str, str] = {},
    semantics: str | None = None,
    normalise: str | None = None,
    aggregation: dict[str, Any] = {},
    options: dict[str, dict[str, Any]] = {},
    plan_only: bool = False,
    reading: int | None = None,
) -> Analysis:
    """Break a claim into drivers, collect evidence for them in sealed notebooks, and combine them into a probability.

    Parameters
    ----------
    statement : str
        A claim that will turn out true or false.
    workers : str | int | None, optional
        Collect evidence in so many processes, or on a Dask cluster (docs/use/many-machines.md); without it in this process.
    isolation : Literal['namespaces', 'landlock', 'none'], optional
        Sandbox level: namespaces, landlock, none; without it the best sealed level that works here.
    settings : list[str], optional
        Any setting of a run, or ROLE.NAME of one agent; `workbench help analyze` lists them.
    detach : bool, optional
        Work in a process of its own: print the run id and return; see watch and stop.
    quiet : bool, optional
        Show no progress.
    model : list[str], optional
        offline/analyst, or provider/model as LiteLLM spells it.
    api_base : str, optional
        Base URL of an OpenAI-compatible server.
    analyzer : str, optional
        How the claim is broken into a tree.
    grounder : str, optional
        How evidence is collected: in notebooks, or by an agent that looks things up.
    rule : str, optional
        How children are combined.
    preset : str, optional
        What a run buys: quick (five forecasts, their median), product, best; or a paper's: analytica-paper, blf-paper, prophet-paper.
    depth : int, optional
        n of Analytica^n: drivers are analyzed again n - 1 times (paper A, section 4.4).
    leaf_target : int, optional
        Expand drivers one after another up to this many (paper A, section 5.3).
    trials : int, optional
        Independent forecasts per driver.
    framings : list[str], optional
        What the trials of a driver are asked to do first, in turn: outside (count comparable cases), no_first, yes_first (argue that side). Empty: all are asked alike.
    direct : int, optional
        Forecasts of the claim itself beside its drivers, pooled with the tree in logit space; 0: the tree alone.
    direct_models : list[str], optional
        Models that forecast the claim itself in turn, where several are named; their forecasts count alike.
    tree_weight : float, optional
        Weight of the tree beside the direct forecasts, in logit space; what the own record teaches, or one half where it is short.
    search_first : bool, optional
        Search once for what is new about the claim before anything is asked of it, as of the cutoff.
    concurrency : int, optional
        Requests to the model at once.
    budget_usd : float, optional
        Most US dollars the model may cost; the run stops before, resumable.
    budget_tokens : int, optional
        Most tokens, input and output.
    budget_calls : int, optional
        Most requests to the model.
    budget_seconds : float, optional
        Most seconds of work, however often it was resumed.
    leaf_budget_usd : float, optional
        budget_usd of one driver; one that reaches it waits, the others go on.
    leaf_budget_tokens : int, optional
        budget_tokens of one driver; one that reaches it waits, the others go on.
    leaf_budget_calls : int, optional
        budget_calls of one driver; one that reaches it waits, the others go on.
    leaf_budget_seconds : float, optional
        budget_seconds of one driver; one that reaches it waits, the others go on.
    prices : dict[str, Any], optional
        US dollars per million input and output tokens of a model, instead of the listed ones; CACHED is the price of input that comes from the provider's cache, IN without it.
    reply_tokens : int, optional
        Tokens of one reply that the cost forecast counts with; models that think write more.
    limits : dict[str, dict[str, float]], optional
        How much a provider is asked, by its name: requests and tokens a minute.
    models : dict[str, str], optional
        A model for one role: analyzer, grounder, synthesizer, critic (reads new drivers; without one nobody does), reader or judge. Can be given several times.
    fallback : list[str], optional
        A model that answers where another one is down, rejects a request or declines it. Several: in this order.
    reply_form : Literal['auto', 'text', 'schema'], optional
        auto asks for JSON schemas where LiteLLM's list says that the model takes them; text never, schema always.
    headers : dict[str, str], optional
        Headers of every request to a remote model; a value names an environment variable (env:NAME).
    body : dict[str, Any], optional
        What goes with every request to a remote model besides.
    cell_timeout : float, optional
        Seconds a notebook cell may run; 120 without it.
    timeout : float, optional
        Seconds a model may be silent before its answer is given up.
    patience : float, optional
        Seconds a provider may answer nobody before the run stops, resumable.
    approve : Literal['none', 'calls', 'pages'], optional
        calls (data) or pages (of the web): each waits until a person has said yes or no; none is the default.
    max_proof_retries : int, optional
        Attempts that a driver gets before the run stops (paper A, C.1).
    strict : bool, optional
        Refuse data whose date cannot be fully proven.
    max_residual : Literal['none', 'low', 'medium', 'high'], optional
        Refuse data with more residual risk of later knowledge than none, low, medium or high; strict means medium.
    threshold : float, optional
        Probability above which a driver is taken as true (paper A, C.1).
    max_leaves : int, optional
        The analyzer stops after the round that reaches this many; a round that would make more than twice as many is sent back.
    max_analyzer_rounds : int, optional
        Rounds after which the tree is taken as it is.
    max_proof_steps : int, optional
        Notebook steps of a driver, after which it must conclude; a driver that was begun keeps its number.
    debug_max_retries : int, optional
        Corrections of one failing cell, after which the proof fails.
    max_exception_retry : int, optional
        Further asks after a reply that cannot be read, in one exchange.
    max_interrupt_times : int, optional
        Documentation requests inside one step.
    abs_intercept_max : float, optional
        Largest constant of a linear rule, inclusive.
    stated_p_tolerance : float, optional
        Largest distance of a stated from the computed probability, inclusive.
    stand_by : bool, optional
        Whether a model may stand by a constant above its bound, and by weights that do not give the probability it states, after it was shown what they come to; false sends such replies back, as the paper does.
    require_pa : bool, optional
        Whether a logic formula must name the assumption PA, as the paper's own code demands.
    truncate_debug : bool, optional
        Leave a finished debugging episode out of later requests for the driver; false keeps the dialogue whole.
    output_chars : int, optional
        Characters of one cell's output that the model reads back.
    step_output_chars : int, optional
        Characters of all outputs of one step that the model reads back.
    elide_tokens : int, optional
        Old outputs and pictures are shortened together, each time they come to this many tokens.
    crowded_share : float, optional
        A driver must conclude once its dialogue fills this share of the model's context.
    extra_ask_share : float, optional
        Further asks of a whole dialogue, as a share of its usable replies; two are always allowed. Null: no such bound.
    temperature : float, optional
        Sampling temperature; a model that takes none goes without, and each reply says so.
    critic : bool, optional
        Whether findings of the checks in code (analyzers' statements, numbers quoted in a conclusion) are sent back, once each.
    tree_critic : bool, optional
        Whether a model reads each round's new drivers and says what is wrong with them: the one named for the role critic, else the analyzer's own; its findings go back once.
    max_tokens : int, optional
        Longest reply, in tokens.
    effort : str, optional
        How hard a reasoning model thinks: low, medium, high, or what it takes; auto is medium where the model is known to reason.
    combine_per_node : bool, optional
        Whether the analyzer may say of a claim or driver that all of its drivers are needed, or that any suffices; the linear rule then gives way to AND, or to independent causes, there.
    share_calls : bool, optional
        Whether a driver is told which data calls its siblings have made (where data are found, never what they say), so that it need not look for them; siblings begin when the first of them has read something.
    root_prior : bool, optional
        Whether a model is asked how often claims like this come true before its drivers are seen; a tree that lands far from it is looked at again.
    rule_seed : int, optional
        Seed of the weights of the rule random.
    background : str, optional
        What the agents should know of the claim, its facts and definitions: text, or @FILE.
    criteria : str, optional
        How the claim resolves, in the resolver's words: text, or @FILE.
    choices : str, optional
        All options of the choice that the claim is one of.
    news : str, optional
        What was gathered about the claim, beside its background.
    horizon : str, optional
        By when, if the statement does not say it.
    crowd : float, optional
        A market's or crowd's probability at the cutoff, shown to the analyzer and to the claim alone.
    cutoff : str
        Cutoff: a date, an instant with its zone, or now.
    ground_with : dict[str, str], optional
        The grounder of one driver, or several joined by + and pooled: P3=statistical. Repeat for more; other drivers go by --grounder.
    semantics : str, optional
        strict: every linear rule is a Bayes net's table too, which stays within [0, 1]; free.
    normalise : str, optional
        How strict rules (`semantics`) mend weights: scale (the default), softmax or min-max.
    aggregation : dict[str, Any], optional
        How trials become one probability: pool=logit-mean|mean|median, dead=drop|impute, floor, slope and prior (shrinkage), calibration-slope, calibration-offset, learn=true.
    options : dict[str, dict[str, Any]], optional
        Settings of one agent, by its role; the agent checks them.
    plan_only : bool, optional
        Stop after the tree, with a cost forecast.
    reading : int, optional
        Which reading of an ambiguous claim is meant, from 1; 0 is the text as it is, for a model.
    """

def api_doc(
    *paths: str,
) -> str:
    """Print the documentation of endpoints, with an example that runs.

    Parameters
    ----------
    paths : list[str]
        Endpoint paths, 1 to 25.
    """

def apis(
    pattern: str = '',
) -> ShownList:
    """List the endpoints, or the endpoints, series and search sources that match some words; usable ones first.

    Parameters
    ----------
    pattern : str, optional
        Words to look for.
    """

def call(
    path: str,
    params: dict[str, Any] = {},
    *,
    cutoff: str = 'now',
    strict: bool = False,
    max_residual: Literal['none', 'low', 'medium', 'high'] | None = None,
) -> ShownDocument:
    """Make one call through the broker, and print its data and what the cutoff removed.

    Parameters
    ----------
    path : str
        Endpoint path, long or short.
    params : dict[str, Any], optional
        The endpoint's parameters (`api-doc` says which).
    cutoff : str, optional
        Cutoff: a date, an instant with its zone, or now.
    strict : bool, optional
        Refuse data whose date cannot be fully proven.
    max_residual : Literal['none', 'low', 'medium', 'high'], optional
        Refuse data with more residual risk of later knowledge than this; --strict is medium.
    """

def coherence(
    *runs: str,
    exclusive: list[Any] = [],
) -> ShownDocument:
    """Check the claims of several runs against each other: nested and exclusive claims, repeats and contraries.

    What belongs together is read from the statements; only runs with the same cutoff are compared.

    Parameters
    ----------
    runs : list[str], optional
        Runs to compare; all finished ones without.
    exclusive : list[Any], optional
        RUN,RUN,...: the options of one question, of which exactly one comes true.
    """

def decide(
    *runs: str,
    payoffs: dict[str, float] = {},
    risk_aversion: float = 1.0,
    fee: float = 0.0,
    cap: float = 0.1,
    horizon: str = '',
    threshold: float | None = None,
    question: str | None = None,
    forecasts: str | Path | None = None,
    method: str = '',
    pool: str = 'logit-mean',
    linked: bool = False,
) -> ShownDocument:
    """Turn the claims of runs into the probabilities of exclusive options and name the one to take.

    With --question the choices of a question of any kind are weighed by what they pay: both sides of its quoted asks, or
    --payoff; levels and days, which are nested, are sized together.

    Parameters
    ----------
    runs : list[str], optional
        One run per option, in the question's order; a single run stands against its negation.
    payoffs : dict[str, float], optional
        What a dollar on an option comes back as if it comes true; else 1 / ask.
    risk_aversion : float, optional
        CRRA exponent; 1 is Kelly.
    fee : float, optional
        Dollars a share on top of the ask.
    cap : float, optional
        Most that is staked in all, as a share of wealth.
    horizon : str, optional
        Which resolution day of a question with several.
    threshold : float, optional
        Above this a driver counts as true; the run's preset says without it.
    question : str, optional
        Weigh the choices of this question by what they pay.
    forecasts : str | Path, optional
        Forecasts of its events, instead of runs: CSV or parquet.
    method : str, optional
        Whose forecasts.
    pool : str, optional
        How trials are pooled.
    linked : bool, optional
        Weigh the question together with all that are linked to it (conditional, implied, excluded); --payoff ID=VALUE then.
    """

def doctor(
    *,
    live: bool = False,
    check: bool = False,
) -> ShownDocument:
    """Print the isolation level that works and what prevents a better one, the API keys that are set, versions and files.

    Parameters
    ----------
    live : bool, optional
        Also ask every source for one example, with your keys: one call of each plan.
    check : bool, optional
        Look instead whether the data folder is whole: database, hashes, logs, folders, proofs. Exit 6 if not.
    """

def open_page(
    url: str,
    *,
    question: str = '',
    source: list[str] = [],
    model: str | None = None,
    api_base: str | None = None,
    audit: bool = False,
    cutoff: str,
) -> ShownDocument:
    """Read a page as it was before a cutoff: a revision, or the archive's copy. A model summarizes a long page.

    Parameters
    ----------
    url : str
        The page's whole address.
    question : str, optional
        The claim behind the search: the model judges with it, and addresses in it are blocked.
    source : list[str], optional
        Where the question comes from (polymarket, fred, ...): its sites are blocked. Repeatable.
    model : str, optional
        Model that reads results and pages for later knowledge; without one rules alone do (docs/trust/search.md has what either misses and loses).
    api_base : str, optional
        Base URL of an OpenAI-compatible server.
    audit : bool, optional
        Also what was removed, with verdict and reason. May tell what came after the cutoff.
    cutoff : str
        Cutoff: a date, an instant with its zone, or now.
    """

def quantity(
    series: str,
    *,
    on: str | date | None = None,
    by: str | date | None = None,
    cutoff: str = 'now',
    past: int | None = None,
    plot: str | Path | None = None,
) -> ShownDocument:
    """Forecast a series: quantiles of its value on a day, or of its highs and lows until then.

    The first line says how far to trust it: how the same forecast did at past cutoffs. Once the day has come, CRPS (lower is better, in
    the unit of the series) and PIT (where in the forecast the value lay, from 0 to 1) follow.

    Parameters
    ----------
    series : str
        A series by name (S&P 500, VIX, Bitcoin), by reference (yahoo:AAPL, fred:DGS10, own:NAME), or a CSV with date and value.
    on : str | date, optional
        Forecast its value on this day.
    by : str | date, optional
        Forecast its highest and lowest value until this day.
    cutoff : str, optional
        Cutoff: a date, an instant with its zone, or now.
    past : int, optional
        Past cutoffs of its record; 0 for none.
    plot : str | Path, optional
        Write the fan chart (.png or .svg).
    """

def read(
    text: str,
    *,
    cutoff: str = 'now',
    model: str = 'offline/analyst',
    api_base: str | None = None,
    reading: int | None = None,
) -> ShownDocument:
    """Show how a claim is read: series, relation, level and days. No run is started.

    A model is asked only where the words cannot be read: it fills the same slots. Exit 2 where the claim has no single reading, or one
    that the model cannot treat.

    Parameters
    ----------
    text : str
        A claim in your own words.
    cutoff : str, optional
        Cutoff: a date, an instant with its zone, or now.
    model : str, optional
        The model that is to treat it.
    api_base : str, optional
        Base URL of an OpenAI-compatible server.
    reading : int, optional
        Which reading of an ambiguous claim is meant, from 1; 0 is the text as it is, for a model.
    """

async def resume(
    run: str,
    *,
    workers: str | int | None | None = None,
    isolation: str | None = None,
    settings: list[str] = [],
    detach: bool = False,
    quiet: bool = False,
    model: str | None = None,
    api_base: str | None = None,
    concurrency: int | None = None,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    budget_calls: int | None = None,
    budget_seconds: float | None = None,
    leaf_budget_usd: float | None = None,
    leaf_budget_tokens: int | None = None,
    leaf_budget_calls: int | None = None,
    leaf_budget_seconds: float | None = None,
    prices: dict[str, Any] | None = None,
    models: dict[str, str] | None = None,
    fallback: list[str] | None = None,
    reply_form: Literal['auto', 'text', 'schema'] | None = None,
    cell_timeout: float | None = None,
    timeout: float | None = None,
    patience: float | None = None,
    approve: Literal['none', 'calls', 'pages'] | None = None,
    max_proof_steps: int | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    effort: str | None = None,
    leaf: list[str] = [],
    rebuy: bool = False,
) -> Analysis:
    """Continue a run that was stopped. No reply that was recorded is bought again.

    What is changed by an option stays changed for later sessions, and the run's log says so. The level that the run was made
    at is not used: kernels start at the one asked for now.

    Parameters
    ----------
    run : str
        Run id, the beginning of one, or last.
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
    model : str, optional
        offline/analyst, or provider/model as LiteLLM spells it.
    api_base : str, optional
        Base URL of an OpenAI-compatible server.
    concurrency : int, optional
        Requests to the model at once.
    budget_usd : float, optional
        Most US dollars the model may cost; the run stops before, resumable.
    budget_tokens : int, optional
        Most tokens, input and output.
    budget_calls : int, optional
        Most requests to the model.
    budget_seconds : float, optional
        Most seconds of work, however often it was resumed.
    leaf_budget_usd : float, optional
        budget_usd of one driver; one that reaches it waits, the others go on.
    leaf_budget_tokens : int, optional
        budget_tokens of one driver; one that reaches it waits, the others go on.
    leaf_budget_calls : int, optional
        budget_calls of one driver; one that reaches it waits, the others go on.
    leaf_budget_seconds : float, optional
        budget_seconds of one driver; one that reaches it waits, the others go on.
    prices : dict[str, Any], optional
        US dollars per million input and output tokens of a model, instead of the listed ones; CACHED is the price of input that comes from the provider's cache, IN without it.
    models : dict[str, str], optional
        A model for one role: analyzer, grounder, synthesizer, critic (reads new drivers; without one nobody does), reader or judge. Can be given several times.
    fallback : list[str], optional
        A model that answers where another one is down, rejects a request or declines it. Several: in this order.
    reply_form : Literal['auto', 'text', 'schema'], optional
        auto asks for JSON schemas where LiteLLM's list says that the model takes them; text never, schema always.
    cell_timeout : float, optional
        Seconds a notebook cell may run; 120 without it.
    timeout : float, optional
        Seconds a model may be silent before its answer is given up.
    patience : float, optional
        Seconds a provider may answer nobody before the run stops, resumable.
    approve : Literal['none', 'calls', 'pages'], optional
        calls (data) or pages (of the web): each waits until a person has said yes or no; none is the default.
    max_proof_steps : int, optional
        Notebook steps of a driver, after which it must conclude; a driver that was begun keeps its number.
    temperature : float, optional
        Sampling temperature; a model that takes none goes without, and each reply says so.
    max_tokens : int, optional
        Longest reply, in tokens.
    effort : str, optional
        How hard a reasoning model thinks: low, medium, high, or what it takes; auto is medium where the model is known to reason.
    leaf : list[str], optional
        Only this driver, as one that failed, and what follows above; as often as you like. Says the price.
    rebuy : bool, optional
        Buy replies again whose requests cannot be made any more (docs/trust/search.md); --yes does too.
    """

async def review(
    run: str | None = None,
    *,
    due: bool = False,
    changed: bool = False,
    budget_usd: float | None = None,
    alert: float = 0.05,
    cutoff: str = 'now',
    notify: str = '',
    isolation: str | None = None,
) -> ShownDocument:
    """Review the watched claims: check their data, collect evidence again where the data changed, and show how the probability moved.

    Each review is a run of its own that names the one before; a driver whose data say the same carries over. Exit 10: one moved by more
    than --alert, or its day is near; for a cron line with --notify, or [review] in your own workbench.toml.

    Parameters
    ----------
    run : str, optional
        The claim of this run alone, watched or not; all with the tag watch without.
    due : bool, optional
        Only claims whose next review has come.
    changed : bool, optional
        Only say what changed behind them: no run is opened, no model asked.
    budget_usd : float, optional
        What all of it may cost; without it nothing that a model charges for is bought.
    alert : float, optional
        Points that a claim moves before you are told, such as 5; in Python a share, such as 0.05.
    cutoff : str, optional
        As of when: now, or a day in a history that is replayed.
    notify : str, optional
        Command that gets the result as JSON on stdin when there is something to tell.
    isolation : str, optional
        Sandbox level: namespaces, landlock, none; without it the best sealed level that works here.
    """

def runs(
    *,
    tags: list[str] = [],
    search: str = '',
    limit: int | None = None,
) -> ShownList:
    """List the runs of this home, newest last: state, probability and its change, outcome, Brier score, age, next review.

    Ends with exit code 6 if the records of a run cannot be read.

    Parameters
    ----------
    tags : list[str], optional
        Only runs with this tag (`note --tag` sets one).
    search : str, optional
        Only runs in which these words occur: claim, drivers, model, notes.
    limit : int, optional
        The newest so many.
    """

def search_web(
    words: str,
    *,
    question: str = '',
    source: list[str] = [],
    model: str | None = None,
    api_base: str | None = None,
    audit: bool = False,
    cutoff: str,
    k: int = 10,
    engines: str = '',
) -> ShownDocument:
    """Search the web as of a cutoff.

    Parameters
    ----------
    words : str
        What is looked for.
    question : str, optional
        The claim behind the search: the model judges with it, and addresses in it are blocked.
    source : list[str], optional
        Where the question comes from (polymarket, fred, ...): its sites are blocked. Repeatable.
    model : str, optional
        Model that reads results and pages for later knowledge; without one rules alone do (docs/trust/search.md has what either misses and loses).
    api_base : str, optional
        Base URL of an OpenAI-compatible server.
    audit : bool, optional
        Also what was removed, with verdict and reason. May tell what came after the cutoff.
    cutoff : str
        Cutoff: a date, an instant with its zone, or now.
    k : int, optional
        Most results, 25 at most.
    engines : str, optional
        Engines by name, with commas; without it all that work here.
    """
