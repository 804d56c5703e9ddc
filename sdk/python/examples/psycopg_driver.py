#!/usr/bin/env python3
"""PostgreSQL, and what speaks like it, through psycopg 3: `psycopg_driver.py CONNECTION`, as psycopg reads it."""

import os
import sys
from datetime import timezone
from decimal import Decimal

try:
    import psycopg

    import lydite
    from lydite import TABLES, micros, when
except ImportError as missing:
    sys.exit(f"psycopg 3 and Lydite's SDK are needed ({str(missing).splitlines()[0]}): "
             "pip install 'psycopg[binary]' './sdk/python[fast]'")

# As in Lydite's own client, this one comes first.
if os.environ.get("LYDITE_PASSWORD"):
    os.environ["PGPASSWORD"] = os.environ["LYDITE_PASSWORD"]

#: Tables, indexes and statements are those of Lydite's own client (postgres:// with foreign_keys=off), so that the two
#: can be compared.
SCHEMA = """
CREATE TABLE item (i_id integer NOT NULL, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
    i_price numeric(5, 2) NOT NULL, i_data varchar(50) NOT NULL);
CREATE TABLE warehouse (w_id integer NOT NULL, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
    w_tax numeric(4, 4) NOT NULL, w_ytd numeric(12, 2) NOT NULL) WITH (fillfactor = 10);
CREATE TABLE district (d_id smallint NOT NULL, d_w_id integer NOT NULL, d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
    d_state char(2) NOT NULL, d_zip char(9) NOT NULL, d_tax numeric(4, 4) NOT NULL, d_ytd numeric(12, 2) NOT NULL,
    d_next_o_id integer NOT NULL) WITH (fillfactor = 10);
CREATE TABLE customer (c_id integer NOT NULL, c_d_id smallint NOT NULL, c_w_id integer NOT NULL,
    c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL,
    c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL,
    c_state char(2) NOT NULL, c_zip char(9) NOT NULL, c_phone char(16) NOT NULL, c_since timestamptz NOT NULL,
    c_credit char(2) NOT NULL, c_credit_lim numeric(12, 2) NOT NULL, c_discount numeric(4, 4) NOT NULL,
    c_balance numeric(12, 2) NOT NULL, c_ytd_payment numeric(12, 2) NOT NULL, c_payment_cnt integer NOT NULL,
    c_delivery_cnt integer NOT NULL, c_data varchar(500) NOT NULL) WITH (fillfactor = 85);
CREATE TABLE history (h_c_id integer NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id integer NOT NULL,
    h_d_id smallint NOT NULL, h_w_id integer NOT NULL, h_date timestamptz NOT NULL, h_amount numeric(6, 2) NOT NULL,
    h_data varchar(24) NOT NULL);
CREATE TABLE orders (o_id integer NOT NULL, o_d_id smallint NOT NULL, o_w_id integer NOT NULL, o_c_id integer NOT NULL,
    o_entry_d timestamptz NOT NULL, o_carrier_id smallint, o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL);
CREATE TABLE new_order (no_o_id integer NOT NULL, no_d_id smallint NOT NULL, no_w_id integer NOT NULL);
CREATE TABLE order_line (ol_o_id integer NOT NULL, ol_d_id smallint NOT NULL, ol_w_id integer NOT NULL,
    ol_number smallint NOT NULL, ol_i_id integer NOT NULL, ol_supply_w_id integer NOT NULL, ol_delivery_d timestamptz,
    ol_quantity smallint NOT NULL, ol_amount numeric(6, 2) NOT NULL, ol_dist_info char(24) NOT NULL);
CREATE TABLE stock (s_i_id integer NOT NULL, s_w_id integer NOT NULL, s_quantity smallint NOT NULL,
    s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL,
    s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL,
    s_dist_09 char(24) NOT NULL, s_dist_10 char(24) NOT NULL, s_ytd integer NOT NULL, s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL, s_data varchar(50) NOT NULL) WITH (fillfactor = 80);
CREATE TABLE lydite_meta (name varchar(32) PRIMARY KEY, value varchar(200) NOT NULL);
CREATE TABLE lydite_load (unit integer PRIMARY KEY);
"""
INDEXES = {
    "customer_by_name": "customer (c_w_id, c_d_id, c_last, c_first)",
    "orders_by_customer": "orders (o_w_id, o_d_id, o_c_id, o_id)",
}
#: Reasons by SQLSTATE, the server's code of an error.
REASONS = {"40001": "serialization", "40P01": "deadlock", "55P03": "lock_timeout"}
INSUFFICIENT_PRIVILEGE = "42501"
ADDRESS = "{0}_street_1, {0}_street_2, {0}_city, {0}_state, {0}_zip"
CUSTOMER = "c_w_id = %s AND c_d_id = %s AND c_id = %s"
STOCK = "SELECT s_quantity, s_data, s_dist_{0:02} FROM stock WHERE s_w_id = %s AND s_i_id = %s FOR NO KEY UPDATE"


def cents(amount):
    """An amount as the database gives it."""
    return int(amount * 100)


def rate(value):
    return int(value * 10_000)


def money(amount):
    return Decimal(amount).scaleb(-2)


OURS = {"money": cents, "rate": rate, "time": micros}
THEIRS = {"money": money, "rate": lambda value: Decimal(value).scaleb(-4),
          "time": lambda value: when(value).replace(tzinfo=timezone.utc)}


def converted(table, rows, converters):
    """Rows of a table with each value converted by its column's type; nulls and other types stay as they are."""
    functions = [converters.get(kind.rstrip("?")) for _, kind in TABLES[table].columns]
    for row in rows:
        yield [value if value is None or function is None else function(value)
               for value, function in zip(row, functions)]


class Database(lydite.Driver):
    """A session, with a connection of its own. `postgres_libraries.py` replaces the calls of the library."""

    name = "psycopg"
    library = psycopg.__version__
    guarantee = "optimistic"
    isolation = "repeatable read"

    def __init__(self, connection):
        self.connection = connection
        self.connect()
        self.version = f"{self.library}, PostgreSQL {self.one('SHOW server_version')[0]}"
        self.durable = self.one("SHOW fsync")[0] == "on" and self.one("SHOW synchronous_commit")[0] == "on"

    # The calls of the library.

    def connect(self):
        # Prepared when it is met first.
        self.db = psycopg.connect(self.connection, autocommit=True, prepare_threshold=0)

    def closed(self):
        return bool(self.db.closed)

    def run(self, sql, values):
        """Runs a statement; gives its cursor."""
        return self.db.execute(sql, values)

    def fetch(self, sql, *values):
        """The rows of a statement."""
        return self.run(sql, values).fetchall()

    def execute(self, sql, *values):
        """The number of rows that a statement changes."""
        return self.run(sql, values).rowcount

    def undo(self):
        """Rolls the open transaction back, if any."""
        # psycopg forgets its prepared statements here, so the next transactions prepare them again.
        self.db.rollback()

    def copy(self, table, rows):
        """Appends rows to a table."""
        with self.db.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def read(self, sql):
        """The rows of a statement, one after another."""
        # A cursor of the server: else all rows would be fetched at once.
        with self.db.cursor(name="rows") as cursor:
            cursor.itersize = 2_000
            cursor.execute(sql)
            yield from cursor

    def sqlstate(self, error):
        return getattr(error, "sqlstate", None)

    def close(self):
        self.db.close()

    # Statements and transactions.

    def one(self, sql, *values):
        """The only row, which must be there."""
        rows = self.fetch(sql, *values)
        if not rows:
            raise lydite.Fatal(f"no row: {sql} {values}: run lydite check")
        return rows[0]

    def change(self, sql, *values):
        """Has to change exactly one row."""
        count = self.execute(sql, *values)
        if count != 1:
            raise lydite.Fatal(f"{count} rows changed instead of 1: {sql} {values}: run lydite check")

    def begin(self, access="READ WRITE"):
        self.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ {access}")

    def commit(self):
        self.committing = True
        self.execute("COMMIT")

    def rollback(self):
        if not self.closed():
            try:
                self.undo()
                return
            except Exception as error:
                print(f"the rollback failed: {error}", file=sys.stderr)
                # Nobody knows what is still open in this connection.
                self.close()
        # The session outlives its connection. While the server is away, the next request fails and comes here again.
        try:
            self.connect()
        except Exception as error:
            print(f"no new connection: {error}", file=sys.stderr)

    # The tables.

    def tables(self):
        found = self.fetch("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
        names = {name for (name,) in found}
        return [name for name in TABLES if name in names]

    def create(self):
        self.begin()
        # One at a time, because psycopg prepares each, and the server prepares no lists of statements.
        for statement in SCHEMA.strip().removesuffix(";").split(";"):
            self.execute(statement)
        self.commit()

    def drop(self):
        for name in [*TABLES, "lydite_meta", "lydite_load"]:
            self.execute(f"DROP TABLE IF EXISTS {name} CASCADE")

    def notes(self):
        if self.one("SELECT to_regclass('lydite_meta')")[0] is None:
            return {}
        return dict(self.fetch("SELECT name, value FROM lydite_meta"))

    def note(self, name, value):
        self.execute("INSERT INTO lydite_meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                     name, value)

    # Loading: a warehouse is one transaction, so an interrupted one leaves nothing.

    def load_begin(self, w_id):
        self.begin()
        # Rows can be there already only if an earlier load was committed and Lydite did not hear of it.
        if not self.one("SELECT EXISTS (SELECT FROM lydite_load WHERE unit = %s)", w_id)[0]:
            return
        for table in TABLES.values():
            if w_id == 0 and table.name == "item":
                self.execute("DELETE FROM item")
            elif w_id > 0 and table.warehouse:
                self.execute(f"DELETE FROM {table.name} WHERE {table.warehouse} = %s", w_id)

    def load(self, table, rows):
        self.copy(table, converted(table, rows, THEIRS))

    def load_end(self, w_id):
        self.execute("INSERT INTO lydite_load VALUES (%s) ON CONFLICT DO NOTHING", w_id)
        self.commit()

    def finish_load(self):
        for table in TABLES.values():
            if table.key:
                lydite.alive(f"key of {table.name}")
                columns = ", ".join(table.key)
                self.execute(f"CREATE UNIQUE INDEX IF NOT EXISTS {table.name}_key ON {table.name} ({columns})")
        for name, what in INDEXES.items():
            lydite.alive(f"index {name}")
            self.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {what}")
        for name in TABLES:
            lydite.alive(f"statistics of {name}")
            # VACUUM too: else the first readers of each page would set its hint bits, and the first run be slower.
            self.execute(f"VACUUM (ANALYZE) {name}")
        lydite.alive("checkpoint")
        try:
            self.execute("CHECKPOINT")
        except Exception as error:
            # Not everybody may, and the next timed one comes anyway.
            if self.sqlstate(error) != INSUFFICIENT_PRIVILEGE:
                raise

    # The transactions.

    def new_order(self, order):
        w, d, c = order.w_id, order.d_id, order.c_id
        self.begin()
        w_tax, entered = self.one("SELECT w_tax, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = %s", w)
        discount, last, credit = self.one(
            f"SELECT c_discount, c_last, c_credit FROM customer WHERE {CUSTOMER}", w, d, c)
        d_tax, o_id = self.one(
            "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = %s AND d_id = %s FOR NO KEY UPDATE", w, d)
        self.change("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %s AND d_id = %s", w, d)
        self.change("INSERT INTO orders VALUES (%s, %s, %s, %s, %s, NULL, %s, %s)",
                    o_id, d, w, c, entered, len(order.lines), int(order.all_local))
        self.change("INSERT INTO new_order VALUES (%s, %s, %s)", o_id, d, w)
        shown = {}
        # Always in the same order of stock, so that two orders do not wait for each other in a ring.
        for number, line in sorted(enumerate(order.lines), key=lambda each: (each[1].i_id > 100_000,
                                                                             each[1].supply_w_id, each[1].i_id)):
            items = self.fetch("SELECT i_price, i_name, i_data FROM item WHERE i_id = %s", line.i_id)
            if not items:
                self.rollback()
                raise lydite.RolledBack(o_id, last, credit)
            price, name, data = items[0]
            left, s_data, info = self.one(STOCK.format(d), line.supply_w_id, line.i_id)
            left -= line.quantity
            if left < 10:
                left += 91
            self.change(
                "UPDATE stock SET s_quantity = %s, s_ytd = s_ytd + %s, s_order_cnt = s_order_cnt + 1, "
                "s_remote_cnt = s_remote_cnt + %s WHERE s_w_id = %s AND s_i_id = %s",
                left, line.quantity, int(line.supply_w_id != w), line.supply_w_id, line.i_id)
            amount = cents(price) * line.quantity
            self.change("INSERT INTO order_line VALUES (%s, %s, %s, %s, %s, %s, NULL, %s, %s, %s)",
                        o_id, d, w, number + 1, line.i_id, line.supply_w_id, line.quantity, money(amount), info)
            brand = "ORIGINAL" in data and "ORIGINAL" in s_data
            shown[number] = lydite.NewOrderLine(name, left, brand, cents(price), amount)
        self.commit()
        lines = [shown[number] for number in range(len(order.lines))]
        rates = rate(discount), rate(w_tax), rate(d_tax)
        total = lydite.order_total((line.amount for line in lines), *rates)
        return lydite.NewOrderResult(o_id, micros(entered), last, credit, *rates, total, lines)

    def customer(self, w, d, who):
        """C_ID of the customer who is meant."""
        if who.c_id is not None:
            return who.c_id
        found = self.fetch(
            "SELECT c_id FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_last = %s "
            'ORDER BY c_first COLLATE "C", c_id', w, d, who.c_last)
        if not found:
            raise lydite.Fatal(f"no customer {who.c_last} in district {w}/{d}: run lydite check")
        return found[(len(found) + 1) // 2 - 1][0]

    def payment(self, payment):
        w, d, amount = payment.w_id, payment.d_id, money(payment.h_amount)
        self.begin()
        c = self.customer(payment.c_w_id, payment.c_d_id, payment)
        key = (payment.c_w_id, payment.c_d_id, c)
        first, middle, last, *address, phone, since, credit, limit, discount, balance = self.one(
            f"SELECT c_first, c_middle, c_last, {ADDRESS.format('c')}, c_phone, c_since, c_credit, c_credit_lim, "
            f"c_discount, c_balance FROM customer WHERE {CUSTOMER} FOR NO KEY UPDATE", *key)
        data = None
        if credit == "BC":
            (old,) = self.one(f"SELECT c_data FROM customer WHERE {CUSTOMER}", *key)
            data = f"{c} {key[1]} {key[0]} {d} {w} {amount}|{old}"[:500]
            self.change("UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, "
                        f"c_payment_cnt = c_payment_cnt + 1, c_data = %s WHERE {CUSTOMER}", amount, amount, data, *key)
        else:
            self.change("UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, "
                        f"c_payment_cnt = c_payment_cnt + 1 WHERE {CUSTOMER}", amount, amount, *key)
        self.change("UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %s AND d_id = %s", amount, w, d)
        *district, d_name = self.one(
            f"SELECT {ADDRESS.format('d')}, d_name FROM district WHERE d_w_id = %s AND d_id = %s", w, d)
        self.change("UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %s", amount, w)
        *warehouse, w_name, paid = self.one(
            f"SELECT {ADDRESS.format('w')}, w_name, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = %s", w)
        self.change("INSERT INTO history VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                    c, key[1], key[0], d, w, paid, amount, f"{w_name}    {d_name}")
        self.commit()
        return lydite.PaymentResult(
            micros(paid), lydite.Address(*warehouse), lydite.Address(*district), c, first, middle, last,
            lydite.Address(*address), phone, micros(since), credit, cents(limit), rate(discount),
            cents(balance) - payment.h_amount, None if data is None else data[:200])

    def order_status(self, query):
        w, d = query.w_id, query.d_id
        self.begin("READ ONLY")
        c = self.customer(w, d, query)
        first, middle, last, balance = self.one(
            f"SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE {CUSTOMER}", w, d, c)
        o_id, entry_d, carrier = self.one(
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = %s AND o_d_id = %s AND o_c_id = %s "
            "ORDER BY o_id DESC LIMIT 1", w, d, c)
        found = self.fetch(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "
            "WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id = %s ORDER BY ol_number", w, d, o_id)
        self.commit()
        lines = [lydite.OrderStatusLine(item, supply, quantity, cents(amount), None if time is None else micros(time))
                 for item, supply, quantity, amount, time in found]
        return lydite.OrderStatusResult(c, first, middle, last, cents(balance), o_id, micros(entry_d), carrier, lines)

    def delivery(self, delivery):
        w, delivered = delivery.w_id, []
        self.begin()
        for d in range(1, 11):
            oldest = self.fetch("SELECT no_o_id FROM new_order WHERE no_w_id = %s AND no_d_id = %s "
                                "ORDER BY no_o_id LIMIT 1 FOR NO KEY UPDATE", w, d)
            if not oldest:
                continue
            o_id = oldest[0][0]
            key = (w, d, o_id)
            self.change("DELETE FROM new_order WHERE no_w_id = %s AND no_d_id = %s AND no_o_id = %s", *key)
            self.change("UPDATE orders SET o_carrier_id = %s WHERE o_w_id = %s AND o_d_id = %s AND o_id = %s",
                        delivery.o_carrier_id, *key)
            (c,) = self.one("SELECT o_c_id FROM orders WHERE o_w_id = %s AND o_d_id = %s AND o_id = %s", *key)
            self.execute("UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP "
                         "WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id = %s", *key)
            (amount,) = self.one(
                "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id = %s", *key)
            self.change("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 "
                        f"WHERE {CUSTOMER}", amount, w, d, c)
            delivered.append((d, o_id))
        self.commit()
        return delivered

    def stock_level(self, query):
        w, d = query.w_id, query.d_id
        self.begin("READ ONLY")
        (following,) = self.one("SELECT d_next_o_id FROM district WHERE d_w_id = %s AND d_id = %s", w, d)
        (low,) = self.one(
            "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id "
            "WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id >= %s AND ol_o_id < %s AND s_quantity < %s",
            w, d, following - 20, following, query.threshold)
        self.commit()
        return low

    # Reading back.

    def snapshot(self):
        self.begin("READ ONLY")

    def release(self):
        self.commit()

    def rows(self, table, w_id):
        where = "" if w_id is None else f" WHERE {TABLES[table].warehouse} = {int(w_id)}"
        return converted(table, self.read(f"SELECT * FROM {table}{where}"), OURS)

    def explain(self, error):
        reason = REASONS.get(self.sqlstate(error))
        if reason is not None:
            return lydite.Aborted(reason, f"{self.sqlstate(error)}: {error}")
        if self.closed():
            return lydite.Unavailable(str(error), None if self.committing else False)
        return None


if __name__ == "__main__":
    lydite.serve(lambda: Database(" ".join(sys.argv[1:])))
