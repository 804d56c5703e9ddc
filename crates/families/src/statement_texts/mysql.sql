-- Made by a test: see LYDITE_RENEW_STATEMENT_TEXTS.

-- MySQL

BatchLastOrderLines: batched
    SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1) AS last JOIN order_line ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id ORDER BY ol_number
BatchStatusByName: batched
    SELECT c_id, c_first, c_middle, c_last, c_balance FROM (SELECT c_id, c_first, c_middle, c_last, c_balance, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS found FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named WHERE place * 2 IN (found, found + 1)
BatchStockLevel: batched
    SELECT count(DISTINCT s_i_id) FROM district JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE d_w_id = $1 AND d_id = $2 AND s_quantity < $3
BeginRead: statements, batched, procedures
    START TRANSACTION READ ONLY
BeginWrite: statements, batched, procedures
    START TRANSACTION
CallDelivery: procedures
    CALL lydite_delivery($1, $2, $3)
CallNewOrder: procedures
    CALL lydite_new_order($1, $2, $3, $4, $5, $6, $7, $8)
CallOrderStatus: procedures
    CALL lydite_order_status($1, $2, $3, $4)
CallPayment: procedures
    CALL lydite_payment($1, $2, $3, $4, $5, $6, $7)
CallSelectBalance: procedures
    CALL lydite_select_balance($1)
CallStockLevel: procedures
    CALL lydite_stock_level($1, $2, $3)
CallUpdateBalance: procedures
    CALL lydite_update_balance($1, $2)
CallUpdateItem: procedures
    CALL lydite_update_item($1, $2)
CallUpdateStock: procedures
    CALL lydite_update_stock($1, $2, $3, $4)
Commit: statements, batched, procedures
    COMMIT
CountLowStock: statements
    SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5
CountLowStocks: statements, batched, procedures
    SELECT count(*) FROM (SELECT DISTINCT ol_w_id, ol_d_id, ol_i_id FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ((ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4) OR (ol_w_id = $5 AND ol_d_id = $6 AND ol_o_id >= $7 AND ol_o_id < $8) OR (ol_w_id = $9 AND ol_d_id = $10 AND ol_o_id >= $11 AND ol_o_id < $12) OR (ol_w_id = $13 AND ol_d_id = $14 AND ol_o_id >= $15 AND ol_o_id < $16) OR (ol_w_id = $17 AND ol_d_id = $18 AND ol_o_id >= $19 AND ol_o_id < $20) OR (ol_w_id = $21 AND ol_d_id = $22 AND ol_o_id >= $23 AND ol_o_id < $24) OR (ol_w_id = $25 AND ol_d_id = $26 AND ol_o_id >= $27 AND ol_o_id < $28) OR (ol_w_id = $29 AND ol_d_id = $30 AND ol_o_id >= $31 AND ol_o_id < $32) OR (ol_w_id = $33 AND ol_d_id = $34 AND ol_o_id >= $35 AND ol_o_id < $36) OR (ol_w_id = $37 AND ol_d_id = $38 AND ol_o_id >= $39 AND ol_o_id < $40) OR (ol_w_id = $41 AND ol_d_id = $42 AND ol_o_id >= $43 AND ol_o_id < $44) OR (ol_w_id = $45 AND ol_d_id = $46 AND ol_o_id >= $47 AND ol_o_id < $48) OR (ol_w_id = $49 AND ol_d_id = $50 AND ol_o_id >= $51 AND ol_o_id < $52) OR (ol_w_id = $53 AND ol_d_id = $54 AND ol_o_id >= $55 AND ol_o_id < $56) OR (ol_w_id = $57 AND ol_d_id = $58 AND ol_o_id >= $59 AND ol_o_id < $60) OR (ol_w_id = $61 AND ol_d_id = $62 AND ol_o_id >= $63 AND ol_o_id < $64)) AND s_quantity < $65) AS low
CreditCustomer: statements, batched
    UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4
CustomerData: statements
    SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE
CustomersByName: statements, batched
    SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id
DeleteNewOrder: statements
    DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3
DeleteNewOrders: batched
    DELETE FROM new_order WHERE no_w_id = $1 AND ((no_d_id = $2 AND no_o_id = $3) OR (no_d_id = $4 AND no_o_id = $5) OR (no_d_id = $6 AND no_o_id = $7) OR (no_d_id = $8 AND no_o_id = $9) OR (no_d_id = $10 AND no_o_id = $11) OR (no_d_id = $12 AND no_o_id = $13) OR (no_d_id = $14 AND no_o_id = $15) OR (no_d_id = $16 AND no_o_id = $17) OR (no_d_id = $18 AND no_o_id = $19) OR (no_d_id = $20 AND no_o_id = $21))
DeliveredOrder: statements
    SELECT o_c_id, o_ol_cnt FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3
DeliveredOrders: batched
    SELECT o_d_id, o_c_id, sum(ol_amount), min(o_ol_cnt) FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = $1 AND ((o_d_id = $2 AND o_id = $3) OR (o_d_id = $4 AND o_id = $5) OR (o_d_id = $6 AND o_id = $7) OR (o_d_id = $8 AND o_id = $9) OR (o_d_id = $10 AND o_id = $11) OR (o_d_id = $12 AND o_id = $13) OR (o_d_id = $14 AND o_id = $15) OR (o_d_id = $16 AND o_id = $17) OR (o_d_id = $18 AND o_id = $19) OR (o_d_id = $20 AND o_id = $21)) GROUP BY o_d_id, o_c_id
Insert01Line: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)
Insert02Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18)
Insert03Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27)
Insert04Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36)
Insert05Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45)
Insert06Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54)
Insert07Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63)
Insert08Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72)
Insert09Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72), ($73, $74, $75, $76, $77, $78, NULL, $79, $80, $81)
Insert10Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72), ($73, $74, $75, $76, $77, $78, NULL, $79, $80, $81), ($82, $83, $84, $85, $86, $87, NULL, $88, $89, $90)
Insert11Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72), ($73, $74, $75, $76, $77, $78, NULL, $79, $80, $81), ($82, $83, $84, $85, $86, $87, NULL, $88, $89, $90), ($91, $92, $93, $94, $95, $96, NULL, $97, $98, $99)
Insert12Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72), ($73, $74, $75, $76, $77, $78, NULL, $79, $80, $81), ($82, $83, $84, $85, $86, $87, NULL, $88, $89, $90), ($91, $92, $93, $94, $95, $96, NULL, $97, $98, $99), ($100, $101, $102, $103, $104, $105, NULL, $106, $107, $108)
Insert13Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72), ($73, $74, $75, $76, $77, $78, NULL, $79, $80, $81), ($82, $83, $84, $85, $86, $87, NULL, $88, $89, $90), ($91, $92, $93, $94, $95, $96, NULL, $97, $98, $99), ($100, $101, $102, $103, $104, $105, NULL, $106, $107, $108), ($109, $110, $111, $112, $113, $114, NULL, $115, $116, $117)
Insert14Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72), ($73, $74, $75, $76, $77, $78, NULL, $79, $80, $81), ($82, $83, $84, $85, $86, $87, NULL, $88, $89, $90), ($91, $92, $93, $94, $95, $96, NULL, $97, $98, $99), ($100, $101, $102, $103, $104, $105, NULL, $106, $107, $108), ($109, $110, $111, $112, $113, $114, NULL, $115, $116, $117), ($118, $119, $120, $121, $122, $123, NULL, $124, $125, $126)
Insert15Lines: batched
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9), ($10, $11, $12, $13, $14, $15, NULL, $16, $17, $18), ($19, $20, $21, $22, $23, $24, NULL, $25, $26, $27), ($28, $29, $30, $31, $32, $33, NULL, $34, $35, $36), ($37, $38, $39, $40, $41, $42, NULL, $43, $44, $45), ($46, $47, $48, $49, $50, $51, NULL, $52, $53, $54), ($55, $56, $57, $58, $59, $60, NULL, $61, $62, $63), ($64, $65, $66, $67, $68, $69, NULL, $70, $71, $72), ($73, $74, $75, $76, $77, $78, NULL, $79, $80, $81), ($82, $83, $84, $85, $86, $87, NULL, $88, $89, $90), ($91, $92, $93, $94, $95, $96, NULL, $97, $98, $99), ($100, $101, $102, $103, $104, $105, NULL, $106, $107, $108), ($109, $110, $111, $112, $113, $114, NULL, $115, $116, $117), ($118, $119, $120, $121, $122, $123, NULL, $124, $125, $126), ($127, $128, $129, $130, $131, $132, NULL, $133, $134, $135)
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
    SELECT i_price FROM item WHERE i_id = $1 FOR UPDATE
LastOrder: statements
    SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1
LeastNewOrder: statements
    SELECT min(no_o_id) FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 FOR UPDATE
ManyItems: batched
    SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
ManyStocks: batched
    SELECT s_w_id, s_i_id, s_quantity, s_data, elt($1, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) FROM stock WHERE (s_w_id = $2 AND s_i_id = $3) OR (s_w_id = $4 AND s_i_id = $5) OR (s_w_id = $6 AND s_i_id = $7) OR (s_w_id = $8 AND s_i_id = $9) OR (s_w_id = $10 AND s_i_id = $11) OR (s_w_id = $12 AND s_i_id = $13) OR (s_w_id = $14 AND s_i_id = $15) OR (s_w_id = $16 AND s_i_id = $17) OR (s_w_id = $18 AND s_i_id = $19) OR (s_w_id = $20 AND s_i_id = $21) OR (s_w_id = $22 AND s_i_id = $23) OR (s_w_id = $24 AND s_i_id = $25) OR (s_w_id = $26 AND s_i_id = $27) OR (s_w_id = $28 AND s_i_id = $29) OR (s_w_id = $30 AND s_i_id = $31) FOR UPDATE
NextOrderId: statements
    SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2
NextOrderIds: statements, batched, procedures
    SELECT d_w_id, d_id, d_next_o_id FROM district WHERE (d_w_id = $1 AND d_id = $2) OR (d_w_id = $3 AND d_id = $4) OR (d_w_id = $5 AND d_id = $6) OR (d_w_id = $7 AND d_id = $8) OR (d_w_id = $9 AND d_id = $10) OR (d_w_id = $11 AND d_id = $12) OR (d_w_id = $13 AND d_id = $14) OR (d_w_id = $15 AND d_id = $16) OR (d_w_id = $17 AND d_id = $18) OR (d_w_id = $19 AND d_id = $20) OR (d_w_id = $21 AND d_id = $22) OR (d_w_id = $23 AND d_id = $24) OR (d_w_id = $25 AND d_id = $26) OR (d_w_id = $27 AND d_id = $28) OR (d_w_id = $29 AND d_id = $30) OR (d_w_id = $31 AND d_id = $32)
OldestNewOrder: statements, batched
    SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE
OrderCustomer: statements, batched
    SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
OrderDistrict: statements, batched
    SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE
OrderLines: statements
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 ORDER BY ol_number
OrderWarehouse: statements, batched
    SELECT w_tax, CURRENT_TIMESTAMP(6) FROM warehouse WHERE w_id = $1
PaidCustomer: batched
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_id, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
PayBadCredit: statements
    UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6
PayCustomer: batched
    UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1, c_data = CASE c_credit WHEN 'BC' THEN left(concat($3, c_data), 500) ELSE c_data END WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6
PayDistrict: statements, batched
    UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3
PayGoodCredit: statements
    UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5
PayWarehouse: statements, batched
    UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2
PaymentCustomer: statements
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE
PaymentDistrict: statements, batched
    SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = $1 AND d_id = $2
PaymentWarehouse: statements, batched
    SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, CURRENT_TIMESTAMP(6) FROM warehouse WHERE w_id = $1
SetCarrier: statements
    UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4
SetCarriers: batched
    UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND ((o_d_id = $3 AND o_id = $4) OR (o_d_id = $5 AND o_id = $6) OR (o_d_id = $7 AND o_id = $8) OR (o_d_id = $9 AND o_id = $10) OR (o_d_id = $11 AND o_id = $12) OR (o_d_id = $13 AND o_id = $14) OR (o_d_id = $15 AND o_id = $16) OR (o_d_id = $17 AND o_id = $18) OR (o_d_id = $19 AND o_id = $20) OR (o_d_id = $21 AND o_id = $22))
SetDeliveryDate: statements
    UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP(6) WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3
SetDeliveryDates: batched
    UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP(6) WHERE ol_w_id = $1 AND ((ol_d_id = $2 AND ol_o_id = $3) OR (ol_d_id = $4 AND ol_o_id = $5) OR (ol_d_id = $6 AND ol_o_id = $7) OR (ol_d_id = $8 AND ol_o_id = $9) OR (ol_d_id = $10 AND ol_o_id = $11) OR (ol_d_id = $12 AND ol_o_id = $13) OR (ol_d_id = $14 AND ol_o_id = $15) OR (ol_d_id = $16 AND ol_o_id = $17) OR (ol_d_id = $18 AND ol_o_id = $19) OR (ol_d_id = $20 AND ol_o_id = $21))
SetPrice: statements, batched, procedures
    UPDATE item SET i_price = $1 WHERE i_id = $2
StatusCustomer: statements, batched
    SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
Stock01: statements
    SELECT s_quantity, s_data, s_dist_01 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock02: statements
    SELECT s_quantity, s_data, s_dist_02 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock03: statements
    SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock04: statements
    SELECT s_quantity, s_data, s_dist_04 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock05: statements
    SELECT s_quantity, s_data, s_dist_05 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock06: statements
    SELECT s_quantity, s_data, s_dist_06 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock07: statements
    SELECT s_quantity, s_data, s_dist_07 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock08: statements
    SELECT s_quantity, s_data, s_dist_08 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock09: statements
    SELECT s_quantity, s_data, s_dist_09 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
Stock10: statements
    SELECT s_quantity, s_data, s_dist_10 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
StockQuantity: statements, batched
    SELECT s_quantity FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE
SumOfLines: statements
    SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3
TakeOrderId: statements, batched
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
UpdateStock: statements, batched
    UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5
WarehouseBalance: statements, batched
    SELECT w_ytd FROM warehouse WHERE w_id = $1
procedures, SHA-256:
    31f67b4014329676c22c65f9ff067bbb17ea8316539ef736c56edee03384f48e

-- snapshots of all engines

BeginRead: statements, batched, procedures
    START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY
procedures, SHA-256:
    31f67b4014329676c22c65f9ff067bbb17ea8316539ef736c56edee03384f48e

-- TiDB

BeginRead: statements, batched, procedures
    START TRANSACTION
procedures, SHA-256:
    31f67b4014329676c22c65f9ff067bbb17ea8316539ef736c56edee03384f48e

-- OceanBase

procedures, SHA-256:
    31f67b4014329676c22c65f9ff067bbb17ea8316539ef736c56edee03384f48e

-- seekdb

OrderCustomer: statements, batched
    SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE
procedures, SHA-256:
    4fcd0fd9dba82c6aaeb66ee31ea0bd1d3b30e57b49c1f6d1271a6251a2b44786

-- Spider

DeleteNewOrder: statements
    DELETE new_order FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3
DeleteNewOrders: batched
    DELETE new_order FROM new_order WHERE no_w_id = $1 AND ((no_d_id = $2 AND no_o_id = $3) OR (no_d_id = $4 AND no_o_id = $5) OR (no_d_id = $6 AND no_o_id = $7) OR (no_d_id = $8 AND no_o_id = $9) OR (no_d_id = $10 AND no_o_id = $11) OR (no_d_id = $12 AND no_o_id = $13) OR (no_d_id = $14 AND no_o_id = $15) OR (no_d_id = $16 AND no_o_id = $17) OR (no_d_id = $18 AND no_o_id = $19) OR (no_d_id = $20 AND no_o_id = $21))
procedures, SHA-256:
    4e460f44d90f3b9c5735745a35c0c2f41bac07cf2773b9472b1585bddcb4c7a1
