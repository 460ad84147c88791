#!/usr/bin/env python3
"""betz-rt carries no compiler: no LLVM or MLIR symbol, 15 MB at most stripped.

Usage: check_betz_rt.py BETZ-RT LLVM-BIN-FOLDER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

MAX_BYTES = 15_000_000
# Mangled names in the namespaces llvm and mlir, and the C interfaces.
COMPILER_SYMBOL = re.compile(r"(?<!\d)4(llvm|mlir)|^(LLVM|mlir)[A-Z]")


def output_of(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def main():
    binary, tools = map(pathlib.Path, sys.argv[1:])
    errors = []

    symbols = output_of(tools / "llvm-nm", "--format=just-symbols", binary)
    symbols = symbols.split()
    if len(symbols) < 100:
        errors.append(f"only {len(symbols)} symbols in {binary}: stripped, so "
                      "nothing can be said of it")
    errors += [f"compiler symbol {symbol}" for symbol in symbols
               if COMPILER_SYMBOL.search(symbol)][:20]

    needed = re.findall(r"NEEDED.*\[(.*)\]",
                        output_of(tools / "llvm-readelf", "-d", binary))
    errors += [f"needs {name}" for name in needed
               if re.search("LLVM|MLIR", name)]

    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "betz-rt"
        output_of(tools / "llvm-strip", "-o", stripped, binary)
        size = stripped.stat().st_size
    if size > MAX_BYTES:
        errors.append(f"{size} bytes stripped, more than {MAX_BYTES}")

    for error in errors:
        print(f"error: {error}")
    print(f"{len(symbols)} symbols, {size} bytes stripped, needs "
          f"{' '.join(needed)}")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
