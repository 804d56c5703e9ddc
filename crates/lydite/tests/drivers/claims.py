"""A store in memory, with a log in a file, that keeps what it declares or breaks it in one way.

usage: claims.py GIVES [DECLARES]

GIVES: serializable, snapshot, no-reader-snapshot (readers see the latest commit), no-phantoms (ranges are not checked),
read-committed, dirty; or serializable with a log that is never written (never-flushes), at every tenth commit
(flushes-seldom), or without every fifth commit (loses-some).
DECLARES: GUARANTEE/ISOLATION, or GUARANTEE/ISOLATION/durable; by default serializable/serializable.
"""

import bisect
import os
import pickle
import sys
import threading

import lydite

GIVES = sys.argv[1]
GUARANTEE, ISOLATION, *DURABLE = (sys.argv[2] if len(sys.argv) > 2 else "serializable/serializable").split("/")
LOG = open(os.environ["STORE_FILE"], "a+b", buffering=0)

lock = threading.RLock()
keys = {}  # of each table, in their order
versions = {}  # of each table and key: the numbers of their commits, and their values
commits = 0
waiting = b""  # for the log


def apply(writes):
    """Adds a commit."""
    global commits
    commits += 1
    for (table, key), value in writes.items():
        of_key = versions.get((table, key))
        if of_key is None:
            of_key = versions[table, key] = ([], [])
            bisect.insort(keys.setdefault(table, []), key)
        of_key[0].append(commits)
        of_key[1].append(value)


def save(writes):
    global waiting
    record = pickle.dumps(writes)
    if GIVES == "loses-some" and commits % 5 == 0 and len(writes) < 1_000:
        return
    waiting += record
    if GIVES == "never-flushes" or (GIVES == "flushes-seldom" and commits % 10 != 0):
        return
    LOG.write(waiting)
    waiting = b""


def changed(key, since):
    of_key = versions.get(key)
    return of_key is not None and of_key[0][-1] > since


class Store(lydite.KeyValue):
    name = "claims"
    version = "1"
    guarantee = GUARANTEE
    isolation = ISOLATION
    durable = bool(DURABLE)

    def begin(self, access):
        with lock:
            latest = access == "load" or GIVES in ("read-committed", "dirty")
            latest = latest or (GIVES == "no-reader-snapshot" and access == "read")
            self.snapshot = None if latest else commits
            self.access, self.writes, self.read, self.ranges = access, {}, set(), []
            self.undo = {}

    def at(self, key):
        """The value of a key that is not written by this transaction."""
        numbers, values = versions.get(key, ((), ()))
        count = len(numbers) if self.snapshot is None else bisect.bisect_right(numbers, self.snapshot)
        return values[count - 1] if count else None

    def get(self, table, key):
        with lock:
            self.read.add((table, key))
            return self.writes[table, key] if (table, key) in self.writes else self.at((table, key))

    def put(self, table, key, value):
        with lock:
            if GIVES == "dirty" and self.access == "write":
                self.undo.setdefault((table, key), self.at((table, key)))
                apply({(table, key): value})
            self.writes[table, key] = value

    def delete(self, table, key):
        self.put(table, key, None)

    def scan(self, table, start, end, limit, backward):
        with lock:
            self.ranges.append((table, start, end))
            of_table = sorted({*self.within(table, start, end), *self.own(table, start, end)}, reverse=backward)
            found = []
            for key in of_table:
                value = self.writes[table, key] if (table, key) in self.writes else self.at((table, key))
                if value is not None:
                    found.append((key, value))
                    if len(found) == limit:
                        break
            return found

    def within(self, table, start, end):
        of_table = keys.get(table, [])
        first = bisect.bisect_left(of_table, start)
        return of_table[first:len(of_table) if end is None else bisect.bisect_left(of_table, end)]

    def own(self, table, start, end):
        return [key for of, key in self.writes if of == table and key >= start and (end is None or key < end)]

    def collides(self):
        if self.snapshot is None or not self.writes:
            return False
        checked = set(self.writes)
        if GIVES != "snapshot":
            checked |= self.read
            if GIVES != "no-phantoms":
                for table, start, end in self.ranges:
                    checked |= {(table, key) for key in self.within(table, start, end)}
        return any(changed(key, self.snapshot) for key in checked)

    def commit(self):
        with lock:
            if self.collides():
                self.writes = {}
                raise lydite.Aborted("serialization", "another commit came first")
            if self.writes:
                if not (GIVES == "dirty" and self.access == "write"):
                    apply(self.writes)
                save(self.writes)
            self.writes, self.undo = {}, {}

    def abort(self):
        with lock:
            if self.undo:
                apply(self.undo)
            self.writes, self.undo = {}, {}


LOG.seek(0)
while True:
    try:
        apply(pickle.load(LOG))
    except EOFError:
        break
lydite.serve(Store, sessions=0)
