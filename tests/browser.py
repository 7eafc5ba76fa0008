"""A real browser, without a screen, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LIMIT

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
DRIVER = shutil.which("chromedriver")
NEEDED = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="Chromium and its driver are not installed"
)
ROWS = "#table .rows .row"
# Counts what a name that got through as a script would do.
_WATCH = "window.alerted = 0; window.alert = () => { window.alerted += 1; };"


class Page:
    """A page that is open in the browser, and what a reader does with it."""

    def __init__(self, driver: Any, address: Path | str) -> None:
        self.driver = driver
        self.url = address.as_uri() if isinstance(address, Path) else address

    def open(self, fragment: str = "", width: int = 1300, scheme: str = "light") -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.get("about:blank")
        self.driver.get(self.url + fragment)
        # On a busy machine the driver may still look at the blank page.
        loaded = "document.readyState === 'complete' && location.href.startsWith(arguments[0])"
        self.until(lambda: self.run(loaded, self.url))

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(f"return {script}", *arguments)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def press(self, *keys: str) -> None:
        """Press keys, for whatever has the focus, also if it is drawn again at this moment."""
        from selenium.webdriver import ActionChains, Keys

        for key in keys:
            ActionChains(self.driver).send_keys(key.replace("\n", Keys.ENTER)).perform()

    def until(self, condition: Callable[[], Any]) -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, LIMIT, 0.02).until(lambda _: condition())

    def column(self, number: int) -> list[str]:
        """Return the texts of a column of the rows that are elements, in their order."""
        return self.run(
            "[...document.querySelectorAll(arguments[0])].map("
            "row => row.children[arguments[1]].textContent)",
            ROWS,
            number,
        )

    def sort(self, title: str) -> None:
        (button,) = [b for b in self.all(".head button") if b.text.startswith(title)]
        button.click()

    def title(self) -> str:
        """Return the id in the panel, without the word above it; nothing if it is closed."""
        script = "document.querySelector('#panel[open] #panel-title bdi')?.textContent ?? ''"
        return self.run(script)

    def errors(self) -> list[Any]:
        """Return what is on the console, but for remarks on how WebGL is emulated."""
        lines = self.driver.get_log("browser")
        return [line for line in lines if "GL Driver Message" not in line["message"]]


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium; every page it opens is watched for alerts."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    quiet = "--disable-gpu", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader"
    for argument in ("--headless=new", "--no-sandbox", *quiet):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        source = {"source": _WATCH}
        started.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
        yield started
    finally:
        started.quit()
