"""A driver in py-tpcc's folders: a module of a package that returns bare values, with the fork's own `constants`, `util` and
`abstractdriver`. It makes its tables only when it is reset, and leaves the commit of them to the load."""

import os
import sqlite3

import constants
import drivers
from util import tables

# The statements are those of the packaged driver.
drivers.__path__.append(os.path.join(os.path.dirname(__file__), "..", ".."))
from drivers.packageddriver import COLUMNS, INDEXES, PackagedDriver  # noqa: E402

assert constants.MODE == 0o644


class ForkedDriver(PackagedDriver):
    def __init__(self, ddl):
        super().__init__(ddl)
        self.name = "forked"

    def loadConfig(self, config):
        self.client = sqlite3.connect(config["database"], timeout=60, isolation_level=None)
        if config["reset"]:
            self.client.execute("PRAGMA journal_mode = WAL")
            self.client.execute("BEGIN IMMEDIATE")
            for table, columns in tables.each(COLUMNS):
                self.client.execute(f"DROP TABLE IF EXISTS {table}")
                self.client.execute(f"CREATE TABLE {table} ({columns})")
            for number, index in enumerate(INDEXES):
                self.client.execute(f"CREATE INDEX I{number} ON {index}")

    def executeTransaction(self, txn, params):
        value, _ = super().executeTransaction(txn, params)
        return value
