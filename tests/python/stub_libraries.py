"""
stub_libraries.py SITE_PACKAGES: empty libraries in the place of those for GPUs that PyPI's torch is linked with, so that it
is imported on a machine without GPUs and without 2 GB of wheels. What calls into one of them crashes; nothing does on a CPU.
"""
from __future__ import annotations

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# Libraries that are there: torch's own, the system's, and the one wheel that is small.
PRESENT = ("libtorch", "libc10", "libcaffe2", "libshm", "libgomp", "libgfortran", "libc.", "libm.", "libdl", "librt", "libpthread",
           "libstdc++", "libgcc_s", "ld-linux", "libcudart", "libcuda.so", "libtbb")
# Which library a symbol is of, by how it begins.
OWNERS = (("cudnn", "libcudnn"), ("cublasLt", "libcublasLt"), ("cublas", "libcublas"), ("cufft", "libcufft"),
          ("cusparseLt", "libcusparseLt"), ("cusparse", "libcusparse"), ("cusolver", "libcusolver"), ("nccl", "libnccl"),
          ("pnccl", "libnccl"), ("nvshmem", "libnvshmem_host"), ("cuFile", "libcufile"), ("nvrtc", "libnvrtc"),
          ("cupti", "libcupti"), ("nvJitLink", "libnvJitLink"), ("_ZN7nvshmem", "libnvshmem_host"), ("nvshmemi", "libnvshmem_host"),
          ("nvtx", "libnvToolsExt"))


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(files: list[pathlib.Path]) -> tuple[set[str], set[str], set[str]]:
    """Libraries that are needed and not there, symbols that are undefined, and those that are defined."""
    needed: set[str] = set()
    undefined: set[str] = set()
    defined: set[str] = set()
    for file in files:
        names = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", str(file)))
        needed.update(name for name in names if not name.startswith(PRESENT))
        for words in map(str.split, output("nm", "-D", str(file)).splitlines()):
            if len(words) >= 2 and words[-2] in "Uwv":
                undefined.add(words[-1])
            elif len(words) == 3:
                defined.add(words[-1].split("@")[0])
    return needed, undefined, defined


def build(target: pathlib.Path, symbols: dict[str, str]) -> None:
    """A library with these symbols, each of the version that it is asked for in."""
    text = ".text\n" + "".join(f".globl {name}\n.type {name},@function\n{name}:\n" for name in sorted(symbols))
    by_version = collections.defaultdict(list)
    for name, version in symbols.items():
        if version:
            by_version[version].append(name)
    with tempfile.TemporaryDirectory() as folder:
        source, versions = pathlib.Path(folder, "stub.s"), pathlib.Path(folder, "stub.map")
        source.write_text(text + 'mov $1,%eax\nret\n.section .note.GNU-stack,"",@progbits\n')
        versions.write_text("".join(f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in by_version.items()))
        more = [f"-Wl,--version-script={versions}"] if by_version else []
        output("cc", "-shared", "-nostdlib", "-o", str(target), f"-Wl,-soname,{target.name}", str(source), *more)


def main() -> None:
    torch = pathlib.Path(sys.argv[1]) / "torch"
    needed, undefined, defined = read([*(torch / "lib").glob("*.so"), *torch.glob("_C*.so")])
    found: dict[str, dict[str, str]] = {library: {} for library in needed}
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        owner = next((library for begin, library in OWNERS if name.startswith(begin)), None)
        if owner and needed and name not in defined:
            # A library that only another one would bring with it has its symbols there.
            library = next((library for library in needed if library.startswith(f"{owner}.so.")), min(needed))
            found[library][name] = version.lstrip("@")
    for library, symbols in found.items():
        build(torch / "lib" / library, symbols)


if __name__ == "__main__":
    main()
