#!/usr/bin/env python3
"""Looks at a report in headless Chromium, wide and narrow, light and dark.

Usage: check_report.py REPORT.html [--screenshots FOLDER]

Nothing may stick out to the side, every figure has a size, no text is cut, the
console is silent, text and paper differ. Says why and exits 0 where there is no
Chromium.
"""
import argparse
import pathlib
import sys

from browser import Browser, find_chromium

MEASURE = """(() => {
  const wide = document.documentElement;
  const problems = [];
  if (wide.scrollWidth > wide.clientWidth)
    problems.push(`the page is ${wide.scrollWidth} px wide, the window ` +
                  `${wide.clientWidth}`);
  for (const part of document.querySelectorAll("main *")) {
    const box = part.getBoundingClientRect();
    if (part.closest("svg") && part.tagName != "svg") continue;
    if (box.right > wide.clientWidth + 0.5 || box.left < -0.5)
      problems.push(`${part.tagName} "${part.textContent.slice(0, 30)}" ` +
                    `reaches from ${box.left} to ${box.right}`);
  }
  const drawings = document.querySelectorAll("svg");
  for (const drawing of drawings) {
    const page = drawing.getBoundingClientRect();
    if (page.width < 100 || page.height < 60)
      problems.push(`a drawing of ${page.width} x ${page.height}`);
    const style = getComputedStyle(drawing);
    if (style.visibility != "visible" || style.display == "none")
      problems.push("a hidden drawing");
    for (const text of drawing.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < page.left - 0.5 || box.right > page.right + 0.5 ||
          box.top < page.top - 0.5 || box.bottom > page.bottom + 1.5)
        problems.push(`"${text.textContent}" is cut in ` +
                      drawing.getAttribute("aria-label"));
      if (box.height < 9)
        problems.push(`"${text.textContent}" is ${box.height} px high`);
    }
  }
  for (const part of document.querySelectorAll("p,td,th,li,dd,dt,h1,h2"))
    if (part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0)
      problems.push(`${part.tagName} "${part.textContent.slice(0, 30)}" is cut`);
  const body = getComputedStyle(document.body);
  return {problems, drawings: drawings.length, color: body.color,
          paper: body.backgroundColor};
})()"""


def brightness(color):
    return sum(map(int, color[color.index("(") + 1:-1].split(",")[:3])) / 3


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_args()
    if not find_chromium():
        print("skipped: no chromium here, so the page was not looked at")
        return
    failed = False
    with Browser() as browser:
        for width in (1280, 390):
            for dark in (False, True):
                page = browser.open(options.report.resolve().as_uri(), width,
                                    dark=dark)
                seen = page.evaluate(MEASURE)
                problems = seen["problems"] + page.problems()
                if seen["drawings"] < 4:
                    problems.append(f"only {seen['drawings']} drawings")
                paper, ink = brightness(seen["paper"]), brightness(seen["color"])
                if (paper < ink) != dark or abs(paper - ink) < 120:
                    problems.append(f"ink {seen['color']} on {seen['paper']}")
                where = f"{width} px, {'dark' if dark else 'light'}"
                print(f"{where}: {seen['drawings']} drawings, "
                      f"{len(problems)} problems")
                for problem in problems:
                    print(f"  {problem}")
                failed |= bool(problems)
                if options.screenshots:
                    name = f"{width}-{'dark' if dark else 'light'}.png"
                    page.screenshot(options.screenshots / name)
    sys.exit(failed)


if __name__ == "__main__":
    main()
