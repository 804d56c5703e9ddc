#!/usr/bin/env python3
"""A driver that answers at once and stores nothing but notes: what is left is the protocol. With WORK, a number, it counts that
far in each transaction first, as a driver does that is itself what is busy."""

import json
import os

import lydite

NOTES = os.environ["NOTES"]
WORK = int(os.environ.get("WORK", "0"))
TEXT = "x" * 16
ADDRESS = lydite.Address("x" * 20, "x" * 20, "x" * 20, "xx", "123411111")


class Nothing(lydite.Driver):
    """Stands for a database that has everything already."""

    name = "nothing"
    version = "Python"
    guarantee = "none"

    def tables(self):
        return []

    def create(self):
        self.drop()

    def drop(self):
        if os.path.exists(NOTES):
            os.remove(NOTES)

    def notes(self):
        if not os.path.exists(NOTES):
            return {}
        with open(NOTES, encoding="utf-8") as file:
            return dict(json.loads(line) for line in file)

    def note(self, name, value):
        with open(NOTES, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, value]) + "\n")

    def load_begin(self, w_id):
        pass

    def load(self, table, rows):
        pass

    def load_end(self, w_id):
        pass

    def work(self):
        for _ in range(WORK):
            pass

    def new_order(self, order):
        self.work()
        if any(line.i_id > 100_000 for line in order.lines):
            raise lydite.RolledBack(3001, TEXT, "GC")
        lines = [lydite.NewOrderLine(TEXT, 50, False, 5_000, 5_000 * line.quantity) for line in order.lines]
        total = lydite.order_total((line.amount for line in lines), 100, 100, 100)
        return lydite.NewOrderResult(3001, order.now, TEXT, "GC", 100, 100, 100, total, lines)

    def payment(self, payment):
        self.work()
        return lydite.PaymentResult(payment.now, ADDRESS, ADDRESS, payment.c_id or 1, TEXT, "OE", TEXT, ADDRESS, TEXT,
                                    payment.now, "GC", 5_000_000, 100, -1_000, None)

    def order_status(self, query):
        self.work()
        lines = [lydite.OrderStatusLine(1, 1, 5, 5_000, None)] * 10
        return lydite.OrderStatusResult(query.c_id or 1, TEXT, "OE", TEXT, -1_000, 3000, 1, None, lines)

    def delivery(self, delivery):
        self.work()
        return [(d, 2101) for d in range(1, 11)]

    def stock_level(self, query):
        self.work()
        return 10

    def rollback(self):
        pass

    def rows(self, table, w_id):
        return iter(())


if __name__ == "__main__":
    lydite.serve(Nothing)
