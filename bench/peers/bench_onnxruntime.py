#!/usr/bin/env python3
"""Times a decoder in ONNX Runtime on the CPU, as a peer to Betz.

  bench_onnxruntime.py --definition perceiver_torch.py --model S --batch 1,8 \\
      --events 512 --threads 2

The graph is exported from the PyTorch definition (random weights, f32, opset
17) and runs in CPUExecutionProvider. Prints one JSON object a line, with the
members of the PyTorch peer: peer, model, dtype, batch, events, device, ms (the
median of one run), and threads. Exits 2 with one line when something is
missing.
"""
import argparse
import contextlib
import importlib.util
import io
import json
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

INPUTS = ["neuron", "time_bin", "value", "mask"]
OPSET = 17


class Missing(Exception):
    """What the peer cannot run without; one line."""


def parse_counts(text):
    counts = [int(part) for part in text.split(",")]
    if not counts or min(counts) < 1:
        raise ValueError
    return counts


def parse_arguments(words):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--definition", type=pathlib.Path, required=True,
                        help="perceiver_torch.py, the PyTorch definition")
    parser.add_argument("--model", default="S", choices=["XS", "S", "M"])
    parser.add_argument("--batch", type=parse_counts, default=[1, 8],
                        metavar="A,B", help="windows of a run (default 1,8)")
    parser.add_argument("--events", type=int, default=512,
                        help="events of a window (default 512)")
    parser.add_argument("--threads", type=int, default=1,
                        help="intra-op threads (default 1)")
    parser.add_argument("--runs", type=int, default=30,
                        help="timed runs of each batch (default 30)")
    parser.add_argument("--limit", type=float, default=10, metavar="SECONDS",
                        help="fewer runs, but at least 3, once a batch took "
                             "this long (default 10)")
    arguments = parser.parse_args(words)
    for name in ("events", "threads", "runs"):
        if getattr(arguments, name) < 1:
            parser.error(f"argument --{name}: must be at least 1")
    return arguments


def load_definition(path):
    if not path.is_file():
        raise Missing(f"--definition {path}: no such file")
    spec = importlib.util.spec_from_file_location("perceiver_torch", path)
    module = importlib.util.module_from_spec(spec)
    # Its dataclass looks its module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def import_libraries():
    try:
        import onnxruntime
        import torch
    except ImportError as error:
        raise Missing(f"{error.name} is not installed") from error
    return onnxruntime, torch


def allow_export_without_onnx():
    """The exporter needs the onnx package only for functions of onnxscript,
    of which a decoder has none."""
    if importlib.util.find_spec("onnx"):
        return
    for name in ("torch.onnx._internal.torchscript_exporter.onnx_proto_utils",
                 "torch.onnx._internal.onnx_proto_utils"):
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
            module._add_onnxscript_fn = lambda model, custom_opsets: model


def export(torch, model, batch, path):
    """Writes `model` for the shapes of `batch` to `path`."""
    allow_export_without_onnx()
    options = dict(opset_version=OPSET, input_names=INPUTS,
                   output_names=["behavior"], do_constant_folding=True)
    # The exporter talks on standard output, which is for results.
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.no_grad():
            try:
                torch.onnx.export(model, tuple(batch), str(path), dynamo=False,
                                  **options)
            except TypeError as error:
                if "dynamo" not in str(error):
                    raise
                # Before PyTorch 2.5 there was no other exporter.
                torch.onnx.export(model, tuple(batch), str(path), **options)


def open_session(onnxruntime, path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    return onnxruntime.InferenceSession(str(path), options,
                                        providers=["CPUExecutionProvider"])


def median_ms(run, runs, limit):
    """The median of `runs` timed runs, or of as many as `limit` seconds hold,
    but of at least 3."""
    begin = time.perf_counter()
    for _ in range(3):
        run()
        if time.perf_counter() - begin > 0.5:
            break
    samples = []
    begin = time.perf_counter()
    while len(samples) < runs and (len(samples) < 3
                                   or time.perf_counter() - begin < limit):
        start = time.perf_counter()
        run()
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


def check_output(torch, output, model, batch):
    """Guards against timing a graph that computes something else."""
    with torch.no_grad():
        expected = model(*batch)
    error = float((torch.from_numpy(output) - expected).abs().max())
    if not error <= 1e-3 * max(1.0, float(expected.abs().max())):
        raise Missing(f"the exported graph is wrong by {error:g}")


def measure(arguments, onnxruntime, torch, definition, windows, folder):
    torch.manual_seed(0)
    config = getattr(definition, arguments.model)
    model = definition.Decoder(config).eval()
    batch = definition.random_batch(config, [arguments.events] * windows)
    path = folder / f"{arguments.model}-{windows}.onnx"
    export(torch, model, batch, path)
    session = open_session(onnxruntime, path, arguments.threads)
    # The exporter drops inputs that the graph does not use.
    wanted = {node.name for node in session.get_inputs()}
    feeds = {name: tensor.numpy() for name, tensor in zip(INPUTS, batch)
             if name in wanted}
    check_output(torch, session.run(None, feeds)[0], model, batch)
    return median_ms(lambda: session.run(None, feeds), arguments.runs,
                     arguments.limit)


def main(words):
    arguments = parse_arguments(words)
    try:
        onnxruntime, torch = import_libraries()
        torch.set_num_threads(arguments.threads)
        definition = load_definition(arguments.definition)
        for windows in arguments.batch:
            with tempfile.TemporaryDirectory() as folder:
                ms = measure(arguments, onnxruntime, torch, definition,
                             windows, pathlib.Path(folder))
            print(json.dumps({
                "peer": f"onnxruntime {onnxruntime.__version__}",
                "model": arguments.model, "dtype": "f32", "batch": windows,
                "events": arguments.events, "device": "cpu",
                "threads": arguments.threads, "ms": round(ms, 4)}), flush=True)
    except Missing as reason:
        print(f"bench_onnxruntime: {reason}", file=sys.stderr)
        return 2
    except Exception as error:
        # Whatever the libraries raise; a traceback helps no one who compares.
        first = (str(error).splitlines() or [""])[0]
        print(f"bench_onnxruntime: {type(error).__name__}: {first}",
              file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
