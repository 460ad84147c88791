#!/usr/bin/env python3
"""How far PyTorch's own f32 training is from f64, on a batch with known results.

  train_error_torch.py --definition perceiver_torch.py --weights W.safetensors
      --input C.cases.safetensors --expect T.train.safetensors

Takes the steps of AdamW that the metadata of T names, on the one batch of C, in
f32 and in f64, and prints a JSON object a run: the largest error of `loss`,
`grad_norm` and `behavior_after` over the largest expected magnitude, as `betz
train --weights W --input C --expect T` prints it. `--order reversed` sums the
same batch with its windows the other way round: the same gradients in real
arithmetic, so its distance is rounding and nothing else.
"""
import argparse
import importlib.util
import json
import re
import struct

import numpy
import torch

DTYPES = {"F64": numpy.float64, "F32": numpy.float32, "I32": numpy.int32}


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors, metadata


def read_config(definition, metadata):
    fields = definition.Config.__dataclass_fields__
    return definition.Config(**{name: fields[name].type(text) if callable(fields[name].type)
                                else text for name, text in metadata.items() if name in fields})


def pad(cases, reverse):
    splits = cases["offsets" if "offsets" in cases else "row_splits"].tolist()
    rows = list(zip(splits, splits[1:]))
    order = list(reversed(range(len(rows)))) if reverse else list(range(len(rows)))
    width = max(max(end - begin for begin, end in rows), 1)
    batch = [torch.zeros(len(rows), width, dtype=torch.int64) for _ in range(3)]
    mask = torch.zeros(len(rows), width, dtype=torch.bool)
    for to, row in enumerate(order):
        begin, end = rows[row]
        for tensor, name in zip(batch, ["neuron_id", "time_bin", "value"]):
            tensor[to, :end - begin] = cases[name][begin:end]
        mask[to, :end - begin] = True
    return batch + [mask], order


def train(definition, weights, config, cases, settings, dtype, device, reverse):
    model = definition.Decoder(config)
    model.load_state_dict(weights)
    model.to(device=device, dtype=dtype)
    batch, order = pad(cases, reverse)
    batch = [tensor.to(device) for tensor in batch]
    target = cases["target"][order].to(device=device, dtype=dtype)
    number = lambda key: [float(text) for text in re.findall(r"[0-9.]+(?:e-?[0-9]+)?",
                                                             settings[key])]
    optimizer = torch.optim.AdamW(model.parameters(), lr=number("lr")[0],
                                  betas=tuple(number("betas")[:2]), eps=number("eps")[0],
                                  weight_decay=number("weight_decay")[0])
    losses, norms = [], []
    for _ in range(int(number("steps")[0])):
        optimizer.zero_grad()
        loss = ((model(*batch) - target) ** 2).mean()
        loss.backward()
        used = [p for p in model.parameters() if p.grad is not None]
        for p in model.parameters():  # one that nothing uses decays too
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        norms.append(torch.nn.utils.clip_grad_norm_(used, number("clip")[0]).item())
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        after = model(*batch)[[order.index(row) for row in range(len(order))]]
    return {"loss": torch.tensor(losses), "grad_norm": torch.tensor(norms),
            "behavior_after": after.double().cpu()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["definition", "weights", "input", "expect"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("perceiver_torch", options.definition)
    definition = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(definition)
    torch.backends.cuda.matmul.allow_tf32 = False

    weights, metadata = read_safetensors(options.weights)
    cases, _ = read_safetensors(options.input)
    expected, settings = read_safetensors(options.expect)
    config = read_config(definition, metadata)
    for dtype in [torch.float64, torch.float32]:
        for reverse in [False, True]:
            got = train(definition, weights, config, cases, settings, dtype, options.device,
                        reverse)
            errors = {name: ((got[name].double() - want).abs().max() / want.abs().max()).item()
                      for name, want in expected.items() if name in got}
            print(json.dumps({"peer": f"torch {torch.__version__}", "device": options.device,
                              "dtype": str(dtype).removeprefix("torch."),
                              "order": "reversed" if reverse else "given"} | errors))


if __name__ == "__main__":
    main()
