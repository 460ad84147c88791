"""Two safetensors files agree to the bit but for the tensors named last."""

import sys

import safetensors

one, other = (safetensors.read(path)[0] for path in sys.argv[1:3])
differing = sorted(
    name for name in one.keys() | other.keys() if one.get(name) != other.get(name)
)
if differing != sorted(sys.argv[3:]):
    sys.exit(f"these differ: {differing}")
