# -*- coding: utf-8 -*-
# A driver to py-tpcc's contract, in its first dialect: for Python 2, with modules beside each other and bare values.

from __future__ import with_statement

import sqlite3
from ConfigParser import SafeConfigParser

import constants
from abstractdriver import *
from plainhelper import Anything, middle

COLUMNS = {
    constants.TABLENAME_ITEM: "I_ID I_IM_ID I_NAME I_PRICE I_DATA",
    constants.TABLENAME_WAREHOUSE: "W_ID W_NAME W_STREET_1 W_STREET_2 W_CITY W_STATE W_ZIP W_TAX W_YTD",
    constants.TABLENAME_DISTRICT: "D_ID D_W_ID D_NAME D_STREET_1 D_STREET_2 D_CITY D_STATE D_ZIP D_TAX D_YTD D_NEXT_O_ID",
    constants.TABLENAME_CUSTOMER: "C_ID C_D_ID C_W_ID C_FIRST C_MIDDLE C_LAST C_STREET_1 C_STREET_2 C_CITY C_STATE C_ZIP "
        "C_PHONE C_SINCE C_CREDIT C_CREDIT_LIM C_DISCOUNT C_BALANCE C_YTD_PAYMENT C_PAYMENT_CNT C_DELIVERY_CNT C_DATA",
    constants.TABLENAME_HISTORY: "H_C_ID H_C_D_ID H_C_W_ID H_D_ID H_W_ID H_DATE H_AMOUNT H_DATA",
    constants.TABLENAME_ORDERS: "O_ID O_C_ID O_D_ID O_W_ID O_ENTRY_D O_CARRIER_ID O_OL_CNT O_ALL_LOCAL",
    constants.TABLENAME_NEW_ORDER: "NO_O_ID NO_D_ID NO_W_ID",
    constants.TABLENAME_ORDER_LINE: "OL_O_ID OL_D_ID OL_W_ID OL_NUMBER OL_I_ID OL_SUPPLY_W_ID OL_DELIVERY_D OL_QUANTITY "
        "OL_AMOUNT OL_DIST_INFO",
    constants.TABLENAME_STOCK: "S_I_ID S_W_ID S_QUANTITY " + " ".join(["S_DIST_%02d" % n for n in range(1, 11)])
        + " S_YTD S_ORDER_CNT S_REMOTE_CNT S_DATA",
}
INDEXES = {
    "ITEM": "I_ID", "WAREHOUSE": "W_ID", "DISTRICT": "D_W_ID, D_ID", "CUSTOMER": "C_W_ID, C_D_ID, C_ID",
    "ORDERS": "O_W_ID, O_D_ID, O_ID", "NEW_ORDER": "NO_W_ID, NO_D_ID, NO_O_ID",
    "ORDER_LINE": "OL_W_ID, OL_D_ID, OL_O_ID", "STOCK": "S_W_ID, S_I_ID", "HISTORY": "H_W_ID",
}
MORE = {"BY_NAME": "CUSTOMER (C_W_ID, C_D_ID, C_LAST)", "BY_CUSTOMER": "ORDERS (O_W_ID, O_D_ID, O_C_ID)"}


class PlainDriver(AbstractDriver):
    DEFAULT_CONFIG = {"database": ("The file of the database", "/tmp/plain.db"), "compress": ("Smaller rows", True)}

    def __init__(self, ddl):
        super(PlainDriver, self).__init__("plain", ddl)
        # It answers every attribute, and is looked at before the connection.
        self.client = Anything()
        self.conn = None
        self.cursor = None
        self.order = []

    def makeDefaultConfig(self):
        return PlainDriver.DEFAULT_CONFIG

    def loadConfig(self, config):
        # What the file leaves out is filled in here, and by nobody else.
        assert config.has_key("database") and not config.has_key("compress"), config
        for key, (about, default) in PlainDriver.DEFAULT_CONFIG.iteritems():
            config.setdefault(key, str(default))
        self.conn = sqlite3.connect(str(config["database"]), timeout=60, isolation_level=None)
        self.cursor = self.conn.cursor()
        self.cursor.execute("PRAGMA journal_mode = WAL")
        if config["reset"]:
            print "dropping the tables"
            for table in COLUMNS.keys():
                self.cursor.execute("DROP TABLE IF EXISTS %s" % table)
        for table, columns in COLUMNS.iteritems():
            self.cursor.execute("CREATE TABLE IF NOT EXISTS %s (%s)" % (table, ", ".join(columns.split())))
            self.cursor.execute("CREATE INDEX IF NOT EXISTS %s_KEY ON %s (%s)" % (table, table, INDEXES[table]))
        for name, what in MORE.iteritems():
            self.cursor.execute("CREATE INDEX IF NOT EXISTS %s ON %s" % (name, what))

    def loadStart(self):
        self.cursor.execute("BEGIN IMMEDIATE")
        self.order = []

    def loadTuples(self, tableName, tuples):
        if len(tuples) == 0:
            return
        # What foreign keys and denormalising drivers rest on.
        if tableName == constants.TABLENAME_STOCK:
            assert self.order[-1] in ("WAREHOUSE", "STOCK"), self.order
        if tableName == constants.TABLENAME_ORDER_LINE:
            assert self.order[-1] == "ORDERS", self.order
        self.order.append(tableName)
        sql = "INSERT INTO %s VALUES (%s)" % (tableName, ",".join(["?"] * len(tuples[0])))
        self.cursor.executemany(sql, tuples)

    def loadFinishDistrict(self, w_id, d_id):
        assert self.order[-6:] == ["DISTRICT", "CUSTOMER", "ORDERS", "ORDER_LINE", "NEW_ORDER", "HISTORY"], self.order

    def loadFinish(self):
        self.cursor.execute("COMMIT")

    def one(self, sql, *values):
        return self.cursor.execute(sql, values).fetchone()

    def all(self, sql, *values):
        return self.cursor.execute(sql, values).fetchall()

    def doDelivery(self, params):
        w_id = params["w_id"]
        result = []
        self.cursor.execute("BEGIN IMMEDIATE")
        for d_id in xrange(1, constants.DISTRICTS_PER_WAREHOUSE + 1):
            (o_id,) = self.one("SELECT MIN(NO_O_ID) FROM NEW_ORDER WHERE NO_W_ID = ? AND NO_D_ID = ?", w_id, d_id)
            if o_id is None:
                continue
            key = (w_id, d_id, o_id)
            (c_id,) = self.one("SELECT O_C_ID FROM ORDERS WHERE O_W_ID = ? AND O_D_ID = ? AND O_ID = ?", *key)
            (total,) = self.one(
                "SELECT SUM(OL_AMOUNT) FROM ORDER_LINE WHERE OL_W_ID = ? AND OL_D_ID = ? AND OL_O_ID = ?", *key)
            self.cursor.execute("DELETE FROM NEW_ORDER WHERE NO_W_ID = ? AND NO_D_ID = ? AND NO_O_ID = ?", key)
            self.cursor.execute("UPDATE ORDERS SET O_CARRIER_ID = ? WHERE O_W_ID = ? AND O_D_ID = ? AND O_ID = ?",
                                (params["o_carrier_id"],) + key)
            self.cursor.execute(
                "UPDATE ORDER_LINE SET OL_DELIVERY_D = ? WHERE OL_W_ID = ? AND OL_D_ID = ? AND OL_O_ID = ?",
                (str(params["ol_delivery_d"]),) + key)
            self.cursor.execute(
                "UPDATE CUSTOMER SET C_BALANCE = C_BALANCE + ?, C_DELIVERY_CNT = C_DELIVERY_CNT + 1 "
                "WHERE C_W_ID = ? AND C_D_ID = ? AND C_ID = ?", (total, w_id, d_id, c_id))
            result.append((d_id, o_id))
        self.conn.commit()
        return result

    def doNewOrder(self, params):
        w_id, d_id, c_id = params["w_id"], params["d_id"], params["c_id"]
        i_ids, i_w_ids, i_qtys = params["i_ids"], params["i_w_ids"], params["i_qtys"]
        items = []
        for i_id in i_ids:
            item = self.one("SELECT I_PRICE, I_NAME, I_DATA FROM ITEM WHERE I_ID = ?", i_id)
            if item is None:
                return
            items.append(item)
        self.cursor.execute("BEGIN IMMEDIATE")
        (w_tax,) = self.one("SELECT W_TAX FROM WAREHOUSE WHERE W_ID = ?", w_id)
        d_tax, o_id = self.one("SELECT D_TAX, D_NEXT_O_ID FROM DISTRICT WHERE D_W_ID = ? AND D_ID = ?", w_id, d_id)
        customer = self.one("SELECT C_DISCOUNT, C_LAST, C_CREDIT FROM CUSTOMER "
                            "WHERE C_W_ID = ? AND C_D_ID = ? AND C_ID = ?", w_id, d_id, c_id)
        self.cursor.execute("UPDATE DISTRICT SET D_NEXT_O_ID = ? WHERE D_W_ID = ? AND D_ID = ?", (o_id + 1, w_id, d_id))
        local = int(len([w for w in i_w_ids if w != w_id]) == 0)
        self.cursor.execute("INSERT INTO ORDERS VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                            (o_id, c_id, d_id, w_id, str(params["o_entry_d"]), constants.NULL_CARRIER_ID, len(i_ids), local))
        self.cursor.execute("INSERT INTO NEW_ORDER VALUES (?, ?, ?)", (o_id, d_id, w_id))
        total = 0
        item_data = []
        for i in range(len(i_ids)):
            i_price, i_name, i_data = items[i]
            row = self.one("SELECT S_QUANTITY, S_DATA, S_DIST_%02d FROM STOCK WHERE S_W_ID = ? AND S_I_ID = ?" % d_id,
                           i_w_ids[i], i_ids[i])
            quantity = row[0] - i_qtys[i]
            if row[0] < i_qtys[i] + 10:
                quantity += 91
            self.cursor.execute(
                "UPDATE STOCK SET S_QUANTITY = ?, S_YTD = S_YTD + ?, S_ORDER_CNT = S_ORDER_CNT + 1, "
                "S_REMOTE_CNT = S_REMOTE_CNT + ? WHERE S_W_ID = ? AND S_I_ID = ?",
                (quantity, i_qtys[i], int(i_w_ids[i] <> w_id), i_w_ids[i], i_ids[i]))
            brand = "G"
            if constants.ORIGINAL_STRING in i_data and constants.ORIGINAL_STRING in row[1]:
                brand = "B"
            amount = round(i_qtys[i] * i_price, 2)
            total += amount
            self.cursor.execute("INSERT INTO ORDER_LINE VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                (o_id, d_id, w_id, i + 1, i_ids[i], i_w_ids[i], None, i_qtys[i], amount, row[2]))
            item_data.append((i_name, quantity, brand, i_price, amount))
        self.conn.commit()
        total *= (1 - customer[0]) * (1 + w_tax + d_tax)
        return [customer, [(w_tax, d_tax, o_id, total)], item_data]

    def find(self, w_id, d_id, c_id, c_last):
        if c_id is not None:
            return c_id
        found = self.all("SELECT C_ID FROM CUSTOMER WHERE C_W_ID = ? AND C_D_ID = ? AND C_LAST = ? ORDER BY C_FIRST",
                         w_id, d_id, c_last)
        return middle(found)[0]

    def doOrderStatus(self, params):
        w_id, d_id = params["w_id"], params["d_id"]
        c_id = self.find(w_id, d_id, params["c_id"], params["c_last"])
        self.cursor.execute("BEGIN")
        customer = self.one("SELECT C_ID, C_FIRST, C_MIDDLE, C_LAST, C_BALANCE FROM CUSTOMER "
                            "WHERE C_W_ID = ? AND C_D_ID = ? AND C_ID = ?", w_id, d_id, c_id)
        order = self.one("SELECT O_ID, O_CARRIER_ID, O_ENTRY_D FROM ORDERS "
                         "WHERE O_W_ID = ? AND O_D_ID = ? AND O_C_ID = ? ORDER BY O_ID DESC LIMIT 1", w_id, d_id, c_id)
        lines = self.all("SELECT OL_SUPPLY_W_ID, OL_I_ID, OL_QUANTITY, OL_AMOUNT, OL_DELIVERY_D FROM ORDER_LINE "
                         "WHERE OL_W_ID = ? AND OL_D_ID = ? AND OL_O_ID = ? ORDER BY OL_NUMBER", w_id, d_id, order[0])
        self.conn.commit()
        return [customer, order, lines]

    def doPayment(self, params):
        w_id, d_id, amount = params["w_id"], params["d_id"], params["h_amount"]
        c_w_id, c_d_id = params["c_w_id"], params["c_d_id"]
        self.cursor.execute("BEGIN IMMEDIATE")
        c_id = self.find(c_w_id, c_d_id, params["c_id"], params["c_last"])
        key = (c_w_id, c_d_id, c_id)
        self.cursor.execute(
            "UPDATE CUSTOMER SET C_BALANCE = C_BALANCE - ?, C_YTD_PAYMENT = C_YTD_PAYMENT + ?, "
            "C_PAYMENT_CNT = C_PAYMENT_CNT + 1 WHERE C_W_ID = ? AND C_D_ID = ? AND C_ID = ?", (amount, amount) + key)
        credit, data = self.one("SELECT C_CREDIT, C_DATA FROM CUSTOMER WHERE C_W_ID = ? AND C_D_ID = ? AND C_ID = ?", *key)
        if credit == constants.BAD_CREDIT:
            new = "%d %d %d %d %d %.2f|%s" % (c_id, c_d_id, c_w_id, d_id, w_id, amount, data)
            self.cursor.execute("UPDATE CUSTOMER SET C_DATA = ? WHERE C_W_ID = ? AND C_D_ID = ? AND C_ID = ?",
                                (new[:constants.MAX_C_DATA],) + key)
        customer = self.one(
            "SELECT C_ID, C_FIRST, C_MIDDLE, C_LAST, C_STREET_1, C_STREET_2, C_CITY, C_STATE, C_ZIP, C_PHONE, C_SINCE, "
            "C_CREDIT, C_CREDIT_LIM, C_DISCOUNT, C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT, C_DATA FROM CUSTOMER "
            "WHERE C_W_ID = ? AND C_D_ID = ? AND C_ID = ?", *key)
        self.cursor.execute("UPDATE WAREHOUSE SET W_YTD = W_YTD + ? WHERE W_ID = ?", (amount, w_id))
        self.cursor.execute("UPDATE DISTRICT SET D_YTD = D_YTD + ? WHERE D_W_ID = ? AND D_ID = ?", (amount, w_id, d_id))
        warehouse = self.one(
            "SELECT W_NAME, W_STREET_1, W_STREET_2, W_CITY, W_STATE, W_ZIP FROM WAREHOUSE WHERE W_ID = ?", w_id)
        district = self.one("SELECT D_NAME, D_STREET_1, D_STREET_2, D_CITY, D_STATE, D_ZIP FROM DISTRICT "
                            "WHERE D_W_ID = ? AND D_ID = ?", w_id, d_id)
        self.cursor.execute("INSERT INTO HISTORY VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                            (c_id, c_d_id, c_w_id, d_id, w_id, str(params["h_date"]), amount,
                             "%s    %s" % (warehouse[0], district[0])))
        self.conn.commit()
        return [warehouse, district, customer]

    def doStockLevel(self, params):
        w_id, d_id = params["w_id"], params["d_id"]
        (next_o_id,) = self.one("SELECT D_NEXT_O_ID FROM DISTRICT WHERE D_W_ID = ? AND D_ID = ?", w_id, d_id)
        (low,) = self.one(
            "SELECT COUNT(DISTINCT OL_I_ID) FROM ORDER_LINE, STOCK WHERE OL_W_ID = ? AND OL_D_ID = ? AND OL_O_ID < ? "
            "AND OL_O_ID >= ? AND S_W_ID = OL_W_ID AND S_I_ID = OL_I_ID AND S_QUANTITY < ?",
            w_id, d_id, next_o_id, next_o_id - 20, params["threshold"])
        return int(low + 0L)
