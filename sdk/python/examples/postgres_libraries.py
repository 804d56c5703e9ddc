#!/usr/bin/env python3
"""PostgreSQL through psycopg2, SQLAlchemy or asyncpg: `postgres_libraries.py LIBRARY KEY=VALUE…`.

Tables, statements and transactions are those of `psycopg_driver.py`, with one round trip for each statement; BEGIN and
COMMIT are statements too. Only the calls of the library differ, so a comparison shows what each library costs:

- `psycopg2` writes the values into the text of a statement and prepares nothing, so the server parses and plans every
  statement anew.
- `sqlalchemy` is SQLAlchemy's Core over psycopg 3, without the ORM and without expressions. Statements are `text()`
  with bound parameters. The isolation level is AUTOCOMMIT, so SQLAlchemy sends no BEGIN and COMMIT of its own. psycopg
  is configured as in `psycopg_driver.py`: the difference between the two is SQLAlchemy's share.
- `asyncpg` speaks PostgreSQL's protocol itself and prepares each statement when it runs for the first time. The
  transactions are no coroutines, so each call runs the event loop until its answer is there. That is part of the cost.

All of them need psycopg 3 too: `pip install 'psycopg[binary]' psycopg2-binary sqlalchemy asyncpg './sdk/python[fast]'`.
KEY=VALUE is a parameter of libpq. asyncpg knows the common ones and sends all others to the server as settings.
"""

import asyncio
import functools
import importlib
import io
import itertools
import re
import sys
import urllib.parse

# First, because it says what to install if psycopg or the SDK is missing.
from psycopg_driver import Database  # isort: skip

import lydite
from psycopg.conninfo import conninfo_to_dict

#: Characters with a meaning in COPY's text format.
ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def copy_text(rows):
    """Rows in COPY's text format."""
    return "".join("\t".join(r"\N" if value is None else str(value).translate(ESCAPES) for value in row) + "\n"
                   for row in rows)


@functools.lru_cache(maxsize=None)
def numbered(sql, prefix):
    """The statement with a numbered placeholder in place of each `%s`."""
    number = itertools.count(1)
    return re.sub("%s", lambda _: f"{prefix}{next(number)}", sql)


class Psycopg2(Database):
    name = "psycopg2"

    def connect(self):
        import psycopg2

        self.library = psycopg2.__version__.split()[0]
        self.db = psycopg2.connect(self.connection)
        self.db.autocommit = True

    def run(self, sql, values):
        cursor = self.db.cursor()
        cursor.execute(sql, values)
        return cursor

    def undo(self):
        from psycopg2.extensions import TRANSACTION_STATUS_IDLE

        # The connection's `rollback` does nothing in autocommit mode, although a BEGIN was sent.
        if self.db.info.transaction_status != TRANSACTION_STATUS_IDLE:
            self.execute("ROLLBACK")

    def copy(self, table, rows):
        with self.db.cursor() as cursor:
            cursor.copy_expert(f"COPY {table} FROM STDIN", io.StringIO(copy_text(rows)))

    def read(self, sql):
        # In autocommit mode psycopg2 rejects other cursors of the server. This one is closed before the transaction
        # ends, so the server need not keep its rows.
        with self.db.cursor(name="rows", withhold=True) as cursor:
            cursor.itersize = 2_000
            cursor.execute(sql)
            yield from cursor

    def sqlstate(self, error):
        return getattr(error, "pgcode", None)


class SqlAlchemy(Database):
    """`core` is SQLAlchemy's connection; `db` is the psycopg connection below it, and loads and reads whole tables."""

    name = "sqlalchemy"

    def connect(self):
        import sqlalchemy

        super().connect()
        self.sqlalchemy = sqlalchemy
        self.library = f"{sqlalchemy.__version__} over psycopg {Database.library}"
        engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: self.db,
                                          isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
        self.core = engine.connect()
        self.texts = {}

    def run(self, sql, values):
        text = self.texts.get(sql)
        if text is None:
            text = self.texts[sql] = self.sqlalchemy.text(numbered(sql, ":v"))
        try:
            return self.core.execute(text, {f"v{number}": value for number, value in enumerate(values, 1)})
        except self.sqlalchemy.exc.DBAPIError as error:
            # psycopg's error, which has the SQLSTATE.
            raise error.orig from None


class Asyncpg(Database):
    name = "asyncpg"

    def __init__(self, connection):
        self.loop = asyncio.new_event_loop()
        super().__init__(connection)

    def wait(self, call):
        return self.loop.run_until_complete(call)

    def connect(self):
        import asyncpg

        self.library = asyncpg.__version__
        parameters = urllib.parse.urlencode(conninfo_to_dict(self.connection))
        self.db = self.wait(asyncpg.connect(f"postgresql://?{parameters}"))

    def closed(self):
        return self.db.is_closed()

    def fetch(self, sql, *values):
        return self.wait(self.db.fetch(numbered(sql, "$"), *values))

    def execute(self, sql, *values):
        status = self.wait(self.db.execute(numbered(sql, "$"), *values))
        # As "UPDATE 1" or "BEGIN".
        count = status.split()[-1]
        return int(count) if count.isdigit() else -1

    def undo(self):
        if self.db.is_in_transaction():
            self.execute("ROLLBACK")

    def copy(self, table, rows):
        self.wait(self.db.copy_records_to_table(table, records=rows))

    def read(self, sql):
        # asyncpg's own cursors need a transaction that asyncpg began. CLOSE ALL ends a read that was stopped early.
        self.execute("CLOSE ALL")
        self.execute(f"DECLARE reading NO SCROLL CURSOR FOR {sql}")
        # Not from asyncpg's cache, because the columns differ from table to table.
        batches = self.wait(self.db.prepare("FETCH 2000 FROM reading"))
        while batch := self.wait(batches.fetch()):
            yield from batch

    def explain(self, error):
        import asyncpg

        if isinstance(error, asyncpg.InternalClientError):
            # "cannot switch to state …": the server ended the connection between two calls.
            self.db.terminate()
        return super().explain(error)

    def close(self):
        # Unlike its `close`, this fails in no state of the connection.
        self.db.terminate()


#: Driver and package of each library.
LIBRARIES = {
    "psycopg2": (Psycopg2, "psycopg2-binary"),
    "sqlalchemy": (SqlAlchemy, "sqlalchemy"),
    "asyncpg": (Asyncpg, "asyncpg"),
}


def main(library="", *connection):
    library = library.lower()
    if library not in LIBRARIES:
        wrong = f"unknown library {library!r}" if library else "the library is missing"
        sys.exit(f"{wrong}: use psycopg2, sqlalchemy or asyncpg, as in: "
                 "postgres_libraries.py asyncpg host=localhost user=postgres dbname=tpcc")
    driver, package = LIBRARIES[library]
    try:
        importlib.import_module(library)
    except ImportError as error:
        sys.exit(f"{library} is not installed ({error}): pip install {package}")
    lydite.serve(lambda: driver(" ".join(connection)))


if __name__ == "__main__":
    main(*sys.argv[1:])
