"""The library's names for collectives, element types and operators, read from the library itself."""
from __future__ import annotations

from typing import Any, Callable

from ._native import ffi, lib
from .errors import BadArgumentError


def _texts(text: Callable[[int], Any], count: int) -> dict[str, int]:
    return {ffi.string(text(value)).decode(): value for value in range(count)}


COLLECTIVES = _texts(lib.ronde_collective_text, lib.RONDE_COLLECTIVE_COUNT)
DTYPES = _texts(lib.ronde_dtype_text, lib.RONDE_DTYPE_COUNT)
OPS = _texts(lib.ronde_op_text, lib.RONDE_OP_COUNT)


def _parse(kind: str, parse: Callable[[bytes, Any], bool], enum: str, names: dict[str, int], text: str) -> int:
    value = names.get(text) if isinstance(text, str) else None
    if value is not None:
        return value
    out = ffi.new(enum)
    if not isinstance(text, str) or not parse(text.encode(errors="replace"), out):
        raise BadArgumentError(f"{kind} {text!r}: there are {', '.join(names)}")
    return int(out[0])


def collective(text: str) -> int:
    return _parse("collective", lib.ronde_collective_parse, "enum ronde_collective *", COLLECTIVES, text)


def dtype(kind: Any) -> int:
    """By name, or NumPy's own: "float32", numpy.float32, array.dtype."""
    name = getattr(kind, "name", None) or getattr(kind, "__name__", None)
    text = name if name in DTYPES else kind
    return _parse("element type", lib.ronde_dtype_parse, "enum ronde_dtype *", DTYPES, text)


def op(text: str) -> int:
    return _parse("operator", lib.ronde_op_parse, "enum ronde_op *", OPS, text)
