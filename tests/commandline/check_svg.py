#!/usr/bin/env python3
"""Checks a picture: well-formed, all inside the page, groups as expected.

Usage: check_svg.py FILE.svg [--graph GRAPH.json]
                    [--sparsity REPORT.json] [CLASS=COUNT ...]

CLASS=COUNT: so many groups have that class. --graph: the kernels are those of
`betz dump --format json`, in order, each with FLOPs and bytes. --sparsity: the blocks are those of the
report, in order, with the same state and counts.
"""
import argparse
import json
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
NO_KERNEL = {"input", "derived", "output", "slice", "reshape"}


def groups(root, name):
    return [group for group in root.iter(SVG + "g")
            if name in group.get("class").split()]


def check_inside(root):
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in root.iter(SVG + "rect"):
        if rect.get("x") is None:
            continue  # the background
        assert 0 <= float(rect.get("x")), rect.attrib
        assert float(rect.get("x")) + float(rect.get("width")) <= width
        assert float(rect.get("y")) + float(rect.get("height")) <= height
    for text in root.iter(SVG + "text"):
        assert 0 <= float(text.get("x")) <= width, text.text
        assert 0 <= float(text.get("y")) <= height, text.text


def check_rows(root):
    """Nodes stand below each other."""
    bottom = 0
    for group in root.iter(SVG + "g"):
        if group.get("class") not in ("kernel", "op", "input", "output"):
            continue
        rect = group.find(SVG + "rect")
        assert float(rect.get("y")) >= bottom, group.find(SVG + "title").text
        bottom = float(rect.get("y")) + float(rect.get("height"))


def check_graph(root, path):
    with open(path) as file:
        nodes = json.load(file)["nodes"]
    expected = [node["name"] for node in nodes if node["kind"] not in NO_KERNEL]
    drawn = groups(root, "kernel")
    names = [group.find(SVG + "title").text.split(":")[0] for group in drawn]
    assert names == expected, (names, expected)
    for group in drawn:
        texts = [text.text for text in group.iter(SVG + "text")]
        assert any(text.endswith("FLOP") for text in texts), texts
        assert any(text.endswith("B") for text in texts), texts


def check_sparsity(root, path):
    with open(path) as file:
        windows = json.load(file)["windows"]
    expected = [(cell["state"],
                 f"{cell['seen']} of {cell['elements']} elements seen")
                for window in windows for row in window["blocks"]
                for cell in row]
    drawn = [(group.get("class").split()[1], group.find(SVG + "title").text)
             for group in groups(root, "block")]
    assert drawn == expected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--graph")
    parser.add_argument("--sparsity")
    parser.add_argument("counts", nargs="*")
    arguments = parser.parse_intermixed_args()
    root = xml.etree.ElementTree.parse(arguments.file).getroot()
    assert root.tag == SVG + "svg", root.tag
    check_inside(root)
    check_rows(root)
    if arguments.graph:
        check_graph(root, arguments.graph)
    if arguments.sparsity:
        check_sparsity(root, arguments.sparsity)
    for count in arguments.counts:
        name, number = count.split("=")
        found = len(groups(root, name))
        assert found == int(number), f"{name}: {found}, not {number}"


if __name__ == "__main__":
    sys.exit(main())
