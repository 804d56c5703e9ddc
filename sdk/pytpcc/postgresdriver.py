# -*- coding: utf-8 -*-
"""A driver of py-tpcc for PostgreSQL and CockroachDB.

It follows the profiles of TPC-C (clauses 2.4 to 2.8). py-tpcc's own statements differ from them in several places.
Here Payment answers with the customer after the change, lines of a new order have no delivery date, Delivery counts
C_DELIVERY_CNT, an order with an unused item is rolled back, O_ALL_LOCAL says where the lines come from, and money is
exact.

Copy it to py-tpcc's folder `drivers`, or name it in Lydite: driver:pytpcc?path=postgresdriver.py&config=FILE. It needs
psycopg2 or psycopg 3. The configuration:

    [postgres]
    dsn = host=127.0.0.1 port=5432 user=postgres dbname=tpcc
    dialect = postgresql
    isolation = serializable
"""

from __future__ import print_function

import random
import time
from collections import namedtuple
from decimal import Decimal

import constants

try:
    import psycopg2 as client
except ImportError:
    import psycopg as client

try:
    from .abstractdriver import AbstractDriver
except (ImportError, ValueError):
    from abstractdriver import AbstractDriver

#: Bytes of a statement that loads rows. CockroachDB takes no command of more than 64 MiB, and is slow with large ones.
LOAD_BYTES = 1 << 20
#: Attempts at a transaction, and at making the tables while other processes make them, before an error is passed on.
ATTEMPTS = 50
#: SQLSTATEs of transactions that the database gave up and that may be tried again: not serializable, deadlock.
RETRYABLE = ("40001", "40P01")
#: SQLSTATEs of tables that another process makes at the same time: unique key of the catalog, table, object.
MADE_ALREADY = ("23505", "42P07", "42710")
#: Savepoint whose name tells CockroachDB that the client repeats transactions.
RESTART = "cockroach_restart"

TABLES = [
    ("ITEM", "I_ID int NOT NULL, I_IM_ID int, I_NAME varchar(24), I_PRICE numeric(5,2), I_DATA varchar(50), "
     "PRIMARY KEY (I_ID)"),
    ("WAREHOUSE", "W_ID int NOT NULL, W_NAME varchar(10), W_STREET_1 varchar(20), W_STREET_2 varchar(20), "
     "W_CITY varchar(20), W_STATE char(2), W_ZIP char(9), W_TAX numeric(4,4), W_YTD numeric(15,2), PRIMARY KEY (W_ID)"),
    ("DISTRICT", "D_ID int NOT NULL, D_W_ID int NOT NULL, D_NAME varchar(10), D_STREET_1 varchar(20), "
     "D_STREET_2 varchar(20), D_CITY varchar(20), D_STATE char(2), D_ZIP char(9), D_TAX numeric(4,4), "
     "D_YTD numeric(15,2), D_NEXT_O_ID int, PRIMARY KEY (D_W_ID, D_ID)"),
    ("CUSTOMER", "C_ID int NOT NULL, C_D_ID int NOT NULL, C_W_ID int NOT NULL, C_FIRST varchar(16), C_MIDDLE char(2), "
     "C_LAST varchar(16), C_STREET_1 varchar(20), C_STREET_2 varchar(20), C_CITY varchar(20), C_STATE char(2), "
     "C_ZIP char(9), C_PHONE char(16), C_SINCE timestamp, C_CREDIT char(2), C_CREDIT_LIM numeric(12,2), "
     "C_DISCOUNT numeric(4,4), C_BALANCE numeric(15,2), C_YTD_PAYMENT numeric(15,2), C_PAYMENT_CNT int, "
     "C_DELIVERY_CNT int, C_DATA varchar(500), PRIMARY KEY (C_W_ID, C_D_ID, C_ID)"),
    ("HISTORY", "H_C_ID int, H_C_D_ID int, H_C_W_ID int, H_D_ID int, H_W_ID int, H_DATE timestamp, "
     "H_AMOUNT numeric(6,2), H_DATA varchar(24)"),
    ("ORDERS", "O_ID int NOT NULL, O_C_ID int, O_D_ID int NOT NULL, O_W_ID int NOT NULL, O_ENTRY_D timestamp, "
     "O_CARRIER_ID int, O_OL_CNT int, O_ALL_LOCAL int, PRIMARY KEY (O_W_ID, O_D_ID, O_ID)"),
    ("NEW_ORDER", "NO_O_ID int NOT NULL, NO_D_ID int NOT NULL, NO_W_ID int NOT NULL, "
     "PRIMARY KEY (NO_W_ID, NO_D_ID, NO_O_ID)"),
    ("ORDER_LINE", "OL_O_ID int NOT NULL, OL_D_ID int NOT NULL, OL_W_ID int NOT NULL, OL_NUMBER int NOT NULL, "
     "OL_I_ID int, OL_SUPPLY_W_ID int, OL_DELIVERY_D timestamp, OL_QUANTITY int, OL_AMOUNT numeric(6,2), "
     "OL_DIST_INFO char(24), PRIMARY KEY (OL_W_ID, OL_D_ID, OL_O_ID, OL_NUMBER)"),
    ("STOCK", "S_I_ID int NOT NULL, S_W_ID int NOT NULL, S_QUANTITY int, "
     + "".join("S_DIST_%02d char(24), " % number for number in range(1, 11))
     + "S_YTD int, S_ORDER_CNT int, S_REMOTE_CNT int, S_DATA varchar(50), PRIMARY KEY (S_W_ID, S_I_ID)"),
]
INDEXES = [
    ("CUSTOMER_NAME", "CUSTOMER (C_W_ID, C_D_ID, C_LAST, C_FIRST)"),
    ("ORDERS_CUSTOMER", "ORDERS (O_W_ID, O_D_ID, O_C_ID, O_ID)"),
]
#: Columns of the customer in the answer of a Payment, in py-tpcc's order.
PAYING = ("C_ID, C_FIRST, C_MIDDLE, C_LAST, C_STREET_1, C_STREET_2, C_CITY, C_STATE, C_ZIP, C_PHONE, C_SINCE, C_CREDIT, "
          "C_CREDIT_LIM, C_DISCOUNT, C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT, C_DATA")
CUSTOMER = "C_W_ID = %s AND C_D_ID = %s AND C_ID = %s"
DISTRICT = "D_W_ID = %s AND D_ID = %s"
ORDER = "O_W_ID = %s AND O_D_ID = %s AND O_ID = %s"
LINES = "OL_W_ID = %s AND OL_D_ID = %s AND OL_O_ID = %s"
#: The new order of a district that waits longest.
OLDEST = "SELECT NO_O_ID FROM NEW_ORDER WHERE NO_W_ID = %s AND NO_D_ID = %s ORDER BY NO_O_ID LIMIT 1 FOR UPDATE"


def sqlstate(error):
    """The SQLSTATE of an error: psycopg2 and psycopg 3 have it under different names."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def money(amount):
    """An amount of py-tpcc's, a float, to the cent."""
    return Decimal("%.2f" % amount)


WriteConcern = namedtuple("WriteConcern", "document")


class UnusedItem(Exception):
    """An item of the order does not exist: the order is rolled back."""


class PostgresDriver(AbstractDriver):
    DEFAULT_CONFIG = {
        "dsn": ("The connection, as libpq reads it", "host=127.0.0.1 user=postgres dbname=tpcc"),
        "dialect": ("The database: postgresql or cockroachdb", "postgresql"),
        "isolation": ("The isolation level: serializable, repeatable read or read committed", "serializable"),
    }

    # The fork for MongoDB prints these settings of its own driver with each result.
    denormalize = no_transactions = batch_writes = find_and_modify = causal_consistency = all_in_one_txn = False
    retry_writes = True
    read_preference = read_concern = "n/a"
    write_concern = WriteConcern({"w": "n/a"})

    def save_result(self, result_doc):
        """Stores a result in the database, in that fork. Here the printed result is all."""

    def __init__(self, ddl):
        super(PostgresDriver, self).__init__("postgres", ddl)
        self.conn = None
        self.cursor = None
        self.cockroach = False
        self.warehouses = None
        self.isolation = None

    def makeDefaultConfig(self):
        return self.DEFAULT_CONFIG

    def loadConfig(self, config):
        given = config
        own = {key: given.get(key, default) for key, (_, default) in self.DEFAULT_CONFIG.items()}
        dialects = ("postgresql", "cockroachdb")
        if own["dialect"] not in dialects:
            raise ValueError("dialect = %s: use one of %s" % (own["dialect"], ", ".join(dialects)))
        levels = ("serializable", "repeatable read", "read committed")
        if own["isolation"] not in levels:
            raise ValueError("isolation = %s: use one of %s" % (own["isolation"], ", ".join(levels)))
        self.cockroach = own["dialect"] == "cockroachdb"
        self.isolation = own["isolation"]
        self.warehouses = given.get("warehouses")
        self.conn = client.connect(own["dsn"])
        self.cursor = self.conn.cursor()
        # The level of all transactions of the connection.
        self.cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL %s" % own["isolation"])
        self.conn.commit()
        if given.get("reset"):
            for table, _ in TABLES:
                self.cursor.execute("DROP TABLE IF EXISTS %s" % table)
            self.conn.commit()
        self.make_tables()

    def make_tables(self):
        """Makes what is missing. Several processes may do that at the same time."""
        texts = ["CREATE TABLE IF NOT EXISTS %s (%s)" % table for table in TABLES]
        texts += ["CREATE INDEX IF NOT EXISTS %s ON %s" % index for index in INDEXES]
        for text in texts:
            self.commit_beside_others(RETRYABLE + MADE_ALREADY, self.cursor.execute, text)

    def commit_beside_others(self, retryable, work, *values):
        """Does the work and commits it, again after errors with these SQLSTATEs, which other processes cause."""
        for attempt in range(ATTEMPTS):
            try:
                work(*values)
                self.conn.commit()
                return
            except client.Error as error:
                self.roll_back()
                if sqlstate(error) not in retryable or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(random.random() / 50)

    # Loading.

    def loadTuples(self, tableName, tuples):
        rows, size = [], 0
        for row in tuples:
            row = list(row)
            if tableName == constants.TABLENAME_ORDERS and row[5] == constants.NULL_CARRIER_ID:
                row[5] = None
            rows.append(row)
            size += sum(len(value) if isinstance(value, str) else 12 for value in row)
            if size >= LOAD_BYTES:
                self.store(tableName, rows)
                rows, size = [], 0
        self.store(tableName, rows)

    def store(self, table, rows):
        """Inserts rows in a transaction of their own: CockroachDB keeps an open one in the memory of a node. Other processes
        load at the same time."""
        self.commit_beside_others(RETRYABLE, self.insert, table, rows)

    def insert(self, table, rows):
        """Inserts rows by statements with many rows. PostgreSQL takes 65535 parameters at most."""
        if not rows:
            return
        most = max(1, 30000 // len(rows[0]))
        one = "(%s)" % ", ".join(["%s"] * len(rows[0]))
        for begin in range(0, len(rows), most):
            part = rows[begin:begin + most]
            text = "INSERT INTO %s VALUES %s" % (table, ", ".join([one] * len(part)))
            self.cursor.execute(text, [value for row in part for value in row])

    def loadFinish(self):
        self.conn.commit()

    # Transactions: a value and the number of retries, as the newer py-tpcc wants it. The older one ignores it.

    def transaction(self, work, params):
        """Does the work in a transaction, and repeats it while the database gives the transaction up."""
        for attempt in range(ATTEMPTS):
            try:
                if self.cockroach and attempt == 0:
                    # CockroachDB keeps the priority of a transaction that is repeated from its savepoint.
                    self.cursor.execute("SAVEPOINT " + RESTART)
                value = work(params)
                if self.cockroach:
                    # The commit happens here: later errors are not of the transaction.
                    self.cursor.execute("RELEASE SAVEPOINT " + RESTART)
                self.conn.commit()
                return value, attempt
            except UnusedItem:
                self.roll_back()
                return None, attempt
            except client.Error as error:
                if sqlstate(error) not in RETRYABLE or attempt == ATTEMPTS - 1:
                    self.roll_back()
                    raise
                if self.cockroach:
                    self.cursor.execute("ROLLBACK TO SAVEPOINT " + RESTART)
                else:
                    self.roll_back()
                time.sleep(random.random() / 1000 * min(100, 2 ** attempt))
            except Exception:
                self.roll_back()
                raise

    def roll_back(self):
        try:
            self.conn.rollback()
        except client.Error:
            # The connection is lost. The error before this one says why.
            pass

    def executeTransaction(self, txn, params):
        works = {
            constants.TransactionTypes.DELIVERY: self.doDelivery,
            constants.TransactionTypes.NEW_ORDER: self.doNewOrder,
            constants.TransactionTypes.ORDER_STATUS: self.doOrderStatus,
            constants.TransactionTypes.PAYMENT: self.doPayment,
            constants.TransactionTypes.STOCK_LEVEL: self.doStockLevel,
        }
        return self.transaction(works[txn], params)

    def one(self, text, *values):
        self.cursor.execute(text, values)
        return self.cursor.fetchone()

    def all(self, text, *values):
        self.cursor.execute(text, values)
        return self.cursor.fetchall()

    def existing(self, text, *values):
        """A row that must exist (clause 2.3.6)."""
        row = self.one(text, *values)
        if row is None:
            raise AssertionError("no row: %s %r" % (text, values))
        return row

    def who(self, w_id, d_id, params):
        """The customer: by number, or of those with the name the one in the middle by C_FIRST (clause 2.5.2.2)."""
        if params["c_id"] is not None:
            return params["c_id"]
        found = self.all("SELECT C_ID FROM CUSTOMER WHERE C_W_ID = %s AND C_D_ID = %s AND C_LAST = %s ORDER BY C_FIRST",
                         w_id, d_id, params["c_last"])
        assert found, "no customer is called %s" % params["c_last"]
        return found[(len(found) - 1) // 2][0]

    def doNewOrder(self, params):
        w_id, d_id, c_id = params["w_id"], params["d_id"], params["c_id"]
        lines = list(zip(params["i_ids"], params["i_w_ids"], params["i_qtys"]))
        (w_tax,) = self.existing("SELECT W_TAX FROM WAREHOUSE WHERE W_ID = %s", w_id)
        d_tax, o_id = self.existing(
            "UPDATE DISTRICT SET D_NEXT_O_ID = D_NEXT_O_ID + 1 WHERE " + DISTRICT + " RETURNING D_TAX, D_NEXT_O_ID - 1",
            w_id, d_id)
        customer = self.existing("SELECT C_DISCOUNT, C_LAST, C_CREDIT FROM CUSTOMER WHERE " + CUSTOMER, w_id, d_id, c_id)
        all_local = int(all(supply == w_id for _, supply, _ in lines))
        self.cursor.execute(
            "INSERT INTO ORDERS (O_ID, O_C_ID, O_D_ID, O_W_ID, O_ENTRY_D, O_CARRIER_ID, O_OL_CNT, O_ALL_LOCAL) "
            "VALUES (%s, %s, %s, %s, %s, NULL, %s, %s)",
            (o_id, c_id, d_id, w_id, params["o_entry_d"], len(lines), all_local))
        self.cursor.execute("INSERT INTO NEW_ORDER (NO_O_ID, NO_D_ID, NO_W_ID) VALUES (%s, %s, %s)", (o_id, d_id, w_id))
        items, order_lines, total = [None] * len(lines), [None] * len(lines), Decimal(0)
        found = [self.one("SELECT I_PRICE, I_NAME, I_DATA FROM ITEM WHERE I_ID = %s", i_id) for i_id, _, _ in lines]
        # By warehouse and item, so that two orders seldom wait for each other in a ring. Lines whose item exists are done
        # also of an order that is rolled back (clause 2.4.2.3).
        valid = [at for at, item in enumerate(found) if item is not None]
        for at in sorted(valid, key=lambda at: (lines[at][1], lines[at][0])):
            i_id, supply, quantity = lines[at]
            price, name, data = found[at]
            in_stock, s_data, dist = self.existing(
                "SELECT S_QUANTITY, S_DATA, S_DIST_%02d FROM STOCK WHERE S_W_ID = %%s AND S_I_ID = %%s FOR UPDATE" % d_id,
                supply, i_id)
            left = in_stock - quantity + (0 if in_stock >= quantity + 10 else 91)
            self.cursor.execute(
                "UPDATE STOCK SET S_QUANTITY = %s, S_YTD = S_YTD + %s, S_ORDER_CNT = S_ORDER_CNT + 1, "
                "S_REMOTE_CNT = S_REMOTE_CNT + %s WHERE S_W_ID = %s AND S_I_ID = %s",
                (left, quantity, int(supply != w_id), supply, i_id))
            amount = price * quantity
            total += amount
            brand = "B" if constants.ORIGINAL_STRING in data and constants.ORIGINAL_STRING in s_data else "G"
            items[at] = (name, left, brand, price, amount)
            # A new order has no delivery date (clause 2.4.2.2).
            order_lines[at] = [o_id, d_id, w_id, at + 1, i_id, supply, None, quantity, amount, dist]
        if len(valid) < len(lines):
            raise UnusedItem()
        self.insert("ORDER_LINE", order_lines)
        total *= (1 - customer[0]) * (1 + w_tax + d_tax)
        return [customer, [(w_tax, d_tax, o_id, total)], items]

    def doPayment(self, params):
        w_id, d_id, amount = params["w_id"], params["d_id"], money(params["h_amount"])
        c_w_id, c_d_id = params["c_w_id"], params["c_d_id"]
        warehouse = self.existing(
            "UPDATE WAREHOUSE SET W_YTD = W_YTD + %s WHERE W_ID = %s "
            "RETURNING W_NAME, W_STREET_1, W_STREET_2, W_CITY, W_STATE, W_ZIP", amount, w_id)
        district = self.existing(
            "UPDATE DISTRICT SET D_YTD = D_YTD + %s WHERE " + DISTRICT
            + " RETURNING D_NAME, D_STREET_1, D_STREET_2, D_CITY, D_STATE, D_ZIP", amount, w_id, d_id)
        c_id = self.who(c_w_id, c_d_id, params)
        entry = "%d %d %d %d %d %s|" % (c_id, c_d_id, c_w_id, d_id, w_id, amount)
        customer = self.existing(
            "UPDATE CUSTOMER SET C_BALANCE = C_BALANCE - %s, C_YTD_PAYMENT = C_YTD_PAYMENT + %s, "
            "C_PAYMENT_CNT = C_PAYMENT_CNT + 1, C_DATA = CASE WHEN C_CREDIT = %s THEN left(%s || C_DATA, %s) ELSE C_DATA END "
            "WHERE " + CUSTOMER + " RETURNING " + PAYING,
            amount, amount, constants.BAD_CREDIT, entry, constants.MAX_C_DATA, c_w_id, c_d_id, c_id)
        self.cursor.execute(
            "INSERT INTO HISTORY (H_C_ID, H_C_D_ID, H_C_W_ID, H_D_ID, H_W_ID, H_DATE, H_AMOUNT, H_DATA) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            (c_id, c_d_id, c_w_id, d_id, w_id, params["h_date"], amount, "%s    %s" % (warehouse[0], district[0])))
        return [warehouse, district, customer]

    def doOrderStatus(self, params):
        w_id, d_id = params["w_id"], params["d_id"]
        c_id = self.who(w_id, d_id, params)
        customer = self.existing(
            "SELECT C_ID, C_FIRST, C_MIDDLE, C_LAST, C_BALANCE FROM CUSTOMER WHERE " + CUSTOMER, w_id, d_id, c_id)
        order = self.existing(
            "SELECT O_ID, O_CARRIER_ID, O_ENTRY_D FROM ORDERS WHERE O_W_ID = %s AND O_D_ID = %s AND O_C_ID = %s "
            "ORDER BY O_ID DESC LIMIT 1", w_id, d_id, c_id)
        lines = self.all(
            "SELECT OL_SUPPLY_W_ID, OL_I_ID, OL_QUANTITY, OL_AMOUNT, OL_DELIVERY_D FROM ORDER_LINE WHERE " + LINES
            + " ORDER BY OL_NUMBER", w_id, d_id, order[0])
        return [customer, order, lines]

    def doDelivery(self, params):
        w_id, result = params["w_id"], []
        for d_id in range(1, constants.DISTRICTS_PER_WAREHOUSE + 1):
            oldest = self.one(OLDEST, w_id, d_id)
            if oldest is None and self.isolation == "read committed":
                # Another Delivery may have taken the order that this one waited for. The next one is seen by a new query.
                oldest = self.one(OLDEST, w_id, d_id)
            if oldest is None:
                # A district without a new order is skipped (clause 2.7.4.2).
                continue
            key = (w_id, d_id, oldest[0])
            self.existing("DELETE FROM NEW_ORDER WHERE NO_W_ID = %s AND NO_D_ID = %s AND NO_O_ID = %s RETURNING NO_O_ID",
                          *key)
            (c_id,) = self.existing("UPDATE ORDERS SET O_CARRIER_ID = %s WHERE " + ORDER + " RETURNING O_C_ID",
                                    params["o_carrier_id"], *key)
            amounts = self.all("UPDATE ORDER_LINE SET OL_DELIVERY_D = %s WHERE " + LINES + " RETURNING OL_AMOUNT",
                               params["ol_delivery_d"], *key)
            self.existing(
                "UPDATE CUSTOMER SET C_BALANCE = C_BALANCE + %s, C_DELIVERY_CNT = C_DELIVERY_CNT + 1 WHERE " + CUSTOMER
                + " RETURNING C_ID", sum(amount for (amount,) in amounts), w_id, d_id, c_id)
            result.append((d_id, oldest[0]))
        return result

    def doStockLevel(self, params):
        w_id, d_id = params["w_id"], params["d_id"]
        (next_o_id,) = self.existing("SELECT D_NEXT_O_ID FROM DISTRICT WHERE " + DISTRICT, w_id, d_id)
        (low,) = self.one(
            "SELECT count(DISTINCT OL_I_ID) FROM ORDER_LINE JOIN STOCK ON S_W_ID = OL_W_ID AND S_I_ID = OL_I_ID "
            "WHERE OL_W_ID = %s AND OL_D_ID = %s AND OL_O_ID < %s AND OL_O_ID >= %s AND S_QUANTITY < %s",
            w_id, d_id, next_o_id, next_o_id - 20, params["threshold"])
        return int(low)
