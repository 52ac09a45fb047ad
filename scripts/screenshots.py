"""Makes the pictures of the dashboard in docs/images, as WebP, from demo data. `scripts/dev.py screenshots` runs it."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.demo_app import DemoApp
from tests.browser.visitor import THEMES, Browsers
from tests.hosting import ROOT

IMAGES = ROOT / "docs" / "images"
PICTURES = {"overview": "/", "tool": "/tools/Nimbry?period=DAY_30", "feeds": "/feeds", "quarantine": "/quarantine"}
QUALITY = 0.8
SIZE = {"width": 1200, "height": 800}
_TO_WEBP = """async ([png, quality]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


def webp(blank: Page, png: bytes) -> bytes:
    """The picture as the browser encodes it: a tenth of the PNG."""
    encoded: str = blank.evaluate(_TO_WEBP, [base64.b64encode(png).decode(), QUALITY])
    return base64.b64decode(encoded)


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browsers.opened() as browsers:
        app = DemoApp(Path(folder))
        try:
            app.start()
            app.settle()
            blank = browsers.browser.new_page()
            for theme in THEMES:
                with browsers.visit(app, theme=theme) as visit:
                    visit.page.set_viewport_size({"width": SIZE["width"], "height": SIZE["height"]})
                    for name, path in PICTURES.items():
                        visit.open(path)
                        (IMAGES / f"{name}-{theme}.webp").write_bytes(webp(blank, visit.page.screenshot()))
        finally:
            app.kill()


if __name__ == "__main__":
    main()
