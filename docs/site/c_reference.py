"""The reference of C, read from the public headers: a page a header, a section a declaration with its comment."""
from __future__ import annotations

import pathlib
import re

ROOMS = ("api", "engine", "schedules", "topologies", "sim", "hw", "formats", "predict", "nccl", "lab")
COMMENT = re.compile(r"^/\*\*(.*?)\*/\n", re.MULTILINE | re.DOTALL)


def text_of(comment: str) -> str:
    """A comment's words; in Markdown an indented line and a bare angle bracket would be something else."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().splitlines()]
    return re.sub(r"([<>_*])", r"\\\1", "\n".join(line.strip() for line in lines))


def declaration_after(text: str, start: int) -> str:
    """What follows a comment: a #define, or a declaration to its end."""
    if text.startswith("#define", start):
        end = start
        while text[text.index("\n", end) - 1] == "\\":
            end = text.index("\n", end) + 1
        return text[start:text.index("\n", end)]
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0 and (text[place] == ";" or (text[place] == "}" and ")" in text[start:text.find("{", start)])):
            return text[start:place + 1]
    return ""


def name_of(declaration: str) -> str:
    for pattern in (r"^#define (\w+)", r"^(?:struct|enum|union) (\w+) \{", r"\(\*(\w+)\)\(", r"\b(ronde_\w+)\(", r"\b(ronde_\w+)\b"):
        found = re.search(pattern, declaration)
        if found:
            return found[1]
    return ""


def page_of(header: pathlib.Path) -> str:
    text = header.read_text(encoding="utf-8")
    page = [f"# ronde/{header.name}\n"]
    for number, comment in enumerate(COMMENT.finditer(text)):
        declaration = declaration_after(text, comment.end())
        name = name_of(declaration)
        if number == 0 and text.startswith("/**"):
            page.append(f"{text_of(comment[1])}\n\n```c\n#include <ronde/{header.name}>\n```\n")
        elif name:
            shown = re.sub(r"^(RONDE_API|RONDE_MUST_CHECK)\s+", "", re.sub(r"RONDE_(API|MUST_CHECK) ", "", declaration))
            page.append(f"## {name}\n\n{text_of(comment[1])}\n\n```c\n{shown}\n```\n")
    return "\n".join(page)


def write(root: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Writes the pages below `folder`; returns their names, those of the front door first."""
    names = []
    (folder / "c").mkdir()
    for room in ROOMS:
        for header in sorted((root / room / "include/ronde").glob("*.h")):
            (folder / "c" / f"{header.stem}.md").write_text(page_of(header), encoding="utf-8")
            names.append(f"c/{header.stem}.md")
    return names
