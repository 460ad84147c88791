#!/usr/bin/env python3
"""The live page in headless Chromium, wide and narrow: what it draws.

Usage: page.py FOLDER_OF_BETZ MODELS FOLDER_OF_BROWSER [--screenshots FOLDER]

Skipped (77) where there is no Chromium.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

from server_process import Checks, Server, compile_demo

PLOTS = ("latency", "queue", "batches", "predicted", "raster", "velocity",
         "path", "decode")
STREAM_PLOTS = PLOTS[4:]
BINS = 30  # that a stream runs before it is looked at

# How many pixels of each canvas are drawn on, and a sum that depends on where.
INK = """Object.fromEntries([...document.querySelectorAll("canvas")].map(canvas => {
  const {width, height} = canvas, pen = new OffscreenCanvas(width, height)
    .getContext("2d", {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const bytes = pen.getImageData(0, 0, width, height).data;
  return [canvas.id, {
    pixels: bytes.filter((value, i) => i % 4 == 3 && value > 0).length,
    sum: bytes.reduce((sum, value, i) => (sum * 31 + value) % 65521, 7)}];
}))"""

# What sticks out, is cut off or too small to read.
MEASURE = """(() => {
  const width = document.documentElement.clientWidth, problems = [];
  if (document.documentElement.scrollWidth > width)
    problems.push("the page is wider than the window");
  for (const part of document.querySelectorAll("body *:not(option)")) {
    const box = part.getBoundingClientRect();
    const what = part.tagName + " '" + part.textContent.trim().slice(0, 30) + "'";
    if (box.right > width + 0.5 || box.left < -0.5)
      problems.push(`${what} reaches from ${box.left} to ${box.right}`);
    if (!["SCRIPT", "STYLE", "INPUT", "SELECT"].includes(part.tagName) &&
        part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0)
      problems.push(`${what} is cut`);
  }
  for (const canvas of document.querySelectorAll("canvas"))
    if (canvas.clientWidth < 240 || canvas.clientHeight < 100)
      problems.push(`${canvas.id} is ${canvas.clientWidth} px wide`);
  return problems;
})()"""

TILES = """Object.fromEntries([...document.querySelectorAll("#tiles > *")].map(
  tile => [tile.querySelector("span").textContent,
           tile.querySelector("b").textContent]))"""


def wait_until(what, holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.1)


def text_of(page, name):
    return page.evaluate(f"document.getElementById('{name}').textContent")


def check_stream(checks, server, page, where):
    """Starts a stream by the page's button, and looks at what it draws."""
    empty = page.evaluate(INK)
    checks.equal(f"{where}: plots", sorted(empty), sorted(PLOTS))
    page.evaluate("""(source => {
      source.value = ""; source.onchange();
    })(document.getElementById("source"))""")
    page.evaluate("document.getElementById('deadline').value = 20000")
    page.evaluate("document.getElementById('toggle').click()")
    checks.equal(f"{where}: button", text_of(page, "toggle"), "Stop")
    wait_until("decodes", lambda: decodes_of(page) >= BINS)
    wait_until("the tiles know the stream", lambda: page.evaluate(TILES)[
        "streams"] == "1" and page.evaluate(TILES)["windows/s"] != "0")
    ink = page.evaluate(INK)
    for plot in PLOTS:
        checks.true(f"{where}: {plot} is drawn: {ink[plot]}",
                    ink[plot]["pixels"] > 50)
        checks.true(f"{where}: {plot} moves", ink[plot] != empty[plot])
    for plot in STREAM_PLOTS:
        checks.equal(f"{where}: {plot} before", empty[plot]["pixels"], 0)
    tiles = page.evaluate(TILES)
    checks.true(f"{where}: pages in {tiles}", [
        value for name, value in tiles.items()
        if name.endswith(" pages")][0] != "0")
    checks.true(f"{where}: decodes of the server", server.metrics()[
        "betz_stream_decodes_total"] >= BINS)
    checks.equal(f"{where}: layout", page.evaluate(MEASURE), [])


def decodes_of(page):
    return int("0" + text_of(page, "counts").split(" ")[0].removeprefix("no"))


def make_session(binaries, folder):
    session = os.path.join(folder, "session.nwb")
    subprocess.run([os.path.join(binaries, "betz-rt"), "data", "synth",
                    "--trials", "4", "--units", "32", "--seed", "1", "-o",
                    session], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60)
    return session


def check_recording(checks, server, browser, options):
    """#play plays the recording at once, beside its behaviour."""
    page = browser.open(f"http://{server.host}:{server.port}/#play", 1280)
    wait_until("the recording's decodes", lambda: decodes_of(page) >= 3 * BINS)
    checks.equal("source", page.evaluate(
        "document.getElementById('source').selectedOptions[0].text"),
                 "recording session")
    checks.equal("neurons", page.evaluate(
        "[document.getElementById('neurons').value, "
        "document.getElementById('neurons').disabled]"), ["32", True])
    checks.true("recorded behaviour", "recorded" in text_of(page, "outputs"))
    rate = page.evaluate("""(async () => {
      const answered = () => document.getElementById("counts").textContent
          .match(/\\d+/g).reduce((sum, count) => sum + Number(count), 0);
      const before = answered(), start = performance.now();
      await new Promise(done => setTimeout(done, 3000));
      return (answered() - before) / (performance.now() - start)
          * document.getElementById("bin").value;
    })()""")
    # A busy machine may fall behind; one second may be caught up in three.
    checks.true(f"{rate:.2f} of the recording's pace", 0 < rate < 1.5)
    if options.screenshots:
        page.screenshot(os.path.join(options.screenshots, "page-play.png"))
    check_stop(checks, server, page, "recording")
    checks.equal("recording: console", page.problems(), [])


def check_stop(checks, server, page, where):
    page.evaluate("document.getElementById('toggle').click()")
    checks.equal(f"{where}: button", text_of(page, "toggle"), "Start")
    wait_until("the stream is closed",
               lambda: server.metrics()["betz_streams_open"] == 0)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binaries")
    parser.add_argument("models")
    parser.add_argument("browser")
    parser.add_argument("--screenshots")
    options = parser.parse_args()
    sys.path.insert(0, options.browser)
    from browser import Browser, find_chromium
    if not find_chromium():
        print("skipped: no chromium here, so the page was not looked at")
        sys.exit(77)
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_demo(options.binaries, options.models, folder)
        session = make_session(options.binaries, folder)
        with Server(options.binaries, program, "--session", session) as server, \
                Browser() as browser:
            check_recording(checks, server, browser, options)
            for width, dark in ((1280, False), (390, True)):
                where = f"{width} px"
                page = browser.open(f"http://{server.host}:{server.port}/",
                                    width, dark=dark)
                wait_until("ready", lambda: text_of(page, "state")
                           .startswith("ready"))
                wait_until("the recording is listed", lambda: page.evaluate(
                    "document.getElementById('source').value") != "")
                check_stream(checks, server, page, where)
                if options.screenshots:
                    page.screenshot(os.path.join(options.screenshots,
                                                 f"page-{width}.png"))
                check_stop(checks, server, page, where)
                checks.equal(f"{where}: console", page.problems(), [])
            checks.equal("exit code", server.stop()[0], 0)
    checks.finish()


if __name__ == "__main__":
    main()
