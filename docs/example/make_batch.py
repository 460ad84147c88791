#!/usr/bin/env python3
"""Writes a batch of made-up windows for the demo model, as safetensors.

Three windows of 40, 0 and 7 events: neuron_id, time_bin and value of each
event, and row_splits, which says where each window starts.

Usage: make_batch.py BATCH.safetensors
"""
import json
import random
import struct
import sys

EVENTS = (40, 0, 7)
NEURONS, BINS, VALUES = 256, 15, 8  # as frontend/models/demo.toml has them


def make_batch():
    random.seed(1)
    total = sum(EVENTS)
    return {
        "neuron_id": [random.randrange(NEURONS) for _ in range(total)],
        "time_bin": [random.randrange(BINS) for _ in range(total)],
        "value": [random.randrange(1, VALUES) for _ in range(total)],
        "row_splits": [sum(EVENTS[:i]) for i in range(len(EVENTS) + 1)],
    }


def write_safetensors(path, tensors):
    """Writes i32 vectors: the header's length, the header, the values."""
    header, data = {}, b""
    for name, values in tensors.items():
        start = len(data)
        data += struct.pack(f"<{len(values)}i", *values)
        header[name] = {"dtype": "I32", "shape": [len(values)],
                        "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    write_safetensors(sys.argv[1], make_batch())
