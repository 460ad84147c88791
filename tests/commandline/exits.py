#!/usr/bin/env python3
"""Runs a command that must exit with a given code: exits.py N COMMAND...

With N = 2 (bad usage or input) stderr must be one error line, warnings and
notes aside.
Output passes through, for FileCheck.
"""
import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
done = subprocess.run(command, stderr=subprocess.PIPE)
errors = done.stderr.decode(errors="replace")
sys.stderr.write(errors)
if done.returncode != expected:
    sys.exit(f"exits.py: exit code {done.returncode}, not {expected}: "
             f"{' '.join(command)}")
lines = [line for line in errors.splitlines()
         if ": warning: " not in line and ": note: " not in line]
if expected == 2 and len(lines) != 1:
    sys.exit(f"exits.py: {len(lines)} lines of error, not one: "
             f"{' '.join(command)}")
