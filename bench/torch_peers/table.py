"""The page of measured records: docs/results/torch-bench.md."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator

Record = dict[str, Any]


def least(record: Record) -> float:
    """How many times as fast as gloo's ronde's call is to be."""
    return 5 if record["collective"] == "all_reduce" and 1 << 16 <= record["bytes"] <= 1 << 20 else 2


def ratio(record: Record) -> float:
    return float(record["gloo_us"]) / float(record["ronde_us"])


def exposed(record: Record, name: str) -> float:
    return max(float(record[f"{name}_ms"]) - float(record["alone_ms"]), 1e-3)


def size_text(size: int) -> str:
    for unit, shift in (("M", 20), ("K", 10)):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}iB"
    return f"{size} B"


# What each rank writes of a collective's bytes, over all ranks, where it does no more than move them.
MOVED: dict[str, Callable[[int], float]] = {"all_gather": lambda ranks: 1, "all_to_all_single": lambda ranks: 1,
                                            "broadcast": lambda ranks: (ranks - 1) / ranks}


class Limits:
    """What no backend goes below: measured, see limits.py. Of ranks that are pinned and not, what takes less."""

    def __init__(self, records: list[Record]) -> None:
        self._found: dict[tuple[int, bool, int], float] = {}
        for record in records:
            key = record["ranks"], record["cold"], record["bytes"]
            self._found[key] = min(float(record["limit_us"]), self._found.get(key, float("inf")))

    def waiting(self, record: Record) -> float:
        """Ranks that only wait for one another; the root of a broadcast waits for none."""
        return 0.0 if record["collective"] == "broadcast" else self._at(record, 0)

    def copying(self, record: Record) -> float:
        """All ranks copy what each must write."""
        share = MOVED.get(record["collective"])
        return share(record["ranks"]) * self._at(record, record["bytes"]) if share else 0.0

    def _at(self, record: Record, size: int) -> float:
        return self._found.get((record["ranks"], record["cold"], size), 0.0)

    def least(self, record: Record) -> float:
        return max(self.waiting(record), self.copying(record))

    def forbids(self, record: Record) -> bool:
        """Whether the target itself is below the limit."""
        return record["gloo_us"] / least(record) < self.least(record)

    def cell(self, ranks: int, cold: bool, size: int) -> str:
        found = self._found.get((ranks, cold, size))
        return "-" if found is None else f"{found:.0f}"


def collectives(records: list[Record], limits: Limits) -> Iterator[str]:
    missed = [record for record in records if ratio(record) < least(record)]
    beyond = [record for record in missed if limits.forbids(record)]
    yield f"\n## Collectives\n\n{len(records) - len(missed)} of {len(records)} points reach their target: 2 times gloo's speed, " \
          f"5 times for all_reduce of 64 KiB to 1 MiB. Of the {len(missed)} that do not, {len(beyond)} have a target that this " \
          f"machine does not allow, marked `x`; the others, {len(missed) - len(beyond)}, are marked `*`. Times are medians in " \
          "us, gloo / ronde; \"cold\": 1 ms of computing on other memory before each call.\n\n" \
          "The limit is measured beside, in turns with gloo as well. \"wait\": ranks that only wait for one another in memory " \
          "they share; with more ranks than processors they compute in turns, and the first waits for the last, whatever it " \
          "calls. \"copy\": all ranks copy that many bytes of their own by libc's memcpy and wait for one another, which is what " \
          "all_gather and all_to_all_single must write; of a broadcast it is the receivers' share. Both were measured pinned and " \
          "not; the less counts."
    cases = list(dict.fromkeys((r["ranks"], r["pinned"], r["cold"]) for r in records))
    names = list(dict.fromkeys(r["collective"] for r in records))
    for ranks, pinned, cold in cases:
        found = {(r["collective"], r["bytes"]): r for r in records if (r["ranks"], r["pinned"], r["cold"]) == (ranks, pinned, cold)}
        yield f"\n### {ranks} ranks, {'pinned' if pinned else 'not pinned'}, {'cold' if cold else 'warm'}; " \
              f"wait: {limits.cell(ranks, cold, 0)} us\n"
        yield "| bytes | " + " | ".join(names) + " | copy |\n|---:|" + "---:|" * (len(names) + 1)
        for size in sorted({size for _, size in found}):
            yield f"| {size_text(size)} | " + " | ".join(cell(found.get((name, size)), limits) for name in names) + \
                  f" | {limits.cell(ranks, cold, size)} |"


def cell(record: Record | None, limits: Limits) -> str:
    if record is None:
        return "-"
    mark = "" if ratio(record) >= least(record) else "`x`" if limits.forbids(record) else "`*`"
    return f"{record['gloo_us']:.0f} / {record['ronde_us']:.0f} = {ratio(record):.1f}{mark}"


def training(records: list[Record]) -> Iterator[str]:
    yield "\n## A step of DDP with ResNet-50's gradients\n\n102 MB in 161 tensors, torch's buckets, 50 ms of computing in " \
          "backward. Exposed is what a step takes longer than one with a hook that communicates nothing; medians in ms.\n"
    yield "| ranks | pinned | step without | gloo | ronde | exposed, gloo | exposed, ronde | times as little |\n" + "|---|---|" + "---:|" * 6
    for record in records:
        gloo, ronde = exposed(record, "gloo"), exposed(record, "ronde")
        mark = "`*`" if gloo / ronde < 2 else ""
        yield f"| {record['ranks']} | {'yes' if record['pinned'] else 'no'} | {record['alone_ms']:.1f} | {record['gloo_ms']:.1f} | " \
              f"{record['ronde_ms']:.1f} | {gloo:.1f} | {ronde:.1f} | {gloo / ronde:.2f}{mark} |"


def waiting(records: list[Record]) -> Iterator[str]:
    yield "\n## Ranks that wait beside one that computes\n\nRank 0 multiplies matrices with a thread per processor while the " \
          "others wait for it in an all_reduce; medians in ms, and how much longer than while they sleep.\n"
    yield "| ranks | threads of rank 0 | others asleep | in gloo | in ronde |\n|---|---|---:|---:|---:|"
    for record in records:
        asleep = record["asleep_ms"]
        yield f"| {record['ranks']} | {record['threads']} | {asleep:.1f} | " + " | ".join(
            f"{record[f'{name}_ms']:.1f} ({(record[f'{name}_ms'] / asleep - 1) * 100:+.0f} %)" for name in ("gloo", "ronde")) + " |"


def overhead(records: list[Record]) -> Iterator[str]:
    library, front, sync = (record["median_us"] for record in records[:3])
    yield "\n## The call itself\n\nA group of one rank, all_reduce of 8 bytes. What the binding adds is a call with ronde, less one " \
          f"of a group that does nothing, which is torch's own share, and less the library's: {sync - front - library:.1f} us; the " \
          "target is 5 us.\n"
    yield "| call | median, us | least, us |\n|---|---:|---:|"
    for record in records:
        yield f"| {record['call']} | {record['median_us']:.2f} | {record['min_us']:.2f} |"


PARTS = {"training": training, "waiting": waiting, "overhead": overhead}


def page(machine: str, records: Iterable[Record]) -> str:
    kept = list(records)
    lines = ["# ronde beside gloo, through torch.distributed\n",
             "Written by `./dev bench torch`; every number is measured. Processes of one machine, float32, a group of each backend "
             "in the same processes, whose calls alternate; a time is that of one call on rank 0, waited for.\n", machine]
    compared = [record for record in kept if record["part"] == "collectives"]
    if compared:
        lines += collectives(compared, Limits([record for record in kept if record["part"] == "limits"]))
    for part, write in PARTS.items():
        found = [record for record in kept if record["part"] == part]
        if found:
            lines += write(found)
    return "\n".join(lines) + "\n"
