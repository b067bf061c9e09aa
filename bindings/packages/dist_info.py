"""Writes what Python asks of an installed package, as pip does: `dist_info.py PYPROJECT VERSION FOLDER`."""
from __future__ import annotations

import pathlib
import sys
import tomllib


def entry_points(project: dict) -> str:
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
                     for group, entries in groups.items())


def main(pyproject: str, version: str, folder: str) -> None:
    project = tomllib.loads(pathlib.Path(pyproject).read_text(encoding="utf-8"))["project"]
    target = pathlib.Path(folder, f"ronde-{version}.dist-info")
    target.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}",
             f"Requires-Python: {project['requires-python']}", *(f"Requires-Dist: {name}" for name in project["dependencies"])]
    (target / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (target / "entry_points.txt").write_text(entry_points(project), encoding="utf-8")
    (target / "INSTALLER").write_text("debian\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
