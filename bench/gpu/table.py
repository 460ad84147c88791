#!/usr/bin/env python3
"""Prints what compare_gpu.sh measured, and writes it as JSON.

  table.py ROWS [REPORT.json]

ROWS has a JSON object a line: op, case, mode and ms, or, of op "dram", bytes. A
peer's row counts for every case that begins with its own.
"""
import json
import os
import sys

PEERS = ["eager", "eager+graph", "compile", "compile+graph", "sdpa"]


def us(ms):
    return "" if ms is None else f"{ms * 1e3:.2f}" if ms < 0.1 else f"{ms * 1e3:.1f}"


def best_by_column(rows, op, case):
    """{column: (ms, mode)}, the fastest mode of each."""
    best = {}
    for row in rows:
        column = row["mode"].split()[0]
        if row["op"] != op or column not in PEERS or not case.startswith(row["case"]):
            continue
        if column not in best or row["ms"] < best[column][0]:
            best[column] = (row["ms"], row["mode"])
    return best


def compare(rows, row):
    """A row of the table, as an object, from one of Betz's."""
    peers = best_by_column(rows, row["op"], row["case"])
    line = {"op": row["op"], "case": row["case"], "betz_ms": row["ms"],
            "peers": {mode: ms for ms, mode in peers.values()}}
    if peers:
        line["ratio"] = row["ms"] / min(ms for ms, _ in peers.values())
        line["verdict"] = "win" if line["ratio"] <= 1 else "loss"
    for key in ("blocks", "of_blocks", "elements"):
        if key in row:
            line[key] = row[key]
    return line, peers


def note(line, peers):
    notes = []
    if "blocks" in line:
        notes.append(f"{line['blocks']} of {line['of_blocks']} blocks, "
                     f"{100 * line['elements']:.1f} % of elements")
    if "sdpa" in peers:
        notes.append(peers["sdpa"][1])
    return "; ".join(notes)


def print_times(rows):
    lines = []
    print("us\n")
    print("| what | case | Betz | " + " | ".join(PEERS) + " | Betz / best | |")
    print("|---" * (5 + len(PEERS)) + "|")
    for row in rows:
        if row.get("mode") != "betz":
            continue
        line, peers = compare(rows, row)
        cells = [us(peers.get(column, (None,))[0]) for column in PEERS]
        ratio = f"{line['ratio']:.2f} {line['verdict']}" if peers else ""
        print(f"| {row['op']} | {row['case']} | {us(row['ms'])} | " + " | ".join(cells) +
              f" | {ratio} | {note(line, peers)} |")
        lines.append(line)
    return lines


def print_bytes(rows):
    print("\n| S, 32 windows, absorb-norm | step, us | kernels | operands, MB | DRAM, MB |")
    print("|---|---|---|---|---|")
    for row in rows:
        dram = f"{row['dram_bytes'] / 1e6:.1f}" if "dram_bytes" in row else ""
        print(f"| {row['case']} | {us(row['ms'])} | {row['kernels']} | "
              f"{row['operand_bytes'] / 1e6:.1f} | {dram} |")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        rows = [json.loads(line) for line in file]
    times = [row for row in rows if row["op"] != "dram"]
    dram = [row for row in rows if row["op"] == "dram"]
    lines = print_times(times) if times else []
    if dram:
        print_bytes(dram)
    if len(sys.argv) == 3:
        with open(sys.argv[2] + ".part", "w") as file:
            json.dump({"compared": lines, "dram": dram, "rows": rows}, file, indent=1)
        os.replace(sys.argv[2] + ".part", sys.argv[2])


if __name__ == "__main__":
    main()
