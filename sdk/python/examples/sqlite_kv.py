#!/usr/bin/env python3
"""A key-value driver: one table of an SQLite file. Replace the bodies of the functions by calls of your store."""

import os
import sqlite3

import lydite

#: Beside this program, unless the environment says otherwise.
FILE = os.environ.get("STORE_FILE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "store.sqlite"))


class Store(lydite.KeyValue):
    """A session, with a connection of its own."""

    name = "sqlite-kv"
    version = sqlite3.sqlite_version
    guarantee = "serializable"
    isolation = "serializable"

    def __init__(self):
        # Not committed as in Python's own way, which begins transactions by itself. A transaction may wait so many seconds
        # for a lock: less than Lydite waits for an answer.
        self.db = sqlite3.connect(FILE, timeout=50, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute("CREATE TABLE IF NOT EXISTS entry (t TEXT, k BLOB, v BLOB, PRIMARY KEY (t, k)) WITHOUT ROWID")

    def begin(self, access):
        # A transaction that will write takes the lock at once; one that reads has its snapshot.
        self.db.execute("BEGIN" if access == "read" else "BEGIN IMMEDIATE")

    def get(self, table, key):
        row = self.db.execute("SELECT v FROM entry WHERE t = ? AND k = ?", (table, key)).fetchone()
        return None if row is None else row[0]

    def put(self, table, key, value):
        self.db.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", (table, key, value))

    def delete(self, table, key):
        self.db.execute("DELETE FROM entry WHERE t = ? AND k = ?", (table, key))

    def scan(self, table, start, end, limit, backward):
        order = "DESC" if backward else "ASC"
        if end is None:
            sql, values = f"k >= ? ORDER BY k {order} LIMIT ?", (table, start, limit)
        else:
            sql, values = f"k >= ? AND k < ? ORDER BY k {order} LIMIT ?", (table, start, end, limit)
        return self.db.execute(f"SELECT k, v FROM entry WHERE t = ? AND {sql}", values)

    def commit(self):
        self.db.execute("COMMIT")

    def abort(self):
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    # These two are for speed only.

    def clear(self, table):
        self.db.execute("DELETE FROM entry WHERE t = ?", (table,))

    def write(self, writes):
        if all(value is not None for _, _, value in writes):
            self.db.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", writes)
        else:
            super().write(writes)

    def explain(self, error):
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return lydite.Aborted("lock_timeout", str(error))
        return None


if __name__ == "__main__":
    lydite.serve(Store)
