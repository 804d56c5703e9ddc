"""The example store over SQLite, whose commit is made and then stumbles, now and then."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["PYTHONPATH"], "examples"))

import lydite  # noqa: E402
import sqlite_kv  # noqa: E402


class Forgetful(sqlite_kv.Store):
    #: Of all sessions: so two of them are hardly ever away at the same time, as all must not be at the end of a run.
    writes = 0

    def begin(self, access):
        super().begin(access)
        Forgetful.writes += access == "write"
        self.stumbles = access == "write" and Forgetful.writes % 40 == 0

    def commit(self):
        super().commit()
        if self.stumbles:
            raise KeyError("what was I about to say?")


lydite.serve(Forgetful)
