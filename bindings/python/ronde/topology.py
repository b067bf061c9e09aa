"""Platform files: read, generated, imported."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import tempfile
import weakref
from typing import Any, Callable, Optional, Sequence, Union

from . import _command, errors
from .arguments import instance, path as path_of, real, text, whole, wholes
from ._native import ffi, lib

_MEM = lib.ronde_mem_default()
_FABRICS = {ffi.string(lib.ronde_fabric_name(fabric)).decode(): fabric for fabric in range(lib.RONDE_FABRIC_COUNT)}

# The kind whose nodes have as many GPUs as are asked for.
_BY_NUMBERS = "dgx"


def kinds() -> dict[str, str]:
    """The kinds of machines that can be generated, each with a line on it."""
    found: dict[str, str] = {}
    while (kind := lib.ronde_machine_kind(len(found))) != ffi.NULL:
        found[ffi.string(kind.name).decode()] = ffi.string(kind.summary).decode()
    return found


def _fabric(name: Optional[str]) -> int:
    if name is None:
        return int(lib.RONDE_FABRIC_COUNT)
    if name not in _FABRICS:
        raise errors.BadArgumentError(f"fabric {name!r}: there are {', '.join(_FABRICS)}")
    return _FABRICS[name]


def _written(write: Callable[[Any, Any], int]) -> str:
    """What a function of the library writes to a file."""
    with tempfile.TemporaryFile("w+b") as file:
        error = errors.record()
        status = write(file, error)
        errors.check(status, error)
        file.seek(0)
        return file.read().decode()


def _node(kind: Any, gpus: int, nvlink: Optional[str], nics: Optional[str]) -> Any:
    """A kind's node with other numbers, or NULL where it has none."""
    if nvlink is None and nics is None and ffi.string(kind).decode() != _BY_NUMBERS:
        return ffi.NULL
    node = ffi.new("struct ronde_node_description *")
    error = errors.record()
    errors.check(lib.ronde_generate_node_of(kind, gpus, node, error), error)
    words = [ffi.NULL if value is None else ffi.new("char[]", text(value, what))
             for what, value in (("nvlink", nvlink), ("nics", nics))]
    errors.check(lib.ronde_generate_node_words(node, *words, error), error)
    return node


def _file_name(xml: str) -> str:
    """A name by which messages about a machine that has no file of its own tell whose they are."""
    found = re.search(r'<zone\s[^>]*\bid="([A-Za-z0-9][\w.-]{0,99})"', xml, re.ASCII)
    return f"{found[1] if found else 'topology'}.xml"


def _remove_folder(folder: str, owner: int) -> None:
    """A forked process has the object, too, and may end before the one that made the file."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


class Topology:
    """
    A machine. Made by `read`, `from_xml`, `generate`, `from_nccl` and `from_description`.

    Rates are in GB/s, 10^9 bytes a second in one direction. What makes one raises BadArgumentError for names, files and numbers
    that are none, RondeError (status "io") for files that cannot be opened, TypeError for arguments of another kind.
    """

    def __init__(self, handle: Any, xml: Optional[str] = None) -> None:
        self._handle = ffi.gc(handle, lib.ronde_platform_destroy)
        self._xml = xml
        self._is_made = xml is not None
        self._without: tuple[str, ...] = ()
        # The machine that this one is a part of: its file stays as long as this does.
        self._base: Optional[Topology] = None

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]]) -> Topology:
        """`path`: a SimGrid platform file, or one that ronde ships, by its name: Topology.read("dgx-h100")."""
        found = ffi.new("char[]", lib.RONDE_PATH_BYTES)
        lib.ronde_find_topology(os.fsencode(path_of(path, "path")), found, lib.RONDE_PATH_BYTES)
        return cls._of(found)

    @classmethod
    def _of(cls, path: Any, xml: Optional[str] = None) -> Topology:
        out = ffi.new("struct ronde_platform **")
        error = errors.record()
        errors.check(lib.ronde_platform_read(path, _MEM, out, error), error)
        return cls(out[0], xml)

    @classmethod
    def from_xml(cls, xml: str) -> Topology:
        """`xml`: the text of a SimGrid platform file."""
        if not isinstance(xml, str):
            raise TypeError(f"xml: expected the text of a platform file, not {type(xml).__name__}")
        # SimGrid reads the file itself, at every replay: it stays as long as the machine does.
        folder = tempfile.mkdtemp(prefix="ronde")
        try:
            path = pathlib.Path(folder, _file_name(xml))
            path.write_text(xml, encoding="utf-8")
            made = cls._of(os.fsencode(path), xml)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(made, _remove_folder, folder, os.getpid())
        return made

    @classmethod
    def generate(cls, kind: str, *, nodes: int = 0, gpus: int = 0, nvlink: Optional[str] = None, nics: Optional[str] = None,
                 levels: int = 0, oversubscription: float = 0, fabric: Optional[str] = None, shape: Sequence[int] = (),
                 multicast: bool = False) -> Topology:
        """
        A machine of a `kind` (`ronde.kinds`): Topology.generate("dgx-h100", nodes=128). 0 and None: as usual for the kind.

        `nodes`, and `gpus` of a node. `nvlink` is the rate of all links of a GPU in one direction, `nics` the NICs of a node:
        Topology.generate("dgx", gpus=8, nvlink="450GBps", nics="8x50GBps", nodes=64). `fabric`: between nodes, "rail", "fat-tree"
        or "crossbar"; `levels` of its switches, and `oversubscription`, down to up. `shape`: axes of a torus, (8, 8). With
        `multicast` the switch of a node's GPUs copies and adds, as NVLink SHARP does.
        """
        axes = wholes(shape, "shape")
        if len(axes) > lib.RONDE_GENERATE_AXES:
            raise errors.BadArgumentError(f"a shape of {len(axes)} axes: at most {lib.RONDE_GENERATE_AXES}")
        if kind not in kinds():
            raise errors.BadArgumentError(f"kind of machine {kind!r}: there are {', '.join(kinds())}")
        name = ffi.new("char[]", text(kind, "kind"))
        node = _node(name, whole(gpus, "gpus"), nvlink, nics)
        request = ffi.new("struct ronde_generate_request *", {
            "kind": name, "node": node, "nodes": whole(nodes, "nodes"), "gpus": whole(gpus, "gpus"),
            "levels": whole(levels, "levels"), "oversubscription": real(oversubscription, "oversubscription"), "fabric": _fabric(fabric),
            "axis_count": len(axes), "shape": axes, "multicasts": bool(multicast)})
        return cls.from_xml(_written(lambda file, error: lib.ronde_generate(request, file, error)))

    @classmethod
    def from_nccl(cls, path: Union[str, os.PathLike[str]], *, nodes: int = 1, fabric: str = "rail", nic_GBps: float = 0,
                  nvlink_GBps: float = 0, memory_GBps: float = 0, multicast: bool = False) -> Topology:
        """
        `path`: a topology that NCCL or RCCL has written (NCCL_TOPO_DUMP_FILE), or hwloc, of one node; `nodes` of them, with a
        `fabric` and `multicast` as for `generate`. `nic_GBps`, `nvlink_GBps`, `memory_GBps`: rates that the file does not have, 0:
        as it says.
        """
        name = ffi.new("char[]", os.fsencode(path_of(path, "path")))
        request = ffi.new("struct ronde_import_request *", {
            "path": name, "nodes": whole(nodes, "nodes"), "fabric": _fabric(fabric), "nic_GBps": real(nic_GBps, "nic_GBps"),
            "nvlink_GBps": real(nvlink_GBps, "nvlink_GBps"), "memory_GBps": real(memory_GBps, "memory_GBps"),
            "multicasts": bool(multicast)})
        out = ffi.new("struct ronde_import **")
        error = errors.record()
        errors.check(lib.ronde_import_read(request, _MEM, out, error), error)
        imported = ffi.gc(out[0], lib.ronde_import_destroy)
        return cls.from_xml(_written(lambda file, error: lib.ronde_import_write(imported, file, error)))

    @classmethod
    def from_description(cls, machine: Union[str, os.PathLike[str]], *, nodes: int = 1, fabric: str = "crossbar",
                         multicast: bool = False) -> Topology:
        """
        `machine`: described in some lines, a file or one that ronde ships: from_description("H100-cluster01", nodes=10). `nodes` of
        it, with a `fabric` and `multicast` as for `generate`.
        """
        words = ["--multicast"] if multicast else []
        return cls.from_xml(_command.output("topo", "import", "--nodes", whole(nodes, "nodes"), "--fabric",
                                             text(fabric, "fabric").decode(), *words, "--", path_of(machine, "machine")))

    def without(self, *names: str) -> Topology:
        """
        The same machine without links, NICs, switches or hosts: `names`, or patterns of them: machine.without("n0g0_c"),
        machine.without("n3g*"). Routes that crossed them are found anew, as by the command's `--without`.
        """
        wanted = [ffi.new("char[]", text(name, "name")) for name in names]
        out = ffi.new("struct ronde_platform **")
        error = errors.record()
        errors.check(lib.ronde_platform_copy(self._handle, _MEM, out, error), error)
        left = type(self)(out[0], self._xml)
        left._is_made, left._without, left._base = True, (*self._without, *names), self
        errors.check(lib.ronde_platform_without(left._handle, ffi.new("char *[]", wanted), len(wanted), error), error)
        return left

    @property
    def _words(self) -> list[str]:
        """The command line's words for the machine."""
        return ["--topo", self.file, *(["--without", ",".join(self._without)] if self._without else [])]

    @property
    def svg(self) -> str:
        """A picture of it: the command's `topo show -o`."""
        with tempfile.TemporaryDirectory(prefix="ronde") as folder:
            picture = pathlib.Path(folder, "topology.svg")
            _command.output("topo", "show", *self._words[1:], "-o", picture)
            return picture.read_text(encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    @property
    def name(self) -> str:
        """What the file calls it."""
        return ffi.string(lib.ronde_platform_facts(self._handle).name).decode()

    @property
    def path(self) -> Optional[str]:
        """The file it was read from; None where it was made here."""
        return None if self._is_made else self.file

    @property
    def file(self) -> str:
        """The file that has it now: `path`, or one that goes when this object does."""
        return os.fsdecode(ffi.string(lib.ronde_platform_path(self._handle)))

    @property
    def hosts(self) -> int:
        """How many ranks it has room for."""
        return int(lib.ronde_platform_facts(self._handle).hosts)

    @property
    def xml(self) -> str:
        """The platform file; of a machine without some of its parts, that of the whole."""
        if self._xml is None:
            self._xml = pathlib.Path(self.file).read_text(encoding="utf-8")
        return self._xml

    def __repr__(self) -> str:
        return f"<ronde.Topology {self.name}: {self.hosts} hosts>"


def machine_of(topology: Topology) -> Topology:
    """The argument `topology` of a function, refused where it is something else."""
    return instance(topology, Topology, "topology", "ronde.Topology.read")
