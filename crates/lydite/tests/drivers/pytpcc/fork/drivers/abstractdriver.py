# A fork's own base of its drivers.

import constants


class AbstractDriver(object):
    def __init__(self, name, ddl):
        self.name = name
        self.ddl = ddl

    def loadStart(self):
        pass

    def loadFinish(self):
        pass

    def loadFinishItem(self):
        pass

    def loadFinishWarehouse(self, w_id):
        pass

    def loadFinishDistrict(self, w_id, d_id):
        pass

    def executeStart(self):
        pass

    def executeFinish(self):
        pass

    def executeTransaction(self, txn, params):
        types = constants.TransactionTypes
        play = {
            types.DELIVERY: self.doDelivery, types.NEW_ORDER: self.doNewOrder, types.ORDER_STATUS: self.doOrderStatus,
            types.PAYMENT: self.doPayment, types.STOCK_LEVEL: self.doStockLevel,
        }
        return play[txn](params)
