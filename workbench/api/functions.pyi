"""Written by ``python -m workbench.api.signatures``; a test holds it equal to the operations."""

from datetime import date
from pathlib import Path
from typing import Any
from typing import Literal
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
    """Copy the text of a folder's documents into the data folder; a search sees those that were known at the cutoff.

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
    """Copy a file, the rows of a query or a service's YAML into the data folder, and show first what cutoffs would see of it.

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
    """List the endpoints, or what answers some words: endpoints, series, sources to search in; usable ones first.

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
    """Make one call through the broker and print its data and what was done to keep the cutoff.

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
    """Say which isolation level works and what refuses a better one, which keys are set, versions and files.

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
    """Read a page as it stood before a cutoff: a revision, or the archive's copy; with a model a long one is summed up.

    Parameters
    ----------
    url : str
        The page's whole address.
    question : str, optional
        The claim behind the search: the model judges with it, and addresses in it are blocked.
    source : list[str], optional
        Where the question comes from (polymarket, fred, ...): its sites are blocked. Repeatable.
    model : str, optional
        Model that reads results and pages for later knowledge; without one rules alone do (docs/leaks.md has what either misses and loses).
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
    reading: int | None = None,
) -> ShownDocument:
    """Say what a claim is taken to mean: series, relation, level and days. No model is asked and nothing is started.

    Exit 2 where it has no single reading, or one that the model cannot treat.

    Parameters
    ----------
    text : str
        A claim in your own words.
    cutoff : str, optional
        Cutoff: a date, an instant with its zone, or now.
    model : str, optional
        The model that is to treat it.
    reading : int, optional
        Which reading of an ambiguous claim is meant, from 1.
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
    """Look after the claims with the tag watch: what their data say now, evidence again where they changed, and how the answer moved.

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
    """List the runs of this home, the newest last: state, p with its change, outcome, Brier score, age, next review.

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
        Model that reads results and pages for later knowledge; without one rules alone do (docs/leaks.md has what either misses and loses).
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
