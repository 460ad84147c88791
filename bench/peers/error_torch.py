#!/usr/bin/env python3
"""How far PyTorch's own bf16 is from f64, and the same case for Betz.

  error_torch.py --definition perceiver_torch.py --model S --output FOLDER

Makes a decoder with seeded random weights and windows of several lengths, runs
it in f64 and in bf16, and prints a JSON object: the largest error of
`behavior` and of `latents_out` over the largest expected magnitude, as `betz
run --expect` prints it. Writes FOLDER/model.weights.safetensors and
FOLDER/model.cases.safetensors (inputs and f64 results) for

  betz compile --weights model.weights.safetensors --target cuda:sm_90a \\
      --outputs behavior,latents_out -o model.betz
  betz run model.betz --device cuda --input model.cases.safetensors \\
      --expect model.cases.safetensors --tol 1
"""
import argparse
import dataclasses
import importlib.util
import json
import pathlib
import struct

import torch

NAMES = {torch.float32: "F32", torch.float64: "F64", torch.int32: "I32"}


def write_safetensors(path, tensors, metadata=None):
    header, blobs, at = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        blob = tensor.contiguous().cpu().numpy().tobytes()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(blobs)


def run(model, dtype, batch, device):
    model = model.to(device=device, dtype=dtype)
    with torch.no_grad():
        latents = model.encode(*batch)
        return model.behavior_head(latents).double(), latents.double()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--definition", required=True, help="perceiver_torch.py")
    parser.add_argument("--model", default="S", choices=["XS", "S", "M"])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()

    spec = importlib.util.spec_from_file_location("perceiver_torch", options.definition)
    definition = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(definition)
    config = getattr(definition, options.model)
    torch.manual_seed(20261130)
    model = definition.Decoder(config).float()
    counts = [512, 1, 300, 64, 500, 129, 512, 77]
    batch = definition.random_batch(config, counts, options.device, seed=7)
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    expected = run(model, torch.float64, batch, options.device)
    got = run(model, torch.bfloat16, batch, options.device)
    errors = [((a - b).abs().max() / b.abs().max()).item() for a, b in zip(got, expected)]

    options.output.mkdir(parents=True, exist_ok=True)
    metadata = {name: str(value) for name, value in dataclasses.asdict(config).items()}
    write_safetensors(options.output / "model.weights.safetensors", weights, metadata)
    events = [[tensor[b, :count] for b, count in enumerate(counts)] for tensor in batch[:3]]
    splits = torch.tensor([0] + counts).cumsum(0)
    cases = dict(zip(["neuron_id", "time_bin", "value"],
                     (torch.cat(rows).int() for rows in events)))
    cases |= {"row_splits": splits.int(), "behavior": expected[0], "latents_out": expected[1]}
    write_safetensors(options.output / "model.cases.safetensors", cases)
    print(json.dumps({"peer": f"torch {torch.__version__} bf16", "model": options.model,
                      "behavior": errors[0], "latents_out": errors[1]}))


if __name__ == "__main__":
    main()
