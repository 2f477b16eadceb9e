# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Pixels of any resolution, against closed forms, scikit-image and Pillow."""

import math

import itk
import itkgigapixel as gp
import numpy as np
import PIL.Image
import pytest
import skimage.transform
import tifffile

WIDTH, HEIGHT = 900, 700


def write(path, pixels, resolution=(20000, 20000), **options):
    """A slide of one level; without *resolution*, of 0.5 um."""
    options = {"photometric": "rgb" if pixels.ndim == 3 else "minisblack", **options}
    tifffile.imwrite(path, pixels, tile=(256, 256), resolution=resolution, resolutionunit="CENTIMETER", **options)
    return path


@pytest.fixture(scope="module")
def ramp(tmp_path_factory):
    """Values 10 x + 7 y, of which the mean of any rectangle is known."""
    pixels = 10 * np.arange(WIDTH)[None, :] + 7 * np.arange(HEIGHT)[:, None]
    return write(tmp_path_factory.mktemp("ramp") / "ramp.tif", pixels.astype(np.uint16))


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    pixels = np.random.default_rng(5).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    return write(tmp_path_factory.mktemp("noise") / "noise.tif", pixels), pixels


def means(length, factor, count):
    """Of the number of a pixel over each of so many intervals of this length: the integral of a staircase."""
    edges = np.minimum(np.arange(count + 1) * factor, length)
    steps = np.floor(edges)
    return np.diff(steps * (steps - 1) / 2 + steps * (edges - steps)) / np.diff(edges)


@pytest.mark.parametrize("mpp", [0.5, 0.5009, 0.7, 1.0, 1.3, 2.0, 7.77, 40.0])
def test_each_pixel_is_the_mean_of_its_area(ramp, mpp):
    """Within the rounding to whole numbers, and that of edges to 1/1024 of a pixel, of which a step is 10."""
    slide = gp.Slide(ramp)
    factor = mpp / 0.5
    width, height = (math.ceil(length / factor - 0.01) for length in (WIDTH, HEIGHT))
    read = slide.read(mpp=mpp)
    assert read.shape == (height, width) and read.dtype == np.uint16
    expected = 10 * means(WIDTH, factor, width)[None, :] + 7 * means(HEIGHT, factor, height)[:, None]
    assert np.abs(read - expected).max() <= 0.5 + 17 / 1024
    image = slide.image(mpp=mpp)
    assert list(image.GetSpacing()) == pytest.approx([mpp / 1000] * 2, rel=1e-6)
    # The first pixel begins where the slide begins: half a pixel before the center of level 0's first pixel.
    assert [o - s / 2 for o, s in zip(image.GetOrigin(), image.GetSpacing())] == pytest.approx([-0.00025] * 2, rel=1e-6)


def test_the_means_are_those_of_other_programs(noise):
    path, pixels = noise
    read = gp.Slide(path).read(mpp=2.0)
    assert np.abs(read - skimage.transform.downscale_local_mean(pixels, (4, 4, 1))).max() <= 0.5
    assert np.abs(read.astype(int) - np.asarray(PIL.Image.fromarray(pixels).reduce(4))).max() <= 1
    # 0.75 um are 3/2 pixels: the mean of 3 x 3 parts of pixels that are divided into 2 x 2.
    parts = pixels.repeat(2, 0).repeat(2, 1)
    rows, columns = (length * 2 // 3 * 3 for length in (HEIGHT, WIDTH))
    expected = skimage.transform.downscale_local_mean(parts[:rows, :columns], (3, 3, 1))
    found = gp.Slide(path).read(mpp=0.75)[: rows // 3, : columns // 3]
    assert np.abs(found - expected).max() <= 0.5 + 255 / 1024


def test_the_next_finer_level_is_averaged(drawn):
    """1.25 um of levels of 0.5, 1 and 2 um."""
    slide = gp.Slide(drawn[0])
    assert slide.select(mpp=1.25) == 1
    parts = slide.read(level=1).repeat(4, 0).repeat(4, 1)
    assert np.abs(slide.read(mpp=1.25) - skimage.transform.downscale_local_mean(parts, (5, 5, 1))).max() <= 0.5 + 255 / 1024
    for level, each in enumerate(slide.levels):  # which are read as they are stored
        assert np.array_equal(slide.read(mpp=each.mpp), slide.read(level=level))


def test_warnings_of_a_slide_are_given_once(noise, tmp_path, capfd):
    """However many resolutions are read of it. They are Python's: C++ prints nothing."""
    path = tmp_path / "two.tif"
    with tifffile.TiffWriter(path) as file:
        for pixels in (noise[1], 255 - noise[1]):
            file.write(pixels, tile=(256, 256), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")
    with pytest.warns(gp.GigapixelWarning) as given:
        slide = gp.Slide(path)
    told = [(each.message.code, each.message.file, each.filename) for each in given if isinstance(each.message, gp.GigapixelWarning)]
    assert told == [("W-SLIDE-IMAGES", str(path), __file__)]
    for mpp in (0.8, 2.0, 3.3):
        slide.read(mpp=mpp)
    gp.convert(slide, tmp_path / "out.tif")
    assert capfd.readouterr().err == ""
    itk.WholeSlideImageIO.New(FileName=str(path)).ReadImageInformation()  # classes of ITK tell it ITK's way
    assert capfd.readouterr().err.count("[W-SLIDE-IMAGES]") == 1


@pytest.mark.parametrize("mpp", [0.8, 2.0, 3.3])
def test_all_functions_read_the_same(noise, mpp):
    slide = gp.Slide(noise[0])
    whole = slide.read(mpp=mpp)
    assert np.array_equal(itk.array_from_image(slide.image(mpp=mpp)), whole)
    io = itk.WholeSlideImageIO.New()
    io.SetMicronsPerPixel(mpp)
    assert np.array_equal(itk.array_from_image(itk.imread(str(noise[0]), imageio=io)), whole)
    array = slide.xarray(mpp=mpp)
    assert np.array_equal(array.values, whole) and array.attrs["mpp"] == mpp
    assert float(array.x[1] - array.x[0]) == pytest.approx(mpp / 1000) and float(array.y[0]) == pytest.approx((mpp - 0.5) / 2000)
    assert np.array_equal(slide.dask(mpp=mpp, chunk=100).compute(), whole)
    assert np.array_equal(slide.tensor(mpp=mpp).permute(1, 2, 0).numpy(), whole)
    again = np.zeros_like(whole)
    for tile in slide.tiles(64, mpp=mpp, overlap=5):
        again[tile.y : tile.y + tile.pixels.shape[0], tile.x : tile.x + tile.pixels.shape[1]] = tile.pixels
    assert np.array_equal(again, whole)
    x, y, width, height = 101, 57, 333, 222
    d = mpp / 0.5
    part = whole[int(y / d) : math.ceil((y + height) / d), int(x / d) : math.ceil((x + width) / d)]
    assert np.array_equal(slide.read(mpp=mpp, region=(x, y, width, height)), part)
    gray = slide.read(mpp=mpp, gray=True)
    assert gray.shape == whole.shape[:2] and np.abs(gray - whole @ [0.299, 0.587, 0.114]).max() <= 1.5


def test_patches_of_features_are_these_pixels(noise):
    """Channels by their sums: what the module sees is what read() gives."""
    torch = pytest.importorskip("torch")

    class Sums(torch.nn.Module):
        def forward(self, x):
            return x.sum((2, 3))

    slide = gp.Slide(noise[0])
    rows, places = gp.features(slide, Sums(), patch=64, mpp=0.8, mean=(0, 0, 0), deviation=(1, 1, 1))
    whole = slide.read(mpp=0.8)
    assert len(rows) == 8 * 6
    for row, (x, y) in zip(rows, places):
        left, top = round(x / 1.6), round(y / 1.6)
        assert left % 64 == 0 and top % 64 == 0
        assert row == pytest.approx(whole[top : top + 64, left : left + 64].sum((0, 1)) / 255, rel=1e-5)


def test_pixels_that_are_not_square(tmp_path):
    """0.5 um wide and 1 um high: at 2 um each is the mean of 4 x 2."""
    pixels = np.random.default_rng(6).integers(0, 256, (400, 600, 3), np.uint8)
    slide = gp.Slide(write(tmp_path / "flat.tif", pixels, resolution=(20000, 10000)))
    assert (slide.mpp_x, slide.mpp_y, slide.mpp) == pytest.approx((0.5, 1.0, 0.75))
    assert slide._io.GetLevelZeroResolution() == pytest.approx((0.5, 1.0))
    read = slide.read(mpp=2.0)
    assert read.shape == (200, 150, 3)
    assert np.abs(read - skimage.transform.downscale_local_mean(pixels, (2, 4, 1))).max() <= 0.5
    assert list(slide.image(mpp=2.0).GetSpacing()) == pytest.approx([0.002, 0.002])
    assert list(slide.image(level=0).GetSpacing()) == pytest.approx([0.0005, 0.001])
    assert slide.read(mpp=2.0, region=(100, 100, 200, 100)).shape == (50, 50, 3)
    with pytest.raises(gp.GigapixelError) as refusal:
        slide.read(mpp=0.75)  # which would be finer than the pixels are high
    assert refusal.value.code == "E-SLIDE-RESOLUTION"


def test_other_samples_are_averaged_too(tmp_path):
    stored = np.random.default_rng(1).random((300, 500)).astype(np.float32)
    slide = gp.Slide(write(tmp_path / "float.tif", stored))
    assert np.allclose(slide.read(mpp=2.5), skimage.transform.downscale_local_mean(stored, (5, 5)), atol=1e-6)
    three = np.random.default_rng(1).integers(0, 60000, (300, 500, 4), np.uint16)
    slide = gp.Slide(write(tmp_path / "four.tif", three, photometric="minisblack", planarconfig="contig"))
    assert np.abs(slide.read(mpp=1.0) - skimage.transform.downscale_local_mean(three, (2, 2, 1))).max() <= 0.5


@pytest.mark.parametrize("mpp", [0.3, 0.45])
def test_finer_pixels_are_refused(noise, mpp):
    slide = gp.Slide(noise[0])
    for read in (slide.read, slide.image, slide.xarray, slide.dask, slide.tensor, lambda mpp: next(slide.tiles(mpp=mpp))):
        with pytest.raises(ValueError) as refusal:
            read(mpp=mpp)
        assert (refusal.value.code, refusal.value.option, refusal.value.value) == ("E-SLIDE-RESOLUTION", "mpp", str(mpp))


def test_conversion_resamples(drawn, tmp_path):
    whole = gp.Slide(drawn[0]).read(mpp=1.4)
    made = gp.Slide(gp.convert(drawn[0], tmp_path / "a.pyramid.tif", mpp=1.4))
    assert made.mpp == pytest.approx(1.4) and made.read().shape == whole.shape
    assert np.abs(made.read().astype(int) - whole).mean() < 3  # of JPEG
    same = gp.Slide(gp.convert(drawn[0], tmp_path / "b.pyramid.tif", mpp=1.0))  # a level, whose tiles are copied
    assert np.array_equal(same.read(), gp.Slide(drawn[0]).read(level=1))
    with pytest.raises(ValueError) as refusal:
        gp.convert(drawn[0], tmp_path / "c.pyramid.tif", mpp=0.3)
    assert (refusal.value.code, refusal.value.file, refusal.value.option) == ("E-SLIDE-RESOLUTION", drawn[0], "mpp")
    assert not (tmp_path / "c.pyramid.tif").exists()


def test_labels_are_picked(tmp_path):
    labels = np.random.default_rng(1).integers(0, 2, (300, 400), bool)
    slide = gp.Slide(write(tmp_path / "bits.tif", labels))
    y, x = (np.minimum((np.arange(math.ceil(n / 1.6 - 0.01)) + 0.5) * 1.6, n - 1).astype(int) for n in labels.shape)
    assert np.array_equal(slide.read(mpp=0.8, gray=True), labels[y[:, None], x] * np.uint8(255))
