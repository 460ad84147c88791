#!/usr/bin/env python3
"""Shows check_targets.py graphs and sources that it must reject, and not."""
import pathlib
import tempfile
import unittest

import check_targets


def node(folder, links=(), interface=()):
    return {"type": "STATIC_LIBRARY", "folder": folder, "SOURCES": [],
            "LINK_LIBRARIES": list(links),
            "INTERFACE_LINK_LIBRARIES": list(interface)}


class Links(unittest.TestCase):
    def errors(self, **changes):
        graph = {
            "betz_flags": node(""),
            "betz_base": node("runtime/base", ["betz_flags", "fmt::fmt"]),
            "betz_io": node("runtime/io", ["betz_base"]),
            "betz_program": node("runtime/program", ["betz_base"]),
            "betz_session": node("runtime/session",
                                 ["betz_program", "betz_io"]),
            "betz_ir": node("ir", ["betz_io", "MLIRIR", "betz_mlir_flags"]),
            "betz-rt": node("tools", ["betz_runtime_commands"]),
            "SessionTest": node("tests/runtime/session", ["betz_ir"]),
        }
        return list(check_targets.check_links(graph | changes))

    def test_the_layering_itself(self):
        self.assertEqual(self.errors(), [])

    def test_upward_link(self):
        self.assertEqual(
            self.errors(betz_io=node("runtime/io", ["betz_program"])),
            ["betz_io links betz_program, which it may not use"])

    def test_upward_link_hidden_as_private(self):
        changed = node("runtime/base", [], ["$<LINK_ONLY:betz_session>"])
        self.assertEqual(
            self.errors(betz_base=changed),
            ["betz_base links betz_session, which it may not use"])

    def test_use_of_a_use(self):
        self.assertEqual(
            self.errors(betz_session=node("runtime/session", ["betz_base"])),
            [])

    def test_compiler_under_the_runtime(self):
        for library in ("MLIRIR", "LLVMSupport", "betz_mlir_flags",
                        "/usr/lib/llvm-19/lib/libLLVM.so"):
            changed = node("runtime/session", ["betz_program", library])
            self.assertEqual(
                self.errors(betz_session=changed),
                [f"betz_session links {library}, which is MLIR or LLVM"])

    def test_unknown_target(self):
        self.assertEqual(len(self.errors(betz_extra=node("extra"))), 1)


class Includes(unittest.TestCase):
    def errors(self, source, header=""):
        files = {"runtime/io/Reader.cpp": source, "runtime/io/Reader.h": header,
                 "runtime/io/ForOthers.cpp": '#include "mlir/IR/Builders.h"'}
        graph = {"betz_base": node("runtime/base"),
                 "betz_io": node("runtime/io"),
                 "betz_session": node("runtime/session")}
        graph["betz_io"]["SOURCES"] = ["Reader.cpp"]
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "runtime/io").mkdir(parents=True)
            for name, text in files.items():
                (root / name).write_text(text)
            return list(check_targets.check_includes(graph, root))

    def test_downward_include(self):
        self.assertEqual(self.errors('#include "runtime/base/Hash.h"\n'), [])

    def test_upward_include(self):
        upward = '#pragma once\n#include "runtime/session/Session.h"\n'
        said = "includes runtime/session/Session.h, which betz_io may not use"
        self.assertEqual(self.errors(upward),
                         [f"runtime/io/Reader.cpp {said}"])
        self.assertEqual(self.errors('#include "runtime/io/Reader.h"', upward),
                         [f"runtime/io/Reader.h {said}"])

    def test_mlir_header(self):
        self.assertEqual(len(self.errors('#include <mlir/IR/Builders.h>\n')), 1)
        self.assertEqual(len(self.errors('# include "llvm/ADT/Twine.h"\n')), 1)


if __name__ == "__main__":
    unittest.main()
