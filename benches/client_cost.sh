#!/usr/bin/env bash
# Compares lydite's cost per transaction and its throughput with pgbench's on the same server, with the same statements
# and with calls of the same procedures. pgbench is written in C and generates almost no input, so it is the floor. It
# plays only New-Order, since it cannot make the choices of the other transactions. Then lydite plays the whole mix in
# all three modes.
# Variables: SECONDS_EACH (15), SESSIONS (8), WAREHOUSES (10), OPTIONS (of the target URL, e.g. foreign_keys=off).
source "$(dirname "$0")/server.bash"
seconds=${SECONDS_EACH:-15}
sessions=${SESSIONS:-8}
warehouses=${WAREHOUSES:-10}
options=${OPTIONS:-}
start_postgres
sql postgres -c "CREATE DATABASE tpcc"
url="$pg_url/tpcc?$options"
say "loading $warehouses warehouses"
"$lydite" load "$url" --warehouses "$warehouses" --quiet

prelude() {
  echo "\\set w random(1, $warehouses)"
  printf '\\set d random(1, 10)\n\\set c random(1, 3000)\n'
  for line in 0 1 2 3 4 5 6 7 8 9; do
    echo "\\set i$line random($((line * 10000 + 1)), $((line * 10000 + 10000)))"
  done
}
{
  prelude
  echo "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE;"
  echo "SELECT w_tax, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = :w;"
  echo "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c;"
  echo "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = :w AND d_id = :d FOR UPDATE \\gset"
  echo "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d;"
  echo "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (:d_next_o_id, :d, :w, :c, CURRENT_TIMESTAMP, NULL, 10, 1);"
  echo "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:d_next_o_id, :d, :w);"
  for line in 0 1 2 3 4 5 6 7 8 9; do
    echo "SELECT i_price, i_name, i_data FROM item WHERE i_id = :i$line;"
    echo "SELECT s_quantity, s_data, s_dist_01 FROM stock WHERE s_w_id = :w AND s_i_id = :i$line FOR UPDATE;"
    echo "UPDATE stock SET s_quantity = 50, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + 0 WHERE s_w_id = :w AND s_i_id = :i$line;"
    echo "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (:d_next_o_id, :d, :w, $((line + 1)), :i$line, :w, NULL, 5, 123.45, 'abcdefghijklmnopqrstuvwx');"
  done
  echo "COMMIT;"
} >"$work/statements.pgbench"
{
  prelude
  w=:w
  echo "SELECT * FROM lydite_new_order(:w, :d, :c, '{1,2,3,4,5,6,7,8,9,10}', ARRAY[:i0,:i1,:i2,:i3,:i4,:i5,:i6,:i7,:i8,:i9]::int[], ARRAY[$w,$w,$w,$w,$w,$w,$w,$w,$w,$w]::int[], '{5,5,5,5,5,5,5,5,5,5}', '{1,1,1,1,1,1,1,1,1,1}');"
} >"$work/procedures.pgbench"

# ours MODE MIX: sets count (transactions), cpu_us (per transaction), nopm.
ours() {
  cpu_of "$lydite" run "$url" --tx "$1" --mix "$2" --terminals "$sessions" --duration "${seconds}s" --warmup 0s --no-check --quiet --json "$work/$1.json"
  nopm=$(sed -n 's/^NOPM *\([0-9,]*\).*/\1/p' "$work/out" | tr -d ,)
  count=$(awk '$1 ~ /^(New-Order|Payment|Order-Status|Delivery|Stock-Level)$/ && !seen[$1]++ { gsub(",", "", $2); all += $2 } END { print all }' "$work/out")
  cpu_us=$(awk "BEGIN { printf \"%.1f\", $cpu_s * 1e6 / $count }")
}
# theirs SCRIPT: the same for pgbench.
theirs() {
  PGOPTIONS='-c default_transaction_isolation=repeatable\ read' cpu_of "$pg_bin/pgbench" -h 127.0.0.1 -p "$pg_port" -U postgres -n -M prepared -c "$sessions" -j 2 -T "$seconds" --max-tries=20 -f "$work/$1.pgbench" tpcc
  count=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$work/out")
  nopm=$(awk "BEGIN { printf \"%d\", $count * 60 / $seconds }")
  cpu_us=$(awk "BEGIN { printf \"%.1f\", $cpu_s * 1e6 / $count }")
}

for mode in statements procedures; do
  aim=$([ "$mode" = statements ] && echo 1.2 || echo 1.5)
  # Warms the cache and the pages for both.
  theirs "$mode"
  theirs "$mode"
  floor=$cpu_us floor_nopm=$nopm
  ours "$mode" 100,0,0,0,0
  echo "client cost, New-Order, $mode: lydite $cpu_us µs, pgbench $floor µs, ratio $(ratio "$cpu_us" "$floor") (aim: at most $aim); NOPM lydite $nopm, pgbench $floor_nopm"
done
for mode in statements batched procedures; do
  ours "$mode" deck
  [ "$mode" != statements ] || base=$nopm
  echo "whole mix, $mode: $nopm NOPM, $cpu_us µs of client CPU per transaction, $(ratio "$nopm" "$base") x statements$([ "$mode" = procedures ] && echo ' (aim: at least 4)' || true)"
done
