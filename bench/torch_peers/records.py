"""Measured points, kept in a file."""
from __future__ import annotations

import json
import pathlib
from typing import Any


class Records:
    """Measured points, in a file with a line each. Given to the processes that measure: each put is written at once."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def put(self, record: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        words = [f"{value:.2f}" if isinstance(value, float) else f"{name}={value}" if isinstance(value, bool) else str(value)
                 for name, value in record.items()]
        print(" ".join(words), flush=True)
