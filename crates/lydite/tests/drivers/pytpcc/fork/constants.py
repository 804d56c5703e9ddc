# A fork's own constants, for Python 2, with names that nobody else has.

MODE = 0644
DISTRICTS_PER_WAREHOUSE = 10
BAD_CREDIT = "BC"
TABLENAME_ITEM = "ITEM"
TABLENAME_CUSTOMER = "CUSTOMER"


def enum(*names):
    return type("Enum", (), dict(zip(names, range(len(names)))))


TransactionTypes = enum("DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL")
