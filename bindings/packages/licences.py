"""Puts the licences of what a wheel bundles into it: `licences.py WHEEL LICENSE`, after auditwheel has bundled it on Debian.

A library in `ronde.libs` is named after the one of the system, whose package has a file `copyright`.
"""
from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile


def packages_of(bundled: list[str]) -> list[str]:
    """libxml2-c05750a6.so.2.9.14 is libxml2.so.2.9.14 of the package libxml2."""
    names = [re.sub(r"-[0-9a-f]{8}(?=\.so)", "", name) for name in bundled]
    said = subprocess.run(["dpkg-query", "--search", *(f"*/{name}" for name in names)], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return sorted({line.split(":")[0] for line in said.splitlines()})


def row(name: str, data: bytes) -> str:
    """A line of the wheel's RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add_licences(wheel: pathlib.Path, own: pathlib.Path) -> list[str]:
    with zipfile.ZipFile(wheel) as old:
        entries = [(info, old.read(info)) for info in old.infolist() if not info.is_dir()]
    names = [info.filename for info, _ in entries]
    record = next(name for name in names if name.endswith(".dist-info/RECORD"))
    folder = record[:-len("RECORD")] + "licenses/"
    packages = packages_of([name.split("/")[1] for name in names if name.startswith("ronde.libs/")])
    added = {f"{folder}LICENSE": own.read_bytes()}
    for package in packages:
        added[f"{folder}{package}.txt"] = pathlib.Path("/usr/share/doc", package, "copyright").read_bytes()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for info, data in entries:
            if info.filename == record:
                data += "".join(row(name, text) for name, text in added.items()).encode()
            new.writestr(info, data, zipfile.ZIP_DEFLATED)
        for name, text in added.items():
            new.writestr(name, text)
    return packages


if __name__ == "__main__":
    print("bundled:", *add_licences(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
