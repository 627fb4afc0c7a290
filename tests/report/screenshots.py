"""Pictures of a report page for looking at it: screenshots.py PAGE.html FOLDER [light dark narrow print ...].

Each is the whole page as one PNG (light and dark also as NAME-top.png, the first screen); print is a PDF too.
"""

from __future__ import annotations

import base64
import os
import pathlib
import shutil
import sys

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WIDTH = {"light": 1280, "dark": 1280, "narrow": 360, "print": 760}
TOP = 1180  # px of the first screen


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def shoot(chrome: webdriver.Chrome, page: pathlib.Path, folder: pathlib.Path, look: str) -> None:
    command = chrome.execute_cdp_cmd
    command("Emulation.setDeviceMetricsOverride",
            {"width": WIDTH[look], "height": 900, "deviceScaleFactor": 1, "mobile": False})
    command("Emulation.setEmulatedMedia", {
        "media": "print" if look == "print" else "",
        "features": [{"name": "prefers-color-scheme", "value": "dark" if look == "dark" else "light"}]})
    chrome.get(page.resolve().as_uri())
    height = chrome.execute_script("return document.documentElement.scrollHeight")
    heights = {"": height, "-top": min(TOP, height)} if look in ("light", "dark") else {"": height}
    for suffix, size in heights.items():
        picture = command("Page.captureScreenshot", {
            "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": WIDTH[look], "height": size, "scale": 1}})
        (folder / f"{look}{suffix}.png").write_bytes(base64.b64decode(picture["data"]))
    if look == "print":
        pdf = command("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
        (folder / "print.pdf").write_bytes(base64.b64decode(pdf["data"]))


def main() -> None:
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    chrome = browser()
    try:
        for look in sys.argv[3:] or WIDTH:
            shoot(chrome, page, folder, look)
    finally:
        chrome.quit()


if __name__ == "__main__":
    main()
