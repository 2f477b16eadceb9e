# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""synthesize and overlay: what is written, and that other programs read it."""

import numpy
import openslide
import pytest
import tifffile
from PIL import Image

from conftest import blobs, fails, run, write_nrrd, write_slide


def test_synthetic_slide_opens_elsewhere(synthetic):
    slide, truth = (openslide.OpenSlide(str(path)) for path in synthetic)
    assert slide.dimensions == truth.dimensions == (1300, 1100)
    with tifffile.TiffFile(synthetic[0]) as file:
        x = file.pages[0].tags["XResolution"].value
        assert 1e4 * x[1] / x[0] == pytest.approx(0.5, rel=1e-6)
        assert file.pages[0].compression == 7  # JPEG
    mask = tifffile.imread(synthetic[1])
    assert set(numpy.unique(mask)) == {0, 255} and 0.05 < numpy.mean(mask > 0) < 0.95
    pixels = numpy.asarray(slide.read_region((0, 0), 0, (1300, 1100)))[..., :3].astype(float)
    assert pixels[mask > 0].mean() < pixels[mask == 0].mean() - 20  # tissue is darker than glass


def test_seed_resolution_and_quality(tmp_path):
    def make(name, *options):
        run("synthesize", tmp_path / name, "--size", "500x400", *options)
        return tmp_path / name

    first = make("1.tif", "--seed", 5)
    assert make("2.tif", "--seed", 5, "--threads", 1).read_bytes() == first.read_bytes()
    assert make("3.tif", "--seed", 6).read_bytes() != first.read_bytes()
    assert make("4.tif", "--seed", 5, "--quality", 30).stat().st_size < first.stat().st_size
    assert run("info", make("5.tif", "--slide-mpp", 0.25), "--json").json["mpp"] == pytest.approx(0.25, rel=1e-6)


def test_synthetic_slide_is_not_replaced(tmp_path):
    slide = tmp_path / "s.tif"
    slide.write_text("somebody's")
    refused = fails("synthesize", slide, "--size", "300x300")
    assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(slide))
    assert slide.read_text() == "somebody's"
    refused = fails("synthesize", slide, "--size", "300x300", "--truth", tmp_path / "truth.tif")
    assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(slide))
    assert not (tmp_path / "truth.tif").exists()
    refused = fails("synthesize", tmp_path / "t.tif", "--size", "300x300", "--truth", tmp_path / "t.tif", code=2)
    assert refused.code == "E-OUTPUT-TWICE" and refused.option == "--truth" and not (tmp_path / "t.tif").exists()


def test_synthetic_slide_that_is_there_is_kept(tmp_path):
    files = slide, truth = tmp_path / "s.tif", tmp_path / "t.tif"
    command = ["synthesize", slide, "--size", "300x280", "--json"]
    assert not run(*command).json["skipped"]
    before = slide.stat().st_mtime_ns
    assert not run(*command, "--truth", truth).json["skipped"]  # only the truth is drawn
    assert slide.stat().st_mtime_ns == before
    before = [path.stat().st_mtime_ns for path in files]
    assert run(*command, "--truth", truth).json["skipped"]
    assert [path.stat().st_mtime_ns for path in files] == before
    assert fails(*command[:-1], "--seed", 2).code == "E-OUTPUT-EXISTS"
    assert not run(*command, "--seed", 2, "--overwrite").json["skipped"]


def test_overlay_tints_and_outlines_the_mask(tmp_path):
    mask = numpy.zeros((600, 800), numpy.uint8)
    mask[160:320, 240:560] = 255
    slide = write_slide(tmp_path / "s.tif", numpy.full((600, 800, 3), 180, numpy.uint8))
    write_slide(tmp_path / "m.tif", mask[::8, ::8], 4.0)
    result = run("overlay", slide, tmp_path / "m.tif", "-o", tmp_path / "o.png", "--picture-size", 400, "--json").json
    assert (result["width"], result["height"]) == (400, 300)
    picture = numpy.asarray(Image.open(tmp_path / "o.png")).astype(int)
    assert picture.shape == (300, 400, 3)
    expected = numpy.zeros((300, 400), bool)
    expected[80:160, 120:280] = True
    inner = expected.copy()
    inner[[80, 159], :] = False
    inner[:, [120, 279]] = False
    assert (picture[~expected] == 180).all()
    colors = {tuple(color) for color in picture[expected & ~inner]}
    assert len(colors) == 1 and colors != {(180, 180, 180)}  # the outline has one color
    line = numpy.array(colors.pop())
    tinted = numpy.round(0.75 * 180 + 0.25 * line)
    assert (numpy.abs(picture[inner] - tinted) <= 1).all()
    flipped = write_nrrd(tmp_path / "m.nrrd", mask[::8, ::8], 4.0, flips=(-1, 1), corner=(0.00175, 0.00175))
    run("overlay", slide, flipped, "-o", tmp_path / "flipped.png", "--picture-size", 400)
    assert (numpy.asarray(Image.open(tmp_path / "flipped.png")) == picture).all()


def test_overlay_that_is_there_is_kept(tmp_path, synthetic):
    picture = tmp_path / "o.png"
    command = ["overlay", *synthetic, "-o", picture, "--json"]
    assert not run(*command, "--picture-size", 100).json["skipped"]
    seen = Image.open(picture)
    seen.load()
    assert seen.info["made-by"].startswith("overlay size=100x85 bytes=")
    before = picture.stat().st_mtime_ns
    assert run(*command, "--picture-size", 100).json["skipped"]
    assert picture.stat().st_mtime_ns == before
    refused = fails(*command, "--picture-size", 120)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(picture)
    assert not run(*command, "--picture-size", 120, "--overwrite").json["skipped"]


def test_overlay_reduces_by_the_mean(tmp_path):
    random = numpy.random.default_rng(1)
    pixels = random.integers(0, 256, (512, 512, 3), numpy.uint8)
    slide = write_slide(tmp_path / "s.tif", pixels)
    write_slide(tmp_path / "m.tif", numpy.zeros((512, 512), numpy.uint8))
    run("overlay", slide, tmp_path / "m.tif", "-o", tmp_path / "o.png", "--picture-size", 64)
    mean = pixels.reshape(64, 8, 64, 8, 3).mean(axis=(1, 3))
    picture = numpy.asarray(Image.open(tmp_path / "o.png")).astype(float)
    assert numpy.abs(picture - mean).max() <= 0.5 + 1e-9


def test_overlay_of_an_empty_mask_says_so(tmp_path):
    slide = write_slide(tmp_path / "slide.tif", numpy.full((500, 700, 3), 240, numpy.uint8))
    write_slide(tmp_path / "mask.tif", numpy.zeros((63, 88), numpy.uint8), 4.0)
    result = run("overlay", slide, tmp_path / "mask.tif", "-o", tmp_path / "o.png", "--json").json
    assert [(w["code"], w["file"]) for w in result["warnings"]] == [("W-DOUBT-MASK-EMPTY", str(tmp_path / "mask.tif"))]


def test_overlay_refuses(tmp_path, synthetic):
    other = write_slide(tmp_path / "other.tif", blobs(400, 300))
    target = tmp_path / "o.png"
    assert ((refused := fails("overlay", synthetic[0], other, "-o", target)).code, refused.file) == ("E-MASK-GRID", str(other))
    assert not target.exists()
    target.write_text("somebody's")
    refused = fails("overlay", synthetic[0], synthetic[1], "-o", target)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(target)
    assert target.read_text() == "somebody's"


def test_overlay_of_every_width_is_read_by_others(tmp_path):
    pixels = numpy.random.default_rng(2).integers(0, 256, (31, 47, 3), numpy.uint8)
    slide = write_slide(tmp_path / "s.tif", pixels)
    write_slide(tmp_path / "m.tif", numpy.zeros((31, 47), numpy.uint8))
    run("overlay", slide, tmp_path / "m.tif", "-o", tmp_path / "o.png")
    picture = Image.open(tmp_path / "o.png")
    picture.verify()  # the chunks' checksums
    assert (numpy.asarray(Image.open(tmp_path / "o.png")) == pixels).all()
