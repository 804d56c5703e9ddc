-- The transactions of TPC-C (clauses 2.4.2 to 2.8.2), and of the Dike paper, as functions. Each does what the
-- statements of its module do (as `sql/new_order.rs`); a test holds them to it.

CREATE OR REPLACE FUNCTION lydite_new_order(
    in_w integer, in_d integer, in_c integer,
    in_numbers integer[], in_items integer[], in_supplies integer[], in_quantities integer[],
    -- How often the stock of this line was ordered in earlier lines, plus one: one UPDATE changes a row once only.
    in_rounds integer[],
    OUT o_id bigint, OUT entry_d timestamptz, OUT c_last varchar, OUT c_credit char,
    OUT c_discount numeric, OUT w_tax numeric, OUT d_tax numeric, OUT total numeric,
    OUT names varchar[], OUT stocks smallint[], OUT brands boolean[], OUT prices numeric[])
LANGUAGE plpgsql AS $$
DECLARE
    turn integer := 1;
    lines integer := cardinality(in_numbers);
    done integer := 0;
    written integer := 0;
    amount numeric := 0;
    part record;
BEGIN
    entry_d := CURRENT_TIMESTAMP;
    SELECT w.w_tax INTO STRICT w_tax FROM warehouse w WHERE w.w_id = in_w;
    SELECT c.c_discount, c.c_last, c.c_credit INTO STRICT c_discount, c_last, c_credit
        FROM customer c WHERE c.c_w_id = in_w AND c.c_d_id = in_d AND c.c_id = in_c;
    UPDATE district d SET d_next_o_id = d.d_next_o_id + 1 WHERE d.d_w_id = in_w AND d.d_id = in_d
        RETURNING d.d_tax, d.d_next_o_id - 1 INTO d_tax, o_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'UPDATE district %/% changed 0 rows instead of 1: run lydite check', in_w, in_d;
    END IF;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (o_id, in_d, in_w, in_c, entry_d, NULL, lines, (in_w = ALL (in_supplies))::integer);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'INSERT INTO orders of %/%/% changed 0 rows instead of 1: run lydite check', in_w, in_d, o_id;
    END IF;
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (o_id, in_d, in_w);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'INSERT INTO new_order of %/%/% changed 0 rows instead of 1: run lydite check', in_w, in_d, o_id;
    END IF;
    LOOP
        WITH line AS (
            SELECT l.number, l.supply, l.quantity, i_id, i_price, i_name, i_data
            FROM unnest(in_numbers, in_items, in_supplies, in_quantities, in_rounds)
                AS l (number, item, supply, quantity, in_round)
            JOIN item ON i_id = l.item
            WHERE l.in_round = turn
        ), taken AS (
            UPDATE stock SET
                s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
                s_ytd = s_ytd + quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN supply <> in_w THEN 1 ELSE 0 END
            FROM line WHERE s_w_id = supply AND s_i_id = i_id
            RETURNING number, supply, quantity, i_id, i_price, i_name, s_quantity,
                position('ORIGINAL' IN i_data) > 0 AND position('ORIGINAL' IN s_data) > 0 AS brand,
                CASE (in_d - 1) % 10 + 1 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                    WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                    WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
        ), inserted AS (
            INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                ol_quantity, ol_amount, ol_dist_info)
            SELECT lydite_new_order.o_id, in_d, in_w, number, i_id, supply, NULL, quantity, quantity * i_price, dist
            FROM taken RETURNING ol_number
        )
        SELECT count(*) AS rows, (SELECT count(*) FROM inserted) AS written, sum(quantity * i_price) AS amount,
            array_agg(i_name ORDER BY number) AS names, array_agg(s_quantity ORDER BY number) AS stocks,
            array_agg(brand ORDER BY number) AS brands, array_agg(i_price ORDER BY number) AS prices,
            array_agg(number ORDER BY number) AS numbers
        INTO part FROM taken;
        done := done + part.rows;
        written := written + part.written;
        amount := amount + coalesce(part.amount, 0);
        IF turn = 1 THEN
            names := part.names; stocks := part.stocks; brands := part.brands; prices := part.prices;
            EXIT WHEN done = lines;
            IF done > 0 AND 2 <= ANY (in_rounds) THEN
                -- Some numbers are missing between: lay the arrays out by line.
                names := array_fill(NULL::varchar, ARRAY[lines]); stocks := array_fill(NULL::smallint, ARRAY[lines]);
                brands := array_fill(NULL::boolean, ARRAY[lines]); prices := array_fill(NULL::numeric, ARRAY[lines]);
            END IF;
        END IF;
        IF 2 <= ANY (in_rounds) AND part.rows > 0 THEN
            FOR k IN 1 .. part.rows LOOP
                names[part.numbers[k]] := part.names[k]; stocks[part.numbers[k]] := part.stocks[k];
                brands[part.numbers[k]] := part.brands[k]; prices[part.numbers[k]] := part.prices[k];
            END LOOP;
        END IF;
        turn := turn + 1;
        EXIT WHEN NOT (turn <= ANY (in_rounds));
    END LOOP;
    IF done < lines THEN
        IF EXISTS (SELECT FROM unnest(in_items) AS wanted LEFT JOIN item ON i_id = wanted WHERE i_id IS NULL) THEN
            RAISE EXCEPTION 'Item number is not valid'
                USING ERRCODE = 'LY001', DETAIL = concat_ws('|', o_id, c_credit, c_last);
        END IF;
        RAISE EXCEPTION 'stock of order %/%/% is missing: run lydite check', in_w, in_d, o_id;
    END IF;
    IF written <> lines THEN
        RAISE EXCEPTION 'INSERT INTO order_line of order %/%/% changed % rows instead of %: run lydite check',
            in_w, in_d, o_id, written, lines;
    END IF;
    total := round(amount * (1 - c_discount) * (1 + w_tax + d_tax), 2);
END $$;

CREATE OR REPLACE FUNCTION lydite_customer(in_w integer, in_d integer, in_c integer, in_last varchar)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    found integer[];
BEGIN
    IF in_c IS NOT NULL THEN
        RETURN in_c;
    END IF;
    SELECT array_agg(c_id ORDER BY c_first, c_id) INTO found
        FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_last = in_last;
    IF found IS NULL THEN
        RAISE EXCEPTION 'a customer named "%" of district %/% is missing: run lydite check', in_last, in_w, in_d;
    END IF;
    RETURN found[(cardinality(found) + 1) / 2];
END $$;

CREATE OR REPLACE FUNCTION lydite_payment(
    in_w integer, in_d integer, in_c_w integer, in_c_d integer, in_c integer, in_last varchar, in_amount numeric,
    OUT o_first varchar, OUT o_middle char, OUT o_last varchar, OUT o_street_1 varchar, OUT o_street_2 varchar,
    OUT o_city varchar, OUT o_state char, OUT o_zip char, OUT o_phone char, OUT o_since timestamptz,
    OUT o_credit char, OUT o_credit_lim numeric, OUT o_discount numeric, OUT o_balance numeric,
    OUT o_id integer, OUT o_data text, OUT o_date timestamptz,
    OUT w_1 varchar, OUT w_2 varchar, OUT w_3 varchar, OUT w_4 char, OUT w_5 char,
    OUT d_1 varchar, OUT d_2 varchar, OUT d_3 varchar, OUT d_4 char, OUT d_5 char)
LANGUAGE plpgsql AS $$
DECLARE
    warehouse_name varchar;
    district_name varchar;
BEGIN
    o_id := lydite_customer(in_c_w, in_c_d, in_c, in_last);
    o_date := CURRENT_TIMESTAMP;
    UPDATE customer SET
        c_balance = c_balance - in_amount, c_ytd_payment = c_ytd_payment + in_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC' THEN
            left(format('%s %s %s %s %s %s|', c_id, c_d_id, c_w_id, in_d, in_w, in_amount::numeric(6, 2)) || c_data, 500)
            ELSE c_data END
        WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = o_id
        RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
            c_credit, c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END
        INTO o_first, o_middle, o_last, o_street_1, o_street_2, o_city, o_state, o_zip, o_phone, o_since,
            o_credit, o_credit_lim, o_discount, o_balance, o_data;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'UPDATE customer %/%/% changed 0 rows instead of 1: run lydite check', in_c_w, in_c_d, o_id;
    END IF;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d
        RETURNING d_street_1, d_street_2, d_city, d_state, d_zip, d_name
        INTO d_1, d_2, d_3, d_4, d_5, district_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'UPDATE district %/% changed 0 rows instead of 1: run lydite check', in_w, in_d;
    END IF;
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w
        RETURNING w_street_1, w_street_2, w_city, w_state, w_zip, w_name
        INTO w_1, w_2, w_3, w_4, w_5, warehouse_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'UPDATE warehouse % changed 0 rows instead of 1: run lydite check', in_w;
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (o_id, in_c_d, in_c_w, in_d, in_w, o_date, in_amount, warehouse_name || '    ' || district_name);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'INSERT INTO history of customer %/%/% changed 0 rows instead of 1: run lydite check',
            in_c_w, in_c_d, o_id;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lydite_order_status(
    in_w integer, in_d integer, in_c integer, in_last varchar,
    OUT o_c_id integer, OUT o_first varchar, OUT o_middle char, OUT o_last varchar, OUT o_balance numeric,
    OUT order_id bigint, OUT entry_d timestamptz, OUT carrier_id smallint,
    OUT items integer[], OUT supplies integer[], OUT quantities smallint[], OUT amounts numeric[],
    OUT dates timestamptz[])
LANGUAGE plpgsql AS $$
BEGIN
    SELECT c_id, c_first, c_middle, c_last, c_balance
        INTO STRICT o_c_id, o_first, o_middle, o_last, o_balance
        FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = lydite_customer(in_w, in_d, in_c, in_last);
    SELECT o.o_id, o.o_entry_d, o.o_carrier_id INTO STRICT order_id, entry_d, carrier_id
        FROM orders o WHERE o.o_w_id = in_w AND o.o_d_id = in_d AND o.o_c_id = lydite_order_status.o_c_id
        ORDER BY o.o_id DESC LIMIT 1;
    SELECT array_agg(ol_i_id ORDER BY ol_number), array_agg(ol_supply_w_id ORDER BY ol_number),
            array_agg(ol_quantity ORDER BY ol_number), array_agg(ol_amount ORDER BY ol_number),
            array_agg(ol_delivery_d ORDER BY ol_number)
        INTO items, supplies, quantities, amounts, dates
        FROM order_line WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id = order_id;
    IF items IS NULL THEN
        RAISE EXCEPTION 'a line of order %/%/% is missing: run lydite check', in_w, in_d, order_id;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lydite_delivery(in_w integer, in_carrier integer, in_districts integer,
    OUT delivered bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    d integer;
    o bigint;
    c integer;
    lines integer;
    dated_lines integer;
    missed bigint;
    owed numeric;
BEGIN
    FOR d IN 1 .. in_districts LOOP
        missed := NULL;
        LOOP
            SELECT no_o_id INTO o FROM new_order WHERE no_w_id = in_w AND no_d_id = d ORDER BY no_o_id LIMIT 1;
            EXIT WHEN o IS NULL;
            -- An order that another delivery took is not found again. This one was there all the time.
            IF o = missed THEN
                RAISE EXCEPTION 'DELETE FROM new_order of order %/%/% changed 0 rows instead of 1: run lydite check',
                    in_w, d, o;
            END IF;
            -- Below repeatable read another delivery may take it first; then look again.
            DELETE FROM new_order WHERE no_w_id = in_w AND no_d_id = d AND no_o_id = o;
            EXIT WHEN FOUND;
            missed := o;
        END LOOP;
        delivered[d] := coalesce(o, 0);
        CONTINUE WHEN o IS NULL;
        UPDATE orders SET o_carrier_id = in_carrier WHERE o_w_id = in_w AND o_d_id = d AND o_id = o
            RETURNING o_c_id, o_ol_cnt INTO c, lines;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'UPDATE orders %/%/% changed 0 rows instead of 1: run lydite check', in_w, d, o;
        END IF;
        WITH dated AS (
            UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
            WHERE ol_w_id = in_w AND ol_d_id = d AND ol_o_id = o RETURNING ol_amount
        )
        SELECT sum(ol_amount), count(*) INTO STRICT owed, dated_lines FROM dated;
        IF dated_lines <> lines THEN
            RAISE EXCEPTION 'UPDATE order_line of order %/%/% changed % rows instead of %: run lydite check',
                in_w, d, o, dated_lines, lines;
        END IF;
        UPDATE customer SET c_balance = c_balance + owed, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = in_w AND c_d_id = d AND c_id = c;
        IF owed IS NULL OR NOT FOUND THEN
            RAISE EXCEPTION 'a row of delivered order %/%/% is missing: run lydite check', in_w, d, o;
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION lydite_stock_level(in_w integer, in_d integer, in_threshold integer)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    next bigint;
    items integer[];
BEGIN
    SELECT d_next_o_id INTO STRICT next FROM district WHERE d_w_id = in_w AND d_id = in_d;
    -- First the items, each once: a join would look up the stock of every line and sort what it finds.
    SELECT array_agg(DISTINCT ol_i_id) INTO items FROM order_line
        WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id >= next - 20 AND ol_o_id < next;
    -- Without lines the array is null, and no item is in it.
    RETURN (SELECT count(*) FROM stock
        WHERE s_w_id = in_w AND s_i_id = ANY (items) AND s_quantity < in_threshold);
END $$;

CREATE OR REPLACE FUNCTION lydite_update_stock(
    in_w integer, in_items integer[], in_supplies integer[], in_quantities integer[])
RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
    rest integer;
    quantities integer[];
BEGIN
    -- One by one, since the arrays have the order in which rows are to be locked.
    FOR k IN 1 .. cardinality(in_items) LOOP
        UPDATE stock SET
            s_quantity = s_quantity - in_quantities[k]
                + CASE WHEN s_quantity >= in_quantities[k] + 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + in_quantities[k],
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN in_supplies[k] <> in_w THEN 1 ELSE 0 END
            WHERE s_w_id = in_supplies[k] AND s_i_id = in_items[k]
            RETURNING s_quantity INTO rest;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'stock %/% is missing: run lydite check', in_supplies[k], in_items[k];
        END IF;
        quantities[k] := rest;
    END LOOP;
    RETURN quantities;
END $$;

CREATE OR REPLACE FUNCTION lydite_update_item(in_one integer, in_other integer)
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    price_of_one numeric;
    price_of_other numeric;
BEGIN
    SELECT i_price INTO price_of_one FROM item WHERE i_id = in_one FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'item % is missing: run lydite check', in_one;
    END IF;
    SELECT i_price INTO price_of_other FROM item WHERE i_id = in_other FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'item % is missing: run lydite check', in_other;
    END IF;
    UPDATE item SET i_price = price_of_other WHERE i_id = in_one;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'UPDATE item % changed 0 rows instead of 1: run lydite check', in_one;
    END IF;
    UPDATE item SET i_price = price_of_one WHERE i_id = in_other;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'UPDATE item % changed 0 rows instead of 1: run lydite check', in_other;
    END IF;
    RETURN ARRAY[price_of_other, price_of_one];
END $$;

CREATE OR REPLACE FUNCTION lydite_update_balance(in_warehouses integer[], in_amount numeric)
RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    -- One by one, in the order of the array.
    FOR k IN 1 .. cardinality(in_warehouses) LOOP
        UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_warehouses[k];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'warehouse % is missing: run lydite check', in_warehouses[k];
        END IF;
    END LOOP;
    RETURN cardinality(in_warehouses);
END $$;

CREATE OR REPLACE FUNCTION lydite_select_balance(in_warehouses integer[])
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    balance numeric;
    balances numeric[];
BEGIN
    FOR k IN 1 .. cardinality(in_warehouses) LOOP
        SELECT w_ytd INTO balance FROM warehouse WHERE w_id = in_warehouses[k];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'warehouse % is missing: run lydite check', in_warehouses[k];
        END IF;
        balances[k] := balance;
    END LOOP;
    RETURN balances;
END $$;
