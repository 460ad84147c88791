#!/usr/bin/env python3
"""A task of over two seconds shows progress on a terminal and only there.

Usage: progress_pty.py COMMAND...   (a task of some three seconds)
"""
import errno
import os
import pty
import subprocess
import sys


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


def main():
    command = sys.argv[1:]
    shown = on_terminal(command)
    redraws = shown.split(b"\r\x1b[K")[1:]
    assert len(redraws) >= 3, f"too few progress lines: {shown!r}"
    assert all(b" left)" in line for line in redraws[:-1]), shown
    assert redraws[-1] == b"", f"the last line is not erased: {shown!r}"
    piped = in_pipes(command)
    assert piped == b"", f"progress in a pipe: {piped!r}"
    print(f"{len(redraws) - 1} lines on a terminal, nothing in a pipe")


if __name__ == "__main__":
    main()
