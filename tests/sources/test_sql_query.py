"""One SELECT out of a database: read-only, in time, with a password that is shown and stored nowhere."""

import sqlite3
from pathlib import Path

import duckdb
import pytest

from proxies.vendors.own.own_manifest import own_folder
from workbench.errors import UsageError
from workbench.sources.own_store import store_source
from workbench.sources.source_origin import open_source
from workbench.sources.sql_query import check_query, is_database, opened_address, read_query

SAID = {"date": "day", "lag": "1d"}


def duck(folder: Path) -> Path:
    path = folder / "house.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE OR REPLACE TABLE orders AS SELECT d::DATE AS day, 2.5 AS v FROM range(DATE '2018-01-01', DATE '2018-02-01', INTERVAL 1 DAY) t(d)")  # fmt: skip
    return path


@pytest.mark.parametrize(
    "query",
    [
        "SELECT day, v FROM orders",
        "WITH a AS (SELECT * FROM orders) SELECT day, v FROM a WHERE v > 1;",
        "SELECT 1 UNION ALL SELECT 2",
        "SELECT 'drop table orders' AS words",
    ],
)
def test_a_single_select_is_taken(query: str) -> None:
    assert check_query(query, "duckdb")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "say what to read"),
        ("DELETE FROM orders", "no SELECT"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1; DROP TABLE orders", "2 statements"),
        ("WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone", "writes"),
        ("SELECT * INTO copy FROM orders", "writes"),
        ("COPY orders TO '/tmp/x'", "no SELECT"),
        ("PRAGMA query_only = OFF", "no SELECT"),
        ("ATTACH '/tmp/x' AS x", "cannot be parsed"),
        ("SELECT FROM WHERE (", "cannot be parsed"),
    ],
)
def test_a_query_that_writes_or_is_several_is_refused(query: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_query(query, "postgres")


async def test_rows_of_a_duckdb_file_become_a_source(tmp_path: Path) -> None:
    new = await open_source(
        tmp_path, "orders", duck(tmp_path), SAID, environ={}, query="SELECT day, v FROM orders"
    )
    assert store_source(tmp_path, new).rows == 31 and new.manifest.origin == "house.duckdb"


async def test_a_query_reads_no_other_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("day,v\n2018-01-01,1\n")
    for query in (f"SELECT * FROM read_csv('{secret}')", f"SELECT * FROM '{secret}'"):
        with pytest.raises(UsageError, match=r"house\.duckdb"):
            await open_source(tmp_path, "orders", duck(tmp_path), SAID, environ={}, query=query)
    assert not own_folder(tmp_path).exists()


async def test_rows_come_through_sqlalchemy_and_a_write_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "house.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE orders (day TEXT, v REAL)")
        db.executemany("INSERT INTO orders VALUES (?, ?)", [(f"2018-01-{n:02d}", n) for n in range(1, 9)])
    frame, shown = await read_query(f"sqlite:///{path}", "SELECT day, v FROM orders WHERE day > '2018-01-02'", environ={})  # fmt: skip
    assert len(frame) == 6 and "sqlite" in shown


async def test_a_database_that_hangs_is_left(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS v FROM t"
    path = tmp_path / "house.sqlite"
    sqlite3.connect(path).close()
    with pytest.raises(UsageError, match="did not answer within"):
        await read_query(f"sqlite:///{path}", endless, environ={}, seconds=-13)


def test_a_password_is_taken_from_a_variable_alone() -> None:
    assert opened_address("postgresql://me:$DB_WORD@host/db", {"DB_WORD": "s3cret@1"}) == (
        "postgresql://me:s3cret%401@host/db",
        "postgresql://host/db",
    )
    for address in ("postgresql://me:s3cret@host/db", "postgresql://host/db?password=s3cret"):
        with pytest.raises(UsageError, match="password") as caught:
            opened_address(address, {})
        assert "s3cret" not in str(caught.value)
    with pytest.raises(UsageError, match="DB_WORD, which is not set"):
        opened_address("postgresql://me:$DB_WORD@host/db", {})


async def test_a_driver_that_quotes_the_password_does_not_show_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        await read_query("sqlite://me:$DB_WORD@host/none", "SELECT 1", environ={"DB_WORD": "sesame-open"})
    assert "sesame" not in str(caught.value)


def test_files_of_rows_are_no_databases() -> None:
    assert is_database("postgresql://u@h/d") and is_database("x.duckdb")
    assert not is_database("orders.csv") and not is_database("https://example.com/x.csv")
