#!/usr/bin/env python3
"""`betz load` counts what a real server answers, and survives its end.

Usage: load.py FOLDER_OF_BETZ MODELS
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "http"))
from server_process import DEADLINE, Checks, Server, compile_demo  # noqa: E402


def load(binaries, *arguments):
    """(exit code, report or None, stderr)."""
    ended = subprocess.run(
        [os.path.join(binaries, "betz-rt"), "load", *arguments, "--events",
         "64", "--json", "-"], capture_output=True, text=True, timeout=DEADLINE)
    report = json.loads(ended.stdout) if ended.stdout else None
    return ended.returncode, report, ended.stderr


def check_runs(checks, binaries, server, url):
    code, report, errors = load(
        binaries, url, "--closed", "3", "--open", "60", "--seconds", "1",
        "--deadline-ms", "5000", "--connections", "8", "--idle", "300")
    checks.equal("exit code " + errors, code, 0)
    checks.equal("server", report["server"], url)
    checks.equal("idle", report["idle"], {"opened": 300, "open_at_end": 300})
    checks.equal("names", [run["name"] for run in report["runs"]],
                 ["closed, 3 clients, HTTP", "open, poisson, 60/s, HTTP"])
    for run in report["runs"]:
        checks.equal(run["name"] + ": errors", run["errors"], {})
        checks.true(run["name"] + ": some were sent", run["sent"] > 20)
        checks.equal(run["name"] + ": answered", run["answered"], run["sent"])
        checks.true(run["name"] + ": batches", 1 <= run["mean_batch"] <= 8)
        latency = run["latency_ms"]
        checks.true(run["name"] + ": latencies", 0 < latency["p50"]
                    <= latency["p99.9"] <= latency["max"])
    _, statistics = server.json("GET", "/v2/models/demo/stats")
    checks.equal("the server's count",
                 statistics["model_stats"][0]["inference_count"],
                 sum(run["answered"] for run in report["runs"]))


def check_refusals(checks, binaries, url, program):
    for arguments, expected in (
            ([url, "--model", "nobody", "--closed", "1"], "nobody"),
            ([url, "--closed", "0"], "--closed"),
            ([url, "--closed", "1", "--idle", "100000000"], "hard limit"),
            ([url, "--loop", "1"], "--in-process"),
            ([url], "nothing to run"),
            ([program, "--closed", "1"], "--in-process"),
            (["https://x", "--closed", "1"], "http://HOST:PORT"),
            (["http://127.0.0.1:1", "--closed", "1"], "127.0.0.1:1")):
        code, report, errors = load(binaries, *arguments)
        checks.equal(f"{arguments}: exit code", (code, report), (2, None))
        checks.true(f"{arguments}: {errors!r}",
                    expected in errors and errors.count("\n") == 1)


def check_death(checks, binaries, server, url):
    """A server that dies in mid-run: what had no answer is counted."""
    timer = threading.Timer(1, server.process.kill)
    timer.start()
    code, report, errors = load(binaries, url, "--open", "100", "--seconds",
                                "2", "--connections", "8")
    timer.join()
    checks.equal("exit code after its death " + errors, code, 0)
    run = report["runs"][0]
    lost = run["errors"].pop("connection", 0)
    checks.true("some were lost", lost > 0)
    checks.equal("all are counted", run["answered"] + lost
                 + sum(run["errors"].values()), run["sent"])


def check_one_table(checks, binaries, program):
    code, report, errors = load(
        binaries, program, "--in-process", "--loop", "1", "--loop", "8",
        "--closed", "4", "--http", "--seconds", "0.5")
    checks.equal("exit code in process " + errors, code, 0)
    checks.equal("rows", [run["name"] for run in report["runs"]],
                 ["loop, batch 1", "loop, batch 8", "closed, 4 clients",
                  "closed, 4 clients, HTTP"])
    checks.true("no errors", not any(run["errors"] for run in report["runs"]))


def main():
    binaries, models = sys.argv[1:3]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_demo(binaries, models, folder)
        with Server(binaries, program) as server:
            url = f"http://{server.host}:{server.port}"
            check_runs(checks, binaries, server, url)
            check_refusals(checks, binaries, url, program)
            check_death(checks, binaries, server, url)
        check_one_table(checks, binaries, program)
    checks.finish()


if __name__ == "__main__":
    main()
