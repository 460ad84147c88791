"""The test R² of runs in FOLDER, NAME.seedN each, as a table of means."""

import collections
import json
import pathlib
import statistics
import sys


def scores(folder):
    """(row, seed, R², R² of ridge) of each report; a row for each session of
    several."""
    for path in sorted(pathlib.Path(folder).glob("*.seed*/report.json")):
        name, seed = path.parent.name.rsplit(".seed", 1)
        report = json.loads(path.read_text())
        baseline = report["baselines"]["ridge"]
        yield name, int(seed), report["test_r2"], baseline
        if len(report["by_session"]) > 1:
            for session in report["by_session"]:
                yield (f"{name}: {pathlib.Path(session['file']).stem}", int(seed),
                       session["r2"]["this decoder"], session["r2"]["ridge"])


def main():
    rows = collections.defaultdict(list)
    for name, _, r2, ridge in scores(sys.argv[1]):
        rows[name].append((r2, ridge))
    print("| run | test R² | from..to | seeds | ridge |\n|---|---|---|---|---|")
    for name, values in rows.items():
        r2 = [value for value, _ in values]
        ridge = statistics.mean(value for _, value in values)
        print(f"| {name} | {statistics.mean(r2):.3f} | {min(r2):.3f} .. "
              f"{max(r2):.3f} | {len(r2)} | {ridge:.3f} |")


main()
