#!/usr/bin/env python3
"""Single ops in PyTorch, in the shapes that ../gpu/prepare.py makes for Betz.

  ops_torch.py --cases FOLDER/cases.json --ops gather_sum,norm_matmul,attention

Prints a JSON object a line: op, case, mode and the ms of one op. Each is run
`repeats` times between two timestamps, and their time divided by that:

  eager           one call after the other
  eager+graph     captured into a CUDA graph, which is replayed
  compile         torch.compile, max-autotune, one call after the other
  compile+graph   the same, captured into a CUDA graph
  sdpa NAME+graph scaled_dot_product_attention with the backend NAME, captured

Without a GPU it times eager and compile in f32. A mode that fails is a line on
standard error and left out.
"""
import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

SAMPLES, WARMUP = 20, 3
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}


def gather_sum(case, make):
    for windows in case["windows"]:
        events = windows * case["events"]
        tables = [make(rows, 512) for rows in (512, 1024, 8)]
        indices = [torch.randint(0, len(table), (events,), device=table.device)
                   for table in tables]

        def op(indices=indices, tables=tables):
            a, b, c = map(F.embedding, indices, tables)
            return a + b + c
        yield f"{windows} x {case['events']} x 512", op


def norm_matmul(case, make):
    depth = case["depth"]
    for columns in case["columns"]:
        x, gain, weight = make(case["rows"], depth), make(depth), make(columns, depth)

        def op(x=x, gain=gain, weight=weight):
            return F.linear(F.rms_norm(x, gain.shape, gain, 1e-5), weight)
        yield f"M {case['rows']}, K {depth}, N {columns}", op


def attention_inputs(case, make):
    """Queries, keys and values as the heads of rows, like a projection's result."""
    def heads(rows):
        return make(case["windows"], rows, 8, 64).transpose(1, 2)
    return heads(256), heads(case["events"]), heads(case["events"])


class Timer:
    def __init__(self, device, repeats):
        self.device, self.repeats = device, repeats

    def repeated(self, op):
        def run():
            for _ in range(self.repeats):
                op()
        return run

    def graph(self, op):
        op()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.repeated(op)()
        return graph.replay

    def ms(self, run):
        """The median time of one op when `run` does `repeats`."""
        for _ in range(WARMUP):
            run()
        return statistics.median(self.sample(run) for _ in range(SAMPLES)) / self.repeats

    def sample(self, run):
        if self.device == "cpu":
            start = time.perf_counter()
            run()
            return (time.perf_counter() - start) * 1e3
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)


def modes(op, timer):
    """Each mode's name with what makes its run."""
    compiled = torch.compile(op, mode="max-autotune-no-cudagraphs", dynamic=False)
    yield "eager", lambda: timer.repeated(op)
    if timer.device == "cuda":
        yield "eager+graph", lambda: timer.graph(op)
    yield "compile", lambda: timer.repeated(compiled)
    if timer.device == "cuda":
        yield "compile+graph", lambda: timer.graph(compiled)


def sdpa_modes(inputs, timer):
    for name, backend in BACKENDS.items():
        def op(backend=backend):
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(*inputs)
        if timer.device == "cuda":
            yield f"sdpa {name}+graph", lambda op=op: timer.graph(op)
    if timer.device == "cpu":
        yield "sdpa", lambda: timer.repeated(
            lambda: F.scaled_dot_product_attention(*inputs))


def measure(timer, op, case, named_runs, dtype):
    for mode, make_run in named_runs:
        try:
            ms = timer.ms(make_run())
        except Exception as error:  # a peer that cannot run is left out, not the bench
            text = (str(error).strip() or type(error).__name__).splitlines()[0]
            print(f"ops_torch.py: {op}, {case}, {mode}: {text}", file=sys.stderr)
            continue
        print(json.dumps({"peer": f"torch {torch.__version__} {mode}", "op": op, "case": case,
                          "mode": mode, "dtype": dtype, "device": timer.device,
                          "ms": round(ms, 5)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, help="cases.json of prepare.py")
    parser.add_argument("--ops", default="gather_sum,norm_matmul,attention")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu",
                        choices=["cuda", "cpu"])
    options = parser.parse_args()
    with open(options.cases) as file:
        cases = json.load(file)
    dtype = torch.bfloat16 if options.device == "cuda" else torch.float32
    torch.manual_seed(0)

    def make(*shape):
        return torch.randn(*shape, device=options.device, dtype=dtype)

    timer = Timer(options.device, cases["repeats"])
    name = str(dtype).removeprefix("torch.").replace("bfloat", "bf").replace("float", "f")
    with torch.inference_mode():
        for op in options.ops.split(","):
            if op == "attention":
                case = cases[op]
                text = f"{case['windows']} x 8 heads, L 256, E {case['events']}, d 64"
                inputs = attention_inputs(case, make)
                measure(timer, op, text, sdpa_modes(inputs, timer), name)
                continue
            for text, call in {"gather_sum": gather_sum, "norm_matmul": norm_matmul}[op](
                    cases[op], make):
                measure(timer, op, text, modes(call, timer), name)


if __name__ == "__main__":
    main()
