"""Reads ronde's public headers and writes the C source of the cffi module `ronde._native`.

The preprocessor expands the lists of names (X-macros); pycparser reads what is left; cffi gets the declarations: all types and
constants, and the functions that the package calls, each of which costs whoever installs it 2 ms. Nothing is declared by hand
but the callbacks (callbacks.h); calls.h has functions for Python alone. The C compiler then checks every declaration against
the headers.
"""
from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import tempfile

import cffi
from pycparser import c_ast, c_generator, c_parser

# What the headers take from the C library. cffi knows these types itself; pycparser has to be told that they are types.
LIBC_TYPES = """
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long int64_t; typedef unsigned long uint64_t;
typedef long intptr_t; typedef unsigned long uintptr_t; typedef unsigned long size_t; typedef long ptrdiff_t;
typedef struct _IO_FILE FILE; typedef _Bool bool;
"""
LIBC_HEADERS = ("stdint.h", "stddef.h", "stdbool.h", "stdio.h", "string.h", "stdlib.h", "math.h", "limits.h")
# A constant that cffi may take from the compiler: an integer, or an expression of integers.
INTEGER = re.compile(r"^(?:[-()\s<>+*|]|\b(?:0x[0-9a-fA-F]+|[0-9]+)[uUlL]*\b)+$")
LIMITS = re.compile(r"\b(U?INT(8|16|32|64)_MAX|UINT(8|16|32|64)_C)\b")


def preprocess(compiler: list[str], includes: list[str], headers: list[str], *flags: str) -> str:
    """What the preprocessor makes of the headers, with nothing of the C library in it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in LIBC_HEADERS:
            pathlib.Path(folder, name).write_text("")
        source = "".join(f'#include "{header}"\n' for header in headers)
        command = [*compiler, "-E", "-P", "-std=c11", "-nostdinc", "-D__attribute__(x)=", "-D__extension__=",
                   "-D__int128=long", f"-I{folder}"]
        command += [f"-I{path}" for path in includes] + list(flags) + ["-xc", "-"]
        return subprocess.run(command, input=source, check=True, stdout=subprocess.PIPE, text=True).stdout


def is_declaration(node: c_ast.Node, called: set[str]) -> bool:
    """Functions that the headers define are C's alone, and so is the 128-bit integer they multiply with."""
    if isinstance(getattr(node, "type", None), c_ast.FuncDecl):
        return isinstance(node, c_ast.Decl) and node.name in called
    return isinstance(node, (c_ast.Decl, c_ast.Typedef)) and node.name != "ronde_wide"


def declarations(text: str, called: set[str]) -> str:
    tree = c_parser.CParser().parse(LIBC_TYPES + text)
    known = len(c_parser.CParser().parse(LIBC_TYPES).ext)
    writer = c_generator.CGenerator()
    return "".join(writer.visit(node) + ";\n" for node in tree.ext[known:] if is_declaration(node, called))


def calls_of(package: pathlib.Path) -> set[str]:
    """The functions of the library that a package's sources name."""
    return {name for path in package.rglob("*.py") for name in re.findall(r"lib\.(ronde_\w+)", path.read_text())}


def constants(macros: str) -> str:
    """`#define NAME ...` for the macros that are integers; the compiler says which."""
    found = []
    for name, value in re.findall(r"^#define (RONDE_[A-Z0-9_]+) (.+)$", macros, re.MULTILINE):
        if INTEGER.match(LIMITS.sub("0", value)):
            found.append(f"#define {name} ...\n")
    return "".join(sorted(found))


def prototypes(source: str) -> str:
    """Declarations of the functions that a source defines."""
    return "".join(f"{head};\n" for head in re.findall(r"^static (.*?\))\n\{", source, re.MULTILINE | re.DOTALL))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", action="append", required=True, help="a word of its command; once for each")
    parser.add_argument("--output", required=True)
    parser.add_argument("--include", nargs="+", required=True)
    options = parser.parse_args()
    headers = [f"ronde/{path.name}" for folder in options.include
               for path in sorted(pathlib.Path(folder, "ronde").glob("*.h"))]
    builder = cffi.FFI()
    called = calls_of(pathlib.Path(__file__).parents[1] / "ronde")
    builder.cdef(declarations(preprocess(options.compiler, options.include, headers), called))
    builder.cdef(constants(preprocess(options.compiler, options.include, headers, "-dM")))
    builder.cdef(pathlib.Path(__file__).with_name("callbacks.h").read_text())
    calls = pathlib.Path(__file__).with_name("calls.h").read_text()
    builder.cdef(prototypes(calls))
    builder.set_source("ronde._native", "".join(f'#include "{header}"\n' for header in headers) + "#include <math.h>\n" + calls)
    builder.emit_c_code(options.output)


if __name__ == "__main__":
    main()
