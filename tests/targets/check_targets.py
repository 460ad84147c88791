#!/usr/bin/env python3
"""Rejects what the layering of the targets does not allow.

Reads <build>/target-graph.json (cmake/TargetGraph.cmake) and the sources: a
target may link, and include headers of, only what USES says and what that uses
in turn; targets of the runtime half may not touch MLIR or LLVM at all.

Usage: check_targets.py SOURCE-FOLDER TARGET-GRAPH.json
"""
import json
import pathlib
import re
import sys

# What each target may use directly. A new target needs a row here; a new entry
# in a row changes the architecture, so it needs a design note.
RUNTIME_USES = {
    "betz_base": [],
    "betz_io": ["betz_base"],
    "betz_program": ["betz_base"],
    "betz_hal": ["betz_base"],
    # The CPU driver calls kernels by runtime/program/KernelAbi.h.
    "betz_hal_cpu": ["betz_hal", "betz_program"],
    # The CUDA driver needs KernelAbi.h and CudaImages.h.
    "betz_hal_cuda": ["betz_hal", "betz_program"],
    "betz_hal_null": ["betz_hal"],
    "betz_session": ["betz_program", "betz_hal", "betz_hal_cpu",
                     "betz_hal_cuda", "betz_hal_null", "betz_io"],
    "betz_codegen_common": ["betz_program", "betz_hal"],
    "betz_codegen_cuda": ["betz_base", "betz_program", "betz_codegen_common"],
    # Times kernels on a device and picks their tiles.
    "betz_codegen_tune": ["betz_program", "betz_hal", "betz_codegen_common",
                          "betz_codegen_cuda"],
    # Metrics and linear algebra: no recordings.
    "betz_train_score": ["betz_base"],
    "betz_train_data": ["betz_io", "betz_train_score"],
    "betz_train_baselines": ["betz_train_data", "betz_train_score"],
    "betz_train_protocol": ["betz_train_baselines", "betz_train_data",
                            "betz_train_score"],
    "betz_train_report": ["betz_base", "betz_io", "betz_train_protocol",
                          "betz_train_baselines", "betz_train_data",
                          "betz_train_score"],
    "betz_train_loop": ["betz_session", "betz_io", "betz_train_data",
                        "betz_train_score"],
    # Requests to models on a device, without a socket.
    "betz_serve_engine": ["betz_session", "betz_decoder_info"],
    "betz_serve_load": ["betz_serve_engine"],
    # Logs of batches, and running them again.
    "betz_serve_record": ["betz_serve_engine"],
    # Messages without a socket.
    "betz_serve_protocol": ["betz_serve_engine"],
    # The live page as a string.
    "betz_serve_web": [],
    "betz_serve_http": ["betz_serve_engine", "betz_serve_protocol",
                        "betz_serve_web"],
    # Asio comes with the server, so that the in-process part has none of it.
    "betz_serve_load_http": ["betz_serve_load", "betz_serve_protocol",
                             "betz_serve_http"],
    "betz_command_line": ["betz_base"],
    "betz_decoder_info": ["betz_io"],
    "betz_runtime_commands": ["betz_command_line", "betz_decoder_info",
                              "betz_session", "betz_io",
                              "betz_codegen_common", "betz_codegen_cuda",
                              "betz_codegen_tune", "betz_train_loop",
                              "betz_train_report",
                              "betz_serve_load", "betz_serve_record",
                              "betz_serve_http", "betz_serve_load_http"],
    "betz-rt": ["betz_runtime_commands"],
    "write_serve_options": ["betz_serve_http"],
}
COMPILER_USES = {
    "betz_ir": ["betz_base", "betz_io"],
    "betz_reference": ["betz_ir"],
    "betz_passes": ["betz_ir"],
    "betz_frontend": ["betz_ir"],
    "betz_codegen_cpu": ["betz_passes", "betz_codegen_common"],
    # @prepare runs in the f64 interpreter when a program is compiled.
    "betz_compiler": ["betz_passes", "betz_reference", "betz_codegen_common",
                      "betz_codegen_cpu", "betz_codegen_cuda"],
    "betz_train_build": ["betz_passes", "betz_compiler", "betz_frontend",
                         "betz_train_data"],
    "betz_compiler_commands": ["betz_train_build", "betz_train_loop",
                               "betz_train_report", "betz_io",
                               "betz_command_line", "betz_decoder_info",
                               "betz_compiler",
                               "betz_frontend", "betz_reference",
                               "betz_session"],
    "betz": ["betz_compiler_commands", "betz_runtime_commands"],
    "betz-opt": ["betz_compiler", "betz_frontend", "betz_reference"],
}
USES = RUNTIME_USES | COMPILER_USES

# Tests and benchmarks may see everything.
FREE_FOLDERS = ("tests", "bench")
FLAG_TARGETS = ("betz_flags", "betz_mlir_flags")
COMPILER_LIBRARY = re.compile(r"^(MLIR|LLVM|betz_mlir_flags)|lib(MLIR|LLVM)")
COMPILER_HEADER = re.compile(r"(mlir|llvm)(-c)?/")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def closure(target):
    """Everything `target` may use, itself included."""
    seen, todo = set(), [target]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += USES.get(name, [])
    return seen


def is_free(node):
    return node["folder"].split("/")[0] in FREE_FOLDERS


def linked_names(node):
    names = node["LINK_LIBRARIES"] + node["INTERFACE_LINK_LIBRARIES"]
    # $<LINK_ONLY:name> is how CMake writes a private link of an archive.
    return {re.sub(r"\$<LINK_ONLY:|>", "", name) for name in names}


def check_links(graph):
    for target, node in graph.items():
        if target in FLAG_TARGETS or is_free(node):
            continue
        if target not in USES:
            yield f"{target}: no rule for it in tests/targets/check_targets.py"
            continue
        allowed = closure(target)
        for name in sorted(linked_names(node)):
            if name in graph and name not in FLAG_TARGETS:
                if name not in allowed:
                    yield f"{target} links {name}, which it may not use"
            elif target in RUNTIME_USES and COMPILER_LIBRARY.search(name):
                yield f"{target} links {name}, which is MLIR or LLVM"


def folder_owners(graph):
    owners = {}
    for target, node in graph.items():
        if target in USES:
            owners.setdefault(node["folder"], set()).add(target)
    return owners


def includes_of(node, root):
    """Yields (file, header) of the target's sources and own headers."""
    todo = [f"{node['folder']}/{source}" for source in node["SOURCES"]
            if not source.startswith(("/", "$"))]
    seen = set(todo)
    while todo:
        name = todo.pop()
        for header in INCLUDE.findall((root / name).read_text("latin-1")):
            yield name, header
            is_own = str(pathlib.PurePath(header).parent) == node["folder"]
            if is_own and header not in seen and (root / header).is_file():
                seen.add(header)
                todo.append(header)


def check_includes(graph, root):
    owners = folder_owners(graph)
    for target, node in graph.items():
        if target not in USES:
            continue
        allowed = closure(target)
        for name, header in sorted(includes_of(node, root)):
            used = owners.get(str(pathlib.PurePath(header).parent), allowed)
            if not allowed & used:
                yield f"{name} includes {header}, which {target} may not use"
            if target in RUNTIME_USES and COMPILER_HEADER.match(header):
                yield f"{name} includes {header}, but {target} knows " \
                      "neither MLIR nor LLVM"


def check(graph, root):
    return list(check_links(graph)) + list(check_includes(graph, root))


def main():
    root, graph_file = map(pathlib.Path, sys.argv[1:])
    graph = json.loads(graph_file.read_text())
    errors = check(graph, root)
    for error in errors:
        print(f"error: {error}")
    print(f"{len(graph)} targets, {len(errors)} forbidden uses")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
