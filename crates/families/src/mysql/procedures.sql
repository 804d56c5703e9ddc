-- The transactions of TPC-C (clauses 2.4.2 to 2.8.2), and of the Dike paper, as procedures. Each does what the
-- statements of its module do (as `sql/new_order.rs`); a test holds them to it. Each begins and commits by itself. After
-- an error the caller rolls back: a handler that did so here would hide the error's code on some servers (RESIGNAL in
-- OceanBase).
--
-- There are no arrays. Numbers of order lines come as texts of eight digits each, and go back as texts with `|` between.
-- Procedures whose names end in `_arrays` make rows of them by JSON_TABLE; servers without it get the others alone.
-- Parts of this file are sent one by one; a line of dashes and a slash parts them. Words in braces stand for fields of
-- the dialect.

--/
CREATE PROCEDURE lydite_customer(
    in_w int, in_d int, in_c int, in_last varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, OUT out_c int)
BEGIN
    DECLARE v_text varchar(120);
    SET out_c = NULL;
    IF in_c IS NOT NULL THEN
        SELECT c_id INTO out_c FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
    ELSE
        SELECT c_id INTO out_c FROM (
            SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS found
            FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_last = in_last) AS named
        WHERE place * 2 IN (found, found + 1);
    END IF;
    IF out_c IS NULL THEN
        SET v_text = concat('customer ', coalesce(in_c, in_last), ' of district ', in_w, '/', in_d,
            ' is missing: run lydite check');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
    END IF;
END

--/
-- Reports that a statement changed another number of rows than it must. Called after the fact only, since a call costs
-- time.
CREATE PROCEDURE lydite_wrong_rows(in_what varchar(60) CHARACTER SET utf8mb4, in_rows int, in_wanted int)
BEGIN
    DECLARE v_text varchar(120);
    SET v_text = concat(in_what, ' changed ', in_rows, ' rows instead of ', in_wanted, ': run lydite check');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
END
--/
CREATE PROCEDURE lydite_new_order(
    in_w int, in_d int, in_c int,
    in_numbers varchar(120), in_items varchar(120), in_supplies varchar(120), in_quantities varchar(120),
    -- Lines are booked one by one here, so it does not matter which have the same stock.
    in_rounds varchar(120))
BEGIN
    DECLARE v_gone, v_k, v_at, v_number, v_item, v_supply, v_quantity, v_stock, v_brand, v_count, v_rows int DEFAULT 0;
    DECLARE v_o bigint DEFAULT 0;
    DECLARE v_entry datetime(6);
    DECLARE v_last varchar(16);
    DECLARE v_credit char(2);
    DECLARE v_discount, v_w_tax, v_d_tax decimal(4, 4);
    DECLARE v_price decimal(5, 2);
    DECLARE v_amount, v_sum decimal(12, 2) DEFAULT 0;
    DECLARE v_name, v_dist varchar(24);
    DECLARE v_names, v_stocks, v_brands, v_prices varchar(400);
    DECLARE v_text varchar(120);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_gone = 1;
    START TRANSACTION;
    SET v_entry = CURRENT_TIMESTAMP(6);
    SELECT w_tax INTO v_w_tax FROM warehouse WHERE w_id = in_w;
    SELECT c_discount, c_last, c_credit INTO v_discount, v_last, v_credit
        FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c{customer_lock};
    SELECT d_tax, d_next_o_id INTO v_d_tax, v_o
        FROM district WHERE d_w_id = in_w AND d_id = in_d FOR UPDATE;
    IF v_gone THEN
        SET v_text = concat('customer, district or warehouse of ', in_w, '/', in_d, '/', in_c,
            ' is missing: run lydite check');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
    END IF;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d;
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE district', v_rows, 1); END IF;
    SET v_count = char_length(in_numbers) DIV 8;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (v_o, in_d, in_w, in_c, v_entry, NULL, v_count,
            CASE WHEN in_supplies = repeat(lpad(in_w, 8, '0'), v_count) THEN 1 ELSE 0 END);
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('INSERT INTO orders', v_rows, 1); END IF;
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, in_d, in_w);
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('INSERT INTO new_order', v_rows, 1); END IF;
    -- Lists by number of the line, which is not the order in which rows are locked.
    SET v_names = repeat(concat(space(24), '|'), v_count), v_stocks = repeat('     |', v_count),
        v_brands = repeat('0|', v_count), v_prices = repeat('         |', v_count);
    WHILE v_k < v_count DO
        SET v_at = v_k * 8 + 1, v_k = v_k + 1;
        SET v_number = substr(in_numbers, v_at, 8), v_item = substr(in_items, v_at, 8),
            v_supply = substr(in_supplies, v_at, 8), v_quantity = substr(in_quantities, v_at, 8);
        SELECT i_price, i_name, CASE WHEN locate('ORIGINAL', i_data) > 0 THEN 1 ELSE 0 END
            INTO v_price, v_name, v_brand FROM item WHERE i_id = v_item;
        IF v_gone THEN
            SET v_text = concat(v_o, '|', v_credit, '|', v_last);
            SIGNAL SQLSTATE 'LY001' SET MESSAGE_TEXT = v_text;
        END IF;
        SELECT s_quantity, CASE WHEN locate('ORIGINAL', s_data) > 0 THEN v_brand ELSE 0 END,
                elt((in_d - 1) % 10 + 1, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08,
                    s_dist_09, s_dist_10)
            INTO v_stock, v_brand, v_dist FROM stock WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
        IF v_gone THEN
            SET v_text = concat('stock ', v_supply, '/', v_item, ' is missing: run lydite check');
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
        END IF;
        SET v_stock = v_stock - v_quantity + CASE WHEN v_stock >= v_quantity + 10 THEN 0 ELSE 91 END,
            v_amount = v_quantity * v_price, v_sum = v_sum + v_amount;
        UPDATE stock SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN v_supply <> in_w THEN 1 ELSE 0 END
            WHERE s_w_id = v_supply AND s_i_id = v_item;
        SET v_rows = row_count();
        IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE stock', v_rows, 1); END IF;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                ol_quantity, ol_amount, ol_dist_info)
            VALUES (v_o, in_d, in_w, v_number, v_item, v_supply, NULL, v_quantity, v_amount, v_dist);
        SET v_rows = row_count();
        IF v_rows <> 1 THEN CALL lydite_wrong_rows('INSERT INTO order_line', v_rows, 1); END IF;
        SET v_names = insert(v_names, v_number * 25 - 24, 24, rpad(v_name, 24, ' ')),
            v_stocks = insert(v_stocks, v_number * 6 - 5, 5, lpad(v_stock, 5, ' ')),
            v_brands = insert(v_brands, v_number * 2 - 1, 1, v_brand),
            v_prices = insert(v_prices, v_number * 10 - 9, 9, lpad(v_price, 9, ' '));
    END WHILE;
    COMMIT;
    SELECT v_o, v_entry, v_last, v_credit, v_discount, v_w_tax, v_d_tax,
        round(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2) AS total,
        left(v_names, v_count * 25 - 1) AS names, left(v_stocks, v_count * 6 - 1) AS stocks,
        left(v_brands, v_count * 2 - 1) AS brands, left(v_prices, v_count * 10 - 1) AS prices;
END

--/
-- As the procedure above, but each statement works on all lines. One UPDATE changes a row once only, so an order with the
-- same stock in several lines goes line by line. Prices and names are read by a SELECT without locks, as there; an
-- INSERT that joined ITEM would lock its rows.
CREATE PROCEDURE lydite_new_order_arrays(
    in_w int, in_d int, in_c int,
    in_numbers varchar(120), in_items varchar(120), in_supplies varchar(120), in_quantities varchar(120),
    in_rounds varchar(120))
BEGIN
    DECLARE v_gone, v_count, v_done, v_known, v_rows, v_stocked, v_inserted int DEFAULT 0;
    DECLARE v_o bigint DEFAULT 0;
    DECLARE v_entry datetime(6);
    DECLARE v_last varchar(16);
    DECLARE v_credit char(2);
    DECLARE v_discount, v_w_tax, v_d_tax decimal(4, 4);
    DECLARE v_sum decimal(12, 2) DEFAULT 0;
    DECLARE v_names, v_stocks, v_brands, v_prices varchar(400);
    DECLARE v_places, v_text varchar(120);
    DECLARE v_lines text;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_gone = 1;
    SET v_count = char_length(in_numbers) DIV 8;
    IF in_rounds <> repeat('00000001', v_count) THEN
        CALL lydite_new_order(in_w, in_d, in_c, in_numbers, in_items, in_supplies, in_quantities, in_rounds);
    ELSE
        SET v_places = concat('[0', repeat(',0', v_count - 1), ']');
        START TRANSACTION;
        SET v_entry = CURRENT_TIMESTAMP(6);
        SELECT w_tax INTO v_w_tax FROM warehouse WHERE w_id = in_w;
        SELECT c_discount, c_last, c_credit INTO v_discount, v_last, v_credit
            FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
        SELECT d_tax, d_next_o_id INTO v_d_tax, v_o
            FROM district WHERE d_w_id = in_w AND d_id = in_d FOR UPDATE;
        IF v_gone THEN
            SET v_text = concat('customer, district or warehouse of ', in_w, '/', in_d, '/', in_c,
                ' is missing: run lydite check');
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
        END IF;
        UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d;
        SET v_rows = row_count();
        IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE district', v_rows, 1); END IF;
        INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
            VALUES (v_o, in_d, in_w, in_c, v_entry, NULL, v_count,
                CASE WHEN in_supplies = repeat(lpad(in_w, 8, '0'), v_count) THEN 1 ELSE 0 END);
        SET v_rows = row_count();
        IF v_rows <> 1 THEN CALL lydite_wrong_rows('INSERT INTO orders', v_rows, 1); END IF;
        INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, in_d, in_w);
        SET v_rows = row_count();
        IF v_rows <> 1 THEN CALL lydite_wrong_rows('INSERT INTO new_order', v_rows, 1); END IF;
        UPDATE (SELECT CAST(substr(in_items, k * 8 - 7, 8) AS signed) AS item,
                CAST(substr(in_supplies, k * 8 - 7, 8) AS signed) AS supply,
                CAST(substr(in_quantities, k * 8 - 7, 8) AS signed) AS quantity
                FROM JSON_TABLE(v_places, '$[*]' COLUMNS (k FOR ORDINALITY)) AS place) AS line
            JOIN stock ON s_w_id = supply AND s_i_id = item SET
            s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN supply <> in_w THEN 1 ELSE 0 END;
        SET v_stocked = row_count();
        SELECT count(*), sum(quantity * i_price), group_concat(i_name ORDER BY number SEPARATOR '|'),
            group_concat(s_quantity ORDER BY number SEPARATOR '|'),
            group_concat(CASE WHEN locate('ORIGINAL', i_data) > 0 AND locate('ORIGINAL', s_data) > 0 THEN 1 ELSE 0 END
                ORDER BY number SEPARATOR '|'),
            group_concat(i_price ORDER BY number SEPARATOR '|'),
            json_arrayagg(json_array(number, item, supply, quantity, quantity * i_price,
                elt((in_d - 1) % 10 + 1, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
                    s_dist_08, s_dist_09, s_dist_10)))
            INTO v_done, v_sum, v_names, v_stocks, v_brands, v_prices, v_lines
            FROM (SELECT CAST(substr(in_numbers, k * 8 - 7, 8) AS signed) AS number,
                CAST(substr(in_items, k * 8 - 7, 8) AS signed) AS item,
                CAST(substr(in_supplies, k * 8 - 7, 8) AS signed) AS supply,
                CAST(substr(in_quantities, k * 8 - 7, 8) AS signed) AS quantity
                FROM JSON_TABLE(v_places, '$[*]' COLUMNS (k FOR ORDINALITY)) AS place) AS line
            JOIN item ON i_id = item JOIN stock ON s_w_id = supply AND s_i_id = item;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                ol_quantity, ol_amount, ol_dist_info)
            SELECT v_o, in_d, in_w, number, item, supply, NULL, quantity, amount, dist
            FROM JSON_TABLE(v_lines, '$[*]' COLUMNS (
                number int PATH '$[0]', item int PATH '$[1]', supply int PATH '$[2]', quantity int PATH '$[3]',
                amount decimal(6, 2) PATH '$[4]', dist char(24) PATH '$[5]')) AS line;
        SET v_inserted = row_count();
        IF v_done < v_count THEN
            SELECT count(*) INTO v_known FROM (SELECT CAST(substr(in_items, k * 8 - 7, 8) AS signed) AS item
                FROM JSON_TABLE(v_places, '$[*]' COLUMNS (k FOR ORDINALITY)) AS place) AS line
                JOIN item ON i_id = item;
            IF v_known < v_count THEN
                SET v_text = concat(v_o, '|', v_credit, '|', v_last);
                SIGNAL SQLSTATE 'LY001' SET MESSAGE_TEXT = v_text;
            END IF;
            SET v_text = concat('stock of order ', in_w, '/', in_d, '/', v_o, ' is missing: run lydite check');
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
        END IF;
        IF v_stocked <> v_count THEN CALL lydite_wrong_rows('UPDATE stock', v_stocked, v_count); END IF;
        IF v_inserted <> v_count THEN CALL lydite_wrong_rows('INSERT INTO order_line', v_inserted, v_count); END IF;
        COMMIT;
        SELECT v_o, v_entry, v_last, v_credit, v_discount, v_w_tax, v_d_tax,
            round(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2) AS total,
            v_names AS names, v_stocks AS stocks, v_brands AS brands, v_prices AS prices;
    END IF;
END

--/
CREATE PROCEDURE lydite_payment(
    in_w int, in_d int, in_c_w int, in_c_d int, in_c int,
    in_last varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, in_amount decimal(6, 2))
BEGIN
    DECLARE v_c, v_rows int;
    DECLARE v_now datetime(6);
    START TRANSACTION;
    SET v_now = CURRENT_TIMESTAMP(6);
    CALL lydite_customer(in_c_w, in_c_d, in_c, in_last, v_c);
    UPDATE customer SET
        c_balance = c_balance - in_amount, c_ytd_payment = c_ytd_payment + in_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC'
            THEN left(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ', in_d, ' ', in_w, ' ', in_amount, '|', c_data), 500)
            ELSE c_data END
        WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = v_c;
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE customer', v_rows, 1); END IF;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d;
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE district', v_rows, 1); END IF;
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w;
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE warehouse', v_rows, 1); END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        SELECT v_c, in_c_d, in_c_w, in_d, in_w, v_now, in_amount, concat(w_name, '    ', d_name)
        FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = in_w AND d_id = in_d;
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('INSERT INTO history', v_rows, 1); END IF;
    -- Before the commit, which ends the sight of them; an error of the commit comes behind the row.
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
        c_credit_lim, c_discount, c_balance, c_id, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END, v_now,
        w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip
        FROM customer JOIN warehouse ON w_id = in_w JOIN district ON d_w_id = w_id AND d_id = in_d
        WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = v_c;
    COMMIT;
END

--/
CREATE PROCEDURE lydite_order_status(
    in_w int, in_d int, in_c int, in_last varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
BEGIN
    DECLARE v_c int;
    DECLARE v_o bigint;
    DECLARE v_text varchar(120);
    START TRANSACTION READ ONLY;
    CALL lydite_customer(in_w, in_d, in_c, in_last, v_c);
    SELECT max(o_id) INTO v_o FROM orders WHERE o_w_id = in_w AND o_d_id = in_d AND o_c_id = v_c;
    IF v_o IS NULL THEN
        SET v_text = concat('an order of customer ', in_w, '/', in_d, '/', v_c, ' is missing: run lydite check');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
    END IF;
    SELECT c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id,
        group_concat(ol_i_id ORDER BY ol_number SEPARATOR '|'),
        group_concat(ol_supply_w_id ORDER BY ol_number SEPARATOR '|'),
        group_concat(ol_quantity ORDER BY ol_number SEPARATOR '|'),
        group_concat(ol_amount ORDER BY ol_number SEPARATOR '|'),
        group_concat(coalesce(CAST(ol_delivery_d AS char(30)), '-') ORDER BY ol_number SEPARATOR '|')
        FROM customer JOIN orders ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
        JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
        WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = v_c AND o_id = v_o
        GROUP BY c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id;
    COMMIT;
END

--/
CREATE PROCEDURE lydite_delivery(in_w int, in_carrier int, in_districts int)
BEGIN
    DECLARE v_gone, v_c, v_lines, v_rows int DEFAULT 0;
    DECLARE v_o bigint DEFAULT 0;
    DECLARE v_d int DEFAULT 1;
    DECLARE v_owed decimal(12, 2);
    DECLARE v_delivered mediumtext DEFAULT '';
    DECLARE v_text varchar(120);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_gone = 1;
    START TRANSACTION;
    WHILE v_d <= in_districts DO
        SET v_gone = 0, v_o = 0;
        SELECT no_o_id INTO v_o FROM new_order WHERE no_w_id = in_w AND no_d_id = v_d
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF v_gone THEN
            SET v_o = 0;
        ELSE
            {delete_new_order} WHERE no_w_id = in_w AND no_d_id = v_d AND no_o_id = v_o;
            SET v_rows = row_count();
            IF v_rows <> 1 THEN CALL lydite_wrong_rows('DELETE FROM new_order', v_rows, 1); END IF;
            -- Changed first: a snapshot that is older than the order shows it from then on.
            UPDATE orders SET o_carrier_id = in_carrier WHERE o_w_id = in_w AND o_d_id = v_d AND o_id = v_o;
            SET v_rows = row_count();
            IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE orders', v_rows, 1); END IF;
            SELECT o_c_id, o_ol_cnt INTO v_c, v_lines FROM orders WHERE o_w_id = in_w AND o_d_id = v_d AND o_id = v_o;
            UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP(6)
                WHERE ol_w_id = in_w AND ol_d_id = v_d AND ol_o_id = v_o;
            SET v_rows = row_count();
            IF v_rows <> v_lines THEN CALL lydite_wrong_rows('UPDATE order_line', v_rows, v_lines); END IF;
            SELECT sum(ol_amount) INTO v_owed FROM order_line
                WHERE ol_w_id = in_w AND ol_d_id = v_d AND ol_o_id = v_o;
            UPDATE customer SET c_balance = c_balance + v_owed, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = in_w AND c_d_id = v_d AND c_id = v_c;
            SET v_rows = row_count();
            IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE customer', v_rows, 1); END IF;
            IF v_gone OR v_owed IS NULL THEN
                SET v_text = concat('a row of delivered order ', in_w, '/', v_d, '/', v_o,
                    ' is missing: run lydite check');
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
            END IF;
        END IF;
        SET v_delivered = concat(v_delivered, CASE WHEN v_d = 1 THEN '' ELSE '|' END, v_o), v_d = v_d + 1;
    END WHILE;
    COMMIT;
    SELECT v_delivered;
END

--/
CREATE PROCEDURE lydite_stock_level(in_w int, in_d int, in_threshold int)
BEGIN
    DECLARE v_next bigint;
    DECLARE v_text varchar(120);
    START TRANSACTION READ ONLY;
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = in_w AND d_id = in_d;
    IF v_next IS NULL THEN
        SET v_text = concat('district ', in_w, '/', in_d, ' is missing: run lydite check');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
    END IF;
    SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
        WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
        AND s_quantity < in_threshold;
    COMMIT;
END

--/
CREATE PROCEDURE lydite_update_stock(
    in_w int, in_items varchar(120), in_supplies varchar(120), in_quantities varchar(120))
BEGIN
    DECLARE v_gone, v_k, v_at, v_item, v_supply, v_quantity, v_stock, v_count, v_rows int DEFAULT 0;
    DECLARE v_left varchar(120) DEFAULT '';
    DECLARE v_text varchar(120);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_gone = 1;
    START TRANSACTION;
    SET v_count = char_length(in_items) DIV 8;
    WHILE v_k < v_count DO
        SET v_at = v_k * 8 + 1, v_k = v_k + 1;
        SET v_item = substr(in_items, v_at, 8), v_supply = substr(in_supplies, v_at, 8),
            v_quantity = substr(in_quantities, v_at, 8);
        SELECT s_quantity INTO v_stock FROM stock WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
        IF v_gone THEN
            SET v_text = concat('stock ', v_supply, '/', v_item, ' is missing: run lydite check');
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
        END IF;
        SET v_stock = v_stock - v_quantity + CASE WHEN v_stock >= v_quantity + 10 THEN 0 ELSE 91 END;
        UPDATE stock SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN v_supply <> in_w THEN 1 ELSE 0 END
            WHERE s_w_id = v_supply AND s_i_id = v_item;
        SET v_rows = row_count();
        IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE stock', v_rows, 1); END IF;
        SET v_left = concat(v_left, CASE WHEN v_k = 1 THEN '' ELSE '|' END, v_stock);
    END WHILE;
    COMMIT;
    SELECT v_left;
END

--/
CREATE PROCEDURE lydite_update_item(in_one int, in_other int)
BEGIN
    DECLARE v_one, v_other decimal(5, 2);
    DECLARE v_rows int;
    DECLARE v_text varchar(120);
    START TRANSACTION;
    SELECT i_price INTO v_one FROM item WHERE i_id = in_one FOR UPDATE;
    SELECT i_price INTO v_other FROM item WHERE i_id = in_other FOR UPDATE;
    IF v_one IS NULL OR v_other IS NULL THEN
        SET v_text = concat('item ', in_one, ' or ', in_other, ' is missing: run lydite check');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
    END IF;
    UPDATE item SET i_price = v_other WHERE i_id = in_one;
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE item', v_rows, 1); END IF;
    UPDATE item SET i_price = v_one WHERE i_id = in_other;
    SET v_rows = row_count();
    IF v_rows <> 1 THEN CALL lydite_wrong_rows('UPDATE item', v_rows, 1); END IF;
    COMMIT;
    SELECT concat(v_other, '|', v_one);
END

--/
CREATE PROCEDURE lydite_update_balance(in_warehouses varchar(120), in_amount decimal(12, 2))
BEGIN
    DECLARE v_k, v_count, v_w int DEFAULT 0;
    DECLARE v_text varchar(120);
    START TRANSACTION;
    SET v_count = char_length(in_warehouses) DIV 8;
    WHILE v_k < v_count DO
        SET v_w = substr(in_warehouses, v_k * 8 + 1, 8), v_k = v_k + 1;
        UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = v_w;
        IF row_count() <> 1 THEN
            SET v_text = concat('warehouse ', v_w, ' is missing: run lydite check');
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
        END IF;
    END WHILE;
    COMMIT;
    SELECT v_count;
END

--/
CREATE PROCEDURE lydite_select_balance(in_warehouses varchar(120))
BEGIN
    DECLARE v_k, v_count, v_w int DEFAULT 0;
    DECLARE v_balance decimal(18, 2);
    DECLARE v_balances varchar(255) DEFAULT '';
    DECLARE v_text varchar(120);
    START TRANSACTION READ ONLY;
    SET v_count = char_length(in_warehouses) DIV 8;
    WHILE v_k < v_count DO
        SET v_w = substr(in_warehouses, v_k * 8 + 1, 8), v_k = v_k + 1, v_balance = NULL;
        SELECT w_ytd INTO v_balance FROM warehouse WHERE w_id = v_w;
        IF v_balance IS NULL THEN
            SET v_text = concat('warehouse ', v_w, ' is missing: run lydite check');
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
        END IF;
        SET v_balances = concat(v_balances, CASE WHEN v_k = 1 THEN '' ELSE '|' END, v_balance);
    END WHILE;
    COMMIT;
    SELECT v_balances;
END
