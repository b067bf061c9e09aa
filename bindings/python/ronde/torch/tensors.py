"""What the library needs to know of tensors: element types, operators, addresses."""
from __future__ import annotations

from typing import Any, Sequence

import torch
import torch.distributed as dist

from .. import names
from .._native import ffi, lib
from ..communicator import Blocks
from .layouts import Layout, is_dense

# The library's names that are not torch's.
_TORCH_NAMES = {"float8_e4m3": "float8_e4m3fn"}
# Types that can be reduced, as far as this torch has them.
DTYPES: dict[torch.dtype, int] = {
    getattr(torch, _TORCH_NAMES.get(name, name)): value
    for name, value in names.DTYPES.items() if hasattr(torch, _TORCH_NAMES.get(name, name))}
# Complex numbers are added as two numbers each; no other operator is theirs.
_PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
if hasattr(torch, "complex32"):
    _PARTS[torch.complex32] = torch.float16

_OP_NAMES = {"SUM": "sum", "AVG": "avg", "PRODUCT": "prod", "MIN": "min", "MAX": "max", "BAND": "band", "BOR": "bor",
             "BXOR": "bxor", "PREMUL_SUM": "premul_sum"}
_STRIDED = torch.strided
_ReduceOp = dist.ReduceOp
_numbers = {name: getattr(_ReduceOp, name) for name in _OP_NAMES if hasattr(_ReduceOp, name)}
# By the number in an enumeration, which some versions of torch wrap in an object.
_OPS: dict[int, int] = {getattr(value, "op", value).value: names.OPS[_OP_NAMES[name]] for name, value in _numbers.items()}
_LINEAR = {names.OPS["sum"], names.OPS["avg"], names.OPS["premul_sum"]}


def check(tensor: torch.Tensor, what: str, layout: Layout = Layout.CONTIGUOUS) -> None:
    """Refuses what gloo refuses, or takes and gets wrong."""
    if (tensor.is_cpu or tensor.is_cuda) and tensor.layout is _STRIDED and tensor.is_contiguous():
        return
    if tensor.layout is not _STRIDED:
        raise ValueError(f"{what}: tensors must be dense, not {tensor.layout}")
    if not tensor.is_cpu and not tensor.is_cuda:
        raise ValueError(f"{what}: tensors must be on the CPU or on a CUDA device, not on {tensor.device}")
    if layout is Layout.CONTIGUOUS:
        raise ValueError(f"{what}: tensors must be contiguous; use tensor.contiguous()")
    if layout is Layout.DENSE and not is_dense(tensor):
        raise ValueError(f"{what}: tensors must be without gaps between their elements; use tensor.contiguous()")


def only(tensors: Sequence[torch.Tensor], what: str, layout: Layout = Layout.CONTIGUOUS) -> torch.Tensor:
    """The tensor of a list of one, as torch hands it over."""
    if len(tensors) != 1:
        raise ValueError(f"{what}: requires a single-element tensor list, not one of {len(tensors)}")
    check(tensors[0], what, layout)
    return tensors[0]


def alike(tensors: Sequence[torch.Tensor], like: torch.Tensor, what: str, layout: Layout = Layout.CONTIGUOUS) -> None:
    for tensor in tensors:
        check(tensor, what, layout)
        if tensor.dtype != like.dtype:
            raise ValueError(f"{what}: tensors have types {tensor.dtype} and {like.dtype}: must be the same")
        if not (tensor.is_cpu and like.is_cpu) and tensor.device != like.device:
            raise ValueError(f"{what}: tensors are on {tensor.device} and {like.device}: must be the same")


def moved(tensor: torch.Tensor) -> tuple[int, int]:
    """Element type and elements per element of what is only moved: any type goes, as bytes if it must."""
    dtype = DTYPES.get(tensor.dtype)
    if dtype is not None:
        return dtype, 1
    size = tensor.element_size()
    return (lib.RONDE_UINT64, size // 8) if size % 8 == 0 else (lib.RONDE_UINT8, size)


def reduced(tensor: torch.Tensor, op: int, what: str) -> tuple[int, int]:
    """The same of what is reduced."""
    dtype = DTYPES.get(tensor.dtype)
    if dtype is not None:
        return dtype, 1
    if tensor.dtype in _PARTS and op in _LINEAR:
        return DTYPES[_PARTS[tensor.dtype]], 2
    raise ValueError(f"{what}: elements of type {tensor.dtype} cannot be reduced")


def operator(reduce_op: Any) -> int:
    """The library's operator."""
    value = _OPS.get(getattr(reduce_op, "op", reduce_op).value)
    if value is None:
        raise ValueError(f"ronde has no operator {reduce_op}")
    return value


def factor(reduce_op: Any, dtype: int) -> Any:
    """The element that premul_sum multiplies with, as the library reads it."""
    given = getattr(reduce_op, "factor", None)
    if given is None:
        given = reduce_op.__getstate__()[1]
    element = ffi.new("uint64_t *")
    lib.ronde_element_store(dtype, element, float(given))
    return element


def blocks(tensors: Sequence[torch.Tensor], width: int, is_v: bool) -> Blocks:
    """A list of tensors as the blocks of a buffer."""
    return Blocks([tensor.data_ptr() for tensor in tensors],
                  [tensor.numel() * width for tensor in tensors] if is_v else None)


def rows(tensor: torch.Tensor, splits: Sequence[int], ranks: int, width: int, what: str) -> tuple[list[int], list[int]]:
    """Elements of each rank's part of dimension 0, and where it begins; no splits: equal parts."""
    length = tensor.shape[0] if tensor.dim() else 1
    if not splits:
        if length % ranks:
            raise ValueError(f"{what}: dimension 0 is {length}: does not divide equally across {ranks} ranks")
        splits = [length // ranks] * ranks
    if len(splits) != ranks:
        raise ValueError(f"{what}: {len(splits)} split sizes for {ranks} ranks")
    if sum(splits) != length or min(splits) < 0:
        raise ValueError(f"{what}: split sizes {list(splits)} do not sum up to dimension 0, which is {length}")
    row = tensor.numel() // length * width if length else 0
    counts = [split * row for split in splits]
    offsets = [0] * ranks
    for rank in range(1, ranks):
        offsets[rank] = offsets[rank - 1] + counts[rank - 1]
    return counts, offsets
