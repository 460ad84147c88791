#!/usr/bin/env python3
"""Safetensors for tests, with the standard library only.

As a command: safetensors.py KIND ARGUMENTS... writes one file.
  inputs OUT NEURONS BINS VALUES LENGTHS SEED   a batch of windows of events
  metadata IN OUT KEY=TEXT...                   a copy with more metadata
  change IN OUT TENSOR INDEX DELTA              a copy with one number changed
"""
import array
import json
import math
import random
import struct
import sys

CODES = {"F64": "d", "F32": "f", "I32": "i", "I64": "q", "I8": "b"}


def read(path):
    """({name: (dtype, shape, bytes)}, metadata)"""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"],
                         data[8 + length + begin:8 + length + end])
    return tensors, metadata


def frame(header, body=b""):
    """A file from a header, as an object or as bytes, and the data."""
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + body


def pack(tensors, metadata=None):
    """A whole file's bytes from {name: (dtype, shape, bytes)}."""
    header, body = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    return frame(header, body)


def tensor(dtype, values, shape=None):
    values = array.array(CODES[dtype], values)
    return dtype, shape or [len(values)], values.tobytes()


def batch(neurons, bins, values, lengths, seed):
    """Windows of events with random ids, `lengths` events each."""
    chance = random.Random(seed)
    events = sum(lengths)
    splits = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    times = [t for n in lengths
             for t in sorted(chance.randrange(bins) for _ in range(n))]
    return {
        "neuron_id": tensor(
            "I32", [chance.randrange(neurons) for _ in range(events)]),
        "time_bin": tensor("I32", times),
        "value": tensor(
            "I32", [chance.randrange(values) for _ in range(events)]),
        "row_splits": tensor("I32", splits),
    }


def write(path, contents):
    with open(path, "wb") as file:
        file.write(contents)


def main():
    kind, arguments = sys.argv[1], sys.argv[2:]
    if kind == "inputs":
        path, neurons, bins, values, lengths, seed = arguments
        lengths = [int(length) for length in lengths.split(",") if length]
        write(path, pack(batch(int(neurons), int(bins), int(values), lengths,
                               int(seed))))
    elif kind == "metadata":
        tensors, metadata = read(arguments[0])
        metadata.update(pair.split("=", 1) for pair in arguments[2:])
        write(arguments[1], pack(tensors, metadata))
    elif kind == "change":
        source, path, name, index, delta = arguments
        tensors, metadata = read(source)
        dtype, shape, data = tensors[name]
        values = array.array(CODES[dtype], data)
        assert len(values) == math.prod(shape)
        values[int(index)] += float(delta)
        tensors[name] = (dtype, shape, values.tobytes())
        write(path, pack(tensors, metadata))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
