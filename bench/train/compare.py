#!/usr/bin/env python3
"""Times a training step beside PyTorch's, in one run.

Usage: compare.py --definition perceiver_torch.py [--model demo|cortex-s]
           [--batch 32] [--device cpu|cuda] [--precision f32|bf16]
           [--threads 2] [--binaries build/bin] [--json FILE]

Both train the same model by AdamW on batches of as many windows and, in the
mean, as many events. Betz' step includes making the batch. A peer that is not
there is left out, with a line on standard error.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The recording of each model: trials, units, and the windows' bins.
RECORDINGS = {"demo": (20, 96), "cortex-s": (40, 180)}
DEFINITION_KEYS = ("dim", "layers", "heads", "latents", "norm", "time")
STEPS = 20


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--definition", help="the peer's model; without it "
                        "only Betz is timed")
    parser.add_argument("--model", choices=RECORDINGS, default="demo")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--binaries", type=pathlib.Path,
                        default=ROOT / "build/bin")
    parser.add_argument("--python", default=sys.executable,
                        help="of the peer's environment")
    parser.add_argument("--json", help="FILE, or - for standard output")
    return parser.parse_args()


def read_model(name):
    with open(ROOT / f"frontend/models/{name}.toml", "rb") as file:
        return tomllib.load(file)


def write_recipe(options, model, path):
    def line(key, value):
        return f"{key} = {json.dumps(value)}\n"

    text = "[model]\n"
    text += "".join(line(key, model[key]) for key in DEFINITION_KEYS)
    text += "[data]\n" + line("bin_ms", model["bin_ms"])
    text += line("history_bins", model["window_bins"])
    text += line("stride_bins", model["stride_bins"])
    text += "[train]\n" + line("batch", options.batch)
    text += line("precision", options.precision)
    path.write_text(text)


def time_betz(options, model, folder):
    def run(program, *arguments):
        subprocess.run([options.binaries / program, *map(str, arguments)],
                       check=True, stdout=sys.stderr)

    recipe, recording = folder / "recipe.toml", folder / "session.nwb"
    prepared, report = folder / "prepared", folder / "time.json"
    trials, units = RECORDINGS[options.model]
    write_recipe(options, model, recipe)
    run("betz", "data", "synth", "-o", recording, "--trials", trials,
        "--units", units)
    run("betz", "train", recipe, "--nwb", recording, "--compile-only",
        "--device", options.device, "-o", prepared)
    run("betz-rt", "train", prepared, "--nwb", recording, "-o",
        folder / "run", "--device", options.device, "--threads",
        options.threads, "--time-steps", STEPS, "--json", report)
    return json.loads(report.read_text())


def time_peer(options, model, events):
    config = {key: model[key] for key in DEFINITION_KEYS}
    config |= {"bin_ms": model["bin_ms"], "window_bins": model["window_bins"]}
    command = [options.python, ROOT / "bench/peers/train_torch.py",
               "--definition", options.definition, "--model",
               json.dumps(config), "--batch", options.batch, "--events",
               round(events), "--device", options.device, "--threads",
               options.threads]
    if options.precision == "bf16":
        command.append("--bf16")
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE,
                          text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    options = parse()
    model = read_model(options.model)
    with tempfile.TemporaryDirectory() as folder:
        ours = time_betz(options, model, pathlib.Path(folder))
    rows = [{"peer": "betz", "step_ms": ours["step_ms"]}]
    if options.definition:
        rows += time_peer(options, model, ours["events_per_window"])
    for row in rows:
        row["windows_per_s"] = options.batch / row["step_ms"] * 1e3
    print(f"{options.model}, {options.batch} windows of "
          f"{ours['events_per_window']:.0f} events, {options.precision}, "
          f"{options.device}", file=sys.stderr)
    table = "".join(f"{row['peer']:<28}{row['step_ms']:>10.2f} ms"
                    f"{row['windows_per_s']:>12.0f} windows/s\n"
                    for row in rows)
    print(table, end="", file=sys.stderr if options.json == "-" else sys.stdout)
    report = json.dumps({"model": options.model, "batch": options.batch,
                         "precision": options.precision,
                         "device": options.device,
                         "events_per_window": ours["events_per_window"],
                         "rows": rows}, indent=2) + "\n"
    if options.json == "-":
        print(report, end="")
    elif options.json:
        pathlib.Path(options.json).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
