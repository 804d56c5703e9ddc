#!/usr/bin/env python3
"""Packs programs, a Python package and the metadata that maturin wrote into a wheel, with the same bytes each time.

usage: scripts/dist/wheel.py --dist-info DIR --tag TAG --scripts PROGRAM... --module DIR --data FILE... --out DIR

The time of all files is SOURCE_DATE_EPOCH. Prints the path of the wheel.
"""

import argparse
import base64
import hashlib
import os
import time
import zipfile
from pathlib import Path

LEFT_OUT = {"__pycache__", ".pytest_cache"}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--dist-info", type=Path, required=True)
    parser.add_argument("--tag", required=True)
    parser.add_argument("--scripts", type=Path, nargs="+", required=True)
    parser.add_argument("--module", type=Path, required=True)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def contents(args):
    """Returns (name in the wheel, bytes, mode) of each file, sorted, without RECORD."""
    info = args.dist_info.name
    base = info.removesuffix(".dist-info")
    found = []
    for program in args.scripts:
        found.append((f"{base}.data/scripts/{program.name}", program.read_bytes(), 0o755))
    for file in args.module.rglob("*"):
        if file.is_file() and not LEFT_OUT & set(file.parts) and file.suffix != ".pyc":
            name = file.relative_to(args.module.parent).as_posix()
            found.append((name, file.read_bytes(), 0o644))
    for file in args.dist_info.rglob("*"):
        if file.is_file() and file.name not in {"RECORD", "WHEEL"}:
            found.append((f"{info}/{file.relative_to(args.dist_info).as_posix()}", file.read_bytes(), 0o644))
    for file in args.data:
        found.append((f"{info}/{file.name}", file.read_bytes(), 0o644))
    wheel = "Wheel-Version: 1.0\nGenerator: lydite\nRoot-Is-Purelib: false\n"
    # A tag with several platforms is one line for each.
    python, abi, platforms = args.tag.split("-", 2)
    wheel += "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    found.append((f"{info}/WHEEL", wheel.encode(), 0o644))
    return sorted(found)


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main():
    args = arguments()
    info = args.dist_info.name
    files = contents(args)
    record = "".join(record_line(name, data) for name, data, _ in files) + f"{info}/RECORD,,\n"
    files.append((f"{info}/RECORD", record.encode(), 0o644))
    # Zip files have no years before 1980, and no time zone.
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
    path = args.out / f"{info.removesuffix('.dist-info')}-{args.tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            # The same on every system that packs it.
            entry.create_system = 3
            wheel.writestr(entry, data)
    print(path)


main()
