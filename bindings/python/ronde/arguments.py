"""Arguments of callers: what is of the wrong kind is refused by name, before the library sees it."""
from __future__ import annotations

import operator
import os
from typing import Any, Sequence, TypeVar

from .errors import BadArgumentError

Kind = TypeVar("Kind")

_MOST = 2**32 - 1


def whole(value: Any, what: str, most: int = _MOST) -> int:
    """A whole number that is not negative, NumPy's as well."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected a whole number, not {value!r}") from None
    if not 0 <= number <= most:
        raise BadArgumentError(f"{what} {number} is outside 0 .. {most}")
    return number


def real(value: Any, what: str) -> float:
    """A number, NumPy's as well."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{what}: expected a number, not {value!r}")
    return float(value)


def wholes(values: Any, what: str, most: int = _MOST) -> list[int]:
    """Several of them."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{what}: expected whole numbers such as (2, 8), not {values!r}")
    return [whole(value, what, most) for value in values]


def text(value: Any, what: str) -> bytes:
    """A name, as the library takes it."""
    if not isinstance(value, str):
        raise TypeError(f"{what}: expected a text, not {value!r}")
    # In C a text ends at the first zero.
    if "\0" in value:
        raise BadArgumentError(f"{what} {value!r} has a zero in it")
    return value.encode(errors="backslashreplace")


def path(value: Any, what: str) -> str:
    """A file's or a folder's name, as text or as pathlib has it."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{what}: expected a path, not {value!r:.100}")
    name = os.fsdecode(value)
    if not name or "\0" in name:
        raise BadArgumentError(f"{what} {name!r} is no path")
    return name


def texts(value: Any, what: str) -> list[str]:
    """A name, or several."""
    if isinstance(value, str):
        return [text(value, what).decode()]
    if not hasattr(value, "__iter__"):
        raise TypeError(f"{what}: expected a text or several, not {value!r}")
    return [text(name, what).decode() for name in value]


def instance(value: Any, kind: type[Kind], what: str, made_by: str) -> Kind:
    """An object of the package. `made_by`: what makes one, for who gives something else."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}: expected a ronde.{kind.__name__}, not {value!r:.100}; {made_by} makes one")
    return value


def array(value: Any, what: str) -> Any:
    """What NumPy would take for an array of numbers that this machine computes with."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        raise TypeError(f"{what}: expected an array of NumPy's, not {type(value).__name__}")
    native(dtype, what)
    return value


def native(dtype: Any, what: str) -> None:
    """Refuses numbers whose bytes have the other order: the library would read other numbers."""
    if not getattr(dtype, "isnative", True):
        raise BadArgumentError(f"{what}: elements of type {dtype} have the bytes of another machine; "
                               "array.astype(array.dtype.newbyteorder('=')) has this one's")


def apart(starts: Sequence[tuple[int, int]], what: str) -> None:
    """Refuses memory that two ranks write: where it begins and how many bytes, by rank."""
    order = sorted((start, size, rank) for rank, (start, size) in enumerate(starts) if size)
    for (start, size, rank), (next_start, _, other) in zip(order, order[1:]):
        if next_start < start + size:
            raise BadArgumentError(f"{what} of ranks {min(rank, other)} and {max(rank, other)} share memory")
