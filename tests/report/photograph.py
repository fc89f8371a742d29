"""The pictures in docs/report.md: `python tests/report/photograph.py report.html docs/assets` (needs Chromium, Pillow)."""

import io
import shutil
import sys
from pathlib import Path

from exhibits import BROWSERS, QUIETLY
from PIL import Image
from playwright.sync_api import sync_playwright

COLOURS = 128  # enough for flat colours and smooth letters, and small
SHOTS = {  # width of the window, theme, scale, from where, how much
    "desktop": (1100, "light", 1.0, "header", 1010),
    "dark": (1100, "dark", 1.0, "#audits", 1500),
    "phone": (390, "light", 1.5, "header", 1180),
}


def take(browser, page, name):
    """One picture, cut out of the whole page."""
    width, scheme, scale, start, height = SHOTS[name]
    shown = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme, device_scale_factor=scale)
    shown.goto(page.resolve().as_uri())
    shown.wait_for_selector("html[data-drawn]")
    top = shown.locator(start).bounding_box()["y"]
    clip = {"x": 0, "y": top, "width": width, "height": height}
    picture = Image.open(io.BytesIO(shown.screenshot(full_page=True, clip=clip)))
    return picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


def main(page, folder):
    """All pictures."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(QUIETLY))
        for name in SHOTS:
            take(browser, page, name).save(folder / f"report-{name}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
