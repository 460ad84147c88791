#!/usr/bin/env python3
"""Counts blocks again, pair by pair, from a report's events.

Usage: check_sparsity.py REPORT.json LATENTS WINDOW_BINS REACH

REACH 0: every latent sees every event. Fails unless all numbers agree, and
prints how many blocks there are of each state.
"""
import collections
import fractions
import json
import math
import sys


def sees(latent, time, latents, bins, reach):
    if not reach:
        return True
    centre = fractions.Fraction((2 * latent + 1) * bins, 2 * latents)
    return abs(time + fractions.Fraction(1, 2) - centre) <= reach


def expected_block(queries, times, latents, bins, reach):
    seen = sum(sees(query, time, latents, bins, reach)
               for query in queries for time in times)
    elements = len(queries) * len(times)
    # Skipped: all times lie before the first or after the last of the bins
    # that any of the queries reaches.
    half = fractions.Fraction(1, 2)
    centres = [fractions.Fraction((2 * query + 1) * bins, 2 * latents)
               for query in queries]
    first = math.ceil(min(centres) - reach - half)
    last = math.floor(max(centres) + reach - half)
    if reach and (min(times) > last or max(times) < first):
        assert seen == 0
        state = "skipped"
    else:
        state = "whole" if seen == elements else "partly"
    return {"state": state, "elements": elements, "seen": seen}


def main():
    path, latents, bins, reach = sys.argv[1:]
    latents, bins = int(latents), int(bins)
    reach = fractions.Fraction(reach)
    with open(path) as file:
        report = json.load(file)
    assert (report["queries"], report["query_block"],
            report["key_block"]) == (latents, 64, 64)
    states = collections.Counter()
    for window in report["windows"]:
        times = window["time_bins"]
        assert len(times) == window["events"] and times == sorted(times)
        rows = [[expected_block(range(query, min(query + 64, latents)),
                                times[key:key + 64], latents, bins, reach)
                 for key in range(0, len(times), 64)]
                for query in range(0, latents, 64)]
        assert rows == window["blocks"], window["window"]
        cells = [cell for row in rows for cell in row]
        assert window["elements"] == latents * len(times)
        assert window["seen"] == sum(cell["seen"] for cell in cells)
        assert window["computed"] == sum(
            cell["elements"] for cell in cells if cell["state"] != "skipped")
        states.update(cell["state"] for cell in cells)
    print(" ".join(f"{state}={states[state]}"
                   for state in ("whole", "partly", "skipped")))


if __name__ == "__main__":
    main()
