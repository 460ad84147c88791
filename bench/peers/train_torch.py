#!/usr/bin/env python3
"""Times a training step of the decoder in PyTorch: forward, backward, AdamW.

Usage: train_torch.py --definition perceiver_torch.py --model '{"dim": 64, ...}'
           --batch 32 --events 300 [--device cpu] [--threads 2] [--bf16]

Prints a JSON object for eager mode and one for torch.compile. The definition
has Config, Decoder(config) and random_batch(config, events, device).
"""
import argparse
import importlib.util
import json
import statistics
import sys
import time

STEPS, WARMUPS = 20, 4


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--definition", required=True)
    parser.add_argument("--model", required=True, help="Config's members, JSON")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--events", type=int, required=True, help="a window")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--bf16", action="store_true", help="autocast")
    return parser.parse_args()


def load(path):
    spec = importlib.util.spec_from_file_location("definition", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["definition"] = module
    spec.loader.exec_module(module)
    return module


def make_step(torch, options, definition, compiled):
    config = definition.Config(**json.loads(options.model))
    torch.manual_seed(0)
    model = definition.Decoder(config).to(options.device)
    batch = definition.random_batch(
        config, [options.events] * options.batch, options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    target = torch.randn(options.batch, config.behavior_dim,
                         device=options.device)
    forward = torch.compile(model) if compiled else model
    kind = torch.device(options.device).type

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(kind, torch.bfloat16, enabled=options.bf16):
            out = forward(*batch)
        loss = torch.nn.functional.mse_loss(out.float(), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def median_ms(torch, step, device):
    times = []
    for i in range(WARMUPS + STEPS):
        start = time.perf_counter()
        step()
        if device != "cpu":
            torch.cuda.synchronize()
        if i >= WARMUPS:
            times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main():
    options = parse()
    try:
        import torch
    except ImportError:
        print("train_torch.py: needs torch: pip install torch", file=sys.stderr)
        return 2
    if options.threads:
        torch.set_num_threads(options.threads)
    definition = load(options.definition)
    for mode in ("eager", "compile"):
        try:
            step = make_step(torch, options, definition, mode == "compile")
            ms = median_ms(torch, step, options.device)
        except Exception as error:  # a machine without a compiler for it
            print(f"train_torch.py: {mode}: {str(error).splitlines()[0]}",
                  file=sys.stderr)
            continue
        print(json.dumps({"peer": f"torch {torch.__version__} {mode}",
                          "step_ms": round(ms, 4),
                          "threads": torch.get_num_threads()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
