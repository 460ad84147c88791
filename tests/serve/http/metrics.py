#!/usr/bin/env python3
"""/metrics and /health of a real server say what happened to it.

Usage: metrics.py FOLDER_OF_BETZ MODELS
"""
import json
import sys
import tempfile
import threading
import time

from server_process import Checks, Server, compile_demo
from streams import TEXT, WebSocket

EVENTS = [{"neuron_id": 3, "time_bin": 7, "value": 2}]
MODEL = '{model="demo",version="1"}'


def decode(server, **members):
    return server.json("POST", "/decode", {"events": EVENTS} | members)[0]


def check_fresh(checks, server):
    metrics = server.metrics()
    for sample in ('betz_slo_burn_rate{window="5m"}',
                   'betz_slo_burn_rate{window="1h"}',
                   'betz_errors_total{error_type="queue_full"}',
                   "betz_engine_heartbeat_age_seconds", "betz_queue_depth",
                   "betz_in_flight", "betz_stream_pages_used",
                   "betz_stream_page_hit_rate",
                   "betz_stream_jitter_seconds_count",
                   "betz_batch_fill_count" + MODEL,
                   "betz_batch_actual_over_predicted_count" + MODEL):
        checks.equal(f"fresh {sample}", metrics.get(sample), 0)
    checks.equal("no GPU on a cpu", [name for name in metrics
                                     if name.startswith("betz_gpu_")], [])


def check_batches(checks, server):
    for _ in range(4):
        checks.equal("decode", decode(server), 200)
    metrics = server.metrics()
    checks.equal("batches", metrics["betz_batches_total" + MODEL], 4)
    bucket = MODEL[:-1] + ',le="0.125"}'
    checks.equal("one of eight windows", metrics["betz_batch_fill_bucket"
                                                 + bucket], 4)
    checks.equal("fill", metrics["betz_batch_fill_sum" + MODEL], 4 / 8)
    checks.true("predicted, but for the first", metrics[
        "betz_batch_actual_over_predicted_count" + MODEL] in (3, 4))


def check_burn(checks, server):
    """Good ones, a refusal, and a mistake of the client's."""
    burn = 'betz_slo_burn_rate{window="5m"}'
    checks.equal("burn of good ones", server.metrics()[burn], 0)
    checks.equal("too late", decode(server, deadline_ms=0.001), 504)
    checks.equal("unknown model", decode(server, model="no"), 404)
    metrics = server.metrics()
    checks.true(f"burn: {metrics[burn]} is not 1 of 5 over 1 %",
                abs(metrics[burn] - 20) < 1e-6)
    errors = {kind: metrics[f'betz_errors_total{{error_type="{kind}"}}']
              for kind in ("late", "expired", "unknown_model", "invalid")}
    checks.equal("refusals by reason",
                 (errors["late"] + errors["expired"], errors["unknown_model"],
                  errors["invalid"]), (1, 1, 0))


def check_streams(checks, server):
    stream = WebSocket(server, "/stream")
    stream.receive()
    for at in range(10):
        stream.send(TEXT, json.dumps({
            "events": [{"neuron_id": 1, "time_bin": at}],
            "advance_to": at + 1}).encode())
        stream.receive()
    metrics = server.metrics()
    checks.equal("jitter", metrics["betz_stream_jitter_seconds_count"], 9)
    checks.equal("pages used", metrics["betz_stream_pages_used"], 1)
    checks.true("page hits", metrics["betz_stream_page_hit_rate"] > 0.5)
    stream.close()


def check_stuck(checks, server):
    """Batches longer than the heartbeat's timeout, then none."""
    checks.equal("idle", server.request("GET", "/health")[0], 200)
    done = threading.Event()

    def send():
        while not done.is_set():
            decode(server)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    seen, end = set(), time.monotonic() + 60
    while 503 not in seen and time.monotonic() < end:
        seen.add(server.request("GET", "/health")[0])
    done.set()
    for thread in threads:
        thread.join()
    checks.true("stuck", 503 in seen)
    checks.equal("idle again", server.request("GET", "/health")[0], 200)


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_demo(*sys.argv[1:3], folder)
        with Server(sys.argv[1], program, "--slo-ms", "60000",
                    "--deadline-ms", "60000") as server:
            check_fresh(checks, server)
            check_batches(checks, server)
            check_burn(checks, server)
            check_streams(checks, server)
        with Server(sys.argv[1], program, "--slo-ms", "0.001",
                    "--deadline-ms", "60000", "--heartbeat-timeout-ms",
                    "0.001") as server:
            check_stuck(checks, server)
            metrics = server.metrics()
            for window in ("5m", "1h"):
                rate = metrics[f'betz_slo_burn_rate{{window="{window}"}}']
                checks.true(f"all are slow: {rate}", abs(rate - 100) < 1e-6)
    checks.finish()


if __name__ == "__main__":
    main()
