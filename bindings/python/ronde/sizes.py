"""Sizes, as numbers of bytes or as the command has them."""
from __future__ import annotations

from typing import Any, Iterable, Union

from ._native import ffi, lib
from .arguments import text, whole
from .errors import check, record

Size = Union[int, str]
_MOST_BYTES = 2**63 - 1


def size_of(size: Size) -> int:
    """Bytes, as a number or as the command has them, by its own rules: "64K", "1G", "1.5MiB"; "1MB" is refused."""
    if not isinstance(size, str):
        return whole(size, "size", _MOST_BYTES)
    out, error = ffi.new("uint64_t *"), record()
    check(lib.ronde_size_parse(text(size.strip(), "size"), out, error), error)
    return int(out[0])


def sizes_of(sizes: Union[Size, Iterable[Size]]) -> list[int]:
    """A size, or several, NumPy's numbers and arrays as well."""
    # An array of no dimension has what makes one iterable, and is not.
    is_one = isinstance(sizes, str) or not hasattr(sizes, "__iter__") or getattr(sizes, "ndim", 1) == 0
    several: Any = [sizes] if is_one else sizes
    return [size_of(size) for size in several]
