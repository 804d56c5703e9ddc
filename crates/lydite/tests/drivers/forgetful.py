"""The example store over SQLite, whose commit is made and then stumbles, now and then."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["PYTHONPATH"], "examples"))

import lydite  # noqa: E402
import sqlite_kv  # noqa: E402


class Forgetful(sqlite_kv.Store):
    writes = 0

    def begin(self, access):
        super().begin(access)
        self.writes += access == "write"
        self.stumbles = access == "write" and self.writes % 20 == 0

    def commit(self):
        super().commit()
        if self.stumbles:
            raise KeyError("what was I about to say?")


lydite.serve(Forgetful)
