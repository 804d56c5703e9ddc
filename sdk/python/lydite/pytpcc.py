"""Runs a driver that was written for py-tpcc, unmodified: `driver:pytpcc?path=…/mydriver.py&config=…`.

Both dialects are known: modules beside each other (`import constants`), for Python 2 or 3; and modules of a package (`from
.abstractdriver import *`), which get smaller batches and the number of warehouses. Methods return bare values, or a value
and a number of retries. What is read back for the conditions is read over the driver's own DB-API connection, if it has one.
"""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import importlib
import json
import os
import re
import sys
import time
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import lydite
from lydite import TABLES, when

from . import pytpcc_import, pytpcc_modules
from .pytpcc_results import Record, scaled, short, time_of

#: The standard's types, in py-tpcc's order of loading a district.
_DISTRICT = ("district", "customer", "orders", "order_line", "new_order", "history")
_ITEM = "item"
#: Rows of ITEM and STOCK in one call, by dialect.
_BATCHES = {"modules": 2_500, "package": 500}
#: Where the district stands in our rows.
_DISTRICT_AT = {"district": 0, "customer": 1, "orders": 1, "order_line": 1, "new_order": 1, "history": 3}
#: By size of the database: orders up to this one were loaded, with lines counted from 0.
_LOADED_ORDERS = {"standard": 3_000, "small": 300, "tiny": 30}

_CODES = {"40001": "serialization", "40P01": "deadlock", "55P03": "lock_timeout", 1213: "deadlock",
          1205: "lock_timeout", 1020: "serialization"}

#: What every DB-API module calls the errors of a connection that is lost. Some raise them for more than that.
_LOST = {"OperationalError", "InterfaceError"}


def load_module(path: str) -> Tuple[Any, str]:
    """The driver's class and its dialect."""
    name = os.path.splitext(os.path.basename(path))[0]
    if not name.endswith("driver"):
        raise lydite.Fatal(f"{path}: a py-tpcc driver is a file named like mydriver.py")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            source = file.read()
    except OSError as error:
        raise lydite.Fatal(f"path={path}: {error.strerror}") from None
    dialect = "package" if re.search(r"^\s*from\s+(\.|drivers)", source, re.MULTILINE) else "modules"
    try:
        pytpcc_modules.install(pytpcc_import.folders_of(path))
        module = importlib.import_module(f"drivers.{name}")
    except ModuleNotFoundError as error:
        raise lydite.Fatal(f"{path}: it needs the module {error.name}: install its client library") from None
    wanted = name[: -len("driver")].title() + "Driver"
    for found, value in vars(module).items():
        if found.lower() == wanted.lower():
            return value, dialect
    raise lydite.Fatal(f"{path}: it has no class {wanted}")


class PyTpcc(lydite.Driver):
    """A session of a py-tpcc driver."""

    guarantee = "atomic"
    isolation = "as the py-tpcc driver has it"

    def __init__(self, path: str, config: Optional[str], ddl: Optional[str], guarantee: str) -> None:
        self.path, self.config_path, self.ddl, self.guarantee = path, config, ddl, guarantee
        self.kind, self.dialect = load_module(path)
        self.name = "py-tpcc " + os.path.basename(path)
        self.version = self.dialect
        self.notes_path = (config or path) + ".lydite"
        self.driver: Any = None
        self.executing = False
        self.waiting: Dict[str, List[Sequence[Any]]] = {}

    def settings(self) -> Dict[str, Any]:
        return {"pytpcc_dialect": self.dialect, "pytpcc_driver": os.path.basename(self.path)}

    def start(self, reset: bool = False) -> Any:
        """The driver with its configuration, made when it is first needed: that may make tables."""
        if self.driver is None or reset:
            self.stop()
            try:
                driver = self.kind(self.ddl)
            except Exception as error:
                if self.ddl is None:
                    raise lydite.Fatal(
                        f"{self.kind.__name__}(None): {type(error).__name__}: {error}: if it reads a file with the tables, "
                        "name that with ddl=FILE in the URL"
                    ) from error
                raise
            # The defaults, or the file: drivers fill in what a file leaves out.
            config: Dict[str, Any] = (
                {name: described[1] for name, described in driver.makeDefaultConfig().items()}
                if self.config_path is None else self.read_config(self.config_path))
            config.update(reset=reset, load=False, execute=False)
            if self.dialect == "package":
                config["warehouses"] = int(self.notes().get("warehouses", "1"))
            try:
                driver.loadConfig(config)
            except TypeError as error:
                if self.ddl is not None:
                    raise
                raise lydite.Fatal(
                    f"loadConfig: TypeError: {error}: if it reads a file with the tables, name that with ddl=FILE in the URL"
                ) from error
            self.driver = driver
        return self.driver

    def read_config(self, path: str) -> Dict[str, Any]:
        """The driver's section, with the names in small letters, as py-tpcc reads them."""
        parser = configparser.RawConfigParser()
        try:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        except (OSError, configparser.Error) as error:
            raise lydite.Fatal(f"config={path}: {error}") from None
        name = os.path.basename(self.path)[: -len("driver.py")]
        sections = [section for section in parser.sections() if section.lower() == name.lower()]
        if not sections:
            raise lydite.Fatal(f"config={path}: it has no section [{name}]")
        return dict(parser.items(sections[0]))

    def stop(self) -> None:
        driver, self.driver = self.driver, None
        if driver is not None:
            if self.executing:
                self.executing = False
                driver.executeFinish()
            connection = self.connection(driver)
            if connection is not None:
                connection.close()

    def close(self) -> None:
        self.stop()

    @staticmethod
    def connection(driver: Any) -> Any:
        """The driver's DB-API connection, whatever it is called; None if it has none. Its type is asked: some objects answer
        every attribute."""
        for value in vars(driver).values():
            if all(callable(getattr(type(value), name, None)) for name in ("cursor", "commit", "rollback")):
                return value
        return None

    def commit(self) -> None:
        """Keeps what the driver has not committed by itself."""
        connection = self.connection(self.driver) if self.driver is not None else None
        if connection is not None:
            connection.commit()

    def query(self, sql: str) -> Iterator[Sequence[Any]]:
        connection = self.connection(self.start())
        if connection is None:
            raise lydite.Unsupported(
                f"{os.path.basename(self.path)} has no DB-API connection over which its tables could be read back: the "
                "conditions can't be checked, use --no-check")
        cursor = connection.cursor()
        cursor.execute(sql)
        while True:
            rows = cursor.fetchmany(1_000)
            if not rows:
                return
            yield from rows

    # The tables. Notes are in a file beside the configuration, since a py-tpcc driver has no place for them.

    def tables(self) -> Iterable[str]:
        if self.connection(self.start()) is None:
            return []
        return [name for name in ("warehouse", "item") if self.has_rows(name)]

    def has_rows(self, table: str) -> bool:
        try:
            return next(iter(self.query(f"SELECT 1 FROM {table.upper()} LIMIT 1")), None) is not None
        except Exception:
            # No such table.
            self.rollback()
            return False

    def create(self) -> None:
        self.start()
        self.commit()

    def drop(self) -> None:
        # It may make tables too, and leave the commit to the load.
        self.start(reset=True)
        self.commit()
        self.stop()
        for path in (self.notes_path, self.notes_path + ".lock"):
            if os.path.exists(path):
                os.remove(path)

    def notes(self) -> Dict[str, str]:
        try:
            with open(self.notes_path, encoding="utf-8") as file:
                return dict(json.load(file))
        except FileNotFoundError:
            return {}

    def note(self, name: str, value: str) -> None:
        with self.alone():
            notes = {**self.notes(), name: value}
            with open(self.notes_path + ".new", "w", encoding="utf-8") as file:
                json.dump(notes, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(self.notes_path + ".new", self.notes_path)

    def alone(self) -> Any:
        """Keeps other processes of this driver away."""
        return _Alone(self.notes_path + ".lock")

    # Loading: a warehouse is collected, then handed over in py-tpcc's order, but for STOCK: ORDER_LINE refers to it.

    def resumes(self) -> bool:
        # What was handed over of a warehouse can't be taken back.
        notes = self.notes()
        begun = (name[len("begun "):] for name in notes if name.startswith("begun "))
        return all(f"loaded {w_id}" in notes for w_id in begun)

    def load_begin(self, w_id: int) -> None:
        self.waiting = {name: [] for name in TABLES}

    def load(self, table: str, rows: List[Sequence[Any]]) -> bool:
        self.waiting[table].extend(rows)
        return True

    def load_abort(self) -> None:
        self.waiting = {}

    def load_end(self, w_id: int) -> None:
        driver = self.start()
        # They were made for one process that loads.
        with self.alone_loading():
            self.note(f"begun {w_id}", "")
            driver.loadStart()
            if w_id == 0:
                self.in_batches(driver, _ITEM, _ITEM)
                driver.loadFinishItem()
            else:
                place = f"warehouse {w_id}"
                self.hand_over(driver, "warehouse", self.waiting["warehouse"], place)
                self.in_batches(driver, "stock", place)
                for d_id in range(1, 11):
                    for table in _DISTRICT:
                        at = _DISTRICT_AT[table]
                        rows = [row for row in self.waiting[table] if row[at] == d_id]
                        self.hand_over(driver, table, rows, f"{place}, district {d_id}")
                    driver.loadFinishDistrict(w_id, d_id)
                driver.loadFinishWarehouse(w_id)
            driver.loadFinish()
            self.commit()
        self.waiting = {}

    def alone_loading(self) -> Any:
        return _Alone(self.notes_path + ".load", "waiting for another process that loads")

    def in_batches(self, driver: Any, table: str, place: str) -> None:
        rows, size = self.waiting[table], _BATCHES[self.dialect]
        for begin in range(0, len(rows), size):
            self.hand_over(driver, table, rows[begin : begin + size], place)

    @staticmethod
    def hand_over(driver: Any, table: str, rows: List[Sequence[Any]], place: str) -> None:
        kinds = [kind for _, kind in TABLES[table].columns]
        tuples = []
        for row in rows:
            values = [_theirs(kind, value) for kind, value in zip(kinds, row)]
            if table == "orders":
                o_id, d_id, w_id, c_id, entry_d, carrier, *rest = values
                values = [o_id, c_id, d_id, w_id, entry_d, carrier or 0, *rest]
            elif table == "order_line":
                values[3] -= 1
            tuples.append(values)
        driver.loadTuples(table.upper(), tuples)
        lydite.alive(f"{place}, {table}", stored=len(rows))

    # The transactions.

    def execute(self, name: str, params: Dict[str, Any]) -> Any:
        driver = self.start()
        if not self.executing:
            self.executing = True
            driver.executeStart()
        # A fork's own constants may have other values.
        types = getattr(sys.modules["constants"], "TransactionTypes", None)
        value = driver.executeTransaction(getattr(types, name, name), params)
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], int):
            return value[0]
        return value

    @staticmethod
    def parts(name: str, value: Any, names: Sequence[str]) -> Sequence[Any]:
        if not isinstance(value, (list, tuple)) or len(value) != len(names):
            raise lydite.Fatal(f"{name} returned {short(value)}, and has to return [{', '.join(names)}]")
        return value

    def new_order(self, order: lydite.NewOrder) -> lydite.NewOrderResult:
        value = self.execute("NEW_ORDER", {
            "w_id": order.w_id, "d_id": order.d_id, "c_id": order.c_id, "o_entry_d": when(order.now),
            "i_ids": [line.i_id for line in order.lines], "i_w_ids": [line.supply_w_id for line in order.lines],
            "i_qtys": [line.quantity for line in order.lines]})
        if not value:
            if all(line.i_id <= 100_000 for line in order.lines):
                raise lydite.Fatal(f"new_order returned {value!r}: it gave up an order whose items all exist")
            self.rollback()
            raise self.rolled_back(order)
        customer, misc, items = self.parts("new_order", value, ("customer", "misc", "items"))
        who = Record("new_order.customer", customer)
        if isinstance(misc, (list, tuple)) and len(misc) == 1:
            misc = misc[0]
        numbers = Record("new_order.misc", misc)
        lines = []
        for index, item in enumerate(items):
            line = Record(f"new_order.items[{index}]", item)
            lines.append(lydite.NewOrderLine(
                line.text("I_NAME"), line.whole("S_QUANTITY"), line.text("BRAND_GENERIC") == "B", line.money("I_PRICE"),
                line.money("OL_AMOUNT")))
        return lydite.NewOrderResult(
            numbers.whole("D_NEXT_O_ID"), order.now, who.text("C_LAST"), who.text("C_CREDIT"), who.rate("C_DISCOUNT"),
            numbers.rate("W_TAX"), numbers.rate("D_TAX"), numbers.money("TOTAL"), lines)

    def rolled_back(self, order: lydite.NewOrder) -> lydite.RolledBack:
        """What the terminal shows of it: py-tpcc does not tell, so it is looked up."""
        if self.connection(self.start()) is None:
            return lydite.RolledBack(0, "", "")
        place = f"_W_ID = {order.w_id} AND"
        (o_id,) = next(self.query(f"SELECT D_NEXT_O_ID FROM DISTRICT WHERE D{place} D_ID = {order.d_id}"))
        last, credit = next(self.query(
            f"SELECT C_LAST, C_CREDIT FROM CUSTOMER WHERE C{place} C_D_ID = {order.d_id} AND C_ID = {order.c_id}"))
        self.rollback()
        return lydite.RolledBack(int(o_id), last, credit)

    def payment(self, payment: lydite.Payment) -> lydite.PaymentResult:
        value = self.execute("PAYMENT", {
            "w_id": payment.w_id, "d_id": payment.d_id, "h_amount": payment.h_amount / 100, "c_w_id": payment.c_w_id,
            "c_d_id": payment.c_d_id, "c_id": payment.c_id, "c_last": payment.c_last, "h_date": when(payment.now)})
        warehouse, district, customer = self.parts("payment", value, ("warehouse", "district", "customer"))
        who = Record("payment.customer", customer)
        credit = who.text("C_CREDIT")
        return lydite.PaymentResult(
            payment.now, Record("payment.warehouse", warehouse).address("W"),
            Record("payment.district", district).address("D"), who.whole("C_ID"), who.text("C_FIRST"),
            who.text("C_MIDDLE"), who.text("C_LAST"), who.address("C"), who.text("C_PHONE"),
            who.time("C_SINCE") or 0, credit, who.money("C_CREDIT_LIM"), who.rate("C_DISCOUNT"), who.money("C_BALANCE"),
            who.text("C_DATA")[:200] if credit == "BC" else None)

    def order_status(self, query: lydite.OrderStatus) -> lydite.OrderStatusResult:
        value = self.execute("ORDER_STATUS", {
            "w_id": query.w_id, "d_id": query.d_id, "c_id": query.c_id, "c_last": query.c_last})
        customer, order, lines = self.parts("order_status", value, ("customer", "order", "lines"))
        who, last = Record("order_status.customer", customer), Record("order_status.order", order)
        carrier = last.whole("O_CARRIER_ID") if last.values.get("O_CARRIER_ID") is not None else 0
        shown = []
        for index, each in enumerate(lines):
            line = Record(f"order_status.lines[{index}]", each)
            shown.append(lydite.OrderStatusLine(
                line.whole("OL_I_ID"), line.whole("OL_SUPPLY_W_ID"), line.whole("OL_QUANTITY"), line.money("OL_AMOUNT"),
                line.time("OL_DELIVERY_D")))
        return lydite.OrderStatusResult(
            who.whole("C_ID"), who.text("C_FIRST"), who.text("C_MIDDLE"), who.text("C_LAST"), who.money("C_BALANCE"),
            last.whole("O_ID"), last.time("O_ENTRY_D") or 0, carrier or None, shown)

    def delivery(self, delivery: lydite.Delivery) -> List[Tuple[int, int]]:
        value = self.execute("DELIVERY", {
            "w_id": delivery.w_id, "o_carrier_id": delivery.o_carrier_id, "ol_delivery_d": when(delivery.now)})
        if not isinstance(value, (list, tuple)):
            raise lydite.Fatal(f"delivery returned {short(value)}, and has to return [(d_id, o_id), …]")
        found = [Record(f"delivery.result[{index}]", each) for index, each in enumerate(value)]
        return sorted((each.whole("D_ID"), each.whole("O_ID")) for each in found)

    def stock_level(self, query: lydite.StockLevel) -> int:
        value = self.execute("STOCK_LEVEL", {"w_id": query.w_id, "d_id": query.d_id, "threshold": query.threshold})
        if isinstance(value, bool) or not isinstance(value, int):
            raise lydite.Fatal(f"stock_level returned {short(value)}, and has to return a whole number")
        return value

    def rollback(self) -> None:
        connection = self.connection(self.driver) if self.driver is not None else None
        if connection is not None:
            connection.rollback()

    # Reading back.

    def release(self) -> None:
        self.rollback()

    def rows(self, table: str, w_id: Optional[int]) -> Iterable[Sequence[Any]]:
        described = TABLES[table]
        where = "" if w_id is None else f" WHERE {described.warehouse.upper()} = {w_id}"
        loaded_orders = _LOADED_ORDERS[self.notes().get("size", "standard")]
        names = ", ".join(name.upper() for name in described.names)
        for row in self.query(f"SELECT {names} FROM {table.upper()}{where}"):
            values = []
            for (name, kind), value in zip(described.columns, row):
                try:
                    values.append(_ours(kind, value))
                except (TypeError, ValueError, OverflowError):
                    raise lydite.Fatal(f"{table.upper()} has {name.upper()} = {value!r}, which is no {kind}") from None
            if table == "orders":
                values[5] = values[5] or None
            elif table == "order_line" and values[0] <= loaded_orders:
                values[3] += 1
            yield values

    def explain(self, error: Exception) -> Optional[lydite.Refused]:
        code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if code is None and error.args and isinstance(error.args[0], int):
            code = error.args[0]
        if code in _CODES:
            return lydite.Aborted(_CODES[code], f"{code}: {error}")
        if "database is locked" in str(error):
            return lydite.Aborted("lock_timeout", str(error))
        if not _LOST.isdisjoint(of.__name__ for of in type(error).__mro__):
            # The next transaction connects anew.
            self.forget()
            return lydite.Unavailable(f"{type(error).__name__}: {error}")
        return None

    def forget(self) -> None:
        """Lets go of a driver whose connection is lost."""
        driver, self.driver, self.executing = self.driver, None, False
        connection = self.connection(driver) if driver is not None else None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()


class _Alone:
    """A lock that processes share, for as long as it is entered. `doing` is told to Lydite from time to time while another
    process has it, if it may have it for long."""

    def __init__(self, path: str, doing: Optional[str] = None) -> None:
        self.path = path
        self.doing = doing

    def __enter__(self) -> None:
        self.file = open(self.path, "w", encoding="utf-8")
        if self.doing is None:
            fcntl.flock(self.file, fcntl.LOCK_EX)
            return
        told = time.monotonic()
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.02)
            if time.monotonic() - told > 1:
                told = time.monotonic()
                lydite.alive(self.doing)

    def __exit__(self, *_: Any) -> None:
        self.file.close()


def _theirs(kind: str, value: Any) -> Any:
    """A column as py-tpcc's loader makes it: floats and dates."""
    if value is None:
        return None
    if kind == "money":
        return value / 100
    if kind == "rate":
        return value / 10_000
    return when(value) if kind.startswith("time") else value


def _ours(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "money":
        return scaled(value, 100)
    if kind == "rate":
        return scaled(value, 10_000)
    if kind.startswith("time"):
        return time_of(value)
    return str(value) if kind == "text" else int(value)


def main() -> None:
    """`python3 -m lydite.pytpcc`: the options come in variables, as they stand in the URL."""
    options = {name: os.environ.get(f"LYDITE_PYTPCC_{name.upper()}") or None
               for name in ("path", "config", "ddl", "guarantee")}
    path = options["path"]
    if path is None:
        raise SystemExit("this is started by Lydite: driver:pytpcc?path=…/mydriver.py")
    lydite.serve(lambda: PyTpcc(str(path), options["config"], options["ddl"], options["guarantee"] or "atomic"))


if __name__ == "__main__":
    main()
