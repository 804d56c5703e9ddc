"""The packaged driver, whose connection is lost for good after some transactions, as DB-API modules tell it."""

from .packageddriver import PackagedDriver


class Error(Exception):
    pass


class OperationalError(Error):
    pass


class LosingDriver(PackagedDriver):
    left = 50

    def executeTransaction(self, txn, params):
        if self.left == 0:
            raise OperationalError("server closed the connection unexpectedly")
        self.left -= 1
        return super().executeTransaction(txn, params)
