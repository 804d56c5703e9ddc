"""Drivers for Lydite in Python.

A driver is a program that Lydite starts (`driver:python3 my_driver.py`) and that plays the five transactions of TPC-C on
a database (`Driver`), or that is a key-value store on which Lydite plays them itself (`KeyValue`):

    class MyStore(lydite.KeyValue):
        ...

    if __name__ == "__main__":
        lydite.serve(MyStore)

Amounts of money are whole cents, taxes and discounts whole ten-thousandths, points in time microseconds since 1970 (UTC):
never floats. What is printed goes to standard error, which errors of Lydite quote.
"""

from .driver import (
    Address,
    Customer,
    Delivery,
    Driver,
    NewOrder,
    NewOrderLine,
    NewOrderResult,
    OrderLine,
    OrderStatus,
    OrderStatusLine,
    OrderStatusResult,
    Payment,
    PaymentResult,
    StockLevel,
    order_total,
)
from .errors import Aborted, Fatal, Refused, RolledBack, Unavailable, Unsupported
from .keyvalue import KeyValue
from .schema import TABLES, Table, micros, when
from .session import alive, serve

__all__ = [
    "TABLES", "Aborted", "Address", "Customer", "Delivery", "Driver", "Fatal", "KeyValue", "NewOrder", "NewOrderLine",
    "NewOrderResult", "OrderLine", "OrderStatus", "OrderStatusLine", "OrderStatusResult", "Payment", "PaymentResult",
    "Refused", "RolledBack", "StockLevel", "Table", "Unavailable", "Unsupported", "alive", "micros", "order_total",
    "serve", "when",
]

__version__ = "0.1.0"
