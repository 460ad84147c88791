#!/usr/bin/env python3
"""Writes the modules and inputs that ../compare_gpu.sh times.

  prepare.py --betz build/bin/betz --betz-opt build/bin/betz-opt -o FOLDER

It lowers each module of this folder to kernels, NAME.mlir, and repeats a measured
kernel in it, NAME.SECTION.mlir: the repeats' results are unused, and the
difference of the two step times is that of the repeats inside a graph. For
absorb-norm it writes norms_apart.mlir, cortex-s lowered without that pass.
Inputs are safetensors; cases.json says what was made. The folder is 1 MB and
needs no GPU; the programs are compiled from it where they run.
"""
import argparse
import importlib.util
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
QUERIES, BLOCK, SPAN, REACH = 256, 64, 1024, 137.2  # as attention.mlir has them
MAP_COLUMNS, MAP_DENSITY = 32, 0.25
KERNELS = {  # the sections whose kernel is measured, by module
    "gather_sum": ["measured"],
    "norm_matmul": ["n1536", "n2048"],
    "attention": ["dense", "map", "reach"],
}


def load_safetensors():
    spec = importlib.util.spec_from_file_location(
        "safetensors_writer", ROOT / "tests/commandline/safetensors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command):
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"prepare.py: error: {command[0]}: {ran.stderr.strip()}")
    return ran.stdout


def find_kernels(text, section):
    """Heads and texts of the kernels of a section, and where the last one ends."""
    opening = re.compile(r"^( *)(%\w+)(?::\d+)? = betz\.kernel \w+ \"(" + section +
                         r"__\w+)\".*\{$", re.MULTILINE)
    kernels, end = [], 0
    for head in opening.finditer(text):
        end = text.index("\n", text.index(f"\n{head[1]}}}", head.end()) + 1) + 1
        kernels.append((head, text[head.end():end]))
    if not kernels:
        sys.exit(f"prepare.py: error: no kernel of section {section}")
    return kernels, end


def repeat_kernels(text, section, repeats):
    """Each repeat reads what its own kernels give, and nothing reads the last."""
    kernels, end = find_kernels(text, section)
    added = []
    for i in range(1, repeats + 1):
        for head, body in kernels:
            line = head[0].replace(f'"{head[3]}"', f'"{head[3]}_{i}"', 1)
            for other, _ in kernels:
                line = re.sub(f"{other[2]}\\b", f"%repeat_{i}_{other[2][1:]}", line)
            added.append(line + body)
    return text[:end] + "".join(added) + text[end:]


def query_tile(options, module, section, windows, events):
    """The queries that a block of an attention's code takes."""
    with tempfile.TemporaryDirectory() as scratch:
        run(options.betz, "compile", module, "--target", options.target, "--batch", windows,
            "--max-events", events, "--dump-dir", f"{scratch}/dump", "-o", f"{scratch}/x.betz")
        for spec in pathlib.Path(scratch).glob("dump/kernels/*/spec.json"):
            log = (spec.parent / "log").read_text()
            if f"{section}__attention" in log:
                return json.loads(spec.read_text())["tile"]["rows"]
    sys.exit(f"prepare.py: error: no attention of section {section} in {module}")


def reach_bounds():
    """As betz.reach_bounds has them."""
    bounds = []
    for query in range(QUERIES):
        centre = (query + 0.5) * SPAN / QUERIES
        seen = [t for t in range(-SPAN, 2 * SPAN) if abs(t + 0.5 - centre) <= REACH]
        bounds.append((seen[0], seen[-1]))
    return bounds


def count_blocks(tile, windows, events, times, block_map):
    """Of 64 queries x 64 keys: those that the code computes, by section. A tile
    of queries computes a block of keys where any of its queries may see it."""
    bounds, rows = reach_bounds(), tile // BLOCK
    columns = -(-events // BLOCK)
    total = windows * (QUERIES // BLOCK) * columns
    counts = {"dense": total, "map": 0, "reach": 0}
    elements = {"dense": windows * QUERIES * events, "map": 0, "reach": 0}
    for window in range(windows):
        own = times[window * events:(window + 1) * events]
        elements["reach"] += sum(low <= t <= high for t in own for low, high in bounds)
        for first in range(0, QUERIES, tile):
            low = min(bound[0] for bound in bounds[first:first + tile])
            high = max(bound[1] for bound in bounds[first:first + tile])
            map_rows = block_map[first // BLOCK:first // BLOCK + rows]
            for column in range(columns):
                keys = own[column * BLOCK:(column + 1) * BLOCK]
                counts["map"] += rows * any(row[column] for row in map_rows)
                counts["reach"] += rows * (keys[0] <= high and keys[-1] >= low)
        elements["map"] += BLOCK * sum(
            min(BLOCK, events - BLOCK * column) for row in block_map
            for column in range(columns) if row[column])
    return {section: {"blocks": counts[section], "of_blocks": total,
                      "elements": elements[section] / elements["dense"]}
            for section in counts}


def make_attention(options, writer, windows, events):
    batch = writer.batch(512, SPAN, 8, [events] * windows, 0)
    chosen = random.Random(0).sample(range(QUERIES // BLOCK * MAP_COLUMNS),
                                     int(QUERIES // BLOCK * MAP_COLUMNS * MAP_DENSITY))
    flat = [int(i in chosen) for i in range(QUERIES // BLOCK * MAP_COLUMNS)]
    batch["block_map"] = writer.tensor("I32", flat, [QUERIES // BLOCK, MAP_COLUMNS])
    writer.write(options.output / "attention.safetensors", writer.pack(batch))
    block_map = [flat[i:i + MAP_COLUMNS] for i in range(0, len(flat), MAP_COLUMNS)]
    times = list(memoryview(batch["time_bin"][2]).cast("i"))
    tiles = {section: query_tile(options, options.output / "attention.mlir", section,
                                 windows, events) for section in KERNELS["attention"]}
    return {"query_tiles": tiles,
            "sections": {section: count_blocks(tile, windows, events, times, block_map)[section]
                         for section, tile in tiles.items()}}


def lower(options, name):
    text = run(options.betz, "compile", HERE / f"{name}.mlir", "--target", options.target,
               "--stop-after", "kernels")
    (options.output / f"{name}.mlir").write_text(text)
    for section in KERNELS[name]:
        (options.output / f"{name}.{section}.mlir").write_text(
            repeat_kernels(text, section, options.repeats))


def lower_norms_apart(options):
    """The pipeline of passes/Pipelines.cpp without absorb-norm."""
    with tempfile.TemporaryDirectory() as scratch:
        run(options.betz, "compile", ROOT / "frontend/models/cortex-s.toml", "--target",
            options.target, "--batch", 1, "--dump-dir", f"{scratch}/dump", "-o",
            f"{scratch}/s.betz")
        before, = pathlib.Path(scratch).glob("dump/*-absorb-head.mlir")
        run(options.betz_opt, before, "--betz-annotate-sparsity", "--betz-narrow",
            "--betz-fuse=norms-apart", "--betz-verify-kernels", "-o",
            options.output / "norms_apart.mlir")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--betz", required=True)
    parser.add_argument("--betz-opt", required=True)
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--repeats", type=int, default=20, help="of a measured kernel")
    parser.add_argument("--small", action="store_true",
                        help="few windows and events, to see that everything runs")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be 1 or more")
    options.output.mkdir(parents=True, exist_ok=True)
    writer = load_safetensors()
    for name in KERNELS:
        lower(options, name)
    cases = {"target": options.target, "repeats": options.repeats,
             "gather_sum": {"windows": [2, 1] if options.small else [256, 1],
                            "events": 64 if options.small else 2048},
             "norm_matmul": {"rows": 32 if options.small else 8192, "depth": 512,
                             "columns": [1536, 2048]},
             "attention": {"windows": 1 if options.small else 32,
                           "events": 256 if options.small else 2048}}
    cases["attention"].update(make_attention(options, writer, cases["attention"]["windows"],
                                             cases["attention"]["events"]))
    if options.target.startswith("cuda:"):
        lower_norms_apart(options)
        batch = writer.batch(512, 120, 8, [512] * 32, 0)
        writer.write(options.output / "dram.safetensors", writer.pack(batch))
    (options.output / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
