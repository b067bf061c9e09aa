"""Sizes, as numbers of bytes or as the command has them."""
from __future__ import annotations

import re
from typing import Any, Iterable, Union

from .arguments import whole
from .errors import BadArgumentError

Size = Union[int, str]
_MOST_BYTES = 2**63 - 1
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_of(size: Size) -> int:
    """Bytes, as a number or as the command has them: "64K", "1G"."""
    if not isinstance(size, str):
        return whole(size, "size", _MOST_BYTES)
    match = re.fullmatch(r"([0-9]+)([KMGT]?)(?:i?B)?", size.strip(), re.IGNORECASE)
    if match is None:
        raise BadArgumentError(f"size {size!r}: expected a number of bytes such as 4096, 64K or 1G")
    return whole(int(match[1]) * _UNITS[match[2].upper()], "size", _MOST_BYTES)


def sizes_of(sizes: Union[Size, Iterable[Size]]) -> list[int]:
    """A size, or several, NumPy's numbers and arrays as well."""
    # An array of no dimension has what makes one iterable, and is not.
    is_one = isinstance(sizes, str) or not hasattr(sizes, "__iter__") or getattr(sizes, "ndim", 1) == 0
    several: Any = [sizes] if is_one else sizes
    return [size_of(size) for size in several]
