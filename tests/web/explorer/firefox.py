"""Firefox for the tests, as the system has it, driven by Mozilla's own client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NAMES = ("firefox-esr", "firefox")
ENTER = "\ue007"
PREFERENCES = {
    "marionette.port": 0,  # any that is free
    "network.proxy.type": 1,  # there is no network: nothing answers there
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
}
_WAIT_SECONDS = 120


def program() -> str | None:
    """Return where Firefox is: what the variable FIREFOX says, or the first on the PATH."""
    return os.environ.get("FIREFOX") or next(filter(None, map(shutil.which, NAMES)), None)


def missing() -> str | None:
    """Return why there is no Firefox that can be driven, or None if there is one."""
    if find_spec("marionette_driver") is None:
        return "the client of Firefox is not installed: pip install marionette_driver"
    return None if program() else "Firefox is not installed: apt-get install firefox-esr"


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Give a headless Firefox without a network, which keeps its own files in `profile`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what the client itself imports
        from marionette_driver.marionette import Marionette

    lines = (f"user_pref({name!r}, {json.dumps(value)});" for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
    command = [str(program()), "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            client = Marionette(
                "127.0.0.1", _port(profile / "MarionetteActivePort", process), startup_timeout=_WAIT_SECONDS
            )
            client.start_session()
            yield Firefox(client)
            client.delete_session()
            client.client.close()
        finally:
            process.terminate()


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    """Return the port on which Firefox listens, as soon as it does."""
    for _ in range(10 * _WAIT_SECONDS):
        if process.poll() is None and file.is_file() and (text := file.read_text(encoding="utf-8")):
            return int(text)
        time.sleep(0.1)
    raise AssertionError(f"Firefox does not listen after {_WAIT_SECONDS} s (its exit status: {process.poll()})")


class Firefox:
    """A window of Firefox, with what a test does in it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def open(self, path: Path, address: str = "") -> None:
        """Open a page and wait until it is drawn."""
        self._client.navigate("about:blank")
        self._client.navigate(path.as_uri() + address)
        self.until("return document.documentElement.dataset.ready === 'true'")

    def value(self, script: str) -> Any:
        """Return what a script returns that runs in the page."""
        return self._client.execute_script(script, sandbox=None)

    def text(self, selector: str) -> str:
        """Return the text of the first such element, as it is seen."""
        return str(self.value(f"return document.querySelector({selector!r}).innerText"))

    def until(self, script: str) -> None:
        """Wait until a script in the page returns something true."""
        from marionette_driver import Wait

        Wait(self._client, timeout=_WAIT_SECONDS).until(lambda _: self.value(script))

    def press(self, key: str) -> None:
        """Press a key, wherever the focus is."""
        self._client.actions.sequence("key", "keyboard").send_keys(key).perform()

    def write(self, selector: str, text: str) -> None:
        """Write a text into an empty box."""
        from marionette_driver import By

        box = self._client.find_element(By.CSS_SELECTOR, selector)
        box.clear()
        box.send_keys(text)
