"""Notebooks of docs/examples say what they are shown to say. RONDE_UPDATE_GOLDEN=1 writes what they say now into them."""
from __future__ import annotations

import os
import pathlib
import unittest
from typing import Any

import nbclient
import nbformat

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs/examples"


def said(notebook: Any) -> list[tuple[str, str]]:
    """What the cells print and which pictures they show; what is in a picture is its library's affair."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                found.append((output.name, output.text))
            elif output.output_type == "error":
                found.append((output.ename, output.evalue))
            else:
                found += [(kind, text if kind == "text/plain" else "") for kind, text in sorted(output.data.items())]
    return found


class NotebookTest(unittest.TestCase):
    maxDiff = None

    def execute(self, path: pathlib.Path) -> None:
        shown = nbformat.read(path, as_version=4)
        fresh = nbformat.read(path, as_version=4)
        client = nbclient.NotebookClient(fresh, timeout=400, kernel_name="python3", record_timing=False, coalesce_streams=True,
                                         resources={"metadata": {"path": str(FOLDER)}})
        client.execute()
        # Else it has the versions of the Python that ran it last.
        fresh.metadata = shown.metadata
        if os.environ.get("RONDE_UPDATE_GOLDEN") == "1":
            nbformat.write(fresh, path)
            return
        self.assertEqual(said(fresh), said(shown))

    def test_ring_vs_tree(self) -> None:
        self.execute(FOLDER / "ring_vs_tree.ipynb")


if __name__ == "__main__":
    unittest.main()
