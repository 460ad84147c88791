# How lit runs tests/{ir,passes,codegen,commandline}: .mlir and .test files.
# tests/lit.site.cfg.py.in says where the build is.
import ctypes
import os

import lit.formats

config.name = "betz"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_folder, "tests")

# betz, betz-opt, betz-rt; FileCheck, not, count.
config.environment["PATH"] = os.pathsep.join(
    [config.bin_folder, config.llvm_tools, os.environ["PATH"]])

# `%exits N COMMAND`: the exit code is N; with 2, stderr is one line.
exits = os.path.join(config.test_source_root, "commandline", "exits.py")
config.substitutions.append(("%exits", f"{config.python} {exits}"))
config.substitutions.append(
    ("%models", os.path.join(config.source_folder, "frontend", "models")))

config.substitutions.append(("%make_recording", config.make_recording))
config.substitutions.append(("%stand_in_nvrtc", config.stand_in_nvrtc))

# Tests with `REQUIRES: shared` read recordings and fixtures at %shared.
shared = os.environ.get("BETZ_SHARED") or os.path.join(
    config.source_folder, "..", "shared")
if os.path.isdir(shared):
    config.available_features.add("shared")
    config.substitutions.append(("%shared", os.path.realpath(shared)))
    config.environment["BETZ_SHARED"] = os.path.realpath(shared)

# Tests with `REQUIRES: nvrtc` compile CUDA kernels. The names are those that
# codegen/cuda/Nvrtc.cpp tries.
for library in ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                "/usr/local/cuda/lib64/libnvrtc.so"]:
    try:
        ctypes.CDLL(library)
    except OSError:
        continue
    config.available_features.add("nvrtc")
    break
