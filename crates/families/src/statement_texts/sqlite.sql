-- Made by a test: see LYDITE_RENEW_STATEMENT_TEXTS.

-- SQLite

BeginRead: statements
    BEGIN
BeginWrite: statements
    BEGIN IMMEDIATE
Commit: statements
    COMMIT
CountLowStock: statements
    SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= ?3 AND ol_o_id < ?4 AND s_quantity < ?5
CountLowStocks: statements
    SELECT count(*) FROM (SELECT DISTINCT ol_w_id, ol_d_id, ol_i_id FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ((ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= ?3 AND ol_o_id < ?4) OR (ol_w_id = ?5 AND ol_d_id = ?6 AND ol_o_id >= ?7 AND ol_o_id < ?8) OR (ol_w_id = ?9 AND ol_d_id = ?10 AND ol_o_id >= ?11 AND ol_o_id < ?12) OR (ol_w_id = ?13 AND ol_d_id = ?14 AND ol_o_id >= ?15 AND ol_o_id < ?16) OR (ol_w_id = ?17 AND ol_d_id = ?18 AND ol_o_id >= ?19 AND ol_o_id < ?20) OR (ol_w_id = ?21 AND ol_d_id = ?22 AND ol_o_id >= ?23 AND ol_o_id < ?24) OR (ol_w_id = ?25 AND ol_d_id = ?26 AND ol_o_id >= ?27 AND ol_o_id < ?28) OR (ol_w_id = ?29 AND ol_d_id = ?30 AND ol_o_id >= ?31 AND ol_o_id < ?32) OR (ol_w_id = ?33 AND ol_d_id = ?34 AND ol_o_id >= ?35 AND ol_o_id < ?36) OR (ol_w_id = ?37 AND ol_d_id = ?38 AND ol_o_id >= ?39 AND ol_o_id < ?40) OR (ol_w_id = ?41 AND ol_d_id = ?42 AND ol_o_id >= ?43 AND ol_o_id < ?44) OR (ol_w_id = ?45 AND ol_d_id = ?46 AND ol_o_id >= ?47 AND ol_o_id < ?48) OR (ol_w_id = ?49 AND ol_d_id = ?50 AND ol_o_id >= ?51 AND ol_o_id < ?52) OR (ol_w_id = ?53 AND ol_d_id = ?54 AND ol_o_id >= ?55 AND ol_o_id < ?56) OR (ol_w_id = ?57 AND ol_d_id = ?58 AND ol_o_id >= ?59 AND ol_o_id < ?60) OR (ol_w_id = ?61 AND ol_d_id = ?62 AND ol_o_id >= ?63 AND ol_o_id < ?64)) AND s_quantity < ?65) AS low
CreditCustomer: statements
    UPDATE customer SET c_balance = c_balance + ?1, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ?2 AND c_d_id = ?3 AND c_id = ?4
CustomerData: statements
    SELECT c_data FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
CustomersByName: statements
    SELECT c_id FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 ORDER BY c_first, c_id
DeleteNewOrder: statements
    DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3
DeliveredOrder: statements
    SELECT o_c_id, o_ol_cnt FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3
InsertHistory: statements
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
InsertNewOrder: statements
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?1, ?2, ?3)
InsertOrder: statements
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, ?7)
InsertOrderLine: statements
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9)
Item: statements
    SELECT i_price, i_name, i_data FROM item WHERE i_id = ?1
ItemPrice: statements
    SELECT i_price FROM item WHERE i_id = ?1
LastOrder: statements
    SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 ORDER BY o_id DESC LIMIT 1
LeastNewOrder: statements
    SELECT min(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2
NextOrderId: statements
    SELECT d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2
NextOrderIds: statements
    SELECT d_w_id, d_id, d_next_o_id FROM district WHERE (d_w_id = ?1 AND d_id = ?2) OR (d_w_id = ?3 AND d_id = ?4) OR (d_w_id = ?5 AND d_id = ?6) OR (d_w_id = ?7 AND d_id = ?8) OR (d_w_id = ?9 AND d_id = ?10) OR (d_w_id = ?11 AND d_id = ?12) OR (d_w_id = ?13 AND d_id = ?14) OR (d_w_id = ?15 AND d_id = ?16) OR (d_w_id = ?17 AND d_id = ?18) OR (d_w_id = ?19 AND d_id = ?20) OR (d_w_id = ?21 AND d_id = ?22) OR (d_w_id = ?23 AND d_id = ?24) OR (d_w_id = ?25 AND d_id = ?26) OR (d_w_id = ?27 AND d_id = ?28) OR (d_w_id = ?29 AND d_id = ?30) OR (d_w_id = ?31 AND d_id = ?32)
OldestNewOrder: statements
    SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 ORDER BY no_o_id LIMIT 1
OrderCustomer: statements
    SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
OrderDistrict: statements
    SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2
OrderLines: statements
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3 ORDER BY ol_number
OrderWarehouse: statements
    SELECT w_tax, strftime('%Y-%m-%d %H:%M:%f', 'now') FROM warehouse WHERE w_id = ?1
PayBadCredit: statements
    UPDATE customer SET c_balance = c_balance - ?1, c_ytd_payment = c_ytd_payment + ?2, c_payment_cnt = c_payment_cnt + 1, c_data = ?3 WHERE c_w_id = ?4 AND c_d_id = ?5 AND c_id = ?6
PayDistrict: statements
    UPDATE district SET d_ytd = d_ytd + ?1 WHERE d_w_id = ?2 AND d_id = ?3
PayGoodCredit: statements
    UPDATE customer SET c_balance = c_balance - ?1, c_ytd_payment = c_ytd_payment + ?2, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5
PayWarehouse: statements
    UPDATE warehouse SET w_ytd = w_ytd + ?1 WHERE w_id = ?2
PaymentCustomer: statements
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
PaymentDistrict: statements
    SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = ?1 AND d_id = ?2
PaymentWarehouse: statements
    SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, strftime('%Y-%m-%d %H:%M:%f', 'now') FROM warehouse WHERE w_id = ?1
SetCarrier: statements
    UPDATE orders SET o_carrier_id = ?1 WHERE o_w_id = ?2 AND o_d_id = ?3 AND o_id = ?4
SetDeliveryDate: statements
    UPDATE order_line SET ol_delivery_d = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3
SetPrice: statements
    UPDATE item SET i_price = ?1 WHERE i_id = ?2
StatusCustomer: statements
    SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
Stock01: statements
    SELECT s_quantity, s_data, s_dist_01 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock02: statements
    SELECT s_quantity, s_data, s_dist_02 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock03: statements
    SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock04: statements
    SELECT s_quantity, s_data, s_dist_04 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock05: statements
    SELECT s_quantity, s_data, s_dist_05 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock06: statements
    SELECT s_quantity, s_data, s_dist_06 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock07: statements
    SELECT s_quantity, s_data, s_dist_07 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock08: statements
    SELECT s_quantity, s_data, s_dist_08 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock09: statements
    SELECT s_quantity, s_data, s_dist_09 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
Stock10: statements
    SELECT s_quantity, s_data, s_dist_10 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
StockQuantity: statements
    SELECT s_quantity FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2
SumOfLines: statements
    SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3
TakeOrderId: statements
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ?1 AND d_id = ?2
UpdateStock: statements
    UPDATE stock SET s_quantity = ?1, s_ytd = s_ytd + ?2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?3 WHERE s_w_id = ?4 AND s_i_id = ?5
WarehouseBalance: statements
    SELECT w_ytd FROM warehouse WHERE w_id = ?1
