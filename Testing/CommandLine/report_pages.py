# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Reads pages of `gigapixel report`, and makes slides to report on."""

import base64
import html.parser
import io
import json

import numpy
import PIL.Image

from conftest import run, write_slide

MPP = 2.0


class Page(html.parser.HTMLParser):
    """A page as a browser takes it apart: its data, its pictures by their names, and all tags."""

    def __init__(self, path):
        super().__init__()
        self.bytes = path.read_bytes()
        self.scripts, self.tags, self.open = {}, [], None
        self.feed(self.bytes.decode())
        self.close()
        self.data = json.loads(self.scripts["data"])

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.open = dict(attributes).get("id", f"script {len(self.scripts)}")
            self.scripts[self.open] = ""

    def handle_endtag(self, tag):
        if tag == "script":
            self.open = None

    def handle_data(self, data):
        if self.open:
            self.scripts[self.open] += data

    @property
    def slides(self):
        return {slide["name"]: slide for slide in self.data["slides"]}

    @property
    def pictures(self):
        return {name: text for name, text in self.scripts.items() if name.startswith("picture-")}

    def picture(self, name):
        return decode(base64.b64decode(self.scripts[f"picture-{name}"], validate=True))


def decode(picture):
    """The pixels of a WebP."""
    with PIL.Image.open(io.BytesIO(picture)) as image:
        assert image.format == "WEBP"
        return numpy.asarray(image.convert("RGB"))


def draw(path, tissue, size=400, mpp=MPP):
    """A white slide with a pink square, which has the share `tissue` of its area."""
    random = numpy.random.default_rng(1)
    pixels = numpy.full((size, size + 80, 3), 243, numpy.uint8)
    side = round((size * (size + 80) * tissue) ** 0.5)
    pixels[:side, :side] = numpy.clip((190, 110, 160) + random.normal(0, 12, (side, side, 1)), 0, 255)
    return write_slide(path, pixels, mpp)


SHARES = {"a": 0.5, "b": 0.1, "glass": 0.0, "c": 0.3}
CASES = ("12345678901234567891", "1e5", "007", "12345678901234567890")  # each is another number, or none, as a double prints it
PREDICTIONS = "slide,patient,case,label,fold,p_normal,p_tumor\n" + "".join(
    f"{name}.tif,Jane Doe {place},{CASES[place]},{label},{place % 2 + 1},{1 - p},{p}\n"
    for place, (name, label, p) in enumerate((("a", "tumor", 0.875), ("b", "normal", 0.25), ("glass", "normal", 0.625), ("c", "tumor", 0.5625)))
)


def make_batch(folder):
    """Slides, masks of them, what label said as JSON, and a table of predictions: (slides, results)."""
    slides, results = folder / "slides", folder / "results"
    slides.mkdir()
    for name, share in SHARES.items():
        draw(slides / f"{name}.tif", share)
    (slides / "broken.svs").write_bytes(b"no slide")
    told = run("label", slides, "-o", f"{results}/", "--preset", "remedios2023", "--json", "--quiet", code=1)
    (results / "label.json").write_text(told.out)
    (results / "predictions.csv").write_text(PREDICTIONS)
    return slides, results
