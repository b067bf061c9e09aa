"""The reference of Python, read from the package's sources: what `ronde` exports, with signatures and docstrings."""
from __future__ import annotations

import ast
import inspect
import pathlib

# Methods on addresses, which the package's own parts call.
INTERNAL = ("start", "start_plain", "send", "recv")


def signature(function: ast.FunctionDef, name: str) -> str:
    text = f"{name}({ast.unparse(function.args)})"
    return f"{text} -> {ast.unparse(function.returns)}" if function.returns is not None else text


def is_shown(node: ast.AST) -> bool:
    """Functions that have words for users; of one with several types, the one that has a body."""
    return (isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name not in INTERNAL
            and ast.get_docstring(node) is not None)


def described(node: ast.AST, level: int, title: str, code: str) -> str:
    doc = inspect.cleandoc(ast.get_docstring(node) or "")  # type: ignore[arg-type]
    return f"{'#' * level} {title}\n\n```python\n{code}\n```\n\n{doc}\n"


def members(node: ast.ClassDef) -> list[str]:
    found = []
    for member in node.body:
        if is_shown(member):
            assert isinstance(member, ast.FunctionDef)
            found.append(described(member, 3, f"{node.name}.{member.name}", signature(member, member.name)))
    return found


def write(package: pathlib.Path, page: pathlib.Path) -> None:
    """One page of everything in __all__, functions first. A class that extends one of its name has that one's methods as well."""
    exported = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    names = next(ast.literal_eval(node.value) for node in exported.body
                 if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    functions: list[str] = []
    classes: dict[str, list[str]] = {}
    for file in sorted(package.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in names and is_shown(node):
                functions.append(described(node, 2, node.name, signature(node, f"ronde.{node.name}")))
            elif isinstance(node, ast.ClassDef) and node.name in names and ast.get_docstring(node):
                bases = ", ".join(ast.unparse(base) for base in node.bases if ast.unparse(base) != "_Base")
                head = described(node, 2, node.name, f"class ronde.{node.name}({bases})")
                classes.setdefault(node.name, [head]).extend(members(node))
    every = [part for parts in classes.values() for part in parts]
    page.write_text("\n".join(["# The package ronde\n", *functions, *every]), encoding="utf-8")
