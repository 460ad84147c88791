#!/usr/bin/env python3
"""A task of over two seconds shows progress on a terminal and only there.

Usage: progress_pty.py COMMAND...             (a task of some three seconds)
       progress_pty.py --betz FOLDER MODELS   (real commands)
"""
import errno
import os
import pty
import re
import subprocess
import sys
import tempfile


def read_all(descriptor):
    output = b""
    while True:
        try:
            piece = os.read(descriptor, 4096)
        except OSError as error:
            if error.errno == errno.EIO:  # the terminal's other end is closed
                return output
            raise
        if not piece:
            return output
        output += piece


def on_terminal(command):
    ours, theirs = pty.openpty()
    task = subprocess.Popen(command, stdin=theirs, stdout=theirs,
                            stderr=theirs)
    os.close(theirs)
    output = read_all(ours)
    assert task.wait() == 0, f"exit code {task.returncode}"
    return output


def in_pipes(command):
    done = subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stderr


def check_lines(command, least, wanted):
    """At least `least` lines like `wanted` on a terminal, erased at the end."""
    shown = on_terminal(command)
    pieces = shown.split(b"\r\x1b[K")
    lines = [piece for piece in pieces[1:] if piece]
    matching = [line for line in lines if re.match(wanted, line)]
    assert len(matching) >= least, f"too few progress lines: {shown!r}"
    # What follows the last line's end is the report, on a clean line.
    assert not re.search(wanted, pieces[-1]), f"not erased: {shown!r}"
    piped = in_pipes(command)
    assert b"\x1b" not in piped and not re.search(wanted, piped), piped
    return len(matching)


def check_real_commands(folder, models):
    betz, betz_rt = (os.path.join(folder, name) for name in ("betz", "betz-rt"))
    count = 0
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "m.betz")
        recording = os.path.join(scratch, "s.nwb")
        count += check_lines(
            [betz, "compile", os.path.join(models, "cortex-m.toml"), "-o",
             program], 1, rb"compiling cortex-m \(\d+ s\)")
        # Some 570 windows of several milliseconds each on one thread.
        count += check_lines(
            [betz, "compile", os.path.join(models, "cortex-xs.toml"),
             "--batch", "1", "-o", program], 0, rb"compiling")
        subprocess.run([betz_rt, "data", "synth", "-o", recording, "--trials",
                        "12", "--units", "182"], check=True,
                       stdout=subprocess.DEVNULL)
        count += check_lines(
            [betz_rt, "run", program, "--nwb", recording, "--threads",
             "1"], 2,
            rb"decoding: \d+/\d+ windows \(\d+ %, \d+ s left\)")
    return count


def main():
    if sys.argv[1] == "--betz":
        count = check_real_commands(*sys.argv[2:])
    else:
        count = check_lines(sys.argv[1:], 3, rb".* left\)")
    print(f"{count} lines on a terminal, nothing in a pipe")


if __name__ == "__main__":
    main()
