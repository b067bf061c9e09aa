"""The two tables of published NCCL measurements as one, which the model's constants are fitted to:

    python3 bench/nccl_training.py nccl-published.csv nccl-published-2.csv >training.csv

Of systems whose description is of one setting, rows of the others are left out (SOURCES-2.md): Polaris and Sirius are those of setup4,
the GB300 trays without NVLink between them are a machine of their own, and peer access that is switched off is a fault."""
import csv
import sys


def system_of(row):
    """The description's name; None for rows of a setting that no description is of."""
    system, notes = row["system"], row["notes"]
    if system in ("Polaris-A100", "Sirius-A100") and not notes.startswith("setup4"):
        return None
    if "P2P disabled" in notes:
        return None
    if system == "GB300-2tray" and "MNNVL_ENABLE=0" in notes:
        return "GB300-2tray-RoCE"
    return system


def main(paths):
    out = None
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if out is None:
                    out = csv.DictWriter(sys.stdout, fieldnames=list(row), lineterminator="\n")
                    out.writeheader()
                row["system"] = system_of(row)
                if row["system"] is not None:
                    out.writerow(row)


if __name__ == "__main__":
    main(sys.argv[1:])
