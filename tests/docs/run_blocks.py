#!/usr/bin/env python3
"""Runs the command blocks of the documentation.

Every ```sh block of README.md, docs/*.md and docs/*/*.md is run by bash, in
order, in a copy of the tracked files that the blocks of one document share,
with the built executables on PATH. A block that cannot be run says why in a
comment on the line before it:

    <!-- not run: needs a GPU -->

Blocks that read ../shared are skipped where that folder is absent.

Usage: run_blocks.py SOURCE-FOLDER BIN-FOLDER RESULTS.xml
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

BLOCK_SECONDS = 300
FENCE = re.compile(r"^```(\w*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
# Other names of shell blocks would silently go untested.
OTHER_SHELLS = ("bash", "shell", "console", "zsh")


def find_blocks(text):
    """Yields (line number of the fence, language, commands, not-run reason)."""
    last, reason, opened, body = "", None, None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opened:
            if line.startswith("```"):
                yield *opened, "\n".join(body), reason
                opened, body, last = None, [], ""
            else:
                body.append(line)
        elif fence:
            said = NOT_RUN.match(last)
            reason = said.group(1) if said else None
            opened = (number, fence.group(1))
        elif line.strip():
            last = line.strip()


def tracked_files(root):
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files",
               "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return [name for name in names.decode().split("\0")
            if name and (root / name).is_file()]


def make_workplace(root, binaries, shared, folder):
    """A copy of the project in folder/betz, beside the shared recordings."""
    work = folder / "betz"
    for name in tracked_files(root):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, work / name)
    (work / "build").mkdir()
    (work / "build/bin").symlink_to(binaries)
    if shared:
        (folder / "shared").symlink_to(shared)
    return work


def run_block(commands, work, binaries):
    """Returns None, or what went wrong."""
    environment = os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}"}
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands], cwd=work,
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=BLOCK_SECONDS)
    except subprocess.TimeoutExpired:
        return f"ran over {BLOCK_SECONDS} s"
    if done.returncode == 0:
        return None
    output = done.stdout.decode(errors="replace")
    return f"exit code {done.returncode}\n{commands}\n---\n{output}"


def judge(language, commands, reason, shared, run):
    """Returns (passed, skipped or failed; why)."""
    if language in OTHER_SHELLS:
        return "failed", f"a ```{language} block; write ```sh"
    if reason:
        return "skipped", reason
    if "../shared" in commands and not shared:
        return "skipped", "no ../shared here"
    error = run(commands)
    return ("failed", error) if error else ("passed", "")


def test_document(path, root, binaries, shared):
    """Yields (place, verdict, why) for each shell block."""
    blocks = [block for block in find_blocks(path.read_text())
              if block[1] == "sh" or block[1] in OTHER_SHELLS]
    if not blocks:
        return
    with tempfile.TemporaryDirectory() as folder:
        work = make_workplace(root, binaries, shared, pathlib.Path(folder))
        for line, language, commands, reason in blocks:
            verdict, why = judge(
                language, commands, reason, shared,
                lambda text: run_block(text, work, binaries))
            yield f"{path.relative_to(root)}:{line}", verdict, why


def find_shared(root):
    shared = pathlib.Path(os.environ.get("BETZ_SHARED") or root / "../shared")
    return shared.resolve() if shared.is_dir() else None


def write_results(results, path):
    suite = xml.Element("testsuite", name="docs")
    for place, verdict, why in results:
        case = xml.SubElement(suite, "testcase", name=place)
        if verdict != "passed":
            xml.SubElement(case, "failure" if verdict == "failed" else verdict,
                           message=why)
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(suite).write(path)


def main():
    root, binaries, report = (pathlib.Path(argument).resolve()
                              for argument in sys.argv[1:])
    documents = [root / "README.md", *sorted(root.glob("docs/*.md")),
                 *sorted(root.glob("docs/*/*.md"))]
    results = []
    for path in filter(pathlib.Path.exists, documents):
        for result in test_document(path, root, binaries, find_shared(root)):
            print(": ".join(filter(None, result)), flush=True)
            results.append(result)
    write_results(results, report)
    verdicts = [verdict for _, verdict, _ in results]
    print(", ".join(f"{verdicts.count(verdict)} {verdict}"
                    for verdict in ("passed", "failed", "skipped")))
    sys.exit("failed" in verdicts)


if __name__ == "__main__":
    main()
