# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Features of patches, against patches that OpenSlide reads, or that are cut from the whole slide."""

import pathlib

import itk
import itkgigapixel as gp
import numpy as np
import openslide
import pytest
import tifffile
import torch
from conftest import real_slide, refused
from PIL import Image


class Small(torch.nn.Module):
    """The mean color, and what a small convolution makes of it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.convolution = torch.nn.Conv2d(3, 5, 3, stride=2)
        self.norm = torch.nn.BatchNorm2d(5)

    def forward(self, x):
        return torch.cat([x.mean((2, 3)), self.norm(self.convolution(x)).relu().amax((2, 3))], 1)


class Attentive(torch.nn.Module):
    """A small vision transformer: parts of 32 pixels, a token of its own, attention among all of them, no dropout."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.parts = torch.nn.Conv2d(3, 16, 32, stride=32)
        self.token = torch.nn.Parameter(torch.randn(1, 1, 16))
        self.layer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0, batch_first=True, norm_first=True)

    def forward(self, x):
        parts = self.parts(x).flatten(2).transpose(1, 2)
        return self.layer(torch.cat([self.token.expand(len(x), -1, -1), parts], 1))[:, 0]


def expected(module, patches):
    """Of (n, y, x, 3) bytes."""
    mean, deviation = (np.array(v)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    x = (np.moveaxis(np.asarray(patches), 3, 1) / 255 - mean) / deviation
    module.eval()
    with torch.no_grad():
        return module(torch.from_numpy(x).float()).numpy()


def places(length, side, step):
    return range(0, length - side + 1, step)


@pytest.mark.parametrize(
    "name, patch, overlap, make",
    [
        ("drawn", 224, 0.0, Small),
        ("drawn", 300, 0.5, Small),
        ("slides/cmu-1-small-region.svs", 256, 0.25, Small),
        ("slides/cmu-1-small-region.svs", 224, 0.0, Attentive),
    ],
)
def test_features_are_those_of_openslides_patches(name, patch, overlap, make, drawn):
    path = drawn[0] if name == "drawn" else real_slide(name)
    mpp = gp.Slide(path).mpp
    module = make().train()
    found, coordinates = gp.features(path, module, patch=patch, mpp=mpp, overlap=overlap, batch=7)
    assert module.training and found.dtype == np.float32
    reader = openslide.OpenSlide(path)
    width, height = reader.dimensions
    step = int(patch * (1 - overlap))
    wanted = [(x, y) for y in places(height, patch, step) for x in places(width, patch, step)]
    assert [tuple(each) for each in coordinates.tolist()] == wanted
    pixels = [np.asarray(reader.read_region(place, 0, (patch, patch)).convert("RGB")) for place in wanted]
    assert np.ptp(found, axis=0).min() > 0
    assert np.abs(found - expected(module, pixels)).max() < 1e-4


def test_patches_are_resampled_to_the_resolution(drawn):
    """1.25 um of levels of 0.5, 1 and 2 um: means of 5/4 pixels of the second."""
    module, slide = Small(), gp.Slide(drawn[0])
    assert [round(each.mpp, 3) for each in slide.levels] == [0.5, 1, 2]
    found, coordinates = gp.features(slide, module, patch=128, mpp=1.25)
    side = 320  # at level 0
    wanted = [(x, y) for y in places(2000, side, side) for x in places(3000, side, side)]
    assert [tuple(each) for each in coordinates.tolist()] == wanted
    parts = slide.read(level=1).repeat(4, 0).repeat(4, 1)
    whole = np.floor(parts.reshape(800, 5, 1200, 5, 3).mean((1, 3)) + 0.5)
    patches = [whole[y * 2 // 5 :, x * 2 // 5 :][:128, :128] for x, y in wanted]
    assert np.abs(found - expected(module, patches)).max() < 2e-3  # edges are rounded to 1/1024 of a pixel: some differ by 1


def test_patches_of_tissue(drawn, tmp_path):
    module, slide = Small(), gp.Slide(drawn[0])
    folder = tmp_path / "masks"
    folder.mkdir()
    mask = itk.array_from_image(gp.label(drawn[0]))
    gp.label(drawn[0], folder / "slide-3.pyramid.tif")
    every, all_places = gp.features(slide, module, patch=160)
    shares = np.array([mask[y // 8 : y // 8 + 20, x // 8 : x // 8 + 20].mean() / 255 for x, y in all_places])
    assert 0 < np.sum(shares >= 0.4) < len(shares)
    for how in ({"tissue": folder}, {"tissue": folder / "slide-3.pyramid.tif"}, {"preset": gp.presets()[0]}):
        found, coordinates = gp.features(slide, module, patch=160, least_tissue=0.4, **how)
        assert np.array_equal(coordinates, all_places[shares >= 0.4])
        assert np.abs(found - every[shares >= 0.4]).max() < 1e-5
    picture = tmp_path / "mask.png"  # that tells no resolution
    itk.imwrite(itk.image_from_array((mask > 0).astype(np.uint8)), str(picture))
    assert np.array_equal(gp.features(slide, module, patch=160, least_tissue=0.4, tissue=picture)[1], all_places[shares >= 0.4])
    for sides in ((1, 1), (1, 6), (4, 1)):  # masks of a single row or column, with pixels that are larger than patches
        left = np.arange(sides[1]) % 2 == 0
        coarse = np.broadcast_to(left, sides)
        kept = left[(all_places[:, 0] + 80) * sides[1] // slide.levels[0].width]
        assert np.array_equal(gp.features(slide, module, patch=160, tissue=coarse)[1], all_places[kept])
    itk.imwrite(itk.image_from_array(np.zeros_like(mask)), str(picture))
    with refused(ValueError, "E-MASK-GRID", option="least_tissue", value="0.25"):
        gp.features(slide, module, patch=160, tissue=picture)
    with refused(RuntimeError, "E-FILE-MISSING", file=str(tmp_path), option="tissue"):
        gp.features(slide, module, tissue=tmp_path)
    with refused(ValueError, "E-OPTION-CONFLICT", option="preset", value="auto"):
        gp.features(slide, module, tissue=picture, preset="auto")


@pytest.mark.parametrize("kind", [np.uint8, np.int64, "pyramid", "png"])
def test_values_of_masks_are_labels_in_whatever_colors_they_are_shown(kind, drawn, tmp_path):
    mask = itk.array_from_image(gp.label(drawn[0], classes=True))
    shown = [255, 255, 255, 0, 160, 0] + [1, 1, 1] * 254  # glass is white, whose luma counts as tissue
    colormap = np.array(shown, np.uint16).reshape(256, 3).T * 257
    path = tmp_path / ("mask.png" if kind == "png" else "mask.tif")
    if kind == "png":
        picture = Image.fromarray(mask, "P")
        picture.putpalette(shown)
        picture.save(path)
    elif kind == np.int64:
        tifffile.imwrite(path, mask.astype(kind))
    else:
        with tifffile.TiffWriter(path) as file:
            for level in (mask, mask[::2, ::2])[: 2 if kind == "pyramid" else 1]:
                file.write(level, photometric="palette", colormap=colormap, tile=(64, 64), subfiletype=int(level is not mask))
    module = Small()
    coarser = kind == "pyramid"
    side = 512 if coarser else 160  # of patches that make do with the coarser level
    every = gp.features(drawn[0], module, patch=side)[1]
    part = side // 8
    shares = [np.mean(mask[y // 8 : y // 8 + part, x // 8 : x // 8 + part][:: 1 + coarser, :: 1 + coarser] == 1) for x, y in every]
    wanted = every[np.array(shares) >= 0.4]
    assert 0 < len(wanted) < len(every)
    assert np.array_equal(gp.features(drawn[0], module, patch=side, least_tissue=0.4, tissue=path)[1], wanted)


def test_threads_change_no_bit(drawn):
    module = Small()
    one, three = (gp.features(drawn[0], module, workers=n) for n in (1, 3))
    assert np.array_equal(one[0], three[0]) and np.array_equal(one[1], three[1])


def test_files(drawn, tmp_path):
    found, coordinates = gp.features(drawn[0], Small(), tmp_path / "one.npz", patch=256, overlap=0.5)
    with np.load(tmp_path / "one.npz") as file:
        assert np.array_equal(file["features"], found) and np.array_equal(file["coords"], coordinates)
        assert (file["patch_size"], file["patch_size_level0"], file["overlap"], file["mpp"]) == (256, 256, 128, 0.5)

    class Failing(Small):
        def forward(self, x):
            raise RuntimeError("no more")

    for name in ("one.npz", "two.npz"):
        with pytest.raises(RuntimeError, match="no more"):
            gp.features(drawn[0], Failing(), tmp_path / name)
    with np.load(tmp_path / "one.npz") as file:
        assert np.array_equal(file["features"], found)
    assert [each.name for each in tmp_path.iterdir()] == ["one.npz"]
    h5py = pytest.importorskip("h5py")
    gp.features(drawn[0], Small(), tmp_path / "one.h5", patch=256, overlap=0.5)
    with h5py.File(tmp_path / "one.h5") as file:
        assert np.array_equal(file["features"], found) and np.array_equal(file["coords"], coordinates)
        wanted = {"patch_size": 256, "patch_size_level0": 256, "overlap": 128, "mpp": 0.5, "level0_width": 3000, "level0_height": 2000}
        assert dict(file["coords"].attrs) == {**wanted, "level0_magnification": 20, "target_magnification": 20}


@pytest.mark.parametrize(
    "options, error, code, option",
    [
        ({"patch": 0}, ValueError, "E-OPTION-VALUE", "patch"),
        ({"mpp": 0}, ValueError, "E-OPTION-VALUE", "mpp"),
        ({"mpp": 0.1}, ValueError, "E-SLIDE-RESOLUTION", "mpp"),
        ({"overlap": 1}, ValueError, "E-OPTION-VALUE", "overlap"),
        ({"least_tissue": 1.5}, ValueError, "E-OPTION-VALUE", "least_tissue"),
        ({"patch": 2500}, ValueError, "E-NETWORK-IMAGE-SIZE", "patch"),
        ({"mean": (0.5,)}, ValueError, "E-OPTION-VALUE", "mean"),
        ({"module": torch.nn.Identity()}, TypeError, "E-OPTION-VALUE", "module"),
        ({"output": "features.txt"}, ValueError, "E-OUTPUT-ENDING", "output"),
        ({"output": "nowhere/features.npz"}, RuntimeError, "E-OUTPUT-WRITE", "output"),
    ],
)
def test_wrong_arguments_are_refused(options, error, code, option, drawn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused(error, code, option=option):
        gp.features(drawn[0], **{"module": Small(), **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mpp", [0.5, 0.8, 1.0])
def test_functions_of_trident_read_the_file(mpp, drawn, tmp_path):
    """Its patches lie where ours do, have their size, and give the same features where nothing is resampled."""
    trident = pytest.importorskip("trident")
    h5py = pytest.importorskip("h5py")
    module = Small().eval()
    module.eval_transforms = lambda patch: torch.from_numpy(np.array(patch)).permute(2, 0, 1) / 255
    module.enc_name, module.embedding_dim = "small", 8
    file = str(tmp_path / "slide.h5")
    found, coordinates = gp.features(drawn[0], module, file, patch=224, mpp=mpp, mean=(0, 0, 0), deviation=(1, 1, 1))
    with trident.OpenSlideWSI(slide_path=drawn[0], name="slide", lazy_init=False) as slide:
        assert Image.open(slide.visualize_coords(file, str(tmp_path / "shown"))).size > (100, 100)
        patches = sorted(pathlib.Path(slide.dump_patches(file, str(tmp_path / "patches"))).iterdir())
        assert len(patches) == len(coordinates) and {Image.open(each).size for each in patches} == {(224, 224)}
        with h5py.File(slide.extract_patch_features(module, file, str(tmp_path / "features"), device="cpu")) as theirs:
            assert np.array_equal(theirs["coords"], coordinates)
            difference = np.abs(theirs["features"] - found).max(0)
    assert difference.max() <= 1e-5 if mpp == 0.5 else difference[:3].max() <= 0.02, "the mean color, where they resample"


def test_encoders_of_timm_bring_their_size_and_colors(drawn, tmp_path):
    """As a module, and as a folder in the form of the Hugging Face hub."""
    timm = pytest.importorskip("timm")
    stated = {"input_size": (3, 96, 96), "mean": (0.7, 0.5, 0.6), "std": (0.2, 0.3, 0.25)}
    torch.manual_seed(2)
    module = timm.create_model("resnet10t", num_classes=0, pretrained_cfg_overlay=stated)
    found, coordinates = gp.features(drawn[0], module)
    how = {"patch": 96, "mean": stated["mean"], "deviation": stated["std"]}
    wanted, places = gp.features(drawn[0], torch.nn.Sequential(module), **how)
    assert np.array_equal(coordinates, places) and np.array_equal(found, wanted)
    folder = tmp_path / "encoder"
    timm.models.save_for_hf(module, folder, model_config={"architecture": "resnet10t", "num_classes": 0, **stated})
    assert np.array_equal(gp.features(drawn[0], folder)[0], wanted)
    (folder / "config.json").write_text('{"architecture": "nothing"}')
    with refused(ValueError, "E-MODEL-FORMAT", file=str(folder), option="module"):
        gp.features(drawn[0], folder)
