#!/usr/bin/env python3
"""Whatever clients do, the server answers others and ends clean.

Usage: faults.py FOLDER_OF_BETZ MODELS
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from server_process import Checks, Server, compile_demo

EVENTS = [{"neuron_id": 3, "time_bin": 7, "value": 2}]
GOOD = json.dumps({"events": EVENTS}).encode()
MAX_BODY, MAX_HEADER, MAX_EVENTS = 20000, 1024, 100
OPTIONS = ["--max-body-bytes", str(MAX_BODY), "--max-header-bytes",
           str(MAX_HEADER), "--max-events", str(MAX_EVENTS),
           "--header-timeout-ms", "1500", "--body-timeout-ms", "1500",
           "--max-connections", "150"]


def connect(server):
    connection = socket.create_connection((server.host, server.port), 20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_all(connection):
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


def exchange(server, data):
    """The status of the answer to raw bytes; None where there is none."""
    with connect(server) as connection:
        connection.sendall(data)
        return status_of(read_all(connection))


def post(path, body, extra=""):
    head = (f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n{extra}\r\n")
    return head.encode() + body


def check_good(checks, server, what):
    status, answer = server.json("POST", "/decode", {"events": EVENTS})
    checks.equal(what + ": status", status, 200)
    checks.equal(what + ": columns", len(answer.get("behavior", [])), 2)


def check_limits(checks, server):
    padded = GOOD[:-1] + b" " * (MAX_BODY - len(GOOD)) + b"}"
    checks.equal("body at the limit", exchange(server, post("/decode", padded)),
                 200)
    checks.equal("body past the limit",
                 exchange(server, post("/decode", padded + b" ")), 413)
    chunk = b"8000\r\n" + b" " * 0x8000 + b"\r\n0\r\n\r\n"
    checks.equal("chunked body past the limit", exchange(server, (
        b"POST /decode HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        b"\r\n" + chunk)), 413)
    checks.equal("header past the limit", exchange(server, post(
        "/decode", GOOD, "X-Long: " + "a" * MAX_HEADER + "\r\n")), 431)
    for count, expected in ((MAX_EVENTS, 200), (MAX_EVENTS + 1, 400)):
        body = json.dumps({"events": EVENTS * count}).encode()
        checks.equal(f"{count} events", exchange(server, post("/decode", body)),
                     expected)


def check_wrong(checks, server):
    infer = "/v2/models/demo/infer"
    for what, data, expected in (
            ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
            ("bad length", b"POST /decode HTTP/1.1\r\nContent-Length: x\r\n"
                           b"\r\n", 400),
            ("no JSON", post("/decode", b"{"), 400),
            ("no body", post("/decode", b""), 400),
            ("unknown member", post("/decode", b'{"event":[]}'), 400),
            ("unknown path", post("/nowhere", b"{}"), 404),
            ("bad escape", post("/%zz", b"{}"), 400),
            ("other method", b"GET /decode HTTP/1.1\r\nConnection: close\r\n"
                             b"\r\n", 405),
            ("unknown model", post("/v2/models/no/infer", b'{"inputs":[]}'),
             400),
            ("JSON length past the body", post(
                infer, b"{}", "Inference-Header-Content-Length: 3\r\n"), 400),
            ("negative JSON length", post(
                infer, b"{}", "Inference-Header-Content-Length: -1\r\n"), 400),
            ("id past the table", post("/decode", json.dumps(
                {"events": [{"neuron_id": 256, "time_bin": 0}]}).encode()),
             400),
            ("model by /decode", post(
                "/decode", b'{"events":[],"model":"no"}'), 404),
            ("nothing to load", post("/v2/repository/models/x/load", b""),
             404)):
        checks.equal(what, exchange(server, data), expected)


def check_gone(checks, server):
    """Clients leave after each part of a request, and before the answer."""
    request = post("/decode", GOOD)
    for size in range(0, len(request), 7):
        with connect(server) as connection:
            connection.sendall(request[:size])
    for _ in range(20):
        with connect(server) as connection:
            connection.sendall(request)
    with connect(server) as connection:  # a reset instead of an end
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              b"\1\0\0\0\0\0\0\0")
        connection.sendall(request)
    check_good(checks, server, "after clients left")


def check_dripping(checks, server):
    """100 clients that send a byte at a time do not hold others up."""
    slow = [connect(server) for _ in range(100)]
    request = post("/decode", GOOD)
    start = time.monotonic()
    for second in range(3):
        for connection in slow:
            try:
                connection.sendall(request[second:second + 1])
            except OSError:
                pass
        check_good(checks, server, f"among dripping clients, {second}")
        time.sleep(1)
    checks.true("slow clients are cut off", all(
        read_all(connection) == b"" for connection in slow))
    checks.true("within seconds", time.monotonic() - start < 15)
    for connection in slow:
        connection.close()
    checks.true("and counted",
                server.metrics()["betz_slow_clients_total"] >= 100)


def check_connections(checks, server):
    """One connection too many is told so; ended ones make room."""
    idle = [connect(server) for _ in range(150)]
    time.sleep(0.3)
    with connect(server) as connection:
        checks.equal("too many", status_of(read_all(connection)), 503)
    for connection in idle:
        connection.close()
    time.sleep(0.3)
    check_good(checks, server, "after too many")


def check_keep_alive(checks, server):
    """Requests sent at once are answered in order."""
    request = (f"POST /decode HTTP/1.1\r\nHost: x\r\nContent-Length: "
               f"{len(GOOD)}\r\n\r\n").encode() + GOOD
    with connect(server) as connection:
        connection.sendall(request * 3 + post("/nowhere", b""))
        answers = read_all(connection)
    checks.equal("three and one", [answers.count(b"HTTP/1.1 200"),
                                   answers.count(b"HTTP/1.1 404")], [3, 1])


def check_ids(checks, server):
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    _, headers, _ = server.request("POST", "/decode", GOOD, {
        "X-Request-Id": "abc-7", "traceparent": trace})
    checks.equal("request id", headers["X-Request-Id"], "abc-7")
    _, headers, _ = server.request("POST", "/decode", GOOD, {
        "X-Request-Id": "a b"})
    checks.equal("made request id", len(headers["X-Request-Id"]), 16)


def check_origin(checks, server):
    """Pages of other sites cannot use a server on this machine."""
    own = f"http://{server.host}:{server.port}"
    for origin, expected in ((own, 200), ("http://example.org", 403),
                             ("null", 403)):
        checks.equal(f"origin {origin}", server.request(
            "POST", "/decode", GOOD, {"Origin": origin})[0], expected)
    status, _, page = server.request("GET", "/")
    checks.equal("page", (status, b"</html>" in page), (200, True))


def check_drain(checks, server):
    """What was accepted is answered after SIGTERM; then the port is closed."""
    busy = [connect(server) for _ in range(20)]
    for connection in busy:
        connection.sendall(post("/decode", GOOD))
    answers = [status_of(read_all(connection)) for connection in busy[:10]]
    server.process.send_signal(signal.SIGTERM)
    answers += [status_of(read_all(connection)) for connection in busy[10:]]
    checks.equal("answers around SIGTERM", answers, [200] * 20)
    checks.equal("exit code", server.stop()[0], 0)
    try:
        connect(server)
        checks.true("the port is closed", False)
    except OSError:
        checks.true("the port is closed", True)


def check_start(checks, binaries, program, folder):
    """What cannot be served is one line and exit code 2."""

    keys = os.path.join(folder, "keys")
    with open(keys, "w", encoding="ascii") as file:
        file.write("short\n")
    for arguments, environment, expected in (
            (["--port", "70000"], {}, "port is '70000'"),
            (["--host", "0.0.0.0"], {}, "--api-keys"),
            (["--api-keys", keys], {}, "at least 16"),
            (["--tls-key", keys], {}, "go together"),
            (["--tls-key", keys, "--tls-certificate", keys], {}, keys),
            (["--otlp-endpoint", "x"], {}, "http://HOST:PORT"),
            ([], {"BETZ_SERVE_PORTS": "1"}, "BETZ_SERVE_PORTS"),
            ([], {"BETZ_SERVE_MAX_QUEUE": "0"}, "BETZ_SERVE_MAX_QUEUE"),
            (["x=" + program, "x=" + program], {}, "two programs")):
        ended = subprocess.run(
            [os.path.join(binaries, "betz-rt"), "serve", program, *arguments],
            env=os.environ | environment, capture_output=True, text=True,
            timeout=60)
        what = " ".join(arguments) or str(environment)
        checks.equal(what + ": exit code", ended.returncode, 2)
        checks.true(f"{what}: {ended.stderr!r}", expected in ended.stderr
                    and ended.stderr.count("\n") == 1)


def check_keys(checks, binaries, program, folder):
    keys = os.path.join(folder, "keys")
    with open(keys, "w", encoding="ascii") as file:
        file.write("# ours\n0123456789abcdef\nfedcba9876543210\n")
    config = os.path.join(folder, "serve.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'api_keys = "{keys}"\nmax_queue = 7\n')
    with Server(binaries, program, "--config", config) as server:
        for headers, expected in (
                ({}, 401), ({"X-API-Key": "0123456789abcdeg"}, 401),
                ({"X-API-Key": "fedcba9876543210"}, 200),
                ({"Authorization": "Bearer 0123456789abcdef"}, 200),
                ({"Authorization": "Bearer 0123456789abcde"}, 401)):
            status, _, _ = server.request("POST", "/decode", GOOD, headers)
            checks.equal(f"keys {headers}", status, expected)
        checks.equal("health is open", server.request("GET", "/health")[0], 200)
        checks.equal("metrics are not", server.request("GET", "/metrics")[0],
                     401)
        checks.equal("exit code", server.stop()[0], 0)


def main():
    binaries, models = sys.argv[1:3]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_demo(binaries, models, folder)
        check_start(checks, binaries, program, folder)
        check_keys(checks, binaries, program, folder)
        with Server(binaries, program, *OPTIONS) as server:
            check_good(checks, server, "at first")
            check_limits(checks, server)
            check_wrong(checks, server)
            check_gone(checks, server)
            check_keep_alive(checks, server)
            check_ids(checks, server)
            check_origin(checks, server)
            check_dripping(checks, server)
            check_connections(checks, server)
            check_drain(checks, server)
    checks.finish()


if __name__ == "__main__":
    main()
