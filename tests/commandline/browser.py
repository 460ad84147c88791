"""Headless Chromium by its DevTools protocol over two pipes; standard library
only.

    with Browser() as browser:          # None where there is no Chromium
        page = browser.open("file:///...", width=390)
        page.evaluate("document.title")
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()

        def connect():
            # Chromium reads descriptor 3 and writes 4.
            high = [os.dup(to_child), os.dup(from_child)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [find_chromium(), "--headless=new", "--remote-debugging-pipe",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--hide-scrollbars",
             f"--user-data-dir={self.profile.name}"],
            preexec_fn=connect, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self._number = 0
        self._buffer = b""
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self.profile.cleanup()

    def _read(self):
        while b"\0" not in self._buffer:
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium ended")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method, session):
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method and \
                        event.get("sessionId") == session:
                    return self.events.pop(i)
            self.events.append(self._read())

    def open(self, url, width, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank")
        session = self.call("Target.attachToTarget",
                            targetId=target["targetId"],
                            flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=width < 600)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])
        self.events = [event for event in self.events
                       if event.get("method") != "Page.loadEventFired"]
        page.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired", session)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def evaluate(self, script):
        """The value of a JavaScript expression, as Python's JSON."""
        answer = self.call("Runtime.evaluate", expression=script,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def problems(self):
        """Errors and warnings on the console so far."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"].get("text")))
            elif event["method"] == "Runtime.consoleAPICalled" and \
                    params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and \
                    params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    def screenshot(self, path):
        """The whole page."""
        shot = self.call("Page.captureScreenshot", format="png",
                         captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
