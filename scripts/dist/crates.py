#!/usr/bin/env python3
"""Writes the licences (LICENSES.txt) and the bill of materials (lydite.cdx.json, CycloneDX 1.5) of the programs `lydite`
and `gemel`: the crates that they are linked from, and the libraries that some of these crates carry.

usage: scripts/dist/crates.py TARGET DIRECTORY
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

PROGRAMS = ["lydite", "gemel"]
LICENCE_FILE = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)([-._].*)?$")
# Folders whose licences are not those of what is linked.
ELSEWHERE = {"tests", "test", "examples", "benches", "fuzz", "target", "docs", "doc", ".git", "node_modules"}

# Libraries within crates of others: crate that carries it, name, licence, and file with pattern that has its version.
CARRIED = [
    ("libsqlite3-sys", "sqlite", "blessing", "sqlite3/sqlite3.h", r'SQLITE_VERSION\s+"([^"]+)"'),
    ("libmimalloc-sys", "mimalloc", "MIT", "c_src/mimalloc/*/include/mimalloc.h", r"MI_MALLOC_VERSION\s+(\d+)"),
    ("lydite-report", "echarts", "Apache-2.0", "../../web/package-lock.json",
     r'"node_modules/echarts":\s*{\s*"version":\s*"([^"]+)"'),
]
# Libraries that the compiler and the linker add.
ADDED = [
    ("rust-std", "MIT OR Apache-2.0", lambda: said(["rustc", "-V"]).split()[1]),
    ("llvm-libunwind", "Apache-2.0 WITH LLVM-exception", lambda: said([sys.executable, "-m", "ziglang", "version"])),
]


def said(command):
    """Returns what a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def linked(target, flags):
    """Returns the set of (name, version) of the crates that the programs are linked from."""
    packages = [word for program in PROGRAMS for word in ("-p", program)]
    tree = ["cargo", "tree", *flags, *packages, "-e", "normal", "--target", target, "--prefix", "none", "--format", "{p}"]
    return {tuple(line.split()[:2]) for line in said(tree).splitlines() if line}


def crates(target):
    """Returns the metadata of those crates by id, and their edges."""
    flags = os.environ.get("CARGO_FLAGS", "--locked").split()
    data = json.loads(said(["cargo", "metadata", *flags, "--format-version", "1", "--filter-platform", target]))
    wanted = linked(target, flags)
    found = {p["id"]: p for p in data["packages"] if (p["name"], "v" + p["version"]) in wanted}
    edges = {
        node["id"]: sorted(
            dep["pkg"] for dep in node["deps"]
            if dep["pkg"] in found and any(kind["kind"] is None for kind in dep["dep_kinds"])
        )
        for node in data["resolve"]["nodes"] if node["id"] in found
    }
    return found, edges


def checksums():
    """Returns the checksum of each (name, version) of Cargo.lock that has one."""
    lock = tomllib.loads(Path("Cargo.lock").read_text())
    return {(p["name"], p["version"]): p["checksum"] for p in lock["package"] if "checksum" in p}


def licence_files(package):
    """Returns the licence files within a crate's folder."""
    folder = Path(package["manifest_path"]).parent
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ELSEWHERE)
        found += [Path(place) / name for name in files if LICENCE_FILE.match(name)]
    return sorted(found)


def licence_of(package):
    return (package["license"] or "see its files").replace("/", " OR ")


def is_macro(package):
    """True if the crate runs in the compiler only."""
    return all("proc-macro" in target["kind"] for target in package["targets"] if "custom-build" not in target["kind"])


def carried(found):
    """Returns (name, version, licence) of libraries within crates, and of what compiler and linker add."""
    folders = {package["name"]: Path(package["manifest_path"]).parent for package in found.values()}
    libraries = []
    for crate, name, licence, pattern, version in CARRIED:
        texts = [path.read_text(errors="replace") for path in sorted(folders[crate].glob(pattern))] if crate in folders else []
        versions = [match.group(1) for match in (re.search(version, text) for text in texts) if match]
        if not versions:
            sys.exit(f"error: {crate}: no version of {name} in {pattern}: correct CARRIED in scripts/dist/crates.py")
        libraries.append((name, versions[-1], licence))
    return libraries + [(name, version(), licence) for name, licence, version in ADDED]


def write_licences(found, libraries, path):
    """Writes each text once, behind the crates that have it."""
    users, texts, without = {}, {}, []
    for package in sorted(found.values(), key=lambda p: (p["name"], p["version"])):
        name = f"{package['name']} {package['version']} ({licence_of(package)})"
        files = licence_files(package)
        if not files:
            # Crates of this repository share the licences beside this file.
            if package["source"] is not None:
                without.append(f"{name}, by {', '.join(package['authors']) or 'its authors'}")
            continue
        for file in files:
            text = file.read_text(errors="replace").replace("\r\n", "\n").strip()
            key = hashlib.sha256(re.sub(r"\s+", " ", text).encode()).hexdigest()
            texts.setdefault(key, text)
            users.setdefault(key, {})[name] = None
    parts = ["Lydite and Gemel are licensed under MIT or Apache-2.0. They contain the libraries below.\n"]
    parts.append("Libraries within crates, and those of the compiler and the linker:\n")
    parts += [f"  {name} {version} ({licence})" for name, version, licence in libraries]
    parts.append("\nCrates without a licence file:\n")
    parts += [f"  {line}" for line in without]
    for key in sorted(texts, key=lambda key: list(users[key])):
        parts.append("\n" + "=" * 80 + "\n" + "\n".join(users[key]) + "\n" + "-" * 80 + "\n" + texts[key])
    path.write_text("\n".join(parts) + "\n")


def component(name, version, licence, purl, kind="library"):
    return {
        "type": kind,
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}] if licence != "blessing" else [{"license": {"id": "blessing"}}],
        "purl": purl,
    }


def write_bill(found, edges, libraries, target, path):
    """Writes the bill of materials. Its number is computed from its contents."""
    sums = checksums()
    purl = {key: f"pkg:cargo/{p['name']}@{p['version']}" for key, p in found.items()}
    components = []
    for key in sorted(found, key=purl.get):
        package = found[key]
        entry = component(package["name"], package["version"], licence_of(package), purl[key])
        entry["scope"] = "excluded" if is_macro(package) else "required"
        digest = sums.get((package["name"], package["version"]))
        if digest:
            entry["hashes"] = [{"alg": "SHA-256", "content": digest}]
        components.append(entry)
    components += [component(n, v, l, f"pkg:generic/{n}@{v}") for n, v, l in libraries]
    root = next(p for p in found.values() if p["name"] == "lydite")
    subject = component("lydite", root["version"], licence_of(root), f"pkg:generic/lydite@{root['version']}", "application")
    subject["properties"] = [
        {"name": "lydite:commit", "value": os.environ["LYDITE_COMMIT"]},
        {"name": "lydite:target", "value": target},
    ]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    roots = [purl[key] for key, p in found.items() if p["name"] in PROGRAMS]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": subject},
        "components": components,
        "dependencies": [{"ref": subject["bom-ref"], "dependsOn": sorted(roots)}]
        + [{"ref": purl[key], "dependsOn": [purl[dep] for dep in edges[key]]} for key in sorted(edges, key=purl.get)],
    }
    bill["serialNumber"] = "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True)))
    path.write_text(json.dumps(bill, indent=1) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    target, directory = sys.argv[1], Path(sys.argv[2])
    found, edges = crates(target)
    libraries = carried(found)
    write_licences(found, libraries, directory / "LICENSES.txt")
    write_bill(found, edges, libraries, target, directory / "lydite.cdx.json")
    print(f"    {len(found)} crates, {len(libraries)} other libraries")


main()
