#!/usr/bin/env python3
"""Checks what `betz bench` and the binaries of bench/ write for the demo.

Usage: bench_output.py BIN-FOLDER BENCH-FOLDER MODELS-FOLDER

Values must be there, finite and positive, and agree with each other; how large
they are is the machine's affair.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BIN, BENCH, MODELS = map(pathlib.Path, sys.argv[1:4])
SVG = "{http://www.w3.org/2000/svg}"


def run(*words):
    return subprocess.run([str(word) for word in words], check=True,
                          capture_output=True, text=True).stdout


def numbers_of(value, path=""):
    """Yields (path, number) of everything inside."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_of(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from numbers_of(inner, f"{path}/{i}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


class BenchOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.scratch.name)
        cls.program = cls.at / "demo.betz"
        run(BIN / "betz", "compile", MODELS / "demo.toml", "--batch", "1,8",
            "--max-events", 256, "-o", cls.program)
        cls.text = run(BIN / "betz-rt", "bench", cls.program, "--batch", "8,1",
                       "--events", 64, "--threads", 2, "--min-time", 0,
                       "--json", cls.at / "r.json", "--trace",
                       cls.at / "t.json", "--roofline", cls.at / "r.svg")
        cls.report = json.loads((cls.at / "r.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def expect_positive(self, values, keys):
        for key in keys:
            self.assertTrue(math.isfinite(values[key]) and values[key] > 0,
                            f"{key}: {values[key]}")

    def test_numbers_are_finite_and_not_negative(self):
        for path, number in numbers_of(self.report):
            self.assertTrue(math.isfinite(number), path)
            # The host's time is a difference of two measurements.
            if not path.endswith("/host_us"):
                self.assertGreaterEqual(number, 0, path)

    def test_limits_and_steps(self):
        self.expect_positive(self.report["limits"],
                             ["threads", "fma_gflops", "copy_gbps"])
        self.assertEqual([s["batch"] for s in self.report["steps"]], [8, 1])
        self.assertEqual(self.report["steps"][0]["extents"], [8, 512])
        for step in self.report["steps"]:
            self.expect_positive(step, ["steps", "median_us", "p99_us", "flops",
                                        "gflops", "peak_fraction",
                                        "kernels_us"])
            limit = self.report["limits"]["fma_gflops"]
            self.assertAlmostEqual(step["gflops"] / limit,
                                   step["peak_fraction"])

    def test_kernels_and_sections_add_up(self):
        for step in self.report["steps"]:
            for kernel in step["kernels"]:
                self.expect_positive(kernel, ["calls", "us", "alone_us"])
                if kernel["code"].startswith("matmul"):
                    self.expect_positive(kernel, ["flops", "bytes",
                                                  "peak_fraction",
                                                  "copy_fraction"])
            names = [section["name"] for section in step["sections"]]
            self.assertEqual(len(names), len(set(names)))
            self.assertIn("blocks.1.mlp", names)
            for key, total in (("us", "kernels_us"), ("flops", "flops")):
                for part in ("kernels", "sections"):
                    self.assertAlmostEqual(sum(one[key] for one in step[part]),
                                           step[total], places=3)
            self.assertAlmostEqual(step["kernels_us"] + step["host_us"],
                                   step["median_us"], places=3)

    def test_trace_is_one_step_in_order(self):
        trace = json.loads((self.at / "t.json").read_text())
        events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        calls = sum(k["calls"] for k in self.report["steps"][0]["kernels"])
        self.assertEqual(len(events), calls)
        end = 0
        for event in events:
            self.assertGreaterEqual(event["ts"], end)
            self.assertGreater(event["dur"], 0)
            self.assertGreaterEqual(event["args"]["flops"], 0)
            self.assertGreater(event["args"]["bytes"], 0)
            end = event["ts"] + event["dur"] - 1e-6

    def test_roofline_has_a_point_a_distinct_kernel(self):
        root = xml.etree.ElementTree.parse(self.at / "r.svg").getroot()
        points = [c for c in root.iter(f"{SVG}circle")]
        codes = {k["code"] for k in self.report["steps"][0]["kernels"]
                 if k["flops"] > 0}
        self.assertEqual(len(points), len(codes))
        for point in points:
            self.assertTrue(80 <= float(point.get("cx")) <= 720)
            self.assertTrue(50 <= float(point.get("cy")) <= 510)
        labels = [t.text for t in root.iter(f"{SVG}text")]
        self.assertTrue(any("GFLOP/s" in text for text in labels))
        self.assertTrue(any("GB/s" in text for text in labels))

    def test_tables_keep_their_columns(self):
        lines = self.text.splitlines()
        header = next(i for i, line in enumerate(lines)
                      if line.startswith("kernel "))
        end = next(i for i, line in enumerate(lines)
                   if line.startswith("all kernels"))
        widths = {len(line) for line in lines[header:end + 1]}
        self.assertEqual(len(widths), 1, widths)

    def test_steps_only(self):
        report = json.loads(run(BIN / "betz-rt", "bench", self.program,
                                "--steps-only", "--min-time", 0, "--events",
                                64, "--json", "-"))
        step = report["steps"][0]
        self.assertNotIn("kernels", step)
        self.expect_positive(step, ["median_us", "peak_fraction"])

    def benchmarks(self, *words):
        out = self.at / "benchmark.json"
        run(*words, "--benchmark_min_time=0.001", f"--benchmark_out={out}",
            "--benchmark_out_format=json")
        found = json.loads(out.read_text())["benchmarks"]
        for one in found:
            self.expect_positive(one, ["real_time", "iterations"])
        return {one["name"].removesuffix("/real_time"): one for one in found}

    def test_bench_kernels(self):
        found = self.benchmarks(BENCH / "bench_kernels", self.program,
                                "--events", 64)
        codes = {k["code"] for k in self.report["steps"][1]["kernels"]}
        self.assertEqual(len(found), len(codes))
        matmuls = [one for name, one in found.items() if "mlp" in name]
        self.assertTrue(matmuls)
        for one in matmuls:
            self.expect_positive(one, ["flops", "bytes", "peak_fraction",
                                       "copy_fraction"])

    def test_bench_model(self):
        found = self.benchmarks(BENCH / "bench_model", self.program,
                                "--events", 64)
        self.assertEqual(set(found), {f"step/batch:{b}/threads:{t}"
                                      for b in (1, 8) for t in (1, 2)})
        for one in found.values():
            self.expect_positive(one, ["flops", "peak_fraction",
                                       "items_per_second"])

    def test_bench_data(self):
        found = self.benchmarks(BENCH / "bench_data")
        self.assertEqual(set(found), {"safetensors_open", "recording_open",
                                      "windows_index", "windows_stream",
                                      "synth", "train_batches",
                                      "train_batches_augmented"})

    def test_bench_pool(self):
        found = self.benchmarks(BENCH / "bench_pool")
        self.assertEqual(set(found), {f"dispatch/threads:{t}"
                                      for t in (1, 2)})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
