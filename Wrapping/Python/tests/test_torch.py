# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Patches as datasets of PyTorch, against what is cut from the whole slide."""

import pickle
import subprocess
import sys

import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
import torch
from conftest import refused
from PIL import Image
from torch.utils.data import DataLoader

SIDE = 200


@pytest.fixture(scope="session")
def mask(tmp_path_factory):
    """Classes 0 to 4 of a slide of 3000 x 2000 pixels, as a file with a palette at full size."""
    values = np.kron(np.random.default_rng(1).integers(0, 5, (40, 60)), np.ones((50, 50), int)).astype(np.uint8)
    path = tmp_path_factory.mktemp("mask") / "slide-3.pyramid.tif"
    colors = np.random.default_rng(3).integers(0, 65536, (3, 256)).astype(np.uint16)
    tifffile.imwrite(path, values, tile=(256, 256), photometric="palette", colormap=colors, compression="zlib")
    return str(path), values


def places_of(batches) -> list[tuple[int, int, int]]:
    return [place for batch in batches for place in zip(*(batch[name].tolist() for name in ("slide", "x", "y")))]


def test_importing_the_package_leaves_pytorch_alone():
    script = "import sys, itkgigapixel as gp; assert 'torch' not in sys.modules; gp.torch.PatchDataset; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_patches_are_cut_from_the_slide(drawn, mask):
    whole = gp.Slide(drawn[0]).read()
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE, mpp=0.5, masks=[mask[0]])
    assert len(patches) == 15 * 10 and isinstance(patches, torch.utils.data.Dataset)
    assert [tuple(each) for each in patches.places] == [(0, x, y) for y in range(0, 2000, SIDE) for x in range(0, 3000, SIDE)]
    for number in (0, 37, -1):
        sample = patches[number]
        part = np.s_[sample["y"] : sample["y"] + SIDE, sample["x"] : sample["x"] + SIDE]
        assert sample["image"].dtype == torch.uint8 and sample["mask"].dtype == torch.int64
        assert np.array_equal(sample["image"].permute(1, 2, 0).numpy(), whole[part])
        assert np.array_equal(sample["mask"].numpy(), mask[1][part])
    with pytest.raises(IndexError):
        patches[150]


def test_resolutions_and_levels(drawn, mask):
    """Pixels of 2 um are those of level 2, and classes are picked at their centers: between the second and the third of four."""
    slide = gp.Slide(drawn[0])
    for how in ({"mpp": 2.0}, {"level": 2}):
        patches = gp.torch.PatchDataset([slide], patch=100, masks=[mask[0]], **how)
        assert len(patches) == 7 * 5
        sample = patches[8]
        assert (sample["x"], sample["y"]) == (400, 400)
        assert np.array_equal(sample["image"].permute(1, 2, 0).numpy(), slide.read(level=2)[100:200, 100:200])
        assert np.array_equal(sample["mask"].numpy(), mask[1][402:800:4, 402:800:4])
    resampled = gp.torch.PatchDataset([slide], patch=100, mpp=1.3)
    whole = slide.read(mpp=1.3)
    for number in (0, 60):
        x, y = (round(float(v) / 2.6) for v in resampled.places[number][1:])
        assert np.array_equal(resampled[number]["image"].permute(1, 2, 0).numpy(), whole[y : y + 100, x : x + 100])


def test_all_slides_have_masks_or_none_has(drawn, mask):
    with pytest.raises(ValueError) as raised:
        gp.torch.PatchDataset([drawn[0], drawn[0]], patch=SIDE, masks=[mask[0], None])
    assert (raised.value.code, raised.value.option) == ("E-OPTION-VALUE", "masks")
    assert "mask" not in gp.torch.PatchDataset([drawn[0], drawn[0]], patch=SIDE, masks=[None, None])[0]


@pytest.mark.parametrize("name", ["labels.pyramid.tif", "labels.png", "strips.tif"])
def test_masks_of_other_resolutions(drawn, tmp_path, name):
    """A mask that says its resolution, and pictures that cover the slide, 8 times coarser than it."""
    gp.label(drawn[0], tmp_path / "labels.pyramid.tif")
    values = tifffile.imread(tmp_path / "labels.pyramid.tif", key=0)
    assert values.shape == (250, 375) and set(np.unique(values)) == {0, 255}
    Image.fromarray(values).save(tmp_path / "labels.png")
    tifffile.imwrite(tmp_path / "strips.tif", values)
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE, mpp=0.5, masks=[tmp_path / name])
    whole = np.kron(values, np.ones((8, 8), int))
    for number in range(0, 150, 7):
        sample = patches[number]
        assert np.array_equal(sample["mask"].numpy(), whole[sample["y"] : sample["y"] + SIDE, sample["x"] : sample["x"] + SIDE])


def test_a_slide_without_a_resolution_has_levels(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 255, (300, 400, 3), np.uint8)
    tifffile.imwrite(tmp_path / "nameless.tif", pixels, tile=(256, 256), photometric="rgb")
    patches = gp.torch.PatchDataset([tmp_path / "nameless.tif"], patch=100, level=0, masks=[pixels[..., 0]])
    assert len(patches) == 12 and np.array_equal(patches[5]["image"].permute(1, 2, 0).numpy(), pixels[100:200, 100:200])
    assert np.array_equal(patches[5]["mask"].numpy(), pixels[100:200, 100:200, 0])
    with refused(ValueError, "E-SLIDE-RESOLUTION"):
        gp.torch.PatchDataset([tmp_path / "nameless.tif"], patch=100)


def test_tissue(drawn, tmp_path):
    """By a file, a folder, arrays of bool and bytes, and a preset; the number of patches is that of features."""
    values = np.zeros((20, 30), np.uint8)  # pixels of 100
    values[4:9, 10:17] = 255
    name = tmp_path / "slide-3.pyramid.tif"
    tifffile.imwrite(name, values, tile=(16, 16), photometric="minisblack")
    expected = [(0, x * 100, y * 100) for y in range(0, 20, 2) for x in range(0, 30, 2) if (values[y : y + 2, x : x + 2] > 0).mean() >= 0.5]
    assert len(expected) == 11
    for tissue in ([name], tmp_path, [values > 0], [values]):
        patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE, tissue=tissue, least_tissue=0.5)
        assert [tuple(each) for each in patches.places] == expected
    rows, places = gp.features(drawn[0], torch.nn.Flatten(), patch=SIDE, tissue=values > 0, least_tissue=0.5)
    assert np.array_equal(places, patches.places[:, 1:]) and len(rows) == 11
    found = gp.torch.PatchDataset([drawn[0]], patch=SIDE, preset="remedios2023")
    assert np.array_equal(found.places[:, 1:], gp.features(drawn[0], torch.nn.Flatten(), patch=SIDE, preset="remedios2023")[1])


def test_floats_and_transforms(drawn, mask):
    plain = gp.torch.PatchDataset([drawn[0]], patch=SIDE, masks=[mask[0]])[20]
    floats = gp.torch.PatchDataset([drawn[0]], patch=SIDE, dtype=torch.float32, transform=lambda image: image * 2 - 1)[20]
    assert floats["image"].dtype == torch.float32 and "mask" not in floats
    assert torch.equal(floats["image"], plain["image"].float() / 255 * 2 - 1)

    def turn(image, mask):
        return image.flip(2), mask.flip(1)

    turned = gp.torch.PatchDataset([drawn[0]], patch=SIDE, masks=[mask[0]], transforms=turn)[20]
    assert torch.equal(turned["image"], plain["image"].flip(2)) and torch.equal(turned["mask"], plain["mask"].flip(1))


def test_errors_of_transforms_stay(drawn):
    def fail(image):
        raise ValueError("mine")

    with pytest.raises(ValueError) as raised:
        gp.torch.PatchDataset([drawn[0]], patch=SIDE, transform=fail)[0]
    assert type(raised.value) is ValueError


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_read_what_this_process_reads(drawn, mask, method):
    """Map style, after this process has opened the slides."""
    patches = gp.torch.PatchDataset([drawn[0], drawn[0]], patch=SIDE, masks=[mask[0], mask[0]])
    ours = torch.stack([patches[number]["image"] for number in range(200, 232)])
    loader = DataLoader(torch.utils.data.Subset(patches, range(200, 232)), batch_size=8, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert torch.equal(torch.cat([batch["image"] for batch in batches]), ours)
    assert places_of(batches) == [tuple(each) for each in patches.places[200:232].tolist()]


def test_readers_are_not_pickled(drawn):
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    patches[0]
    assert len(patches._ready) == 1
    again = pickle.loads(pickle.dumps(patches))
    assert not again._ready and torch.equal(again[3]["image"], patches[3]["image"])


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_the_stream_are_those_of_the_default_collation(drawn, mask, workers):
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE, masks=[mask[0]])
    for made in (patches, gp.torch.PatchDataset([drawn[0]], patch=SIDE, masks=[mask[0]], transforms=lambda image, mask: (image, mask))):
        theirs = DataLoader(gp.torch.PatchStream(patches, seed=7), batch_size=16, num_workers=workers)
        ours = DataLoader(gp.torch.PatchStream(made, seed=7, batch_size=16), batch_size=None, num_workers=workers)
        count = 0
        for a, b in zip(theirs, ours, strict=True):
            assert a.keys() == b.keys() and all(torch.equal(a[name], b[name]) and a[name].dtype == b[name].dtype for name in a)
            count += len(b["image"])
        assert count == 150


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_has_each_patch_once(drawn, workers):
    """Of all ranks together, whatever the number of workers."""
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    everything = sorted(tuple(each) for each in patches.places.tolist())
    for ranks in (1, 2):
        found = []
        for rank in range(ranks):
            stream = gp.torch.PatchStream(patches, seed=7, rank=rank, ranks=ranks)
            found.append(places_of(DataLoader(stream, batch_size=16, num_workers=workers)))
        assert sorted(sum(found, [])) == everything and max(map(len, found)) - min(map(len, found)) <= 1


def test_the_order_is_of_seed_and_epoch(drawn):
    patches = gp.torch.PatchDataset([drawn[0], drawn[0]], patch=SIDE)
    stream = gp.torch.PatchStream(patches, seed=7)
    first = stream.order()
    assert sorted(first) == list(range(300)) and list(first) != list(range(300))
    assert places_of(DataLoader(stream, batch_size=16)) == [tuple(each) for each in patches.places[first].tolist()]
    assert np.array_equal(gp.torch.PatchStream(patches, seed=7).order(), first)
    assert not np.array_equal(gp.torch.PatchStream(patches, seed=8).order(), first)
    stream.set_epoch(1)
    assert not np.array_equal(stream.order(), first)
    assert list(gp.torch.PatchStream(patches, shuffle=False).order()) == list(range(300))


def test_squares_stay_together(drawn):
    """At a time, patches of so many squares of 8 x 8 are mixed: where one ends, another begins."""
    patches = gp.torch.PatchDataset([drawn[0], drawn[0]], patch=50, mpp=0.5)
    patches.mixed_squares = 3
    order = gp.torch.PatchStream(patches, seed=1).order()
    slide, x, y = patches.places[order].T
    square = (slide * 100 + y // 400) * 100 + x // 400
    begins = {each: int(np.argmax(square == each)) for each in square}
    ends = {each: len(square) - int(np.argmax(square[::-1] == each)) for each in square}
    mixed = [sum(begins[each] <= at < ends[each] for each in begins) for at in range(len(square))]
    assert max(mixed) <= 3 and np.mean(mixed) > 2
    assert np.mean(square[1:] != square[:-1]) > 0.5  # within a square on its own, hardly any


def test_workers_that_stay_hear_of_the_next_epoch(drawn):
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    stream = gp.torch.PatchStream(patches, seed=7)
    loader = DataLoader(stream, batch_size=16, num_workers=1, persistent_workers=True)
    for epoch in (0, 1):
        stream.set_epoch(epoch)
        assert places_of(loader) == [tuple(each) for each in patches.places[stream.order()].tolist()]


def test_ranks(drawn, monkeypatch):
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    stream = gp.torch.PatchStream(patches)
    assert (stream.rank, stream.ranks) == (2, 4)
    assert [len(list(gp.torch.PatchStream(patches, rank=rank, ranks=4, even=True))) for rank in range(4)] == [37] * 4


@pytest.mark.parametrize(
    "code, option, arguments",
    [
        ("E-OPTION-CONFLICT", "mpp", {"mpp": 1, "level": 0}),
        ("E-OPTION-CONFLICT", "preset", {"tissue": "masks", "preset": "otsu"}),
        ("E-OPTION-VALUE", "dtype", {"dtype": torch.int32}),
        ("E-OPTION-CONFLICT", "transforms", {"transforms": lambda a, b: (a, b)}),
        ("E-OPTION-VALUE", "masks", {"masks": ["a.tif", "b.tif"]}),
        ("E-OPTION-VALUE", "patch", {"patch": 0}),
        ("E-MASK-FORMAT", "masks", {"masks": [np.zeros((5, 5), np.float32)]}),
        ("E-MASK-GRID", "least_tissue", {"tissue": [np.zeros((5, 5), bool)]}),
        ("E-SLIDE-LEVEL", "level", {"level": 9}),
    ],
)
def test_wrong_arguments_are_refused(drawn, code, option, arguments):
    with refused(ValueError, code, option=option):
        gp.torch.PatchDataset([drawn[0]], **{"patch": SIDE, **arguments})


def test_wrong_ranks_are_refused(drawn):
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    with refused(ValueError, "E-OPTION-VALUE", option="rank"):
        gp.torch.PatchStream(patches, rank=2, ranks=2)
    with refused(ValueError, "E-OPTION-NEEDS", option="rank"):
        gp.torch.PatchStream(patches, rank=0)
    with refused(TypeError, "E-OPTION-VALUE", option="rank"):
        gp.torch.PatchStream(patches, rank="0", ranks=2)
    with refused(ValueError, "E-OPTION-VALUE", option="seed", value="-1"):
        gp.torch.PatchStream(patches, seed=-1)
    with refused(ValueError, "E-OPTION-VALUE", option="batch_size", value="0"):
        gp.torch.PatchStream(patches, batch_size=0)


def test_errors_come_out_of_workers(drawn, tmp_path):
    """A slide that is gone when a worker opens it."""
    import shutil

    shutil.copy(drawn[0], tmp_path / "gone.pyramid.tif")
    patches = gp.torch.PatchDataset([tmp_path / "gone.pyramid.tif"], patch=SIDE)
    (tmp_path / "gone.pyramid.tif").unlink()
    with refused(gp.GigapixelError, "E-FILE-MISSING"):
        next(iter(DataLoader(patches, num_workers=1)))
