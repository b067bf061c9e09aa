"""Pictures, each with the command that makes it: the command is run when the site is built."""
from __future__ import annotations

import pathlib
import shutil
import subprocess

# Title, command without its output's name, and the option that names the output.
PICTURES = (
    ("A DGX H100", "topo show dgx-h100", "-o"),
    ("Four nodes of a pod, rails between them, one NIC dead", "topo show docs/examples/pod-dead-nic.xml", "-o"),
    ("A fat tree with half its uplinks", "topo show fat-tree-2to1-64", "-o"),
    ("A ring over time", "sim all_reduce -a ring -N 8 --topo crossbar-64 --bytes 4M", "--timeline"),
    ("Two trees over time", "sim all_reduce -a double_tree -N 16 --topo dgx-h100-pod --bytes 1M", "--timeline"),
    ("Which algorithm is best at which size", "plan all_reduce -N 16 --topo crossbar-64 -b 1K -e 64M", "--plot"),
    ("A page that can be forwarded", "doctor docs/examples/nccl-tests.log --topo H100-cluster01", "--html"),
)


def write(root: pathlib.Path, folder: pathlib.Path, ronde: str) -> None:
    page = ["# Gallery\n", "Every picture is made by the command below it.\n"]
    for number, (title, words, option) in enumerate(PICTURES):
        if option == "--plot" and shutil.which("gnuplot") is None:
            page.append(f"## {title}\n\nNot made: gnuplot is not here.\n\n```console\n$ ronde {words} {option} picture.svg\n```\n")
            continue
        form, show = ("html", "") if option == "--html" else ("svg", "!")
        picture = folder / f"picture-{number}.{form}"
        # doctor ends with 1 where something is wrong.
        done = subprocess.run([ronde, *words.split(), option, str(picture)], cwd=root, stdout=subprocess.DEVNULL)
        if done.returncode > 1 or not picture.exists():
            raise SystemExit(f"ronde {words} {option} {picture.name}: made no picture")
        page.append(f"## {title}\n\n{show}[{title}]({picture.name})\n\n```console\n$ ronde {words} {option} picture.{form}\n```\n")
    (folder / "gallery.md").write_text("\n".join(page), encoding="utf-8")
