# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Channels of slides: against tifffile, NumPy and the program."""

import pickle
import warnings

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
from conftest import refused
from itkgigapixel.commands import run


NAMES = ["DAPI", "CD3", "CD8"]
COLORS = [(0, 0, 255), (255, 64, 0), (0, 255, 0)]


def draw(width=1200, height=900, dtype=np.uint16):
    """Noise with a bright disc in each channel."""
    y, x = np.mgrid[:height, :width]
    planes = []
    for channel in range(3):
        disc = (x - width * (channel + 1) / 4) ** 2 + (y - height / 2) ** 2 < (height / 3) ** 2
        planes.append(np.clip(100 * (channel + 1) + 20 * np.random.default_rng(channel).normal(size=disc.shape) + disc * 900 * (channel + 2), 0, None))
    return np.stack(planes).astype(dtype)


def write(path, planes, names=NAMES):
    colors = [int.from_bytes(bytes((*color, 255)), "big", signed=True) for color in COLORS]
    channel = {"Name": names, "Color": colors, "EmissionWavelength": [461.0, 520.0, 670.0], "ExcitationWavelength": [358.0, 490.0, 650.0]}
    metadata = {"axes": "CYX", "Channel": channel, "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tifffile.imwrite(path, planes, ome=True, tile=(256, 256), compression="zlib", metadata=metadata, photometric="minisblack")
    return path


def show(plane, window):
    """8 bit, halves rounded up."""
    low, high = window
    return np.clip(np.floor(255 * (plane.astype(float) - low) / (high - low) + 0.5), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(tmp_path_factory.mktemp("channels") / "slide.ome.tif", draw())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_chosen_channels_come_as_they_are_stored(tmp_path, dtype):
    path = write(tmp_path / "s.ome.tif", draw(700, 500, np.float32).astype(dtype))
    stored = tifffile.imread(path)
    slide = gp.Slide(path, channels=["CD8", 1])
    wanted = stored[[2, 0]].transpose(1, 2, 0)
    assert slide.channels == ["CD8", "DAPI"] and slide.dtype == dtype
    assert np.array_equal(slide.read(), wanted)
    assert np.array_equal(slide.read(region=(200, 300, 500, 99)), wanted[300:399, 200:700])
    assert np.array_equal(slide.xarray().sel(c="DAPI"), stored[0])
    assert np.array_equal(slide.dask(chunk=256).compute(), wanted)
    assert np.array_equal(slide.tensor().numpy(), wanted.transpose(2, 0, 1))
    assert np.array_equal(itk.array_from_image(slide.image()), wanted)
    assert np.array_equal(pickle.loads(pickle.dumps(slide)).read(), wanted)
    one = gp.Slide(path, channels="CD3")
    assert np.array_equal(one.read(), stored[1]) and np.array_equal(one.read(gray=True), stored[1])
    assert one.xarray()["c"] == "CD3"


def test_channels_of_one_reading(path):
    """The slide stays as it is, and its window is kept."""
    stored = tifffile.imread(path)
    slide = gp.Slide(path)
    assert np.array_equal(slide.read(channels=["CD8", 1]), stored[[2, 0]].transpose(1, 2, 0))
    assert np.array_equal(slide.read(channels=np.array([3, 1])), stored[[2, 0]].transpose(1, 2, 0))
    assert np.array_equal(slide.read(channels=np.int64(3)), stored[2])
    assert np.array_equal(slide.read(region=(100, 50, 300, 200), channels="CD3"), stored[1, 50:250, 100:400])
    assert np.array_equal(slide.read(region=(-5, 0, 10, 7), channels=2, pad=9), np.pad(stored[1, :7, :5], ((0, 0), (5, 0)), constant_values=9))
    assert slide.channels == NAMES and np.array_equal(slide.read(), stored.transpose(1, 2, 0))
    array = slide.xarray(channels=["CD8", "DAPI"])
    assert list(array["c"].values) == ["CD8", "DAPI"] and np.array_equal(array.sel(c="DAPI"), stored[0])
    assert slide.xarray(channels="CD3")["c"] == "CD3"
    assert np.array_equal(gp.Slide(path, window=(120, 2500)).read(channels="CD3"), show(stored[1], (120, 2500)))
    with refused(ValueError, "E-SLIDE-CHANNEL", option="channels", value="CD4"):
        slide.read(channels="CD4")
    slide.close()
    with refused(ValueError, "E-CALL-ORDER"):
        slide.read(channels="CD3")


def test_windows_make_8_bit(path):
    stored = tifffile.imread(path)
    slide = gp.Slide(path, channels=["CD3", "DAPI"], window=(120, 2500))
    assert slide.dtype == np.uint8
    assert np.array_equal(slide.read(), np.stack([show(stored[c], (120, 2500)) for c in (1, 0)], -1))
    found = np.percentile(stored[1].astype(float), [0.1, 99.9])
    assert np.array_equal(gp.Slide(path, channels="CD3", window="auto").read(), show(stored[1], found))
    assert gp.Slide(path, window="auto").read().shape == (900, 1200, 3)


def test_what_the_file_says_of_channels(path):
    entries = gp.Slide(path).channel_entries
    assert [entry.name for entry in entries] == NAMES and [entry.color for entry in entries] == COLORS
    assert [(entry.excitation, entry.emission) for entry in entries] == [(358, 461), (490, 520), (650, 670)]
    assert [entry.name for entry in gp.Slide(path, channels=[3]).channel_entries] == ["CD8"]
    tifffile.imwrite(path.with_name("plain.tif"), draw()[0], tile=(256, 256))
    assert gp.Slide(path.with_name("plain.tif")).channel_entries == [("gray", None, None, None)]


def test_channels_and_windows_that_are_none(path):
    for channels, value in (("CD4", "CD4"), ([4], "4"), (["DAPI", 1], "1")):
        with refused(ValueError, "E-SLIDE-CHANNEL", option="channels", value=value):
            gp.Slide(path, channels=channels)
    for window, value in ((("9", 3), "9.0,3.0"), ("5", "5")):
        with refused(ValueError, "E-OPTION-VALUE", option="window", value=value):
            gp.Slide(path, window=window)
    with refused(ValueError, "E-SLIDE-CHANNEL", option="channels", value="CD4"):
        gp.label(path, channels="CD4")


def test_label_as_the_program(path, tmp_path):
    for number, channels in enumerate((("DAPI",), ("CD8", "DAPI"), ())):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            mask = itk.array_from_image(gp.label(path, preset="fluorescence", channels=channels or None))
        codes = [each.message.code for each in given if isinstance(each.message, gp.GigapixelWarning)]
        assert ("W-SLIDE-CHANNELS-ALL" in codes) == (not channels)
        run("label", {"output": tmp_path / f"{number}.tif", "preset": "fluorescence", "channel": channels}, [str(path)])
        assert np.array_equal(mask, tifffile.imread(tmp_path / f"{number}.tif", key=0)) and 0.05 < (mask > 0).mean() < 0.95
    assert np.array_equal(itk.array_from_image(gp.label(gp.Slide(path), preset="fluorescence")), mask)
    assert np.array_equal(itk.array_from_image(gp.label(gp.Slide(path, channels=[1, 2, 3]), preset="fluorescence")), mask)


def test_label_of_a_window(path, tmp_path):
    """As of the picture that the window makes."""
    picture = show(tifffile.imread(path)[1], (100, 2000))
    tifffile.imwrite(tmp_path / "s.tif", picture, tile=(256, 256), resolution=(20000, 20000), resolutionunit=3)
    found = [gp.label(path, preset="fluorescence", channels="CD3", window=(100, 2000)), gp.label(tmp_path / "s.tif", preset="fluorescence")]
    assert np.array_equal(*map(itk.array_from_image, found))


def test_convert_and_measure(path, tmp_path):
    stored = tifffile.imread(path)
    gp.convert(path, tmp_path / "c.pyramid.tif", channels=2)
    assert np.array_equal(gp.Slide(tmp_path / "c.pyramid.tif").read(), stored[1])
    several = gp.Slide(gp.convert(path, tmp_path / "several.ome.tif", channels=["CD8", 1]))
    assert np.array_equal(several.read(), stored[[2, 0]].transpose(1, 2, 0)) and several.channels == ["CD8", "DAPI"]
    assert several.channel_entries == gp.Slide(path, channels=["CD8", 1]).channel_entries
    mask = np.zeros((900, 1200), np.uint8)
    mask[100:400, 200:700] = 1
    for rows in (gp.measure(mask, path, channels=["CD8", 1]), gp.measure(mask, gp.Slide(path, channels=["CD8", 1]))):
        row = next(row for row in rows if row["component"] == 1)
        assert row["CD8_mean"] == pytest.approx(stored[2, 100:400, 200:700].astype(float).mean(), rel=1e-12)
        assert row["DAPI_mean"] == pytest.approx(stored[0, 100:400, 200:700].astype(float).mean(), rel=1e-12) and "CD3_mean" not in row


def test_models_find_channels_by_their_names(path, tmp_path):
    planes = draw()
    gp_mask = (planes[1] > 1200).astype(np.uint8) * 255
    model = gp.train([(path, gp_mask)], channels="CD3", window=(100, 2000), network="remedios2023", epochs=3, learning_rate=0.01)
    picture = show(planes[1], (100, 2000))
    plain = gp.train([(picture, gp_mask)], network="remedios2023", epochs=3, learning_rate=0.01)
    assert model.GetIdentity() == plain.GetIdentity()
    wanted = itk.array_from_image(gp.segment(path, model))
    other = write(tmp_path / "other.ome.tif", planes[[1, 2, 0]], [NAMES[c] for c in (1, 2, 0)])
    assert np.array_equal(itk.array_from_image(gp.segment(other, model)), wanted)
    nameless = write(tmp_path / "nameless.ome.tif", planes, ["a", "b", "c"])
    with refused(ValueError, "E-SLIDE-CHANNEL", file=str(nameless), value="CD3"):
        gp.segment(nameless, model)
    assert np.array_equal(itk.array_from_image(gp.segment(nameless, model, channels="b")), wanted)
    assert np.array_equal(itk.array_from_image(gp.segment(gp.Slide(nameless, channels="b"), model)), wanted)


def test_overlay_shows_the_channels(path, tmp_path):
    """One of 8 bit is gray, as its window says."""
    empty = np.zeros((900, 1200), np.uint8)
    gp.overlay(path, empty, tmp_path / "o.png", picture_size=1200, channels="CD3", window=(100, 2000))
    shown = itk.array_from_image(itk.imread(str(tmp_path / "o.png")))
    assert np.array_equal(shown, np.repeat(show(tifffile.imread(path)[1], (100, 2000))[..., None], 3, -1))
    gp.overlay(gp.Slide(path, channels="CD3", window=(100, 2000)), empty, tmp_path / "s.png", picture_size=1200)
    assert np.array_equal(itk.array_from_image(itk.imread(str(tmp_path / "s.png"))), shown)


@pytest.mark.parametrize("plane, wanted", [(3, lambda planes: planes[2]), ("middle", lambda planes: planes[1]), ("max", lambda planes: planes.max(axis=0))])
def test_focal_planes_are_chosen(tmp_path, plane, wanted):
    planes = np.random.default_rng(2).integers(0, 4000, (3, 300, 421), np.uint16)
    path = tmp_path / "stack.ome.tif"
    tifffile.imwrite(path, planes, ome=True, tile=(128, 128), compression="zlib", photometric="minisblack", metadata={"axes": "ZYX"})
    slide = gp.Slide(path, plane=plane)
    assert np.array_equal(slide.read(), wanted(planes))
    assert np.array_equal(pickle.loads(pickle.dumps(slide)).read(), wanted(planes))
    mask = np.ones((300, 421), np.uint8)
    row = next(row for row in gp.measure(mask, slide) if row["component"] == 1)
    assert row["gray_mean"] == pytest.approx(wanted(planes).mean(), rel=1e-12)


def test_modules_take_values_of_16_bit_as_they_are_stored(path, tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(4, 1, 1)).eval()
    model = gp.import_network(module, tmp_path / "m.safetensors", channels=2, normalization={"type": "percentiles", "low": 0.1, "high": 99.9}, mpp=0.5)
    stored = tifffile.imread(path)[[1, 0]].astype(float)
    low, high = (np.percentile(stored, percent, axis=(1, 2), keepdims=True) for percent in (0.1, 99.9))
    with torch.no_grad():
        values = (np.clip(stored, low, high) - low) / (high - low)
        logits = module.double()(torch.from_numpy(values[None])).numpy()[0, 0]
    given = itk.array_from_image(gp.segment(path, model, channels=["CD3", "DAPI"]))
    assert np.array_equal((given > 0)[abs(logits) > 1e-4], (logits > 0)[abs(logits) > 1e-4])
    with refused(ValueError, "E-OPTION-CONFLICT"):
        gp.segment(path, model, channels=["CD3", "DAPI"], window="auto")
