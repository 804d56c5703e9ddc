"""The modules that a py-tpcc driver imports: `constants`, `abstractdriver`, `util`, and the package `drivers`. A fork's own
are used if it has them. Numbers are those of the standard."""

from __future__ import annotations

import importlib.util
import random
import sys
import types
from datetime import datetime
from typing import Any, Callable, Dict, List

from .pytpcc_import import Finder


class AbstractDriver:
    """What drivers are derived from."""

    def __init__(self, name: str, ddl: Any) -> None:
        self.name, self.driver_name, self.ddl = name, f"{name.title()}Driver", ddl

    def __str__(self) -> str:
        return self.driver_name

    def makeDefaultConfig(self) -> Dict[str, Any]:
        """Options with a description and a default."""
        return {}

    def loadConfig(self, config: Dict[str, Any]) -> None:
        """Takes the options."""

    def formatConfig(self, config: Dict[str, Any]) -> str:
        """The options as the section of a file."""
        lines = [f"[{self.name}]"]
        lines += [f"# {about}\n{name:<20} = {default}" for name, (about, default) in sorted(config.items())]
        return "\n".join(lines)

    def loadStart(self) -> None:
        """Before the rows."""

    def loadFinish(self) -> None:
        """After the rows."""

    def loadFinishItem(self) -> None:
        """After ITEM."""

    def loadFinishWarehouse(self, w_id: int) -> None:
        """After a warehouse."""

    def loadFinishDistrict(self, w_id: int, d_id: int) -> None:
        """After a district."""

    def loadTuples(self, tableName: str, tuples: List[Any]) -> None:
        """Takes rows."""
        raise NotImplementedError(f"{self.driver_name} has no loadTuples")

    def executeStart(self) -> None:
        """Before the transactions."""

    def executeFinish(self) -> None:
        """After the transactions."""

    def executeTransaction(self, txn: str, params: Dict[str, Any]) -> Any:
        """Plays a transaction."""
        method = {"DELIVERY": "doDelivery", "NEW_ORDER": "doNewOrder", "ORDER_STATUS": "doOrderStatus",
                  "PAYMENT": "doPayment", "STOCK_LEVEL": "doStockLevel"}.get(txn)
        if method is None:
            raise ValueError(f"there is no transaction {txn}")
        play = getattr(self, method, None)
        if play is None:
            raise NotImplementedError(f"{self.driver_name} has no {method}")
        return play(params)

    def save_result(self, result_doc: Any) -> None:
        """Results are Lydite's to keep."""


class TransactionTypes:
    """Their names."""

    DELIVERY = "DELIVERY"
    NEW_ORDER = "NEW_ORDER"
    ORDER_STATUS = "ORDER_STATUS"
    PAYMENT = "PAYMENT"
    STOCK_LEVEL = "STOCK_LEVEL"


_TABLES = ("ITEM", "WAREHOUSE", "DISTRICT", "CUSTOMER", "STOCK", "ORDERS", "NEW_ORDER", "ORDER_LINE", "HISTORY")

_CONSTANTS: Dict[str, Any] = {
    "MONEY_DECIMALS": 2, "TAX_DECIMALS": 4, "DISCOUNT_DECIMALS": 4,
    "NUM_ITEMS": 100_000, "MIN_IM": 1, "MAX_IM": 10_000, "MIN_PRICE": 1.00, "MAX_PRICE": 100.00,
    "MIN_I_NAME": 14, "MAX_I_NAME": 24, "MIN_I_DATA": 26, "MAX_I_DATA": 50,
    "MIN_TAX": 0, "MAX_TAX": 0.2000, "INITIAL_W_YTD": 300_000.00, "INITIAL_D_YTD": 30_000.00,
    "DISTRICTS_PER_WAREHOUSE": 10, "CUSTOMERS_PER_DISTRICT": 3_000, "INITIAL_NEXT_O_ID": 3_001,
    "MIN_NAME": 6, "MAX_NAME": 10, "MIN_STREET": 10, "MAX_STREET": 20, "MIN_CITY": 10, "MAX_CITY": 20,
    "STATE": 2, "ZIP_LENGTH": 9, "ZIP_SUFFIX": "11111", "MIDDLE": "OE", "PHONE": 16,
    "MIN_FIRST": 8, "MAX_FIRST": 16, "MIN_DISCOUNT": 0, "MAX_DISCOUNT": 0.5000,
    "MIN_C_DATA": 300, "MAX_C_DATA": 500, "INITIAL_CREDIT_LIM": 50_000.00, "INITIAL_BALANCE": -10.00,
    "INITIAL_YTD_PAYMENT": 10.00, "INITIAL_PAYMENT_CNT": 1, "INITIAL_DELIVERY_CNT": 0, "INITIAL_AMOUNT": 10.00,
    "GOOD_CREDIT": "GC", "BAD_CREDIT": "BC", "MIN_DATA": 12, "MAX_DATA": 24,
    "MIN_CARRIER_ID": 1, "MAX_CARRIER_ID": 10, "NULL_CARRIER_ID": 0, "NULL_CARRIER_LOWER_BOUND": 2_101,
    "MIN_OL_CNT": 5, "MAX_OL_CNT": 15, "MAX_OL_QUANTITY": 10, "MIN_AMOUNT": 0.01, "INITIAL_ALL_LOCAL": 1,
    "INITIAL_ORDERS_PER_DISTRICT": 3_000, "INITIAL_NEW_ORDERS_PER_DISTRICT": 900, "INITIAL_QUANTITY": 5,
    "STOCK_PER_WAREHOUSE": 100_000, "MIN_QUANTITY": 10, "MAX_QUANTITY": 100, "DIST": 24,
    "MIN_STOCK_LEVEL_THRESHOLD": 10, "MAX_STOCK_LEVEL_THRESHOLD": 20, "MIN_PAYMENT": 1.00, "MAX_PAYMENT": 5_000.00,
    "INVALID_ITEM_MESSAGE": "Item number is not valid", "ORIGINAL_STRING": "ORIGINAL",
    "ALL_TABLES": list(_TABLES), "TransactionTypes": TransactionTypes, "datetime": datetime,
    **{f"TABLENAME_{name}": name for name in _TABLES},
}


def _module(name: str, values: Dict[str, Any]) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(values)
    sys.modules[name] = module
    return module


def _util() -> types.ModuleType:
    rand = _module("util.rand", {"number": random.randint})
    return _module("util", {"__path__": [], "rand": rand})


#: Modules that every driver may import, and what makes ours. The later ones import the earlier ones.
_SHARED: Dict[str, Callable[[], types.ModuleType]] = {
    "constants": lambda: _module("constants", _CONSTANTS),
    "util": _util,
    "abstractdriver": lambda: _module("abstractdriver", {
        "AbstractDriver": AbstractDriver, "constants": sys.modules["constants"], "datetime": datetime}),
}


def install(folders: List[str]) -> None:
    """Makes the modules importable, by themselves and within the package `drivers`. The first of `folders` has the driver."""
    finder = Finder(folders)
    sys.meta_path.insert(0, finder)
    drivers = _module("drivers", {"__path__": folders[:1]})
    for name, make in _SHARED.items():
        spec = finder.own(name, folders)
        if spec is None or spec.loader is None:
            module = make()
        else:
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        sys.modules[f"drivers.{name}"] = module
        setattr(drivers, name, module)
