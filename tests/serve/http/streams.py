#!/usr/bin/env python3
"""/stream on a real server: every decode has the bits of its window alone.

Usage: streams.py FOLDER_OF_BETZ MODELS
"""
import base64
import json
import os
import random
import socket
import struct
import sys
import tempfile

from server_process import Checks, Server, compile_demo

WINDOW, BINS, NEURONS = 15, 60, 40  # of the demo model, but for BINS
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocket:
    """A client of RFC 6455, as far as the test goes."""

    def __init__(self, server, target):
        self.socket = socket.create_connection((server.host, server.port), 60)
        self.data = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (f"GET {target} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
             f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.data:
            part = self.socket.recv(65536)
            if not part:
                break
            self.data += part
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        self.status = int(head.split(b" ", 2)[1])

    def take(self, count):
        while len(self.data) < count:
            part = self.socket.recv(65536)
            if not part:
                raise EOFError
            self.data += part
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def send(self, kind, payload):
        size = len(payload)
        head = bytes([0x80 | kind])
        head += (bytes([0x80 | size]) if size < 126 else
                 bytes([0x80 | 126]) + struct.pack(">H", size))
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(
            byte ^ mask[i % 4] for i, byte in enumerate(payload)))

    def receive(self):
        """(kind, payload) of the next frame that is no ping."""
        while True:
            first, size = self.take(2)
            if size == 126:
                size = struct.unpack(">H", self.take(2))[0]
            payload = self.take(size)
            if first & 15 != PING:
                return first & 15, payload
            self.send(PONG, payload)

    def close(self):
        self.socket.close()


def make_events():
    """{bin: [(neuron, bin, value)]}, each neuron once a bin."""
    random.seed(11)
    return {at: [(neuron, at, random.randrange(1, 8))
                 for neuron in random.sample(range(NEURONS), 3)]
            for at in range(BINS)}


def decode_alone(server, events, end):
    """f32 bits of the window that ends before bin `end`."""
    start = end - WINDOW
    window = sorted(event for at in range(max(start, 0), end)
                    for event in events[at])
    status, answer = server.json("POST", "/decode", {
        "events": [{"neuron_id": neuron, "time_bin": at - start, "value": value}
                   for neuron, at, value in
                   sorted(window, key=lambda event: (event[1], event[0]))]})
    assert status == 200, answer
    return struct.pack("<2f", *answer["behavior"])


def as_json(events):
    return [{"neuron_id": neuron, "time_bin": at, "value": value}
            for neuron, at, value in events]


def check_text(checks, server, events):
    stream = WebSocket(server, "/stream?model=demo")
    checks.equal("upgraded", stream.status, 101)
    kind, opening = stream.receive()
    checks.equal("opening", json.loads(opening),
                 {"window_bins": WINDOW, "stride_bins": 1, "columns": 2})
    for at in range(BINS):
        stream.send(TEXT, json.dumps({"sequence_number": at,
                                      "events": as_json(events[at]),
                                      "advance_to": at + 1}).encode())
        kind, text = stream.receive()
        reply = json.loads(text)
        checks.equal(f"answer {at}", (kind, reply["sequence_number"],
                                      reply["end_bin"], reply["status"]),
                     (TEXT, at, at + 1, 200))
        checks.equal(f"bits {at}", struct.pack("<2f", *reply["behavior"]),
                     decode_alone(server, events, at + 1))
    stream.send(TEXT, json.dumps({"events": as_json(events[3]),
                                  "advance_to": BINS + 1}).encode())
    checks.equal("late events", json.loads(stream.receive()[1])["late"], 3)
    for wrong in (b"{", b'{"events":[{"neuron_id":999,"time_bin":99}]}',
                  b'{"advance_to":0}', b'{"x":1}'):
        stream.send(TEXT, wrong)
        checks.equal(f"wrong frame {wrong}",
                     json.loads(stream.receive()[1])["status"], 400)
    stream.send(CLOSE, struct.pack(">H", 1000))
    checks.equal("closed", stream.receive()[0], CLOSE)
    stream.close()


def check_binary(checks, server, events):
    stream = WebSocket(server, "/stream?stride_bins=4")
    stream.receive()
    for at in range(0, BINS, 4):
        burst = [event for step in range(4) for event in events[at + step]]
        random.shuffle(burst)
        stream.send(BINARY, struct.pack("<IiI", at, at + 4, len(burst))
                    + b"".join(struct.pack("<3i", *event) for event in burst))
        kind, reply = stream.receive()
        checks.equal(f"binary answer {at}",
                     (kind,) + struct.unpack("<IiI", reply[:12]),
                     (BINARY, at, at + 4, 200))
        checks.equal(f"binary bits {at}", reply[24:],
                     decode_alone(server, events, at + 4))
    stream.send(BINARY, b"short")
    kind, reply = stream.receive()
    checks.equal("short frame", struct.unpack("<I", reply[8:12])[0], 400)
    stream.close()


def check_refusals(checks, server):
    for target, status in (("/stream?model=nobody", 404),
                           ("/stream?window_bins=0", 400),
                           ("/stream?deadline_ms=x", 400), ("/decode", 404)):
        checks.equal(target, WebSocket(server, target).status, status)


def check_ends(checks, server):
    """Streams whose clients leave are closed; draining ends the others."""
    for _ in range(10):
        WebSocket(server, "/stream").close()
    for _ in range(100):
        if server.metrics()["betz_streams_open"] == 0:
            break
    checks.equal("streams open", server.metrics()["betz_streams_open"], 0)
    stream = WebSocket(server, "/stream")
    checks.equal("exit code with a stream open", server.stop()[0], 0)
    stream.close()


def main():
    binaries, models = sys.argv[1:3]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_demo(binaries, models, folder)
        with Server(binaries, program) as server:
            events = make_events()
            check_text(checks, server, events)
            check_binary(checks, server, events)
            check_refusals(checks, server)
            check_ends(checks, server)
    checks.finish()


if __name__ == "__main__":
    main()
