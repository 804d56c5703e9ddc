#!/usr/bin/env python3
"""A driver that plays the five transactions, on an SQLite file. Replace the statements by those of your database."""

import os
import sqlite3

import lydite
from lydite import TABLES

#: Beside this program, unless the environment says otherwise.
FILE = os.environ.get("STORE_FILE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "store.sqlite"))

#: How long a transaction may wait for a lock, in seconds: less than Lydite waits for an answer.
TIMEOUT = 50
NAMES = [*TABLES, "lydite_meta"]
SCHEMA = [
    f"CREATE TABLE {table.name} ("
    + ", ".join(f"{name} {'TEXT' if kind == 'text' else 'INTEGER'}" for name, kind in table.columns)
    + (f", PRIMARY KEY ({', '.join(table.key)})) WITHOUT ROWID" if table.key else ")")
    for table in TABLES.values()
] + [
    "CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
    "CREATE INDEX history_by_warehouse ON history (h_w_id)",
    "CREATE TABLE lydite_meta (name TEXT PRIMARY KEY, value TEXT)",
]
ADDRESS = "{0}_street_1, {0}_street_2, {0}_city, {0}_state, {0}_zip"


class Database(lydite.Driver):
    """A session, with a connection of its own. SQLite has no decimals: amounts are stored as they come, in cents."""

    name = "sqlite"
    version = sqlite3.sqlite_version
    guarantee = "serializable"
    isolation = "serializable"

    def __init__(self):
        # Not committed as in Python's own way, which begins transactions by itself.
        self.db = sqlite3.connect(FILE, timeout=TIMEOUT, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")

    def patiently(self, sql, *values):
        """Writes when the other session that loads is done: it holds SQLite's only lock for a whole warehouse."""
        self.db.execute("PRAGMA busy_timeout = 500")
        while True:
            try:
                self.db.execute(sql, values)
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                lydite.alive("waiting for another session")
        self.db.execute(f"PRAGMA busy_timeout = {TIMEOUT * 1_000}")

    def one(self, sql, *values):
        """The only row, which must be there."""
        row = self.db.execute(sql, values).fetchone()
        if row is None:
            raise lydite.Fatal(f"no row: {sql} {values}: run lydite check")
        return row

    # The tables.

    def tables(self):
        found = {name for (name,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return [name for name in TABLES if name in found]

    def create(self):
        for statement in SCHEMA:
            self.db.execute(statement)

    def drop(self):
        for name in NAMES:
            self.db.execute(f"DROP TABLE IF EXISTS {name}")

    def notes(self):
        there = self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'lydite_meta'").fetchone()
        return dict(self.db.execute("SELECT name, value FROM lydite_meta")) if there else {}

    def note(self, name, value):
        self.patiently("INSERT OR REPLACE INTO lydite_meta VALUES (?, ?)", name, value)

    # Loading: a warehouse is one transaction, so an interrupted one leaves nothing.

    def load_begin(self, w_id):
        self.patiently("BEGIN IMMEDIATE")
        for table in TABLES.values():
            if w_id == 0 and table.name == "item":
                self.db.execute("DELETE FROM item")
            elif w_id > 0 and table.warehouse:
                self.db.execute(f"DELETE FROM {table.name} WHERE {table.warehouse} = ?", (w_id,))

    def load(self, table, rows):
        marks = ", ".join("?" * len(TABLES[table].columns))
        self.db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def load_end(self, w_id):
        self.db.execute("COMMIT")

    def finish_load(self):
        lydite.alive("statistics")
        self.db.execute("ANALYZE")

    # The transactions.

    def new_order(self, order):
        w, d, c = order.w_id, order.d_id, order.c_id
        self.db.execute("BEGIN IMMEDIATE")
        (w_tax,) = self.one("SELECT w_tax FROM warehouse WHERE w_id = ?", w)
        c_discount, c_last, c_credit = self.one(
            "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", w, d, c)
        d_tax, o_id = self.one("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d)
        self.db.execute("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?", (w, d))
        self.db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL, ?, ?)",
                        (o_id, d, w, c, order.now, len(order.lines), int(order.all_local)))
        self.db.execute("INSERT INTO new_order VALUES (?, ?, ?)", (o_id, d, w))
        lines = []
        for number, line in enumerate(order.lines, 1):
            item = self.db.execute("SELECT i_name, i_price, i_data FROM item WHERE i_id = ?", (line.i_id,)).fetchone()
            if item is None:
                self.db.execute("ROLLBACK")
                raise lydite.RolledBack(o_id, c_last, c_credit)
            i_name, i_price, i_data = item
            quantity, info, s_data = self.one(
                f"SELECT s_quantity, s_dist_{d:02}, s_data FROM stock WHERE s_w_id = ? AND s_i_id = ?",
                line.supply_w_id, line.i_id)
            left = quantity - line.quantity if quantity >= line.quantity + 10 else quantity - line.quantity + 91
            self.db.execute(
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, "
                "s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
                (left, line.quantity, int(line.supply_w_id != w), line.supply_w_id, line.i_id))
            amount = i_price * line.quantity
            self.db.execute("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
                            (o_id, d, w, number, line.i_id, line.supply_w_id, line.quantity, amount, info))
            brand = "ORIGINAL" in i_data and "ORIGINAL" in s_data
            lines.append(lydite.NewOrderLine(i_name, left, brand, i_price, amount))
        self.db.execute("COMMIT")
        total = lydite.order_total((line.amount for line in lines), c_discount, w_tax, d_tax)
        return lydite.NewOrderResult(o_id, order.now, c_last, c_credit, c_discount, w_tax, d_tax, total, lines)

    def customer(self, w, d, who):
        """C_ID of the customer who is meant."""
        if who.c_id is not None:
            return who.c_id
        found = self.db.execute(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first, c_id",
            (w, d, who.c_last)).fetchall()
        if not found:
            raise lydite.Fatal(f"no customer {who.c_last} in district {w}/{d}: run lydite check")
        return found[(len(found) + 1) // 2 - 1][0]

    def payment(self, payment):
        w, d, amount = payment.w_id, payment.d_id, payment.h_amount
        self.db.execute("BEGIN IMMEDIATE")
        c = self.customer(payment.c_w_id, payment.c_d_id, payment)
        key = (payment.c_w_id, payment.c_d_id, c)
        self.db.execute(
            "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, "
            "c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", (amount, amount, *key))
        row = self.one(
            f"SELECT c_first, c_middle, c_last, {ADDRESS.format('c')}, c_phone, c_since, c_credit, c_credit_lim, "
            "c_discount, c_balance, c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", *key)
        first, middle, last = row[:3]
        phone, since, credit, limit, discount, balance, data = row[8:]
        shown = None
        if credit == "BC":
            entry = f"{c} {key[1]} {key[0]} {d} {w} {amount // 100}.{amount % 100:02}|"
            data = (entry + data)[:500]
            shown = data[:200]
            self.db.execute("UPDATE customer SET c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", (data, *key))
        self.db.execute("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", (amount, w, d))
        d_name, *district = self.one(
            f"SELECT d_name, {ADDRESS.format('d')} FROM district WHERE d_w_id = ? AND d_id = ?", w, d)
        self.db.execute("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", (amount, w))
        w_name, *warehouse = self.one(f"SELECT w_name, {ADDRESS.format('w')} FROM warehouse WHERE w_id = ?", w)
        self.db.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (c, key[1], key[0], d, w, payment.now, amount, f"{w_name}    {d_name}"))
        self.db.execute("COMMIT")
        return lydite.PaymentResult(
            payment.now, lydite.Address(*warehouse), lydite.Address(*district), c, first, middle, last,
            lydite.Address(*row[3:8]), phone, since, credit, limit, discount, balance, shown)

    def order_status(self, query):
        w, d = query.w_id, query.d_id
        self.db.execute("BEGIN")
        c = self.customer(w, d, query)
        first, middle, last, balance = self.one(
            "SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            w, d, c)
        o_id, entry_d, carrier = self.one(
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? "
            "ORDER BY o_id DESC LIMIT 1", w, d, c)
        lines = [
            lydite.OrderStatusLine(*row)
            for row in self.db.execute(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "
                "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? ORDER BY ol_number", (w, d, o_id))
        ]
        self.db.execute("COMMIT")
        return lydite.OrderStatusResult(c, first, middle, last, balance, o_id, entry_d, carrier, lines)

    def delivery(self, delivery):
        w, delivered = delivery.w_id, []
        self.db.execute("BEGIN IMMEDIATE")
        for d in range(1, 11):
            (o_id,) = self.one("SELECT min(no_o_id) FROM new_order WHERE no_w_id = ? AND no_d_id = ?", w, d)
            if o_id is None:
                continue
            key = (w, d, o_id)
            self.db.execute("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", key)
            (c,) = self.one("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", *key)
            self.db.execute("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                            (delivery.o_carrier_id, *key))
            self.db.execute("UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                            (delivery.now, *key))
            (amount,) = self.one(
                "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", *key)
            self.db.execute(
                "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 "
                "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", (amount, w, d, c))
            delivered.append((d, o_id))
        self.db.execute("COMMIT")
        return delivered

    def stock_level(self, query):
        w, d = query.w_id, query.d_id
        (low,) = self.one(
            "SELECT count(DISTINCT s_i_id) FROM district, order_line, stock WHERE d_w_id = ? AND d_id = ? "
            "AND ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20 "
            "AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < ?", w, d, query.threshold)
        return low

    def rollback(self):
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    # Reading back.

    def snapshot(self):
        self.db.execute("BEGIN")

    def release(self):
        self.db.execute("COMMIT")

    def rows(self, table, w_id):
        if w_id is None:
            return self.db.execute(f"SELECT * FROM {table}")
        return self.db.execute(f"SELECT * FROM {table} WHERE {TABLES[table].warehouse} = ?", (w_id,))

    def explain(self, error):
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return lydite.Aborted("lock_timeout", str(error))
        return None


if __name__ == "__main__":
    lydite.serve(Database)
