"""A real server for tests: compiles the demo model, starts, stops."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys

DEADLINE = 120  # seconds; a hung server is a failure, not a hung test


def compile_demo(binaries, models, folder):
    """The demo model's program, with seeded random weights."""
    program = os.path.join(folder, "demo.betz")
    subprocess.run([os.path.join(binaries, "betz"), "compile",
                    os.path.join(models, "demo.toml"), "--batch", "1,8",
                    "-o", program], check=True, stderr=subprocess.DEVNULL,
                   timeout=DEADLINE)
    return program


class Server:
    """`betz-rt serve` on a free port, as a context manager."""

    def __init__(self, binaries, *arguments, environment=None):
        command = [os.path.join(binaries, "betz-rt"), "serve", "--port", "0",
                   *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | (environment or {}))
        line = self.process.stdout.readline()
        match = re.search(r"(https?)://([^:]+):(\d+)", line)
        if not match:
            raise RuntimeError("the server did not start: "
                               + self.process.stderr.read())
        self.scheme, self.host = match[1], match[2]
        self.port = int(match[3])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self):
        """SIGTERM; the exit code and stderr."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=DEADLINE)
        return self.process.returncode, errors

    def request(self, method, path, body=None, headers=None):
        """(status, headers, body) of one request on its own connection."""
        connection = http.client.HTTPConnection(self.host, self.port,
                                                timeout=DEADLINE)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        if body is not None:
            body = json.dumps(body)
        status, _, text = self.request(method, path, body, headers)
        return status, json.loads(text)

    def metrics(self):
        """{sample with its labels: value}"""
        _, _, text = self.request("GET", "/metrics")
        lines = text.decode().splitlines()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


class Checks:
    """Collects failures; prints a last line that says how many."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def equal(self, what, got, expected):
        self.true(f"{what}: {got!r} is not {expected!r}", got == expected)

    def true(self, what, holds):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print("FAILED", what)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)
