"""The example driver over SQLite, broken in one or several ways: each must be found by `lydite driver test`, or by the
ledger of a run.

usage: broken.py KIND[,KIND]...
"""

import os
import sys
import time

EXAMPLES = os.path.join(os.environ["PYTHONPATH"], "examples")
sys.path.insert(0, EXAMPLES)

import lydite  # noqa: E402
import sqlite_driver  # noqa: E402

KINDS = sys.argv[1].split(",")


def is_broken(kind):
    return kind in KINDS


class Forgetful:
    """A connection that rolls back where it was to commit."""

    def __init__(self, db):
        self.db = db

    def execute(self, sql, *values):
        return self.db.execute("ROLLBACK" if sql == "COMMIT" else sql, *values)


class Unbegun:
    """A connection that begins no transaction, and takes its time."""

    def __init__(self, db):
        self.db = db

    def execute(self, sql, *values):
        time.sleep(0.001)
        return self.db.execute("SELECT 1" if sql in ("BEGIN", "COMMIT") else sql, *values)


class Broken(sqlite_driver.Database):
    guarantee = "none" if is_broken("promises_nothing") else "serializable"
    isolation = guarantee
    durable = is_broken("durable")

    def load_begin(self, w_id):
        if is_broken("keeps_old_unit"):
            self.db.execute("BEGIN IMMEDIATE")
        else:
            super().load_begin(w_id)

    def load_abort(self):
        if is_broken("keeps_old_unit"):
            self.db.execute("COMMIT")
        else:
            super().load_abort()

    def load(self, table, rows):
        if is_broken("loses_rows") and table == "customer":
            rows = rows[1:]
        if is_broken("cuts_text") and table == "stock":
            rows = [[*row[:-1], row[-1][:20]] for row in rows]
        super().load(table, rows)

    def note(self, name, value):
        if is_broken("forgets_end") and value == "ready":
            return
        if not is_broken("forgets_notes") or name == "state":
            super().note(name, value)

    def forgetting(self, kind, whether, transaction):
        """Plays a transaction, and acknowledges it without a commit if it is broken in this way."""
        if not (is_broken(kind) and whether):
            return transaction()
        db, self.db = self.db, Forgetful(self.db)
        try:
            return transaction()
        finally:
            self.db = db

    def new_order(self, order):
        return self.forgetting("forgets_orders", order.c_id % 5 == 0, lambda: self.place(order))

    def place(self, order):
        unused = [line for line in order.lines if line.i_id > 100_000]
        if is_broken("dirty") and unused:
            return self.dirty(order)
        if is_broken("commits_unused_item"):
            for line in unused:
                line.i_id = 1
        try:
            result = super().new_order(order)
        except lydite.RolledBack:
            if is_broken("leaves_trace"):
                self.db.execute("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = ? AND d_id = ?",
                                (order.w_id, order.d_id))
            raise
        if is_broken("float_money"):
            result.total = result.total / 100
        if is_broken("total_before_tax"):
            result.total = sum(line.amount for line in result.lines)
        return result

    def dirty(self, order):
        w, d = order.w_id, order.d_id
        (o_id,) = self.one("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d)
        self.db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL, ?, ?)", (o_id, d, w, order.c_id, 0, 0, 1))
        time.sleep(0.005)
        self.db.execute("DELETE FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", (w, d, o_id))
        last, credit = self.one("SELECT c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                                w, d, order.c_id)
        raise lydite.RolledBack(o_id, last, credit)

    def customer(self, w, d, who):
        if is_broken("first_of_a_name") and who.c_id is None:
            return self.one("SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? "
                            "ORDER BY c_first", w, d, who.c_last)[0]
        return super().customer(w, d, who)

    def payment(self, payment):
        if is_broken("pays_twice"):
            self.pay(payment)
        return self.forgetting("forgets_payments", payment.h_amount % 5 == 0, lambda: self.pay(payment))

    def pay(self, payment):
        if is_broken("overwrites") and payment.c_id is not None:
            key = (payment.c_w_id, payment.c_d_id, payment.c_id)
            (old,) = self.one("SELECT c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", *key)
            result = super().payment(payment)
            time.sleep(0.002)
            self.db.execute("UPDATE customer SET c_balance = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                            (old - payment.h_amount, *key))
            return result
        result = super().payment(payment)
        if is_broken("no_answer_field"):
            del result.c_data
        return result

    def order_status(self, query):
        db, self.db = self.db, Unbegun(self.db) if is_broken("no_snapshot") else self.db
        try:
            result = super().order_status(query)
        finally:
            self.db = db
        if is_broken("forgets_carrier"):
            result.carrier_id = None
        return result

    def delivery(self, delivery):
        if is_broken("crashes"):
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(7)
        delivered = self.forgetting("forgets_deliveries", delivery.o_carrier_id % 2 == 0,
                                    lambda: super(Broken, self).delivery(delivery))
        return delivered[:1] if is_broken("one_district") else delivered

    def stock_level(self, query):
        if is_broken("hangs"):
            time.sleep(1_000)
        low = super().stock_level(query)
        return low + 1 if is_broken("counts_too_many") else low


if is_broken("forgets_on_restart"):
    # A store that lives with its process, which so must serve all sessions.
    sqlite_driver.FILE += f".{os.getpid()}"
    lydite.serve(Broken, sessions=0)
else:
    lydite.serve(Broken)
