"""A driver that keeps the protocol until it is asked for a New-Order, or for what its argument says, and then does not.

usage: misbehaving.py KIND [FILE]     (FILE gets its process id, and that of a program that it starts)
"""

import os
import subprocess
import sys
import time

from lydite._msgpack import pack, unpack

KIND = sys.argv[1]
NOTES = {"state": "ready", "warehouses": "1", "seed": "7", "c_load": "1", "population": "1", "lydite": "test"}
ORDER = {"o_id": 3001, "entry_d": 1, "c_last": "BAR", "c_credit": "GC", "c_discount": 1, "w_tax": 1, "d_tax": 1,
         "total": 100, "lines": [{"i_name": "x", "s_quantity": 1, "brand": False, "i_price": 10, "amount": 20}] * 5}


def send(message):
    body = pack(message)
    os.write(1, len(body).to_bytes(4, "big") + body)


def receive():
    head = sys.stdin.buffer.read(4)
    if not head:
        sys.exit(0)
    return unpack(sys.stdin.buffer.read(int.from_bytes(head, "big")))


def without(order, name):
    return {key: value for key, value in order.items() if key != name}


def misbehave(number):
    if KIND == "garbage":
        os.write(1, b"Connected to the database!\n")
    elif KIND == "no_message":
        os.write(1, b"\0\0\0\3\x93\1\2")
    elif KIND == "twice":
        send({"id": number, "ok": ORDER})
        send({"id": number, "ok": ORDER})
    elif KIND == "other_request":
        send({"id": number + 5, "ok": ORDER})
    elif KIND == "crash":
        print("line one\nImportError: no module named psycopg", file=sys.stderr, flush=True)
        sys.exit(7)
    elif KIND == "killed":
        os.kill(os.getpid(), 9)
    elif KIND == "half":
        os.write(1, b"\0\0\1\0half of it")
        sys.exit(0)
    elif KIND == "hang":
        print("waiting for the database", file=sys.stderr, flush=True)
        time.sleep(1000)
    elif KIND == "drip":
        os.write(1, b"\0\0\1\0")
        for _ in range(100):
            os.write(1, b"x")
            time.sleep(0.2)
    elif KIND == "float":
        send({"id": number, "ok": {**ORDER, "total": 1.5}})
    elif KIND == "missing":
        send({"id": number, "ok": without(ORDER, "c_credit")})
    elif KIND == "null":
        lines = ORDER["lines"][:3] + [{**ORDER["lines"][0], "i_price": None}] + ORDER["lines"][:1]
        send({"id": number, "ok": {**ORDER, "lines": lines}})
    elif KIND == "too_long":
        send({"id": number, "ok": {**ORDER, "c_last": "A" * 17}})
    elif KIND == "few_lines":
        send({"id": number, "ok": {**ORDER, "lines": ORDER["lines"][:2]}})
    elif KIND == "nothing":
        send({"id": number})
    elif KIND == "unknown_kind":
        send({"id": number, "error": {"kind": "sorry", "detail": "?"}})
    elif KIND == "rolled_back":
        send({"id": number, "error": {"kind": "rolled_back", "order": {"o_id": 1, "c_last": "", "c_credit": ""}}})
    elif KIND == "aborted":
        send({"id": number, "alive": "working"})
        send({"id": number, "error": {"kind": "aborted", "reason": "deadlock", "detail": "lost\nagain"}})
    elif KIND == "unavailable":
        send({"id": number, "error": {"kind": "unavailable", "committed": "no", "detail": "the server is gone"}})
    else:
        raise SystemExit(f"no kind {KIND}")


if KIND == "deaf":
    time.sleep(1000)
if len(sys.argv) > 2:
    child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
    with open(sys.argv[2] + ".new", "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    os.rename(sys.argv[2] + ".new", sys.argv[2])
while True:
    request = receive()
    number, what = request["id"], request["do"]
    if what == "hello":
        send({"id": number, "ok": {
            "protocol": 2 if KIND == "version" else 1, "name": "misbehaving", "version": "0", "way": "transactions",
            "guarantee": "much" if KIND == "guarantee" else "serializable"}})
    elif what == "state":
        send({"id": number, "ok": {"tables": [], "notes": NOTES}})
    elif what == "new_order" and KIND != "rows":
        misbehave(number)
    elif what == "read":
        row = [1, 1, "name", "a", "b", "c", "st", "zip", "tax", 5, 3001]
        send({"id": number, "ok": {"rows": [row] if request["with"]["table"] == "district" else [], "more": False}})
    else:
        send({"id": number, "ok": {"low_stock": 3} if what == "stock_level" else {}})
