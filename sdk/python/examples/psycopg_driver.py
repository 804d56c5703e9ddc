#!/usr/bin/env python3
"""PostgreSQL, and what speaks like it, through psycopg 3: `psycopg_driver.py CONNECTION`, as psycopg reads it."""

import sys
from decimal import Decimal

import psycopg
from psycopg import errors

import lydite
from lydite import TABLES, micros, when

TYPES = {"int": "integer", "int?": "integer", "money": "numeric(12,2)", "rate": "numeric(4,4)", "text": "text",
         "time": "timestamp", "time?": "timestamp"}
SCHEMA = [
    f"CREATE TABLE {table.name} ("
    + ", ".join(f"{name} {TYPES[kind]}" for name, kind in table.columns)
    + (f", PRIMARY KEY ({', '.join(table.key)}))" if table.key else ")")
    for table in TABLES.values()
] + ["CREATE TABLE lydite_meta (name text PRIMARY KEY, value text)"]
INDEXES = {
    "customer_by_name": "customer (c_w_id, c_d_id, c_last, c_first)",
    "orders_by_customer": "orders (o_w_id, o_d_id, o_c_id, o_id)",
    "history_by_warehouse": "history (h_w_id)",
}
REASONS = [(errors.SerializationFailure, "serialization"), (errors.DeadlockDetected, "deadlock"),
           (errors.LockNotAvailable, "lock_timeout")]
ADDRESS = "{0}_street_1, {0}_street_2, {0}_city, {0}_state, {0}_zip"
STOCK = ("UPDATE stock SET s_quantity = CASE WHEN s_quantity >= %s + 10 THEN s_quantity - %s ELSE s_quantity - %s + 91 END, "
         "s_ytd = s_ytd + %s, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %s "
         "WHERE s_w_id = %s AND s_i_id = %s RETURNING s_quantity, s_dist_{0:02}, s_data")


def cents(amount):
    """An amount as the database gives it."""
    return int(amount * 100)


def rate(value):
    return int(value * 10_000)


def money(amount):
    return Decimal(amount).scaleb(-2)


OURS = {"money": cents, "rate": rate, "time": micros}
THEIRS = {"money": money, "rate": lambda value: Decimal(value).scaleb(-4), "time": when}


class Database(lydite.Driver):
    """A session, with a connection of its own."""

    name = "psycopg"
    guarantee = "optimistic"
    isolation = "repeatable read"

    def __init__(self, connection):
        self.db = psycopg.connect(connection, autocommit=True, prepare_threshold=2)
        self.db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self.version = f"{psycopg.__version__}, PostgreSQL {self.db.info.parameter_status('server_version')}"
        self.durable = self.one("SHOW fsync")[0] == "on" and self.one("SHOW synchronous_commit")[0] == "on"
        self.copy = None

    def one(self, sql, *values):
        """The only row, which must be there."""
        row = self.db.execute(sql, values).fetchone()
        if row is None:
            raise lydite.Fatal(f"no row: {sql} {values}: run lydite check")
        return row

    def begin(self):
        self.db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")

    def commit(self):
        self.db.execute("COMMIT")

    def rollback(self):
        if not self.db.closed and self.db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            self.db.rollback()

    # The tables.

    def tables(self):
        found = self.db.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
        names = {name for (name,) in found}
        return [name for name in TABLES if name in names]

    def create(self):
        for statement in SCHEMA:
            self.db.execute(statement)

    def drop(self):
        for name in [*TABLES, "lydite_meta"]:
            self.db.execute(f"DROP TABLE IF EXISTS {name} CASCADE")

    def notes(self):
        if self.one("SELECT to_regclass('lydite_meta')")[0] is None:
            return {}
        return dict(self.db.execute("SELECT name, value FROM lydite_meta").fetchall())

    def note(self, name, value):
        self.db.execute("INSERT INTO lydite_meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                        (name, value))

    # Loading: a warehouse is one transaction, so an interrupted one leaves nothing.

    def load_begin(self, w_id):
        self.begin()
        for table in TABLES.values():
            if w_id == 0 and table.name == "item":
                self.db.execute("DELETE FROM item")
            elif w_id > 0 and table.warehouse and self.one(f"SELECT EXISTS (SELECT FROM {table.name})")[0]:
                self.db.execute(f"DELETE FROM {table.name} WHERE {table.warehouse} = %s", (w_id,))

    def load(self, table, rows):
        converters = [THEIRS.get(kind.rstrip("?")) for _, kind in TABLES[table].columns]
        with self.db.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row([value if value is None or convert is None else convert(value)
                                for value, convert in zip(row, converters)])

    def load_end(self, w_id):
        self.commit()

    def finish_load(self):
        for name, what in INDEXES.items():
            lydite.alive(f"index {name}")
            self.db.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {what}")
        lydite.alive("statistics")
        self.db.execute("ANALYZE")

    # The transactions.

    def new_order(self, order):
        w, d, c = order.w_id, order.d_id, order.c_id
        self.begin()
        (w_tax,) = self.one("SELECT w_tax FROM warehouse WHERE w_id = %s", w)
        discount, last, credit = self.one(
            "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s", w, d, c)
        d_tax, o_id = self.one("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %s AND d_id = %s "
                               "RETURNING d_tax, d_next_o_id - 1", w, d)
        self.db.execute("INSERT INTO orders VALUES (%s, %s, %s, %s, %s, NULL, %s, %s)",
                        (o_id, d, w, c, when(order.now), len(order.lines), int(order.all_local)))
        self.db.execute("INSERT INTO new_order VALUES (%s, %s, %s)", (o_id, d, w))
        shown = {}
        # Always in the same order of stock, so that two orders do not wait for each other in a ring.
        for number, line in sorted(enumerate(order.lines), key=lambda each: (each[1].i_id > 100_000,
                                                                             each[1].supply_w_id, each[1].i_id)):
            item = self.db.execute("SELECT i_name, i_price, i_data FROM item WHERE i_id = %s", (line.i_id,)).fetchone()
            if item is None:
                self.rollback()
                raise lydite.RolledBack(o_id, last, credit)
            name, price, data = item
            left, info, s_data = self.one(STOCK.format(d), *[line.quantity] * 4, int(line.supply_w_id != w),
                                          line.supply_w_id, line.i_id)
            amount = cents(price) * line.quantity
            self.db.execute("INSERT INTO order_line VALUES (%s, %s, %s, %s, %s, %s, NULL, %s, %s, %s)",
                            (o_id, d, w, number + 1, line.i_id, line.supply_w_id, line.quantity, money(amount), info))
            brand = "ORIGINAL" in data and "ORIGINAL" in s_data
            shown[number] = lydite.NewOrderLine(name, left, brand, cents(price), amount)
        self.commit()
        lines = [shown[number] for number in range(len(order.lines))]
        rates = rate(discount), rate(w_tax), rate(d_tax)
        total = lydite.order_total((line.amount for line in lines), *rates)
        return lydite.NewOrderResult(o_id, order.now, last, credit, *rates, total, lines)

    def customer(self, w, d, who):
        """C_ID of the customer who is meant."""
        if who.c_id is not None:
            return who.c_id
        found = self.db.execute(
            "SELECT c_id FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_last = %s "
            'ORDER BY c_first COLLATE "C", c_id', (w, d, who.c_last)).fetchall()
        if not found:
            raise lydite.Fatal(f"no customer {who.c_last} in district {w}/{d}: run lydite check")
        return found[(len(found) + 1) // 2 - 1][0]

    def payment(self, payment):
        w, d, amount = payment.w_id, payment.d_id, money(payment.h_amount)
        self.begin()
        c = self.customer(payment.c_w_id, payment.c_d_id, payment)
        key = (payment.c_w_id, payment.c_d_id, c)
        row = self.one(
            "UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, "
            "c_payment_cnt = c_payment_cnt + 1, c_data = CASE c_credit WHEN 'BC' THEN left(%s || c_data, 500) ELSE c_data "
            "END WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s "
            f"RETURNING c_first, c_middle, c_last, {ADDRESS.format('c')}, c_phone, c_since, c_credit, c_credit_lim, "
            "c_discount, c_balance, left(c_data, 200)",
            amount, amount, f"{c} {key[1]} {key[0]} {d} {w} {amount}|", *key)
        first, middle, last = row[:3]
        phone, since, credit, limit, discount, balance, data = row[8:]
        d_name, *district = self.one(
            f"UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %s AND d_id = %s RETURNING d_name, "
            f"{ADDRESS.format('d')}", amount, w, d)
        w_name, *warehouse = self.one(
            f"UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %s RETURNING w_name, {ADDRESS.format('w')}", amount, w)
        self.db.execute("INSERT INTO history VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                        (c, key[1], key[0], d, w, when(payment.now), amount, f"{w_name}    {d_name}"))
        self.commit()
        return lydite.PaymentResult(
            payment.now, lydite.Address(*warehouse), lydite.Address(*district), c, first, middle, last,
            lydite.Address(*row[3:8]), phone, micros(since), credit, cents(limit), rate(discount), cents(balance),
            data if credit == "BC" else None)

    def order_status(self, query):
        w, d = query.w_id, query.d_id
        self.begin()
        c = self.customer(w, d, query)
        first, middle, last, balance = self.one(
            "SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
            w, d, c)
        o_id, entry_d, carrier = self.one(
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = %s AND o_d_id = %s AND o_c_id = %s "
            "ORDER BY o_id DESC LIMIT 1", w, d, c)
        found = self.db.execute(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "
            "WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id = %s ORDER BY ol_number", (w, d, o_id)).fetchall()
        self.commit()
        lines = [lydite.OrderStatusLine(item, supply, quantity, cents(amount), None if time is None else micros(time))
                 for item, supply, quantity, amount, time in found]
        return lydite.OrderStatusResult(c, first, middle, last, cents(balance), o_id, micros(entry_d), carrier, lines)

    def delivery(self, delivery):
        w, delivered = delivery.w_id, []
        self.begin()
        for d in range(1, 11):
            (o_id,) = self.one("SELECT min(no_o_id) FROM new_order WHERE no_w_id = %s AND no_d_id = %s", w, d)
            if o_id is None:
                continue
            key = (w, d, o_id)
            self.one("DELETE FROM new_order WHERE no_w_id = %s AND no_d_id = %s AND no_o_id = %s RETURNING 1", *key)
            (c,) = self.one("UPDATE orders SET o_carrier_id = %s WHERE o_w_id = %s AND o_d_id = %s AND o_id = %s "
                            "RETURNING o_c_id", delivery.o_carrier_id, *key)
            (amount,) = self.one(
                "WITH line AS (UPDATE order_line SET ol_delivery_d = %s WHERE ol_w_id = %s AND ol_d_id = %s "
                "AND ol_o_id = %s RETURNING ol_amount) SELECT sum(ol_amount) FROM line", when(delivery.now), *key)
            self.db.execute("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 "
                            "WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s", (amount, w, d, c))
            delivered.append((d, o_id))
        self.commit()
        return delivered

    def stock_level(self, query):
        w, d = query.w_id, query.d_id
        (low,) = self.one(
            "SELECT count(DISTINCT s_i_id) FROM district JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id "
            "AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20 JOIN stock ON s_w_id = ol_w_id "
            "AND s_i_id = ol_i_id WHERE d_w_id = %s AND d_id = %s AND s_quantity < %s", w, d, query.threshold)
        return low

    # Reading back.

    def snapshot(self):
        self.begin()

    def release(self):
        self.commit()

    def rows(self, table, w_id):
        converters = [OURS.get(kind.rstrip("?")) for _, kind in TABLES[table].columns]
        where = "" if w_id is None else f" WHERE {TABLES[table].warehouse} = {int(w_id)}"
        # A cursor of the server: else all rows would be fetched at once.
        with self.db.cursor(name="rows") as cursor:
            cursor.itersize = 2_000
            cursor.execute(f"SELECT * FROM {table}{where}")
            for row in cursor:
                yield [value if value is None or convert is None else convert(value)
                       for value, convert in zip(row, converters)]

    def explain(self, error):
        for kind, reason in REASONS:
            if isinstance(error, kind):
                return lydite.Aborted(reason, f"{error.sqlstate}: {error}")
        if isinstance(error, psycopg.OperationalError) and self.db.closed:
            return lydite.Unavailable(str(error))
        return None

    def close(self):
        self.db.close()


if __name__ == "__main__":
    lydite.serve(lambda: Database(" ".join(sys.argv[1:])))
