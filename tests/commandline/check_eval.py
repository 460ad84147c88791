#!/usr/bin/env python3
"""Compares three reports of one decoder.

Usage: check_eval.py TRAINED.json PROGRAM.json FOLDER.json
"""
import json
import sys

trained, program, folder = (json.load(open(path)) for path in sys.argv[1:])


def near(a, b, what, tolerance=1e-4):
    assert abs(a - b) < tolerance, (what, a, b)


for other in (program, folder):
    for key in ("test_r2", "test_moving_r2", "test_correlation",
                "test_rotated_r2"):
        near(trained[key], other[key], key)
    for name in ("ridge", "Kalman", "mean", "zero", "clock only"):
        assert trained["baselines"][name] == other["baselines"][name], name
near(trained["baselines"]["GRU"], folder["baselines"]["GRU"], "GRU")
assert "GRU" not in program["baselines"]

low, high = trained["test_r2_interval"]
assert low < trained["test_r2"] < high, trained["test_r2_interval"]
assert trained["test_rotated_r2"] < 0.1, trained["test_rotated_r2"]
for scope in trained["scopes"].values():
    assert {"this decoder", "spikes rotated", "clock only", "mean", "zero",
            "ridge"} <= set(scope["scores"]), scope
    assert len(scope["scores"]["this decoder"]["r2_by_output"]) == 2
near(trained["scopes"]["all bins"]["scores"]["this decoder"]["r2"],
     trained["test_r2"], "all bins", 1e-12)
assert [entry["units"] for entry in trained["by_units"]] == [1, 2, 4, 8, 12, 16]
near(trained["by_units"][-1]["r2"][0], trained["test_r2"], "by units", 1e-12)
assert trained["steps"] <= 60 and folder["seed"] == 2
