#!/usr/bin/env python3
"""A server's log is replayed bit for bit, also when the server was killed.

Usage: record.py FOLDER_OF_BETZ MODELS
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from server_process import DEADLINE, Checks, Server, compile_demo

REQUESTS = 20


def replay(binaries, log, program, *arguments):
    """The exit code, standard output and standard error."""
    done = subprocess.run(
        [os.path.join(binaries, "betz-rt"), "replay", log, program, *arguments],
        capture_output=True, text=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


def decode_some(checks, server):
    rng = random.Random(1)
    for count in range(REQUESTS):
        events = [{"neuron_id": rng.randrange(8), "time_bin": rng.randrange(20)}
                  for _ in range(count)]
        status, _ = server.json("POST", "/decode", {"events": events})
        checks.equal("decode", status, 200)


def check_whole(checks, binaries, program, folder):
    log = os.path.join(folder, "whole.log")
    with Server(binaries, program, "--record", log) as server:
        decode_some(checks, server)
        metrics = server.metrics()
        checks.equal("kept", metrics["betz_record_batches_total"], REQUESTS)
        checks.equal("dropped", metrics["betz_record_dropped_total"], 0)
        checks.equal("exit of the server", server.stop()[0], 0)
    code, text, errors = replay(binaries, log, program, "--json", "-")
    checks.equal("exit of the replay", (code, errors), (0, ""))
    report = json.loads(text)
    checks.equal("report", [report[key] for key in (
        "batches", "dropped_batches", "complete", "equal", "difference")],
        [REQUESTS, 0, True, True, None])
    code, text, _ = replay(binaries, log, program)
    checks.equal("in words", (code, text.strip()),
                 (0, f"{REQUESTS} batches with {REQUESTS} windows have the bits "
                     "that were recorded"))
    return log


def check_killed(checks, binaries, program, folder):
    log = os.path.join(folder, "killed.log")
    with Server(binaries, program, "--record", log) as server:
        decode_some(checks, server)
        server.process.kill()
    code, text, _ = replay(binaries, log, program)
    checks.equal("exit after a kill", code, 0)
    checks.true("it says that the log has no end", "has no end" in text)


def check_wrong(checks, binaries, program, log, folder):
    code, _, errors = replay(binaries, program, program)
    checks.equal("a program is no log", code, 2)
    checks.true("that is said", "no log of `serve --record`" in errors)
    with open(log, "rb") as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 1
    damaged = os.path.join(folder, "damaged.log")
    with open(damaged, "wb") as file:
        file.write(data)
    code, _, errors = replay(binaries, damaged, program)
    checks.equal("damage", code, 2)
    checks.true("where it is", "is damaged at byte" in errors)


def check_unwritable(checks, binaries, program):
    with Server(binaries, program, "--record", "/dev/full") as server:
        decode_some(checks, server)
        checks.equal("dropped without a disk",
                     server.metrics()["betz_record_dropped_total"], REQUESTS)
        code, errors = server.stop()
        checks.equal("exit without a disk", code, 0)
        checks.equal("one warning", errors.count("serving goes on"), 1)


def main():
    binaries, models = sys.argv[1:3]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_demo(binaries, models, folder)
        log = check_whole(checks, binaries, program, folder)
        check_killed(checks, binaries, program, folder)
        check_wrong(checks, binaries, program, log, folder)
        check_unwritable(checks, binaries, program)
    checks.finish()


if __name__ == "__main__":
    main()
