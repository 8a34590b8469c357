"""A real browser for tests, driven over its debugging pipe, so no driver package is needed.

It has a dead resolver: what a page asks for outside its file fails, and is listed.
"""

import base64
import io
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
from PIL import Image

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class Browser:
    """Chromium at the other end of two pipes: descriptors 3 and 4 of the child, messages end in a null byte."""

    def __init__(self, profile):
        down, self._write = os.pipe()
        self._read, up = os.pipe()
        command = [str(CHROMIUM), *FLAGS, "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}"]
        shell = ["bash", "-c", f'exec "$@" 3<&{down} 4>&{up}', "bash", *command]
        self._process = subprocess.Popen(
            shell, pass_fds=(down, up), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(down)
        os.close(up)
        self._buffer, self._id, self.events = b"", 0, []
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _receive(self):
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 20)
            assert data, "the browser closed its pipe"
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self._id += 1
        message = {"id": self._id, "method": method, "params": params}
        os.write(
            self._write, json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0"
        )
        while (answer := self._receive()).get("id") != self._id:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def resize(self, width):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def show(self, path, *, width, scheme="light", media="screen"):
        self.resize(width)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.evaluate("window.isOfBefore = true")  # the page of before stays for a moment, and it is complete
        self.call("Page.navigate", url=path.as_uri())
        deadline = time.monotonic() + 60
        while self.evaluate("window.isOfBefore || document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < deadline, "the page did not load in 60 s"
            time.sleep(0.01)  # asked without end, the browser answers in place of drawing

    def evaluate(self, expression, *, wait=False):
        """The value of an expression; `wait`: of a promise what it becomes."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))

    def said(self):
        names = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [event for event in self.events if event["method"] in names]

    def requests(self):
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return {event["params"]["request"]["url"].split(":")[0] for event in sent}

    def close(self):
        self.call("Browser.close")
        self._process.wait(20)
