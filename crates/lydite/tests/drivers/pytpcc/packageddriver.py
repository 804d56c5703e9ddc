"""A driver to py-tpcc's contract, in its second dialect: a module of a package, a value and a number of retries, rows as
documents, and an executeTransaction of its own."""

import sqlite3
from datetime import datetime

import constants

from .abstractdriver import AbstractDriver

COLUMNS = {
    "ITEM": "I_ID I_IM_ID I_NAME I_PRICE I_DATA",
    "WAREHOUSE": "W_ID W_NAME W_STREET_1 W_STREET_2 W_CITY W_STATE W_ZIP W_TAX W_YTD",
    "DISTRICT": "D_ID D_W_ID D_NAME D_STREET_1 D_STREET_2 D_CITY D_STATE D_ZIP D_TAX D_YTD D_NEXT_O_ID",
    "CUSTOMER": "C_ID C_D_ID C_W_ID C_FIRST C_MIDDLE C_LAST C_STREET_1 C_STREET_2 C_CITY C_STATE C_ZIP C_PHONE C_SINCE "
    "C_CREDIT C_CREDIT_LIM C_DISCOUNT C_BALANCE C_YTD_PAYMENT C_PAYMENT_CNT C_DELIVERY_CNT C_DATA",
    "HISTORY": "H_C_ID H_C_D_ID H_C_W_ID H_D_ID H_W_ID H_DATE H_AMOUNT H_DATA",
    "ORDERS": "O_ID O_C_ID O_D_ID O_W_ID O_ENTRY_D O_CARRIER_ID O_OL_CNT O_ALL_LOCAL",
    "NEW_ORDER": "NO_O_ID NO_D_ID NO_W_ID",
    "ORDER_LINE": "OL_O_ID OL_D_ID OL_W_ID OL_NUMBER OL_I_ID OL_SUPPLY_W_ID OL_DELIVERY_D OL_QUANTITY OL_AMOUNT "
    "OL_DIST_INFO",
    "STOCK": "S_I_ID S_W_ID S_QUANTITY " + " ".join(f"S_DIST_{n:02}" for n in range(1, 11))
    + " S_YTD S_ORDER_CNT S_REMOTE_CNT S_DATA",
}
INDEXES = [
    "ITEM (I_ID)", "WAREHOUSE (W_ID)", "DISTRICT (D_W_ID, D_ID)", "CUSTOMER (C_W_ID, C_D_ID, C_ID)",
    "CUSTOMER (C_W_ID, C_D_ID, C_LAST)", "ORDERS (O_W_ID, O_D_ID, O_ID)", "ORDERS (O_W_ID, O_D_ID, O_C_ID)",
    "NEW_ORDER (NO_W_ID, NO_D_ID, NO_O_ID)", "ORDER_LINE (OL_W_ID, OL_D_ID, OL_O_ID)", "STOCK (S_W_ID, S_I_ID)",
    "HISTORY (H_W_ID)",
]
C, D, O = "C_W_ID = ? AND C_D_ID = ? AND C_ID = ?", "D_W_ID = ? AND D_ID = ?", "O_W_ID = ? AND O_D_ID = ? AND O_ID = ?"
OL = "OL_W_ID = ? AND OL_D_ID = ? AND OL_O_ID = ?"


class PackagedDriver(AbstractDriver):
    DEFAULT_CONFIG = {"database": ("The file of the database", "/tmp/packaged.db")}

    def __init__(self, ddl):
        super().__init__("packaged", ddl)
        self.warehouses = 0
        self.denormalize = False
        self.client = None

    def makeDefaultConfig(self):
        return self.DEFAULT_CONFIG

    def loadConfig(self, config):
        self.warehouses = config["warehouses"]
        assert isinstance(self.warehouses, int)
        self.client = sqlite3.connect(config["database"], timeout=60, isolation_level=None)
        self.client.execute("PRAGMA journal_mode = WAL")
        for table, columns in COLUMNS.items():
            if config["reset"]:
                self.client.execute(f"DROP TABLE IF EXISTS {table}")
            self.client.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(columns.split())})")
        for number, index in enumerate(INDEXES):
            self.client.execute(f"CREATE INDEX IF NOT EXISTS I{number} ON {index}")

    def loadTuples(self, tableName, tuples):
        if tableName == constants.TABLENAME_ITEM:
            assert len(tuples) <= 500
        if tableName == constants.TABLENAME_CUSTOMER:
            assert len(tuples) == 30 and isinstance(tuples[0][12], datetime) and isinstance(tuples[0][16], float)
        marks = ",".join("?" * len(tuples[0]))
        self.client.execute("BEGIN IMMEDIATE")
        self.client.executemany(f"INSERT INTO {tableName} VALUES ({marks})", tuples)
        self.client.execute("COMMIT")

    def executeTransaction(self, txn, params):
        # Retries by itself.
        for retries in range(3):
            try:
                self.client.execute("BEGIN IMMEDIATE")
                value, _ = super().executeTransaction(txn, params)
                self.client.execute("ROLLBACK" if value is None else "COMMIT")
                return value, retries
            except sqlite3.OperationalError:
                self.client.rollback()
        return None, 3

    def docs(self, sql, *values):
        found = self.client.execute(sql, values)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row)) for row in found]

    def doc(self, sql, *values):
        found = self.docs(sql, *values)
        return found[0] if found else None

    def who(self, w_id, d_id, params):
        if params["c_id"] is not None:
            return self.doc(f"SELECT * FROM CUSTOMER WHERE {C}", w_id, d_id, params["c_id"])
        found = self.docs("SELECT * FROM CUSTOMER WHERE C_W_ID = ? AND C_D_ID = ? AND C_LAST = ? ORDER BY C_FIRST",
                          w_id, d_id, params["c_last"])
        return found[(len(found) - 1) // 2]

    def doDelivery(self, params):
        w_id, result = params["w_id"], []
        for d_id in range(1, constants.DISTRICTS_PER_WAREHOUSE + 1):
            new = self.doc("SELECT NO_O_ID FROM NEW_ORDER WHERE NO_W_ID = ? AND NO_D_ID = ? ORDER BY NO_O_ID LIMIT 1",
                           w_id, d_id)
            if new is None:
                continue
            key = (w_id, d_id, new["NO_O_ID"])
            order = self.doc(f"SELECT * FROM ORDERS WHERE {O}", *key)
            total = sum(line["OL_AMOUNT"] for line in self.docs(f"SELECT OL_AMOUNT FROM ORDER_LINE WHERE {OL}", *key))
            self.client.execute("DELETE FROM NEW_ORDER WHERE NO_W_ID = ? AND NO_D_ID = ? AND NO_O_ID = ?", key)
            self.client.execute(f"UPDATE ORDERS SET O_CARRIER_ID = ? WHERE {O}", (params["o_carrier_id"], *key))
            self.client.execute(f"UPDATE ORDER_LINE SET OL_DELIVERY_D = ? WHERE {OL}",
                                (str(params["ol_delivery_d"]), *key))
            self.client.execute(f"UPDATE CUSTOMER SET C_BALANCE = C_BALANCE + ?, C_DELIVERY_CNT = C_DELIVERY_CNT + 1 "
                                f"WHERE {C}", (total, w_id, d_id, order["O_C_ID"]))
            result.append((d_id, new["NO_O_ID"]))
        return result, 0

    def doNewOrder(self, params):
        w_id, d_id, c_id = params["w_id"], params["d_id"], params["c_id"]
        warehouse = self.doc("SELECT W_TAX FROM WAREHOUSE WHERE W_ID = ?", w_id)
        district = self.doc(f"SELECT D_TAX, D_NEXT_O_ID FROM DISTRICT WHERE {D}", w_id, d_id)
        customer = self.doc(f"SELECT * FROM CUSTOMER WHERE {C}", w_id, d_id, c_id)
        o_id = district["D_NEXT_O_ID"]
        self.client.execute(f"UPDATE DISTRICT SET D_NEXT_O_ID = D_NEXT_O_ID + 1 WHERE {D}", (w_id, d_id))
        local = int(all(each == w_id for each in params["i_w_ids"]))
        self.client.execute("INSERT INTO ORDERS VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                            (o_id, c_id, d_id, w_id, str(params["o_entry_d"]), 0, len(params["i_ids"]), local))
        self.client.execute("INSERT INTO NEW_ORDER VALUES (?, ?, ?)", (o_id, d_id, w_id))
        total, items = 0, []
        lines = zip(params["i_ids"], params["i_w_ids"], params["i_qtys"])
        for number, (i_id, i_w_id, quantity) in enumerate(lines, 1):
            item = self.doc("SELECT * FROM ITEM WHERE I_ID = ?", i_id)
            if item is None:
                return None, 0
            stock = self.doc("SELECT * FROM STOCK WHERE S_W_ID = ? AND S_I_ID = ?", i_w_id, i_id)
            left = stock["S_QUANTITY"] - quantity + (91 if stock["S_QUANTITY"] < quantity + 10 else 0)
            self.client.execute(
                "UPDATE STOCK SET S_QUANTITY = ?, S_YTD = S_YTD + ?, S_ORDER_CNT = S_ORDER_CNT + 1, "
                "S_REMOTE_CNT = S_REMOTE_CNT + ? WHERE S_W_ID = ? AND S_I_ID = ?",
                (left, quantity, int(i_w_id != w_id), i_w_id, i_id))
            amount = round(quantity * item["I_PRICE"], 2)
            total += amount
            self.client.execute("INSERT INTO ORDER_LINE VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
                                (o_id, d_id, w_id, number, i_id, i_w_id, quantity, amount, stock[f"S_DIST_{d_id:02}"]))
            brand = "B" if "ORIGINAL" in item["I_DATA"] and "ORIGINAL" in stock["S_DATA"] else "G"
            items.append((item["I_NAME"], left, brand, item["I_PRICE"], amount))
        total *= (1 - customer["C_DISCOUNT"]) * (1 + warehouse["W_TAX"] + district["D_TAX"])
        return [customer, [(warehouse["W_TAX"], district["D_TAX"], o_id, total)], items], 0

    def doOrderStatus(self, params):
        w_id, d_id = params["w_id"], params["d_id"]
        customer = self.who(w_id, d_id, params)
        order = self.doc("SELECT * FROM ORDERS WHERE O_W_ID = ? AND O_D_ID = ? AND O_C_ID = ? ORDER BY O_ID DESC LIMIT 1",
                         w_id, d_id, customer["C_ID"])
        lines = self.docs(f"SELECT * FROM ORDER_LINE WHERE {OL} ORDER BY OL_NUMBER", w_id, d_id, order["O_ID"])
        return [customer, order, lines], 0

    def doPayment(self, params):
        w_id, d_id, amount = params["w_id"], params["d_id"], params["h_amount"]
        c_w_id, c_d_id = params["c_w_id"], params["c_d_id"]
        c_id = self.who(c_w_id, c_d_id, params)["C_ID"]
        key = (c_w_id, c_d_id, c_id)
        self.client.execute(
            "UPDATE CUSTOMER SET C_BALANCE = C_BALANCE - ?, C_YTD_PAYMENT = C_YTD_PAYMENT + ?, "
            f"C_PAYMENT_CNT = C_PAYMENT_CNT + 1 WHERE {C}", (amount, amount, *key))
        customer = self.doc(f"SELECT * FROM CUSTOMER WHERE {C}", *key)
        if customer["C_CREDIT"] == constants.BAD_CREDIT:
            entry = f"{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {amount:.2f}|"
            customer["C_DATA"] = (entry + customer["C_DATA"])[:500]
            self.client.execute(f"UPDATE CUSTOMER SET C_DATA = ? WHERE {C}", (customer["C_DATA"], *key))
        self.client.execute("UPDATE WAREHOUSE SET W_YTD = W_YTD + ? WHERE W_ID = ?", (amount, w_id))
        self.client.execute(f"UPDATE DISTRICT SET D_YTD = D_YTD + ? WHERE {D}", (amount, w_id, d_id))
        warehouse = self.doc("SELECT * FROM WAREHOUSE WHERE W_ID = ?", w_id)
        district = self.doc(f"SELECT * FROM DISTRICT WHERE {D}", w_id, d_id)
        data = f"{warehouse['W_NAME']}    {district['D_NAME']}"
        self.client.execute("INSERT INTO HISTORY VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                            (c_id, c_d_id, c_w_id, d_id, w_id, str(params["h_date"]), amount, data))
        return [warehouse, district, customer], 0

    def doStockLevel(self, params):
        w_id, d_id = params["w_id"], params["d_id"]
        next_o_id = self.doc(f"SELECT D_NEXT_O_ID FROM DISTRICT WHERE {D}", w_id, d_id)["D_NEXT_O_ID"]
        found = self.doc(
            "SELECT COUNT(DISTINCT OL_I_ID) AS LOW FROM ORDER_LINE, STOCK WHERE OL_W_ID = ? AND OL_D_ID = ? "
            "AND OL_O_ID < ? AND OL_O_ID >= ? AND S_W_ID = OL_W_ID AND S_I_ID = OL_I_ID AND S_QUANTITY < ?",
            w_id, d_id, next_o_id, next_o_id - 20, params["threshold"])
        return found["LOW"], 0
