#!/usr/bin/env python3
"""Checks what --dump-dir wrote against the compile's report.

Usage: check_dump_dir.py FOLDER REPORT.json
"""
import json
import pathlib
import sys

# How each file of a kernel names it, and the parts of a compile for a level.
CPU = ({"mlir": "llvm.func @{}(", "ll": "define void @{}(", "s": "{}:"},
       ["codegen", "link"])
CUDA = ({"cu": "\n{}(const __grid_constant__", "ptx": ".entry {}("},
        ["codegen"])


def main():
    folder, report = pathlib.Path(sys.argv[1]), json.load(open(sys.argv[2]))
    passes = [entry["name"] for entry in report["passes"]]
    assert all(entry["ms"] >= 0 for entry in report["passes"])
    changes = [name for name in passes if not name.startswith("verify-")]
    files = sorted(path.name for path in folder.glob("*.mlir"))
    assert files == ["00-input.mlir"] + [
        f"{i:02}-{name}.mlir" for i, name in enumerate(changes, 1)], files

    (target,) = report["targets"]
    forms, parts = CPU if target["target"] == "cpu" else CUDA
    levels = list(target["code_bytes"])
    stages = [entry["name"] for entry in report["stages"]]
    assert stages == ["load", "lower", "prepare"] + [
        f"{part} {level}" for level in levels
        for part in parts] + ["write"], stages
    total = sum(entry["ms"] for entry in report["stages"]) / 1e3
    assert 0 < total <= report["compile_s"], (total, report["compile_s"])

    kernels = list((folder / "kernels").iterdir())
    assert len(kernels) == target["distinct_kernels"], len(kernels)
    launches = 0
    for kernel in kernels:
        spec = json.loads((kernel / "spec.json").read_text())
        assert spec["operands"]
        for level in levels:
            for form, start in forms.items():
                text = (kernel / f"kernel.{level}.{form}").read_text()
                assert start.format(kernel.name) in text, (kernel.name, form)
                # Of this function alone.
                assert not any(start.format(other.name) in text
                               for other in kernels if other != kernel)
        launches += (kernel / "log").read_text().count("kernel ")
    assert launches == target["kernels"], launches
    assert (folder / "log").read_text().endswith("done\n")


if __name__ == "__main__":
    main()
