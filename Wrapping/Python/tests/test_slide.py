# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The module on top: levels, regions, coordinates, tiles, lazy arrays, other threads and processes."""

import concurrent.futures
import multiprocessing
import os
import pickle
import sys
import threading
import time

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
from conftest import refused


def test_levels(drawn):
    slide = gp.Slide(drawn[0])
    assert slide.levels[0] == gp.Level(3000, 2000, 1.0, 0.5)
    assert [each.downsample for each in slide.levels] == [2.0**k for k in range(len(slide.levels))]
    assert slide.mpp == 0.5 and slide.vendor == "generic-tiff" and "tiles" in slide.decoder
    assert "3000 x 2000" in repr(slide)
    assert slide.select(mpp=1.0) == 1 and slide.select(mpp=1.5) == 1 and slide.select() == 0


def test_regions_are_parts_of_the_whole(slide):
    reader = gp.Slide(slide)
    whole = reader.read()
    assert np.array_equal(whole, itk.array_from_image(itk.imread(slide)))
    assert np.array_equal(reader.read(region=(101, 57, 333, 222)), whole[57:279, 101:434])
    gray = reader.read(gray=True)
    assert gray.shape == whole.shape[:2]
    assert np.abs(gray - whole @ [0.299, 0.587, 0.114]).max() <= 17.5  # luma as stored: see itk::WholeSlideImageIO


def test_region_of_a_level(drawn):
    slide = gp.Slide(drawn[0])
    assert np.array_equal(slide.read(level=1, region=(100, 200, 500, 300)), slide.read(level=1)[100:250, 50:300])


@pytest.mark.parametrize(
    "code, option, arguments",
    [
        ("E-SLIDE-LEVEL", "level", {"level": 9}),
        ("E-OPTION-CONFLICT", "mpp", {"level": 0, "mpp": 1}),
        ("E-SLIDE-RESOLUTION", "mpp", {"mpp": 0.1}),
        ("E-OPTION-VALUE", "mpp", {"mpp": -1}),
        ("E-REGION", "region", {"region": (3000, 0, 200, 9)}),
    ],
)
def test_wrong_arguments_are_refused(drawn, code, option, arguments):
    with refused(ValueError, code, option=option):
        gp.Slide(drawn[0]).read(**arguments)


@pytest.mark.parametrize("mpp", [0, -0.5, float("nan"), float("inf")])
def test_no_such_resolution(drawn, mpp):
    with refused(ValueError, "E-OPTION-VALUE", option="mpp", value=str(mpp)):
        gp.Slide(drawn[0], mpp=mpp)


@pytest.mark.parametrize("arguments", [{"size": 0}, {"size": -1}, {"overlap": -1}])
def test_no_such_tiles(drawn, arguments):
    with refused(ValueError, "E-OPTION-VALUE", option=next(iter(arguments))):
        next(gp.Slide(drawn[0]).tiles(**arguments))


@pytest.mark.parametrize("region", [(), (0, 0, 5), (float("nan"),) * 4, np.zeros((2, 2)), (0, 0, 0, 0), (-1, 0, 5, 5)])
def test_no_such_region(drawn, region, tmp_path):
    slide = gp.Slide(drawn[0])
    with refused(ValueError, "E-REGION", option="region"):
        slide.read(region=region)
    with refused(ValueError, "E-REGION", option="region"):
        gp.convert(slide, tmp_path / "out.pyramid.tif", region=region)
    assert not list(tmp_path.iterdir())


def test_a_region_ends_at_the_slides_edge(drawn):
    slide = gp.Slide(drawn[0])
    first = slide.levels[0]
    corner = (first.width - 30, first.height - 20)
    assert np.array_equal(slide.read(region=(*corner, 1000, 1000)), slide.read(region=(*corner, 30, 20)))
    with refused(ValueError, "E-REGION", file=drawn[0]):
        slide.read(region=(first.width, 0, 5, 5))


def test_regions_beyond_the_slide_are_padded(slide):
    reader = gp.Slide(slide)
    whole = reader.read()
    height, width = whole.shape[:2]
    around = np.pad(whole, ((40, 40), (30, 30), (0, 0)), constant_values=255)
    for x, y, w, h in [(-30, -40, 100, 90), (width - 50, height - 20, 80, 60), (-30, -40, width + 60, height + 80), (width + 5, 0, 20, 30)]:
        assert np.array_equal(reader.read(region=(x, y, w, h), pad=255), around[y + 40 : y + 40 + h, x + 30 : x + 30 + w])
    assert np.array_equal(reader.read(pad=7), whole)
    assert (reader.read(region=(-5, -6, 5, 6), pad=(1, 2, 3)) == (1, 2, 3)).all()
    assert reader.read(region=(-5, -6, 5, 6), pad=9, gray=True).tolist() == [[9] * 5] * 6


def test_padding_at_a_level_and_a_resolution(drawn):
    slide = gp.Slide(drawn[0])
    coarse = np.pad(slide.read(level=1), ((10, 0), (20, 0), (0, 0)), constant_values=0)
    assert np.array_equal(slide.read(level=1, region=(-40, -20, 200, 100), pad=0), coarse[:50, :100])
    assert np.array_equal(slide.read(mpp=1.0, region=(-40, -20, 200, 100), pad=0), coarse[:50, :100])
    inner = (101, 57, 333, 222)
    assert np.array_equal(slide.read(mpp=1.3, region=inner, pad=0), slide.read(mpp=1.3, region=inner))


@pytest.mark.parametrize("pad", [256, -1, 0.5, (1, 2), "white"])
def test_no_such_padding(drawn, pad):
    with refused(ValueError, "E-OPTION-VALUE", option="pad"):
        gp.Slide(drawn[0]).read(region=(0, 0, 5, 5), pad=pad)


@pytest.mark.parametrize("region", [(0, 0, 5), (0, 0, 0, 5), (float("nan"), 0, 5, 5)])
def test_no_such_region_to_pad(drawn, region):
    with refused(ValueError, "E-REGION", option="region"):
        gp.Slide(drawn[0]).read(region=region, pad=0)


def test_thumbnails(drawn, tmp_path):
    slide = gp.Slide(drawn[0])
    assert np.array_equal(slide.thumbnail(750), slide.read(level=2))
    assert np.array_equal(slide.thumbnail(1000), slide.read(mpp=1.5)) and slide.thumbnail(1000).shape == (667, 1000, 3)
    assert np.array_equal(slide.thumbnail(9999), slide.read())
    assert slide.thumbnail(1).shape == (1, 1, 3) and slide.thumbnail(100, gray=True).shape == (67, 100)
    pixels = np.random.default_rng(1).integers(0, 255, (400, 300, 3), np.uint8)  # of no resolution
    tifffile.imwrite(tmp_path / "n.tif", pixels, tile=(256, 256), photometric="rgb")
    means = pixels.reshape(100, 4, 75, 4, 3).mean((1, 3))
    assert np.abs(gp.Slide(tmp_path / "n.tif").thumbnail(100) - means).max() <= 0.5
    with refused(ValueError, "E-OPTION-VALUE", option="size"):
        slide.thumbnail(0)


def test_slides_are_closed(drawn):
    with gp.Slide(drawn[0]) as slide:
        pixels = slide.read(level=1)
    assert "closed" in repr(slide) and drawn[0] in repr(slide)
    for use in (slide.read, lambda: slide.read(mpp=1.0), lambda: slide.levels, lambda: gp.label(slide), slide.thumbnail):
        with refused(ValueError, "E-CALL-ORDER", file=drawn[0]):
            use()
    slide.close()
    assert np.array_equal(pickle.loads(pickle.dumps(slide)).read(level=1), pixels)


def test_strict_slides_stay_strict(drawn):
    assert gp.Slide(drawn[0], strict=True)._open().GetStrict() and not gp.Slide(drawn[0])._open().GetStrict()
    assert pickle.loads(pickle.dumps(gp.Slide(drawn[0], strict=True))).strict


def test_regions_may_be_arrays_of_small_integers(drawn, tmp_path):
    slide, region = gp.Slide(drawn[0]), np.array([200, 200, 100, 100], np.uint8)
    expected = slide.read(region=(200, 200, 100, 100))
    assert (slide.read(region=region) == expected).all()
    gp.convert(slide, tmp_path / "out.pyramid.tif", region=region)
    assert gp.Slide(tmp_path / "out.pyramid.tif").read().shape == expected.shape


@pytest.mark.parametrize("level", [0.5, "0", float("nan")])
def test_levels_are_whole_numbers(drawn, level):
    with refused(TypeError, "E-OPTION-VALUE"):
        gp.Slide(drawn[0]).read(level=level)


def test_file_names(drawn, tmp_path):
    """Bytes and paths are names; one that would be cut short or cannot be passed on is a sentence."""
    slide = gp.Slide(drawn[0].encode(), mpp=np.float32(0.5))
    assert gp.convert(slide, os.fsencode(tmp_path / "a.tif"), level=2) and (tmp_path / "a.tif").exists()
    for name in ("a.tif\0", "\udcff.tif", ""):
        if name:
            with refused(ValueError, "E-FILE-NAME", value=repr(name)):
                gp.Slide(name)
        for write in (gp.label, gp.convert):
            with refused(ValueError, "E-FILE-NAME"):
                write(slide, name)


@pytest.mark.parametrize("name", ["a.png", "a", "a.svs"])
def test_a_pyramid_is_named_as_one(drawn, tmp_path, name):
    with refused(ValueError, "E-OUTPUT-ENDING", file=str(tmp_path / name), option="output"):
        gp.convert(drawn[0], tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_image_and_xarray_lie_where_itk_says(drawn):
    slide = gp.Slide(drawn[0])
    io = itk.WholeSlideImageIO.New()
    io.SetLevel(1)
    whole = itk.imread(drawn[0], imageio=io)
    part = slide.image(level=1, region=(200, 100, 600, 400))
    assert np.allclose(part.GetSpacing(), whole.GetSpacing(), rtol=1e-12)
    assert np.allclose(part.GetOrigin(), whole.TransformIndexToPhysicalPoint([100, 50]), rtol=1e-9)
    lazy = itk.xarray_from_image(whole)
    array = slide.xarray(level=1)
    assert array.dims == lazy.dims == ("y", "x", "c")
    assert np.allclose(array.x, lazy.x, rtol=1e-9) and np.allclose(array.y, lazy.y, rtol=1e-9)
    assert array.units == "mm" and float(array.x[1] - array.x[0]) == pytest.approx(0.001)
    assert np.array_equal(array.sel(x=0.5005, y=0.2505, method="nearest"), slide.read(level=1)[250, 500])


@pytest.mark.parametrize("overlap", [0, 16])
def test_tiles_cover(drawn, overlap):
    slide = gp.Slide(drawn[0])
    whole, again = slide.read(level=1), np.zeros((1000, 1500, 3), np.uint8)
    count = 0
    for tile in slide.tiles(400, level=1, overlap=overlap):
        height, width = tile.pixels.shape[:2]
        again[tile.y : tile.y + height, tile.x : tile.x + width] = tile.pixels
        count += 1
    assert count == 3 * 4 and np.array_equal(again, whole)


def test_dask_is_lazy_and_equal(drawn):
    slide = gp.Slide(drawn[0])
    lazy = slide.dask(chunk=512)
    assert lazy.shape == (2000, 3000, 3) and lazy.dtype == np.uint8
    assert np.array_equal(lazy[700:900, 1000:1300].compute(), slide.read(region=(1000, 700, 300, 200)))
    assert int(lazy.astype(np.int64).sum().compute()) == int(slide.read().sum(dtype=np.int64))


def test_tensor_is_a_view(drawn):
    slide = gp.Slide(drawn[0])
    tensor = slide.tensor(region=(10, 20, 64, 48))
    assert tensor.shape == (3, 48, 64) and not tensor.is_contiguous()  # the pixels as read, seen channel by channel
    assert np.array_equal(tensor.permute(1, 2, 0).numpy(), slide.read(region=(10, 20, 64, 48)))
    assert slide.tensor(region=(0, 0, 8, 8), gray=True).shape == (1, 8, 8)


STORED = {
    "uint16": ((700, 900), np.uint16, {"photometric": "minisblack"}),
    "float": ((700, 900), np.float32, {"photometric": "minisblack"}),
    "uint16 RGB": ((700, 900, 3), np.uint16, {"photometric": "rgb"}),
    "four channels": ((700, 900, 4), np.uint16, {"photometric": "minisblack", "planarconfig": "contig"}),
}


@pytest.mark.parametrize("kind", STORED)
def test_what_is_no_picture_comes_as_it_is_stored(kind, tmp_path):
    shape, dtype, options = STORED[kind]
    stored = np.random.default_rng(1).integers(0, 60000, shape).astype(dtype)
    tifffile.imwrite(tmp_path / "s.tif", stored, tile=(256, 256), resolution=(20000, 20000), resolutionunit=3, **options)
    slide = gp.Slide(tmp_path / "s.tif")
    assert slide.dtype == dtype and np.array_equal(slide.read(), tifffile.imread(tmp_path / "s.tif"))
    assert np.array_equal(slide.read(region=(200, 300, 500, 99)), stored[300:399, 200:700])
    assert np.array_equal(itk.array_from_image(slide.image()), stored)
    assert np.array_equal(slide.xarray().values, stored)
    assert np.array_equal(slide.dask(chunk=256).compute(), stored)
    assert np.array_equal(slide.tensor().numpy(), stored[None] if stored.ndim == 2 else stored.transpose(2, 0, 1))
    assert sum(tile.pixels.sum(dtype=np.float64) for tile in slide.tiles(300)) == stored.sum(dtype=np.float64)
    if stored.ndim == 2:
        assert np.array_equal(slide.read(gray=True), stored)
    else:
        with refused(ValueError, "E-SLIDE-CHANNELS", option="gray"):
            slide.read(gray=True)


def test_channels_have_the_names_of_the_file(tmp_path):
    stored = np.random.default_rng(2).integers(0, 65535, (3, 500, 600), np.uint16)
    names = ["DAPI", "CD3", "CD8"]
    metadata = {"axes": "CYX", "Channel": {"Name": names}, "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tifffile.imwrite(tmp_path / "f.ome.tif", stored, tile=(256, 256), metadata=metadata, photometric="minisblack")
    slide = gp.Slide(tmp_path / "f.ome.tif")
    assert slide.channels == names
    assert np.array_equal(slide.xarray().sel(c="CD3"), stored[1])


def test_transparency_is_background(tmp_path):
    pixels = np.full((300, 300, 4), (200, 0, 100, 255), np.uint8)
    pixels[:, 150:] = 0
    tifffile.imwrite(tmp_path / "a.tif", pixels, tile=(256, 256), photometric="rgb", extrasamples=["unassalpha"])
    read = gp.Slide(tmp_path / "a.tif").read()
    assert (read[:, :150] == (200, 0, 100)).all() and (read[:, 150:] == 255).all()


def test_associated():
    from conftest import real_slide

    slide = gp.Slide(real_slide("slides/cmu-1-small-region.svs"))
    assert set(slide.associated) == {"label", "macro", "thumbnail"}
    assert slide.properties["openslide.vendor"] == "aperio" and slide.mpp == pytest.approx(0.499)


@pytest.fixture
def nameless(tmp_path):
    """A tiled TIFF whose tags say nothing of resolution."""
    path = tmp_path / "nameless.tif"
    tifffile.imwrite(path, np.zeros((300, 400, 3), np.uint8), tile=(256, 256), photometric="rgb")
    return str(path)


def test_the_users_word_on_resolution(drawn, nameless):
    assert gp.Slide(nameless).mpp == 0
    assert gp.Slide(nameless, mpp=0.25).mpp == pytest.approx(0.25)
    assert gp.Slide(drawn[0], mpp=0.25).mpp == pytest.approx(0.5)  # what the file says
    assert gp.label(nameless, slide_mpp=0.25).GetSpacing()[0] == pytest.approx(0.25e-3 * 8)


def test_the_former_name_of_what_a_slides_resolution_is(nameless):
    with pytest.warns(FutureWarning) as told:
        mask = gp.label(nameless, mpp=0.25)
    assert mask.GetSpacing()[0] == pytest.approx(0.25e-3 * 8)
    assert any(each.filename == __file__ for each in told)
    with refused(TypeError, "E-OPTION-REPEATED", option="mpp"):
        gp.label(nameless, mpp=0.25, slide_mpp=0.5)


def test_threads_read_the_same(drawn):
    slide = gp.Slide(drawn[0])
    rng = np.random.default_rng(7)
    regions = [(*rng.integers(0, 1500, 2), 400, 300) for _ in range(40)]
    whole = slide.read()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for (x, y, w, h), pixels in zip(regions, pool.map(lambda r: slide.read(region=r), regions)):
            assert np.array_equal(pixels, whole[y : y + h, x : x + w])


def test_reading_lets_other_threads_run(drawn):
    """A thread that counts gets on while another one reads. Python itself takes the lock from nobody meanwhile: only who
    gives it away lets others run."""
    slide, ticks, stop = gp.Slide(drawn[0]), [0], threading.Event()
    pixels = np.empty((2000, 3000, 3), np.uint8)

    def count():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        counter.start()
        before = ticks[0]
        slide._io.ReadPixels(0, 0, 0, 3000, 2000, 3, pixels)
        during = ticks[0] - before
    finally:
        stop.set()
        counter.join()
        sys.setswitchinterval(interval)
    assert during > 10


def test_pickle(nameless):
    slide = pickle.loads(pickle.dumps(gp.Slide(nameless, mpp=0.25)))
    assert slide.mpp == 0.25 and slide.read().shape == (300, 400, 3)


def test_convert(slide, tmp_path):
    """A level with the same pixels, and a region, whose tiles have to be compressed again."""
    reader = gp.Slide(slide)
    last = len(reader.levels) - 1
    assert np.array_equal(gp.Slide(gp.convert(slide, tmp_path / "level.pyramid.tif", level=last)).read(), reader.read(last))
    part = gp.Slide(gp.convert(slide, tmp_path / "region.pyramid.tif", region=(101, 57, 700, 600), progress=True)).read()
    difference = part.astype(int) - reader.read(region=(101, 57, 700, 600))
    assert part.shape == (600, 700, 3) and np.sqrt((difference**2).mean()) < 6


@pytest.mark.parametrize("photometric", ["palette", "miniswhite"])
def test_convert_keeps_the_values_of_masks(photometric, tmp_path):
    """A palette gives colors, and WhiteIsZero the inverse: both only where pixels are shown."""
    mask = np.random.default_rng(2).integers(0, 5, (300, 400)).astype(np.uint8)
    colors = {"colormap": np.random.default_rng(3).integers(0, 65536, (3, 256)).astype(np.uint16)} if photometric == "palette" else {}
    tifffile.imwrite(tmp_path / "m.tif", mask, tile=(128, 128), photometric=photometric, compression="zlib", **colors)
    for region in (None, (3, 5, 250, 200)):
        x, y, width, height = region or (0, 0, 400, 300)
        made = gp.convert(tmp_path / "m.tif", tmp_path / "m.pyramid.tif", region=region)
        assert np.array_equal(tifffile.imread(made, key=0), mask[y : y + height, x : x + width])


def _sum(slide) -> int:
    return int(slide.read(level=1).sum(dtype=np.int64))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(drawn, method):
    slide = gp.Slide(drawn[0])
    expected = _sum(slide)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(_sum, [slide] * 4)) == [expected] * 4


def test_memory_of_reading_tiles_is_flat(tmp_path):
    """A slide of 150 MB is read in tiles within the cache (128 MB by default, here 16 MB) and a few tiles."""
    from conftest import synthesize

    path, _ = synthesize(tmp_path, 8000, 6400, seed=1)
    slide = gp.Slide(path)
    limit = itk.WholeSlideImageIO.GetTileCacheLimit()
    itk.WholeSlideImageIO.SetTileCacheLimit(16 << 20)
    try:
        before, peak = resident(), 0
        for tile in slide.tiles(512):
            peak = max(peak, resident())
        assert peak - before < 48 << 20
    finally:
        itk.WholeSlideImageIO.SetTileCacheLimit(limit)


def resident() -> int:
    """Bytes of memory that this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
