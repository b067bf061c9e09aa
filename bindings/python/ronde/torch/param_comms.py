"""
What torch's profiler says of a collective in `record_param_comms`: group, sizes, type. It reads them from an object of C++ that
backends in C++ leave for their thread, and that Python has no way to make, so it is made by torch's own exported constructor.
Names of functions in C++ spell out all their arguments: where this torch has them by these very names (2.15 on Linux), they
take what is given here; elsewhere there is no such record, and what stands in `ronde:...` has to do.
"""
from __future__ import annotations

import ctypes
import pathlib
from typing import Any, NamedTuple, Optional

import torch

_INFO = ("_ZN5torch19ParamCommsDebugInfoC1ESt5tupleIJNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES7_EEiOS7_llN3c1010"
         "ScalarTypeESt6vectorIlSaIlEESE_iiib")
_ENTER = "_ZN3c1014DebugInfoGuardC1ENS_13DebugInfoKindESt10shared_ptrINS_13DebugInfoBaseEE"
_LEAVE = "_ZN3c1014DebugInfoGuardD1Ev"
_KIND = "_ZN3c1013DebugInfoKind16PARAM_COMMS_INFOE"
# More than the objects have.
_INFO_BYTES, _GUARD_BYTES = 1024, 256

# c10::ScalarType, whose numbers stand in files and stay.
_TYPES = {name: number for number, name in enumerate((
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128", "bool"))}
_TYPES.update({"bfloat16": 15, "float8_e5m2": 23, "float8_e4m3fn": 24, "uint16": 27, "uint32": 28, "uint64": 29})


class Facts(NamedTuple):
    """Of one call."""

    group: str
    about: str
    rank: int
    collective: str
    given: int
    got: int
    dtype: Optional[torch.dtype]
    start: int
    stride: int
    size: int
    is_async: bool


class _String(ctypes.Structure):
    """std::string, as libstdc++ has it: the C++ that is named above is its."""

    _fields_ = [("at", ctypes.c_void_p), ("length", ctypes.c_size_t), ("room", ctypes.c_char * 16)]


class _Pointers(ctypes.Structure):
    """A shared pointer that owns nothing, or an empty vector."""

    _fields_ = [("at", ctypes.c_void_p), ("end", ctypes.c_void_p), ("limit", ctypes.c_void_p)]


class ParamComms:
    """The objects, one for each different call, which stay: what C++ has taken from Python's strings is not its to free."""

    def __init__(self) -> None:
        folder = pathlib.Path(torch.__file__).parent / "lib"
        core, cpu = ctypes.CDLL(str(folder / "libc10.so")), ctypes.CDLL(str(folder / "libtorch_cpu.so"))
        self._construct, self._enter, self._leave = cpu[_INFO], core[_ENTER], core[_LEAVE]
        self._kind = ctypes.c_void_p.in_dll(core, _KIND)
        pointer, integer, wide = ctypes.c_void_p, ctypes.c_int, ctypes.c_long
        self._construct.argtypes = [pointer, pointer, integer, pointer, wide, wide, ctypes.c_int8, pointer, pointer, integer, integer,
                                    integer, ctypes.c_bool]
        self._enter.argtypes, self._leave.argtypes = [pointer, pointer, pointer], [pointer]
        self._construct.restype = self._enter.restype = self._leave.restype = None
        self._made: dict[Facts, tuple[Any, ...]] = {}

    def _string(self, text: str, to: _String) -> Any:
        data = ctypes.create_string_buffer(text.encode())
        to.at, to.length = ctypes.addressof(data), len(data) - 1
        # Room for that much: it is text elsewhere, which C++ may take.
        ctypes.memmove(ctypes.addressof(to) + _String.room.offset, ctypes.byref(ctypes.c_size_t(to.length)), 8)
        return data

    def _object(self, facts: Facts) -> Any:
        if facts in self._made:
            return self._made[facts][0]
        info = ctypes.create_string_buffer(_INFO_BYTES)
        # A tuple has its last element first.
        names, collective = (_String * 2)(), _String()
        keep = [self._string(facts.about, names[0]), self._string(facts.group, names[1]), self._string(facts.collective, collective)]
        splits = _Pointers(), _Pointers()
        number = _TYPES.get(str(facts.dtype).partition(".")[2], 0)
        self._construct(ctypes.addressof(info), ctypes.addressof(names), facts.rank, ctypes.addressof(collective), facts.given,
                        facts.got, number, ctypes.addressof(splits[0]), ctypes.addressof(splits[1]), facts.start, facts.stride,
                        facts.size, facts.is_async)
        self._made[facts] = info, names, collective, keep
        return info

    def enter(self, facts: Facts) -> Any:
        """Leaves the facts for this thread until what is returned is given to `leave`."""
        guard = ctypes.create_string_buffer(_GUARD_BYTES)
        owned = _Pointers(ctypes.addressof(self._object(facts)))
        self._enter(ctypes.addressof(guard), self._kind, ctypes.addressof(owned))
        return guard

    def leave(self, guard: Any) -> None:
        self._leave(ctypes.addressof(guard))


def found() -> Optional[ParamComms]:
    """None where this torch has no such functions."""
    try:
        return ParamComms()
    except (OSError, AttributeError, ValueError):
        return None
