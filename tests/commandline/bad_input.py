#!/usr/bin/env python3
"""Whatever a user sends gives one clear line, exit code 2 and no file.

Usage: bad_input.py FOLDER_OF_BETZ MODELS
"""
import array
import os
import random
import resource
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

import safetensors
from safetensors import frame, pack, tensor

SEED = 20
FLIPS = 300
# What a refusal may take of memory; nothing here is larger.
MEMORY = 6 << 30


class Checker:
    """Runs commands in a scratch folder and collects what went wrong."""

    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, folder
        self.checked, self.failures = 0, []

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, contents):
        if isinstance(contents, str):
            contents = contents.encode()
        safetensors.write(self.path(name), contents)
        return name

    def run(self, command, limit=(resource.RLIMIT_AS, MEMORY)):
        """Python ignores SIGXFSZ; so does the command, which then sees a
        write that goes past RLIMIT_FSIZE fail as on a full disk."""
        kind, most = limit
        command = [os.path.join(self.binaries, command[0]), *command[1:]]
        return subprocess.run(
            command, cwd=self.folder, timeout=120, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            restore_signals=kind != resource.RLIMIT_FSIZE,
            preexec_fn=lambda: resource.setrlimit(kind, (most, most)))

    def expect(self, command, code, **options):
        """Runs a command that must exit with `code`; its lines of error."""
        self.checked += 1
        before = set(os.listdir(self.folder))
        done = self.run(command, **options)
        text = done.stderr.decode(errors="replace")
        lines = [line for line in text.splitlines()
                 if ": warning: " not in line and ": note: " not in line]
        new = sorted(set(os.listdir(self.folder)) - before)
        problems = []
        if done.returncode != code:
            problems.append(f"exit code {done.returncode}, not {code}")
        if len(lines) != (code == 2):
            problems.append(f"{len(lines)} lines of error")
        if code == 2 and new:
            problems.append(f"left {new}")
        if problems:
            self.failures.append(f"{' '.join(command)}: "
                                 f"{'; '.join(problems)}\n  {text.strip()}")
        return lines

    def refuse(self, command, *needles, **options):
        """The command exits 2, says each needle on one line, writes nothing."""
        lines = self.expect(command, 2, **options)
        for needle in needles:
            if lines and needle not in lines[0]:
                self.failures.append(f"{' '.join(command)}: no \"{needle}\" in"
                                     f"\n  {lines[0]}")

    def accept(self, command):
        self.expect(command, 0)


def check_programs(check, chance):
    with open(check.path("m.betz"), "rb") as file:
        good = file.read()

    def refused(contents, *needles):
        check.write("bad.betz", contents)
        check.refuse(["betz-rt", "run", "bad.betz", "--input", "in"],
                     "bad.betz", *needles)

    # Sections start at pages; the header is in the first.
    lengths = list(range(0, 80)) + list(range(4096, len(good), 4096))
    lengths += [chance.randrange(len(good)) for _ in range(50)]
    for length in chance.sample(lengths, 120) + [0, 1, 4096, len(good) - 1]:
        refused(good[:length])
    refused(good + b"\0")
    for _ in range(FLIPS):
        flipped = bytearray(good)
        bit = chance.randrange(8 * len(good))
        flipped[bit // 8] ^= 1 << bit % 8
        refused(bytes(flipped))
    for byte in range(64):  # magic, version, sizes, hash
        flipped = bytearray(good)
        flipped[byte] ^= 1 << chance.randrange(8)
        refused(bytes(flipped))
    refused(b"", "not a Betz program")
    refused(b"\x7fELF" + bytes(5000), "not a Betz program")
    refused(frame({}), "not a Betz program")
    for command in (["betz-rt", "bench"], ["betz", "dump"]):
        check.write("bad.betz", good[:-1])
        check.refuse([*command, "bad.betz"], "bad.betz")


def check_paths(check):
    os.mkdir(check.path("folder"))
    check.write("locked", "x")
    os.chmod(check.path("locked"), 0)
    names = ["/dev/null", "folder", "missing", "/dev/zero"]
    if os.geteuid() != 0:  # root reads everything
        names.append("locked")
    for name in names:
        check.refuse(["betz-rt", "run", name, "--input", "in"], name)
        check.refuse(["betz-rt", "run", "m.betz", "--input", name], name)
        check.refuse(["betz-rt", "run", "m.betz", "--nwb", name], name)
        check.refuse(["betz-rt", "run", "m.betz", "--input", "in", "--expect",
                      name], name)
        check.refuse(["betz-rt", "data", "inspect", name], name)
        check.refuse(["betz", "compile", name, "-o", "x"], name)
        check.refuse(["betz", "compile", "--weights", name, "-o", "x"], name)
        check.refuse(["betz", "interpret", "demo.toml", "--input", name], name)
    os.mkfifo(check.path("pipe"))  # nobody writes to it
    for name in ("pipe", ""):
        check.refuse(["betz-rt", "run", name, "--input", "in"], name)
        check.refuse(["betz-rt", "run", "m.betz", "--input", name], name)
        check.refuse(["betz-rt", "run", "m.betz", "--nwb", name], name)
        check.refuse(["betz", "compile", name, "-o", "x"], name)
        check.refuse(["betz", "compile", "demo.toml", "--weights", name, "-o",
                      "x"], name)
    check.refuse(["betz-rt", "run", "m.betz", "--nwb", "s.nwb", "--csv", ""],
                 "--csv", "empty")
    # Nothing is written when the second output cannot be, or is the first.
    for other, needle in (("missing/x", "missing"), ("folder", "folder"),
                          ("x", "two outputs")):
        check.refuse(["betz", "compile", "--weights", "w", "-o", "x", "--json",
                      other], other, needle)
        check.refuse(["betz-rt", "run", "m.betz", "--nwb", "s.nwb", "--csv",
                      "x", "--json", other], other, needle)
        check.refuse(["betz-rt", "bench", "m.betz", "--trace", "x",
                      "--roofline", other], other, needle)
    for output in ("folder", "missing/x", "/proc/x", "in/x"):
        check.refuse(["betz", "compile", "--weights", "w", "-o", output],
                     output)
        check.refuse(["betz-rt", "run", "m.betz", "--input", "in", "--output",
                      output], output)
        check.refuse(["betz-rt", "run", "m.betz", "--nwb", "s.nwb", "--csv",
                      output], output)
        check.refuse(["betz-rt", "data", "synth", "--trials", "2", "--units",
                      "2", "-o", output], output)
        check.refuse(["betz", "dump", "demo.toml", "-o", output], output)
        check.refuse(["betz-rt", "run", "m.betz", "--input", "in", "--json",
                      output], output)


def check_safetensors(check):
    def refused(contents, *needles):
        check.write("bad", contents)
        check.refuse(["betz-rt", "run", "m.betz", "--input", "bad"], "bad",
                     *needles)
        check.refuse(["betz", "compile", "demo.toml", "--weights", "bad", "-o",
                      "x"], "bad")

    def entry(begin, end, shape=(1,), dtype="I32"):
        return {"dtype": dtype, "shape": list(shape),
                "data_offsets": [begin, end]}

    refused(b"")
    refused(b"\0" * 7)
    refused(struct.pack("<Q", 1 << 63) + b"{}")
    refused(struct.pack("<Q", (1 << 64) - 1) + b"{}")
    refused(struct.pack("<Q", 200 << 20) + b"{}")
    refused(frame(b"{"))
    refused(frame(b"[]"))
    refused(frame(b"null"))
    refused(frame(b"\xff\xfe"))
    refused(frame(b'{"a":' * 5000))
    refused(frame(b'{"a": {}}'))
    refused(frame(b'{"a": 3}'))
    refused(frame({"a": entry(0, 4), "b": entry(2, 6)}, bytes(6)))
    refused(frame({"a": entry(0, 4), "b": entry(8, 12)}, bytes(12)))
    refused(frame({"a": entry(4, 8)}, bytes(8)))
    refused(frame({"a": entry(0, 4)}, bytes(8)))
    refused(frame({"a": entry(0, 8)}, bytes(4)))
    refused(frame({"a": entry(4, 0)}, bytes(4)))
    refused(frame({"a": entry(0, 8)}, bytes(8)))
    refused(frame({"a": entry(-4, 0)}, bytes(4)))
    refused(frame({"a": entry(0, 4, [-1])}, bytes(4)))
    refused(frame({"a": entry(0, 4, [1 << 63, 2])}, bytes(4)))
    refused(frame({"a": entry(0, 4, [1 << 32, 1 << 32])}, bytes(4)))
    refused(frame({"a": entry(0, 4, ["x"])}, bytes(4)))
    refused(frame({"a": entry(0, 4, [1.5])}, bytes(4)))
    refused(frame({"a": entry(0, 4, dtype="X9")}, bytes(4)))
    refused(frame(b'{"a": {"dtype": "I32", "shape": [1], '
                  b'"data_offsets": [0, 4]}, "a": {"dtype": "I32", '
                  b'"shape": [1], "data_offsets": [0, 4]}}', bytes(4)))
    refused(frame({"__metadata__": {"a": 3}}))


def check_weights(check):
    def refused(change, *needles):
        tensors, metadata = safetensors.read(check.path("w"))
        change(tensors, metadata)
        check.write("bad", pack(tensors, metadata))
        check.refuse(["betz", "compile", "--weights", "bad", "-o", "x"], "bad",
                     *needles)

    def misshape(tensors, metadata):
        del tensors["final_norm.weight"]
        del tensors["latents"]
        dtype, shape, data = tensors["value_emb.weight"]
        tensors["value_emb.weight"] = dtype, shape[::-1], data
        dtype, shape, data = tensors["blocks.0.mlp.0.weight"]
        tensors["blocks.0.mlp.0.weight"] = "I32", shape, data

    refused(misshape, "final_norm.weight is missing", "latents is missing",
            "value_emb.weight is [8, 4], not [4, 8]",
            "blocks.0.mlp.0.weight is I32, not F32")
    refused(lambda t, m: m.clear(), "no model configuration")
    refused(lambda t, m: m.update(heads="3"), "heads = 3 must divide dim = 8")
    refused(lambda t, m: m.update(dim="x"), "dim")
    refused(lambda t, m: m.update(dim="99999999999999999999"), "dim")
    refused(lambda t, m: m.update(dim="1048576"), "dim")
    refused(lambda t, m: m.update(dim="16"), "latents is [2, 8], not [2, 16]")
    refused(lambda t, m: m.update(units="{"), "units")
    refused(lambda t, m: m.update(units='{"a": 1}'), "units")
    refused(lambda t, m: m.update(units='{"1": -1}'), "units")
    refused(lambda t, m: m.update(target_std="[0]"), "target_std")
    refused(lambda t, m: m.update(target_mean='["x", 1]'), "target_mean")
    refused(lambda t, m: m.update(outputs="[1, 2]"), "outputs")
    refused(lambda t, m: m.update(outputs='["x"]'), "outputs")
    check.refuse(["betz", "compile", "demo.toml", "--weights", "w", "-o", "x"],
                 "demo.toml and w describe different models", "dim 64")


def check_toml(check):
    base = {"dim": 8, "layers": 1, "heads": 2, "latents": 2, "max_neurons": 4}

    def refused(text, *needles):
        check.write("bad.toml", text)
        check.refuse(["betz", "compile", "bad.toml", "-o", "x"], "bad.toml",
                     *needles)

    def changed(**keys):
        return "".join(f"{key} = {value}\n"
                       for key, value in {**base, **keys}.items()
                       if value is not None)

    refused("", "missing: dim, layers, heads, latents")
    refused("dim", "bad.toml:1", "TOML")
    refused("\xff\xfe\0", "TOML")
    refused(changed(latent=3), "bad.toml:6", "unknown key \"latent\"",
            "did you mean \"latents\"?")
    refused(changed(zzzzzzzz=3), "unknown key \"zzzzzzzz\"")
    refused(changed(latents=None), "missing: latents")
    refused(changed(dim='"8"'), "bad.toml:1", "dim must be an integer")
    refused(changed(dim=8.0), "dim must be an integer")
    refused(changed(dim="true"), "dim must be an integer")
    refused(changed(dim="[8]"), "dim must be an integer")
    refused(changed(norm=3), "norm must be text")
    refused(changed(norm='"batch"'), "norm = \"batch\"")
    refused(changed(time='"clock"'), "time = \"clock\"")
    refused(changed(heads=3), "heads = 3 must divide dim = 8")
    refused(changed(time='"rotary"', heads=8), "even")
    for key in ("dim", "layers", "heads", "latents", "max_neurons",
                "window_bins", "stride_bins", "behavior_dim", "mlp_ratio"):
        for value in (0, -1, 1 << 40):
            refused(changed(**{key: value}), f"{key} = {value}")
        refused(changed(**{key: 1 << 70}), "TOML")
    for key in ("eps", "bin_ms"):
        for value in ("0.0", "-1.0", "nan", "inf"):
            refused(changed(**{key: value}), key)
    refused(changed(window_bins=2000), "window_bins = 2000")
    refused(changed(outputs='["x"]'), "outputs has 1 elements")
    refused(changed(output_units="3"), "output_units")
    refused(changed(units="3"), "units")
    # Legal numbers whose model no machine holds.
    refused(changed(dim=1048576, mlp_ratio=1), "parameters")
    refused(changed(dim=262144, layers=1024), "parameters")
    refused(changed(max_neurons=1048576, dim=131072), "parameters")
    refused(changed(latents=1048576, dim=4096), "")


def check_mlir(check):
    def refused(text, *needles):
        check.write("bad.mlir", text)
        check.refuse(["betz", "compile", "bad.mlir", "-o", "x"], "bad.mlir",
                     *needles)
        check.refuse(["betz", "dump", "bad.mlir"], "bad.mlir")

    done = check.run(["betz", "dump", "demo.toml"])
    model = done.stdout.decode()
    refused("")
    refused("garbage")
    refused("\0" * 100)
    refused("module {}")
    refused("module {" * 3000)
    refused("func.func @main() { return }")
    refused(model[:len(model) // 2])
    refused(model.replace('betz.phase = "model"', 'betz.phase = "kernels"'))
    refused(model.replace('betz.phase = "model"', 'betz.phase = "program"'))
    refused(model.replace('betz.phase = "model"', 'betz.phase = "x"'))
    refused(model.replace("@main", "@other"))
    refused(model.replace("@prepare", "@other"))
    refused(model.replace("betz.norm", "betz.nonsense"))
    refused(model.replace("256x64xf32", "256x63xf32"))


def check_inputs(check, chance):
    def refused(change, *needles):
        tensors = safetensors.batch(4, 4, 4, [3, 0, 2], 5)
        change(tensors)
        check.write("bad", pack(tensors))
        check.refuse(["betz-rt", "run", "m.betz", "--input", "bad"], "bad",
                     *needles)
        check.refuse(["betz", "interpret", "--weights", "w", "--input",
                      "bad"], "bad")

    def put(name, *values, dtype="I32"):
        return lambda tensors: tensors.update({name: tensor(dtype, values)})

    for bad in (4, -1, (1 << 31) - 1, -(1 << 31)):
        refused(put("neuron_id", 0, 1, 2, bad, 0), "neuron_id[3]", str(bad),
                "window 2")
        refused(put("time_bin", 0, bad, 0, 0, 0), "time_bin[1]", str(bad),
                "window 0")
        refused(put("value", bad, 0, 0, 0, 0), "value[0]", str(bad))
    refused(put("row_splits", 0, 3, 2, 5), "row_splits[2] is 2")
    refused(put("row_splits", 1, 3, 3, 5), "row_splits[0] is 1")
    refused(put("row_splits", -1, 3, 3, 5), "row_splits[0] is -1")
    refused(put("row_splits", 0, 3, 3, 6), "row_splits")
    refused(put("row_splits", 0, 3, 3, 4), "row_splits")
    refused(put("row_splits", 0, 3, 3, (1 << 31) - 1))
    refused(put("row_splits"), "row_splits")
    refused(put("row_splits", 0.0, 3.0, 5.0, dtype="F32"), "row_splits")
    refused(put("neuron_id", 0, 1), "events 5", "makes it 2")
    refused(put("neuron_id", 0, 1, 2, 1 << 40, 0, dtype="I64"), "neuron_id")
    refused(put("window_start", 0, 0), "window_start")
    refused(put("window_start", 0, 0, 4), "time_bin", "window 2")
    refused(put("window_start", 0, 0, -(1 << 31)), "time_bin", "window 2")
    refused(lambda t: t.pop("value"), "value")
    refused(lambda t: t.pop("row_splits"), "row_splits")
    refused(lambda t: t.clear(), "neuron_id", "time_bin", "row_splits")
    refused(lambda t: t.update(
        neuron_id=("I32", [5, 1], t["neuron_id"][2])), "neuron_id")
    # More events than --max-events: the window is named, nothing is cut off.
    check.write("bad", pack(safetensors.batch(4, 4, 4, [2, 17], 5)))
    check.refuse(["betz-rt", "run", "m.betz", "--input", "bad"], "bad",
                 "window 1 has 17 events", "at most 16", "--max-events")


def check_options(check):
    def refused(*options):
        check.refuse(["betz", "compile", "demo.toml", "-o", "x", *options])

    for batch in ("0", "-1", "8,1", "1,1", "x", "1.5", "99999999999", "1e3",
                  ""):
        refused("--batch", batch)
    for events in ("0", "-1", "1e18", "99999999999999999999", "2000000000"):
        refused("--max-events", events)
    for target in ("nonsense", "cpu,cpu", "", "cuda"):
        refused("--target", target)
    for outputs in ("behavior,behavior", "x", ""):
        refused("--outputs", outputs)
    refused("--seed", "x")
    refused("--precision", "f31")
    refused("extra.toml", "another.toml")

    def run(*options):
        check.refuse(["betz-rt", "run", "m.betz", *options])

    for threads in ("-1", "100000", "x", "1.5"):
        run("--input", "in", "--threads", threads)
    for tolerance in ("-1", "nan", "x"):
        run("--input", "in", "--expect", "in", "--tol", tolerance)
    run("--input", "in", "--nwb", "s.nwb")
    run("--input", "in", "--csv", "x")
    run("--input", "in", "--device", "cuda:9")
    check.accept(["betz-rt", "run", "m.betz", "--input", "in", "--threads",
                  "0"])
    for batch in ("-1", "x", "1000000", "99999999999999999999"):
        check.refuse(["betz-rt", "bench", "m.betz", "--batch", batch])
    for events in ("-1", "x", "99999999999999999999"):
        check.refuse(["betz-rt", "bench", "m.betz", "--events", events])
    for option in ("--trials", "--units"):
        for value in ("0", "-1", "x", "99999999999999999999", "2000000000"):
            check.refuse(["betz-rt", "data", "synth", "-o", "x", option,
                          value])
    for options in (["--bin-ms", "0"], ["--bin-ms", "nan"],
                    ["--bin-ms", "-5"], ["--bin-ms", "7"],
                    ["--window-ms", "1e300"], ["--stride-ms", "0"],
                    ["--window-bins", "0"], ["--series", "none"]):
        check.refuse(["betz-rt", "data", "inspect", "s.nwb", *options])
    for phase in ("x", ""):
        check.refuse(["betz", "dump", "demo.toml", "--phase", phase])
        check.refuse(["betz", "interpret", "demo.toml", "--phase", phase,
                      "--input", "in"])
    check.refuse(["betz", "dump", "demo.toml", "--format", "x"])
    check.refuse(["betz", "dump", "demo.toml", "--kernel", "x"])
    check.refuse(["betz", "dump", "m.betz", "--phase", "program", "--kernel",
                  "x"], "there are:")
    check.refuse(["betz"])
    check.refuse(["betz", "nonsense"], "nonsense")
    check.refuse(["betz", "data", "nonsense"], "nonsense")


def check_recordings(check, chance):
    with open(check.path("s.nwb"), "rb") as file:
        good = file.read()
    for length in [0, 7, 8, 100, 2048, len(good) // 2, len(good) - 1]:
        check.write("bad.nwb", good[:length])
        check.refuse(["betz-rt", "data", "inspect", "bad.nwb"], "bad.nwb")
    check.write("bad.nwb", bytes(10000))
    check.refuse(["betz-rt", "run", "m.betz", "--nwb", "bad.nwb"], "bad.nwb",
                 "not an HDF5 file")
    # Damage may go unseen or be refused; it may not crash.
    for _ in range(FLIPS):
        damaged = bytearray(good)
        for _ in range(chance.choice((1, 4, 64))):
            damaged[chance.randrange(len(good))] = chance.randrange(256)
        check.write("bad.nwb", bytes(damaged))
        command = ["betz-rt", "data", "inspect", "bad.nwb"]
        done = check.run(command)
        check.checked += 1
        text = done.stderr.decode(errors="replace")
        if done.returncode not in (0, 2) or len(text.splitlines()) > 1:
            check.write(f"kept-{check.checked}.nwb", bytes(damaged))
            check.failures.append(f"a damaged recording: exit code "
                                  f"{done.returncode}\n  {text}")


def check_outputs_survive(check):
    """A failure leaves the old file; so do a full disk and an interrupt."""
    kept = b"the old file"
    check.write("kept", kept)
    for command in (["betz", "dump", "demo.toml", "-o"],
                    ["betz-rt", "data", "synth", "--trials", "3", "-o"]):
        for most in (0, 80, 9000, 60000):
            if most < 9000 or "synth" in command:
                check.refuse([*command, "kept"], "kept",
                             limit=(resource.RLIMIT_FSIZE, most))
    for command in (["betz", "compile", "--weights", "w", "-o"],
                    ["betz", "dump", "demo.toml", "-o"],
                    ["betz-rt", "run", "m.betz", "--input", "in", "--output"],
                    ["betz-rt", "run", "m.betz", "--input", "in", "--json"],
                    ["betz-rt", "run", "m.betz", "--nwb", "s.nwb", "--csv"],
                    ["betz-rt", "data", "synth", "--trials", "3", "-o"]):
        check.refuse([*command, "/dev/full"], "/dev/full")
        if "synth" not in command:  # HDF5 needs a file that it can seek in
            check.accept([*command, "/dev/null"])
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    check.refuse(["betz-rt", "run", "m.betz", "--input", "missing", "--output",
                  "kept"])
    check.refuse(["betz", "compile", "missing.toml", "-o", "kept"])
    # Nor is what is read replaced by what is written.
    for command in (["betz", "compile", "--weights", "w", "-o", "w"],
                    ["betz", "compile", "demo.toml", "-o", "./demo.toml"],
                    ["betz", "compile", "demo.toml", "-o", "x", "--json",
                     "demo.toml"],
                    ["betz", "dump", "m.betz", "-o", "m.betz"],
                    ["betz", "interpret", "demo.toml", "--input", "in",
                     "--json", "in"],
                    ["betz-rt", "run", "m.betz", "--input", "in", "--output",
                     "in"],
                    ["betz-rt", "run", "m.betz", "--input", "in", "--json",
                     "m.betz"],
                    ["betz-rt", "run", "m.betz", "--nwb", "s.nwb", "--csv",
                     "s.nwb"],
                    ["betz-rt", "bench", "m.betz", "--json", "m.betz"],
                    ["betz-rt", "data", "inspect", "s.nwb", "--json",
                     "s.nwb"]):
        check.refuse(command, "would replace")
    for signal_sent in (signal.SIGINT, signal.SIGTERM):
        task = subprocess.Popen(
            [os.path.join(check.binaries, "betz-rt"), "data", "synth", "-o",
             "kept", "--trials", "2295", "--units", "182"], cwd=check.folder)
        deadline = time.monotonic() + 30
        while not any(name.startswith("kept.")
                      for name in os.listdir(check.folder)):
            assert time.monotonic() < deadline, "no file appears"
            time.sleep(0.01)
        time.sleep(0.05)
        task.send_signal(signal_sent)
        code = task.wait()
        check.checked += 1
        if code != -signal_sent:
            check.failures.append(f"interrupted: exit code {code}")
        left = [n for n in os.listdir(check.folder) if n.startswith("kept.")]
        if left:
            check.failures.append(f"an interrupt left {left}")
            for name in left:
                os.unlink(check.path(name))
    with open(check.path("kept"), "rb") as file:
        if file.read() != kept:
            check.failures.append("the old file is gone")
    # Standard output that cannot be written, and one that nobody reads.
    for command in (["betz", "dump", "demo.toml"],
                    ["betz-rt", "data", "inspect", "s.nwb"],
                    ["betz-rt", "run", "m.betz", "--input", "in", "--json",
                     "-"]):
        program = os.path.join(check.binaries, command[0])
        for target in (">&-", ">/dev/full", "| true"):
            done = subprocess.run(
                ["bash", "-c", f'"$0" "$@" {target}; exit ${{PIPESTATUS[0]}}',
                 program, *command[1:]], cwd=check.folder,
                stderr=subprocess.PIPE)
            check.checked += 1
            lines = [line for line in done.stderr.decode().splitlines()
                     if ": note: " not in line]
            quiet = target == "| true"
            codes = (0, 128 + signal.SIGPIPE) if quiet else (2,)
            if done.returncode not in codes or len(lines) != (not quiet):
                check.failures.append(f"{' '.join(command)} {target}: exit "
                                      f"code {done.returncode}\n  {lines}")


def check_legal(check):
    """Odd, yet fine."""
    for lengths in ([], [0], [0, 0, 0], [16], [1]):
        check.write("odd", pack(safetensors.batch(4, 4, 4, lengths, 5)))
        check.accept(["betz-rt", "run", "m.betz", "--input", "odd"])
    check.write("real", "old")
    os.symlink("real", check.path("link"))
    check.accept(["betz-rt", "run", "m.betz", "--input", "in", "--output",
                  "link"])
    assert os.path.islink(check.path("link"))
    assert safetensors.read(check.path("real"))[0]["behavior"][1] == [3, 2]
    tensors, metadata = safetensors.read(check.path("w"))
    dtype, shape, data = tensors["latents"]
    values = array.array("f", data)
    values[0] = float("nan")
    tensors["latents"] = dtype, shape, values.tobytes()
    check.write("nan", pack(tensors, metadata))
    check.accept(["betz", "compile", "--weights", "nan", "-o", "nan.betz"])


def prepare(check, models, chance):
    """m.betz, a tiny model with weights w; its inputs; a recording."""
    with open(os.path.join(models, "demo.toml"), "rb") as file:
        check.write("demo.toml", file.read())
    d, weights = 8, {}

    def add(name, *shape):
        count = 1
        for size in shape:
            count *= size
        weights[name] = tensor("F32", [chance.gauss(0, 0.3)
                                       for _ in range(count)], list(shape))

    for table in ("neuron_emb", "time_emb", "value_emb"):
        add(f"{table}.weight", 4, d)
    add("latents", 2, d)
    for name in ("cross_attn.norm_q", "cross_attn.norm_kv", "final_norm",
                 "blocks.0.norm_attn", "blocks.0.norm_mlp",
                 "behavior_head.norm"):
        add(f"{name}.weight", d)
    for name in ("cross_attn", "behavior_head"):
        add(f"{name}.q_proj.weight", d, d)
        add(f"{name}.kv_proj.weight", 2 * d, d)
    add("cross_attn.out_proj.weight", d, d)
    add("blocks.0.qkv_proj.weight", 3 * d, d)
    add("blocks.0.out_proj.weight", d, d)
    add("blocks.0.mlp.0.weight", 4 * d, d)
    add("blocks.0.mlp.2.weight", d, 4 * d)
    add("behavior_head.query", 2, d)
    add("behavior_head.out_proj.weight", 1, d)
    metadata = {"dim": "8", "layers": "1", "heads": "2", "latents": "2",
                "max_neurons": "4", "max_time_bins": "4", "value_buckets": "4",
                "window_bins": "4", "bin_ms": "20.0", "norm": "rmsnorm"}
    check.write("w", pack(weights, metadata))
    check.write("in", pack(safetensors.batch(4, 4, 4, [3, 0, 2], 5)))
    check.accept(["betz", "compile", "--weights", "w", "--batch", "1,2",
                  "--max-events", "16", "-o", "m.betz"])
    check.accept(["betz-rt", "data", "synth", "--trials", "3", "--units", "4",
                  "-o", "s.nwb"])


def main():
    binaries, models = sys.argv[1:]
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="betz-bad-") as folder:
        check = Checker(os.path.abspath(binaries), folder)
        prepare(check, models, chance)
        for part in (lambda: check_programs(check, chance),
                     lambda: check_paths(check),
                     lambda: check_safetensors(check),
                     lambda: check_weights(check),
                     lambda: check_toml(check),
                     lambda: check_mlir(check),
                     lambda: check_inputs(check, chance),
                     lambda: check_options(check),
                     lambda: check_recordings(check, chance),
                     lambda: check_outputs_survive(check),
                     lambda: check_legal(check)):
            start = time.monotonic()
            part()
            if os.environ.get("BETZ_TIMES"):
                print(f"{time.monotonic() - start:.1f} s", file=sys.stderr)
    for failure in check.failures:
        print(failure)
    print(f"{check.checked} checks, {len(check.failures)} failures")
    sys.exit(1 if check.failures else 0)


if __name__ == "__main__":
    main()
