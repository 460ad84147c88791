#!/usr/bin/env python3
"""Shows run_blocks.py documents with good, bad and skipped blocks."""
import pathlib
import subprocess
import tempfile
import unittest

import run_blocks

DOCUMENT = """# Title
```sh
tool > made
echo "$PWD" | grep betz
```
Text.
```sh
cat made        # the document's blocks share a folder
echo shown; false
echo never
```

<!-- not run: needs a GPU -->

```sh
exit 1
```
```toml
key = 1
```
```bash
true
```
```sh
ls ../shared
```
"""


class Blocks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name) / "checkout"
        self.bin = pathlib.Path(self.folder.name) / "bin"
        self.bin.mkdir()
        self.root.mkdir()
        (self.bin / "tool").write_text("#!/bin/sh\necho of-the-tool\n")
        (self.bin / "tool").chmod(0o755)
        (self.root / "README.md").write_text(DOCUMENT)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def tearDown(self):
        self.folder.cleanup()

    def test_verdicts(self):
        results = list(run_blocks.test_document(
            self.root / "README.md", self.root, self.bin, None))
        self.assertEqual([result[:2] for result in results], [
            ("README.md:2", "passed"),
            ("README.md:7", "failed"),
            ("README.md:15", "skipped"),
            ("README.md:21", "failed"),
            ("README.md:24", "skipped"),
        ])
        output = results[1][2].split("---")[1]
        self.assertIn("of-the-tool\nshown", output)
        self.assertNotIn("never", output)
        self.assertEqual(results[2][2], "needs a GPU")

    def test_the_checkout_stays_as_it_was(self):
        list(run_blocks.test_document(self.root / "README.md", self.root,
                                      self.bin, None))
        self.assertFalse((self.root / "made").exists())


if __name__ == "__main__":
    unittest.main()
