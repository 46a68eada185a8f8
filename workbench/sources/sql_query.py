"""Read rows from a database by one SELECT, once, in a read-only transaction, with a time limit.

The query runs in a process of its own, so that a database that hangs can be left. A password comes from an environment variable
that the address names (``postgresql://user:$PGPASSWORD@host/db``) and is stored nowhere.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from proxies.process_pool import process_pool
from workbench.errors import Option, UsageError
from workbench.sources.table_files import MOST_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

SECONDS = 60.0
MOST_ROWS = 5_000_000
_DSN = re.compile(r"([a-z][a-z0-9_+]*)://(?P<rest>.*)", re.DOTALL)
_PASSWORD = re.compile(r"^(?P<user>[^:@/]*):(?P<password>[^@]*)@")
_VARIABLE = re.compile(r"\$\{?([A-Z][A-Z0-9_]{0,79})\}?")
_DUCKDB = (".duckdb", ".ddb")
#: Statements that a query may be made of at its top: nothing that writes, calls or sets.
_READING = ("Select", "Union", "Intersect", "Except", "Subquery")
_WRITING = ("Insert", "Update", "Delete", "Merge", "Create", "Drop", "Alter", "Command", "Into", "Copy", "Set", "Pragma", "TruncateTable", "Lock")  # fmt: skip


def is_database(where: str) -> bool:
    """Whether a text is a database address or a DuckDB file, rather than a file of rows."""
    return Path(where).suffix.lower() in _DUCKDB or (
        _DSN.match(where) is not None and not where.startswith(("http://", "https://"))
    )


def check_query(query: str, dialect: str) -> str:
    """Return the query if its parse is one SELECT that writes nothing.

    Raises `UsageError`: There is none, it cannot be parsed, or it is something else than one SELECT.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    text = query.strip().rstrip(";").strip()
    if not text:
        raise UsageError("say what to read from the database: ", Option("query", "SELECT ..."))
    try:
        statements = [statement for statement in sqlglot.parse(text, read=dialect) if statement is not None]
    except SqlglotError as error:
        # sqlglot underlines for a terminal
        words = " ".join(re.sub(r"\x1b\[\d*m", "", str(error)).split())[:120]
        raise UsageError(f"the query cannot be parsed ({words})") from None
    if len(statements) != 1:
        raise UsageError(f"the query is {len(statements)} statements: give one SELECT")
    (statement,) = statements
    kinds = {type(node).__name__ for node in statement.walk()}
    if type(statement).__name__ not in _READING or (writing := kinds & {*_WRITING}):
        first = type(statement).__name__ if type(statement).__name__ not in _READING else sorted(writing)[0]
        raise UsageError(f"the query writes or is no SELECT ({first.upper()}): give one SELECT")
    return text


def opened_address(address: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the address with its password filled in, and the public form without it.

    Raises `UsageError`: A password stands in the address itself, or the variable that it names is not set.
    """
    match = _DSN.match(address)
    assert match is not None, "is_database looked"
    credentials = _PASSWORD.match(match["rest"])
    if re.search(r"[?&](password|pwd|passwd|token|secret)=", address, re.IGNORECASE):
        raise UsageError(
            "the address holds a password among its options: write user:$VARIABLE@host and set that variable"
        )
    if credentials is None or not credentials["password"]:
        return address, _public(address)
    variable = _VARIABLE.fullmatch(credentials["password"])
    if variable is None:
        raise UsageError(
            "the address holds a password, which would stay in your shell's history: write user:$VARIABLE@host in single quotes, and "
            "set that variable"
        )
    name = variable[1]
    if not environ.get(name):
        raise UsageError(f"the address takes its password from {name}, which is not set")
    filled = f"{credentials['user']}:{quote(environ[name], safe='')}@"
    return address.replace(credentials.group(0), filled, 1), _public(address)


def _public(address: str) -> str:
    scheme, _, host = address.partition("://")
    return f"{scheme}://{host.rpartition('@')[2].partition('?')[0]}"[:120]


async def read_query(
    where: str, query: str, *, environ: Mapping[str, str], seconds: float = SECONDS
) -> tuple[pd.DataFrame, str]:
    """Return the rows of a query and the public form of their origin.

    Raises `UsageError`: The query is none, the address holds a password, the database refuses, hangs, or gives too much.
    """
    duck = Path(where).suffix.lower() in _DUCKDB and "://" not in where
    if duck:
        path = Path(where).expanduser().resolve()
        if not path.is_file():
            raise UsageError(f"no file {where[:200]}")
        address, label, dialect = str(path), path.name, "duckdb"
    else:
        address, label = opened_address(where, environ)
        dialect = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}.get(
            name := address.partition("://")[0].partition("+")[0], name
        )
    text = check_query(query, dialect)
    pool = await asyncio.to_thread(process_pool, 1)
    try:
        future = await asyncio.to_thread(pool.submit, _rows_of, address, text, duck=duck, seconds=seconds)
        answer = await asyncio.wait_for(asyncio.wrap_future(future), seconds + 15)
    except TimeoutError:
        raise UsageError(f"{label} did not answer within {seconds:.0f} s: nothing was added") from None
    except Exception as error:  # of a driver, or of its process
        raise UsageError(f"{label} failed ({type(error).__name__}): nothing was added") from None
    finally:
        await asyncio.to_thread(pool.shutdown, wait=True, kill_workers=True)
    if isinstance(answer, str):
        raise UsageError(f"{label}: {_without_secret(answer, address, environ)}")
    return answer, label


def _without_secret(words: str, address: str, environ: Mapping[str, str]) -> str:
    words = words.replace(address, "the address")
    secret = _PASSWORD.match(address.partition("://")[2])
    if secret and secret["password"]:
        words = words.replace(secret["password"], "***")
    for value in environ.values():
        if len(value) >= 8 and value in words:
            words = words.replace(value, "***")
    return " ".join(words.split())[:200]


def _rows_of(address: str, query: str, *, duck: bool, seconds: float) -> Any:
    """Return a table, or the words of a failure; runs in its own process."""
    try:
        return _duckdb_rows(address, query) if duck else _database_rows(address, query, seconds)
    except ImportError as error:
        return f"needs the package {error.name}: install it (analyst-workbench[own] brings SQLAlchemy; drivers come apart)"
    except Exception as error:  # whatever a driver raises: its words go to the person, in one line
        return f"{type(error).__name__}: {str(getattr(error, 'orig', None) or error).splitlines()[0]}"


def _duckdb_rows(path: str, query: str) -> Any:
    import duckdb

    with duckdb.connect(path, read_only=True) as connection:
        # the query may read this database and no other file or address
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        frame = connection.execute(f"SELECT * FROM ({query}) LIMIT {MOST_ROWS + 1}").df()
    return _bounded(frame)


def _database_rows(address: str, query: str, seconds: float) -> Any:
    import pandas as pd
    from sqlalchemy import create_engine, text
    from sqlalchemy.pool import NullPool

    engine = create_engine(address, poolclass=NullPool)
    name = engine.dialect.name
    with engine.connect() as connection:
        if name == "postgresql":
            connection.execute(text("SET TRANSACTION READ ONLY"))
            connection.execute(text(f"SET LOCAL statement_timeout = {int(seconds * 1000)}"))
        elif name in ("mysql", "mariadb"):
            connection.execute(text("SET TRANSACTION READ ONLY"))
        elif name == "sqlite":
            connection.execute(text("PRAGMA query_only = ON"))
        chunks = pd.read_sql_query(text(query.replace(":", r"\:")), connection, chunksize=100_000)
        parts, count = [], 0
        for part in chunks:
            parts.append(part)
            count += len(part)
            if count > MOST_ROWS:
                break
        connection.rollback()
    engine.dispose()
    return _bounded(pd.concat(parts, ignore_index=True)) if parts else "the query gives no row"


def _bounded(frame: Any) -> Any:
    if len(frame) > MOST_ROWS or len(frame.columns) > MOST_COLUMNS:
        return (
            f"the query gives more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns: aggregate in the query"
        )
    return frame if len(frame) else "the query gives no row"
