-- Made by a test: see LYDITE_RENEW_STATEMENT_TEXTS.

-- repeatable read

BatchDeliver: batched
    WITH oldest AS MATERIALIZED (SELECT district, (SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = district ORDER BY no_o_id LIMIT 1) AS id FROM unnest($2::int[]) AS district), taken AS (DELETE FROM new_order USING oldest WHERE no_w_id = $1 AND no_d_id = district AND no_o_id = id RETURNING no_d_id, no_o_id), delivered AS (UPDATE orders SET o_carrier_id = $3 FROM taken WHERE o_w_id = $1 AND o_d_id = no_d_id AND o_id = no_o_id RETURNING o_d_id, o_id, o_c_id, o_ol_cnt), dated AS (UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP FROM taken WHERE ol_w_id = $1 AND ol_d_id = no_d_id AND ol_o_id = no_o_id RETURNING ol_d_id, ol_amount), owed AS (SELECT ol_d_id, sum(ol_amount) AS amount FROM dated GROUP BY ol_d_id), credited AS (UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 FROM delivered JOIN owed ON ol_d_id = o_d_id WHERE c_w_id = $1 AND c_d_id = o_d_id AND c_id = o_c_id RETURNING c_id) SELECT district, o_id, CAST(CASE WHEN (SELECT count(*) FROM credited) <> (SELECT count(*) FROM taken) OR (SELECT count(*) FROM dated) <> (SELECT coalesce(sum(o_ol_cnt), 0) FROM delivered) THEN 'UPDATE orders, order_line or customer of a Delivery changed too few rows: run lydite check' ELSE '1' END AS int), id FROM oldest LEFT JOIN delivered ON o_d_id = district WHERE id IS NOT NULL ORDER BY district
BatchItems: batched
    SELECT number, i_price, i_name, i_data FROM unnest($1::int[]) WITH ORDINALITY AS line (item, number) JOIN item ON i_id = item
BatchLastOrderLines: batched
    SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1) AS last JOIN order_line ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id ORDER BY ol_number
BatchLines: batched
    WITH line AS (SELECT * FROM unnest($4::int[], $5::int[], $6::int[], $7::int[], $8::numeric[]) AS line (number, item, supply, quantity, amount)), taken AS (UPDATE stock SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + CASE WHEN supply <> $3::int THEN 1 ELSE 0 END FROM line WHERE s_w_id = supply AND s_i_id = item RETURNING line.*, s_quantity, s_data, (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[($2::int - 1) % 10 + 1] AS dist), inserted AS (INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) SELECT $1::bigint, $2::int, $3::int, number, item, supply, NULL, quantity, amount, dist FROM taken RETURNING ol_number) SELECT array_agg(number), array_agg(s_quantity), array_agg(s_data), CAST(CASE WHEN count(*) <> cardinality($4::int[]) THEN 'UPDATE stock of the order changed too few rows: run lydite check' WHEN count(*) <> (SELECT count(*) FROM inserted) THEN 'INSERT INTO order_line of the order changed too few rows: run lydite check' ELSE '1' END AS int) FROM taken
BatchPayCustomer: batched
    UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' THEN left(format('%s %s %s %s %s %s|', c_id, c_d_id, c_w_id, $6::int, $5::int, $4::numeric(6,2)) || c_data, 500) ELSE c_data END WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_id, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END
BatchPayCustomerByName: batched
    UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' THEN left(format('%s %s %s %s %s %s|', c_id, c_d_id, c_w_id, $6::int, $5::int, $4::numeric(6,2)) || c_data, 500) ELSE c_data END WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = (SELECT c_id FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS found FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named WHERE place = (found + 1) / 2) RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_id, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END
BatchPayDistrict: batched
    UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3 RETURNING d_street_1, d_street_2, d_city, d_state, d_zip, d_name
BatchPayWarehouse: batched
    UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2 RETURNING w_street_1, w_street_2, w_city, w_state, w_zip, w_name, CURRENT_TIMESTAMP
BatchStatusByName: batched
    SELECT c_id, c_first, c_middle, c_last, c_balance FROM (SELECT c_id, c_first, c_middle, c_last, c_balance, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS found FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named WHERE place * 2 IN (found, found + 1)
BatchStockLevel: batched
    SELECT count(DISTINCT s_i_id) FROM district JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE d_w_id = $1 AND d_id = $2 AND s_quantity < $3
BatchTakeOrderId: batched
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 RETURNING d_tax, d_next_o_id - 1
BatchUpdateStock: batched
    WITH line AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[]) AS line (number, item, supply, quantity)), taken AS (UPDATE stock SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + CASE WHEN supply <> $5::int THEN 1 ELSE 0 END FROM line WHERE s_w_id = supply AND s_i_id = item RETURNING number, s_quantity) SELECT array_agg(number), array_agg(s_quantity), CAST(CASE WHEN count(*) = cardinality($1::int[]) THEN '1' ELSE 'UPDATE stock of the order changed too few rows: run lydite check' END AS int) FROM taken
BeginRead: statements, batched, procedures
    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
BeginWrite: statements, batched, procedures
    BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE
CallDelivery: procedures
    SELECT * FROM lydite_delivery($1, $2, $3)
CallNewOrder: procedures
    SELECT * FROM lydite_new_order($1, $2, $3, $4, $5, $6, $7, $8)
CallOrderStatus: procedures
    SELECT * FROM lydite_order_status($1, $2, $3, $4)
CallPayment: procedures
    SELECT * FROM lydite_payment($1, $2, $3, $4, $5, $6, $7)
CallSelectBalance: procedures
    SELECT * FROM lydite_select_balance($1)
CallStockLevel: procedures
    SELECT * FROM lydite_stock_level($1, $2, $3)
CallUpdateBalance: procedures
    SELECT * FROM lydite_update_balance($1, $2)
CallUpdateItem: procedures
    SELECT * FROM lydite_update_item($1, $2)
CallUpdateStock: procedures
    SELECT * FROM lydite_update_stock($1, $2, $3, $4)
Commit: statements, batched, procedures
    COMMIT
CountLowStock: statements
    SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5
CountLowStocks: statements, batched, procedures
    SELECT count(*) FROM (SELECT DISTINCT ol_w_id, ol_d_id, ol_i_id FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ((ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4) OR (ol_w_id = $5 AND ol_d_id = $6 AND ol_o_id >= $7 AND ol_o_id < $8) OR (ol_w_id = $9 AND ol_d_id = $10 AND ol_o_id >= $11 AND ol_o_id < $12) OR (ol_w_id = $13 AND ol_d_id = $14 AND ol_o_id >= $15 AND ol_o_id < $16) OR (ol_w_id = $17 AND ol_d_id = $18 AND ol_o_id >= $19 AND ol_o_id < $20) OR (ol_w_id = $21 AND ol_d_id = $22 AND ol_o_id >= $23 AND ol_o_id < $24) OR (ol_w_id = $25 AND ol_d_id = $26 AND ol_o_id >= $27 AND ol_o_id < $28) OR (ol_w_id = $29 AND ol_d_id = $30 AND ol_o_id >= $31 AND ol_o_id < $32) OR (ol_w_id = $33 AND ol_d_id = $34 AND ol_o_id >= $35 AND ol_o_id < $36) OR (ol_w_id = $37 AND ol_d_id = $38 AND ol_o_id >= $39 AND ol_o_id < $40) OR (ol_w_id = $41 AND ol_d_id = $42 AND ol_o_id >= $43 AND ol_o_id < $44) OR (ol_w_id = $45 AND ol_d_id = $46 AND ol_o_id >= $47 AND ol_o_id < $48) OR (ol_w_id = $49 AND ol_d_id = $50 AND ol_o_id >= $51 AND ol_o_id < $52) OR (ol_w_id = $53 AND ol_d_id = $54 AND ol_o_id >= $55 AND ol_o_id < $56) OR (ol_w_id = $57 AND ol_d_id = $58 AND ol_o_id >= $59 AND ol_o_id < $60) OR (ol_w_id = $61 AND ol_d_id = $62 AND ol_o_id >= $63 AND ol_o_id < $64)) AND s_quantity < $65) AS low
CreditCustomer: statements
    UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4
CustomerData: statements
    SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
CustomersByName: statements
    SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id
DeleteNewOrder: statements
    DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3
DeliveredOrder: statements
    SELECT o_c_id, o_ol_cnt FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3
InsertHistory: statements, batched
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
InsertNewOrder: statements, batched
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)
InsertOrder: statements, batched
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)
InsertOrderLine: statements
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)
Item: statements
    SELECT i_price, i_name, i_data FROM item WHERE i_id = $1
ItemPrice: statements, batched, procedures
    SELECT i_price FROM item WHERE i_id = $1 FOR NO KEY UPDATE
LastOrder: statements
    SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1
LeastNewOrder: statements
    SELECT min(no_o_id) FROM new_order WHERE no_w_id = $1 AND no_d_id = $2
NextOrderId: statements
    SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2
NextOrderIds: statements, batched, procedures
    SELECT d_w_id, d_id, d_next_o_id FROM district WHERE (d_w_id = $1 AND d_id = $2) OR (d_w_id = $3 AND d_id = $4) OR (d_w_id = $5 AND d_id = $6) OR (d_w_id = $7 AND d_id = $8) OR (d_w_id = $9 AND d_id = $10) OR (d_w_id = $11 AND d_id = $12) OR (d_w_id = $13 AND d_id = $14) OR (d_w_id = $15 AND d_id = $16) OR (d_w_id = $17 AND d_id = $18) OR (d_w_id = $19 AND d_id = $20) OR (d_w_id = $21 AND d_id = $22) OR (d_w_id = $23 AND d_id = $24) OR (d_w_id = $25 AND d_id = $26) OR (d_w_id = $27 AND d_id = $28) OR (d_w_id = $29 AND d_id = $30) OR (d_w_id = $31 AND d_id = $32)
OldestNewOrder: statements
    SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR NO KEY UPDATE
OrderCustomer: statements, batched
    SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
OrderDistrict: statements
    SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2 FOR NO KEY UPDATE
OrderLines: statements
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 ORDER BY ol_number
OrderWarehouse: statements, batched
    SELECT w_tax, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = $1
PayBadCredit: statements
    UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6
PayDistrict: statements
    UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3
PayGoodCredit: statements
    UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5
PayWarehouse: statements, batched
    UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2
PaymentCustomer: statements
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR NO KEY UPDATE
PaymentDistrict: statements
    SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = $1 AND d_id = $2
PaymentWarehouse: statements
    SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = $1
SetCarrier: statements
    UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4
SetDeliveryDate: statements
    UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3
SetPrice: statements, batched, procedures
    UPDATE item SET i_price = $1 WHERE i_id = $2
StatusCustomer: statements, batched
    SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
Stock01: statements
    SELECT s_quantity, s_data, s_dist_01 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock02: statements
    SELECT s_quantity, s_data, s_dist_02 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock03: statements
    SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock04: statements
    SELECT s_quantity, s_data, s_dist_04 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock05: statements
    SELECT s_quantity, s_data, s_dist_05 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock06: statements
    SELECT s_quantity, s_data, s_dist_06 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock07: statements
    SELECT s_quantity, s_data, s_dist_07 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock08: statements
    SELECT s_quantity, s_data, s_dist_08 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock09: statements
    SELECT s_quantity, s_data, s_dist_09 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
Stock10: statements
    SELECT s_quantity, s_data, s_dist_10 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
StockQuantity: statements
    SELECT s_quantity FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR NO KEY UPDATE
SumOfLines: statements
    SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3
TakeOrderId: statements
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
UpdateStock: statements
    UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5
WarehouseBalance: statements, batched
    SELECT w_ytd FROM warehouse WHERE w_id = $1
procedures, SHA-256:
    88b24b264056ae806e2d4da0f8e2f0aaa497779707204aa4612fa367282a89b2

-- serializable

BeginRead: statements, batched, procedures
    BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY
BeginWrite: statements, batched, procedures
    BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE
procedures, SHA-256:
    88b24b264056ae806e2d4da0f8e2f0aaa497779707204aa4612fa367282a89b2

-- read committed

BeginRead: statements, batched, procedures
    BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY
BeginWrite: statements, batched, procedures
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE
procedures, SHA-256:
    88b24b264056ae806e2d4da0f8e2f0aaa497779707204aa4612fa367282a89b2

-- over shards

CountLowStock: statements
    SELECT count(*) FROM stock WHERE s_w_id = $1 AND s_i_id = ANY (ARRAY(SELECT ol_i_id FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4)) AND s_quantity < $5
CountLowStocks: statements, batched, procedures
    WITH line AS MATERIALIZED (SELECT DISTINCT ol_w_id, ol_d_id, ol_i_id FROM order_line WHERE (ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4) OR (ol_w_id = $5 AND ol_d_id = $6 AND ol_o_id >= $7 AND ol_o_id < $8) OR (ol_w_id = $9 AND ol_d_id = $10 AND ol_o_id >= $11 AND ol_o_id < $12) OR (ol_w_id = $13 AND ol_d_id = $14 AND ol_o_id >= $15 AND ol_o_id < $16) OR (ol_w_id = $17 AND ol_d_id = $18 AND ol_o_id >= $19 AND ol_o_id < $20) OR (ol_w_id = $21 AND ol_d_id = $22 AND ol_o_id >= $23 AND ol_o_id < $24) OR (ol_w_id = $25 AND ol_d_id = $26 AND ol_o_id >= $27 AND ol_o_id < $28) OR (ol_w_id = $29 AND ol_d_id = $30 AND ol_o_id >= $31 AND ol_o_id < $32) OR (ol_w_id = $33 AND ol_d_id = $34 AND ol_o_id >= $35 AND ol_o_id < $36) OR (ol_w_id = $37 AND ol_d_id = $38 AND ol_o_id >= $39 AND ol_o_id < $40) OR (ol_w_id = $41 AND ol_d_id = $42 AND ol_o_id >= $43 AND ol_o_id < $44) OR (ol_w_id = $45 AND ol_d_id = $46 AND ol_o_id >= $47 AND ol_o_id < $48) OR (ol_w_id = $49 AND ol_d_id = $50 AND ol_o_id >= $51 AND ol_o_id < $52) OR (ol_w_id = $53 AND ol_d_id = $54 AND ol_o_id >= $55 AND ol_o_id < $56) OR (ol_w_id = $57 AND ol_d_id = $58 AND ol_o_id >= $59 AND ol_o_id < $60) OR (ol_w_id = $61 AND ol_d_id = $62 AND ol_o_id >= $63 AND ol_o_id < $64)), low AS MATERIALIZED (SELECT s_w_id, s_i_id FROM stock WHERE s_w_id IN ($1, $5, $9, $13, $17, $21, $25, $29, $33, $37, $41, $45, $49, $53, $57, $61) AND s_i_id = ANY (ARRAY(SELECT ol_i_id FROM line)) AND s_quantity < $65) SELECT count(*) FROM line JOIN low ON s_w_id = ol_w_id AND s_i_id = ol_i_id
procedures, SHA-256:
    88b24b264056ae806e2d4da0f8e2f0aaa497779707204aa4612fa367282a89b2
