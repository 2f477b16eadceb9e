# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""segment: masks and probabilities of slides; skipped where the engine was not built."""

import json
import re
import shutil

import numpy
import pytest
import tifffile

from conftest import TRAIN, fails, run, write_slide

pytestmark = pytest.mark.usefixtures("network")


def test_segment_writes_the_same_mask_from_shared_memory_and_in_one_piece(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    arguments = ["segment", slide, "--model", trained[0], "-o"]
    run(*arguments, tmp_path / "tiles.tif", "--tile-size", 256)
    said = run(*arguments, tmp_path / "shared.tif", "--tile-size", 256, "--shared-memory").err
    assert re.search(r"\b12 .*256 x 256", said)
    assert (tmp_path / "shared.tif").read_bytes() == (tmp_path / "tiles.tif").read_bytes()
    assert "in one piece" in run(*arguments, tmp_path / "whole.tif", "--tile-size", "image").err
    tiles, whole = (tifffile.imread(tmp_path / name) for name in ("tiles.tif", "whole.tif"))
    assert numpy.mean(tiles != whole) < 1e-4 and 0 < numpy.mean(whole == 255) < 1
    refused = fails(*arguments, tmp_path / "new.tif", "--tile-size", "image", "--region", "0,0,64,64")
    assert refused.code == "E-OPTION-CONFLICT" and refused.file == str(slide)
    refused = fails(*arguments, tmp_path / "new.tif", "--tile-size", 100)
    assert refused.code == "E-OPTION-VALUE" and refused.value == "100" and "96 or 128" in refused.do
    assert not (tmp_path / "new.tif").exists()


def test_segment_patch_by_patch(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    common = ["segment", slide, "--model", trained[0], "--probability"]
    patch = ["--sliding-window", "--patch", 256, "--overlap", 0.3]
    read = lambda name: tifffile.imread(tmp_path / name).astype(int)
    run(*common, tmp_path / "whole.p.tif", "-o", tmp_path / "whole.tif")
    run(*common, tmp_path / "one.p.tif", "-o", tmp_path / "one.tif", *patch, "--threads", 1)
    said = run(*common, tmp_path / "three.p.tif", "-o", tmp_path / "three.tif", *patch, "--threads", 3).err
    assert "256 x 256" in said
    for name in ("{}.tif", "{}.p.tif"):
        assert numpy.array_equal(read(name.format("one")), read(name.format("three")))
    # Farther from a patch's borders than the halo it is as in the whole slide, which shows at them.
    run(*common, tmp_path / "alone.p.tif", "-o", tmp_path / "alone.tif", "--sliding-window", "--patch", 256, "--overlap", 0)
    difference = numpy.abs(read("alone.p.tif") - read("whole.p.tif"))[:256, :256]
    assert difference.max() > 1 >= difference[64:192, 64:192].max()
    # A region has the bits of the whole slide; another patch is another mask.
    run(*common, tmp_path / "part.p.tif", "-o", tmp_path / "part.tif", *patch, "--region", "101,50,300,401")
    assert numpy.array_equal(read("part.p.tif"), read("one.p.tif")[50:451, 101:401])
    assert run("segment", slide, "--model", trained[0], "-o", tmp_path / "one.tif", *patch, "--json").json["skipped"]
    refused = fails("segment", slide, "--model", trained[0], "-o", tmp_path / "one.tif", *patch, "--mirror")
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "one.tif") and "mirrored" in refused.why
    for wrong, code, option, value in (
        (["--overlap", 0.5], "E-OPTION-NEEDS", "--overlap", "0.5"),
        ([*patch, "--tile-size", 256], "E-OPTION-CONFLICT", "--sliding-window", ""),
        ([*patch, "--shared-memory"], "E-OPTION-CONFLICT", "--sliding-window", ""),
        (["--sliding-window", "--patch", 100], "E-OPTION-VALUE", "--patch", "100"),
        (["--sliding-window", "--overlap", 1], "E-OPTION-VALUE", "--overlap", "1"),
    ):
        refused = fails("segment", slide, "--model", trained[0], "-o", tmp_path / "x.tif", *wrong, code=2)
        assert (refused.code, refused.option, refused.value) == (code, option, value)
    assert not (tmp_path / "x.tif").exists()


def test_segmentation_with_probability(trained, cohort, tmp_path):
    slide = cohort.parent / "b.tif"
    result = run("segment", slide, "--model", trained[0], "-o", tmp_path / "m.tif", "--probability", tmp_path / "p.tif", "--json")
    assert (result.json["width"], result.json["height"], result.json["level"]) == (800, 700, 0)
    assert result.json["mpp"] == pytest.approx(0.5, rel=1e-6)
    seconds = result.json["cpuSeconds"]
    assert seconds["pixels"] > 0 and seconds["network"] > 0
    assert seconds["pixels"] + seconds["network"] <= seconds["all"]
    mask, probability = tifffile.imread(tmp_path / "m.tif"), tifffile.imread(tmp_path / "p.tif")
    assert mask.shape == probability.shape == (700, 800) and set(numpy.unique(mask)) <= {0, 255}
    # Rounded to 255ths, a probability on the one side of 0.5 is never on the other.
    assert (probability[mask > 0] >= 127).all() and (probability[mask == 0] <= 128).all()
    run("segment", slide, "--model", trained[0], "-o", tmp_path / "alone.tif")
    assert (tmp_path / "alone.tif").read_bytes() == (tmp_path / "m.tif").read_bytes()
    threshold = float(numpy.median(probability)) / 255
    run("segment", slide, "--model", trained[0], "-o", tmp_path / "t.tif", "--threshold", threshold)
    cut = tifffile.imread(tmp_path / "t.tif")
    run("segment", slide, "--model", trained[0], "-o", tmp_path / "t.tif", "--threshold", 0.3, "--overwrite")
    refused = fails("segment", slide, "--model", trained[0], "-o", tmp_path / "t.tif", "--threshold", 0.4)
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "t.tif")
    assert "--threshold 0.3 then, 0.4 now" in refused.why
    assert (probability[cut > 0] >= 255 * threshold - 1).all() and (probability[cut == 0] <= 255 * threshold + 1).all()


def test_pixels_that_are_not_square(trained, tmp_path):
    """Each side is the model's, but for 10 %; else pixels are resampled."""
    slide = tmp_path / "slide.tif"
    pixels = numpy.full((300, 400, 3), 200, numpy.uint8)
    for sides, read in (((0.46, 0.54), (0.46, 0.54)), ((0.3, 0.4), (0.5, 0.5))):
        words = {"resolution": (1e4 / sides[0], 1e4 / sides[1]), "resolutionunit": "CENTIMETER"}
        tifffile.imwrite(slide, pixels, tile=(256, 256), photometric="rgb", **words)
        result = run("segment", slide, "--model", trained[0], "-o", tmp_path / "m.tif", "--json", "--overwrite").json
        assert (result["mppX"], result["mppY"], result["mpp"]) == tuple(pytest.approx(mpp, rel=1e-4) for mpp in (*read, 0.5))


def test_ready_model_segments_another_specimen(cohort, tmp_path):
    """The model that comes with the program, on a slide that it was not trained on, against the mask of `label`."""
    slide = cohort.parent / "other.tif"
    run("synthesize", slide, "--size", "1500x1200", "--seed", 77)
    run("label", slide, "-o", tmp_path / "label.tif")
    run("segment", slide, "--model", "tissue", "-o", tmp_path / "mask.tif")
    result = run("evaluate", tmp_path / "mask.tif", tmp_path / "label.tif", "--json").json
    assert result["dice"] > 0.95 and result["specificity"] > 0.9 and result["diceAllForeground"] < 0.8
    refused = fails("segment", slide, "--model", "nosuch", "-o", tmp_path / "x.tif")
    assert refused.code == "E-FILE-MISSING" and refused.file == "nosuch" and "tissue" in refused.why


def test_holes_are_filled_as_scipy_fills_them(trained, cohort, tmp_path):
    ndimage = pytest.importorskip("scipy.ndimage")
    slide = tmp_path / "ring.tif"
    rows, columns = numpy.ogrid[:700, :900]
    radius = numpy.hypot(rows - 350, columns - 400)
    tissue = ((radius < 300) & (radius > 180)) | (radius < 60)
    tissue[:, 690:] = False
    pixels = numpy.where(tissue[..., None], [190, 110, 160], 245).astype(numpy.uint8)
    write_slide(slide, pixels, 0.5)
    common = ["segment", slide, "--model", "tissue"]
    run(*common, "-o", tmp_path / "open.tif")
    run(*common, "-o", tmp_path / "filled.tif", "--fill-holes")
    mask, filled = (tifffile.imread(tmp_path / name) for name in ("open.tif", "filled.tif"))
    assert numpy.array_equal(filled > 0, ndimage.binary_fill_holes(mask > 0))
    assert numpy.sum(filled > 0) > numpy.sum(mask > 0) + 50000 and set(numpy.unique(filled)) == {0, 255}
    refused = fails(*common, "-o", tmp_path / "open.tif", "--fill-holes")
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(tmp_path / "open.tif") and "--overwrite" in refused.do
    both = fails(*common, "-o", tmp_path / "x.tif", "--fill-holes", "--probability", tmp_path / "p.tif", code=2)
    assert both.code == "E-OPTION-CONFLICT" and both.option == "--fill-holes" and not (tmp_path / "x.tif").exists()


def test_region_has_the_bits_of_the_whole(trained, cohort, tmp_path):
    slide = cohort.parent / "b.tif"
    run("segment", slide, "--model", trained[0], "-o", tmp_path / "any.tif", "--probability", tmp_path / "any.p.tif")
    # A threshold that splits the pixels: a mask of one value would say nothing about its place.
    threshold = ["--threshold", numpy.median(tifffile.imread(tmp_path / "any.p.tif")) / 255]
    common = ["segment", slide, "--model", trained[0], *threshold]
    run(*common, "-o", tmp_path / "whole.tif", "--probability", tmp_path / "whole.p.tif")
    region = run(*common, "-o", tmp_path / "part.tif", "--probability", tmp_path / "part.p.tif", "--region", "200,100,300,400", "--json")
    assert region.json["region"] == [200, 100, 300, 400]
    for name in ("", ".p"):
        whole, part = (tifffile.imread(tmp_path / f"{kind}{name}.tif") for kind in ("whole", "part"))
        assert numpy.array_equal(part, whole[100:500, 200:500])
    # The part knows its place: compared with the truth there, and laid over the slide there.
    truth = cohort.parent / "b.truth.tif"
    result = run("evaluate", tmp_path / "part.tif", truth, "--partial", "--json").json
    predicted, true = tifffile.imread(tmp_path / "part.tif") > 0, tifffile.imread(truth)[100:500, 200:500] > 0
    assert (result["tp"], result["fp"]) == (numpy.sum(predicted & true), numpy.sum(predicted & ~true))
    refused = fails("evaluate", tmp_path / "part.tif", truth)
    assert refused.code == "E-MASK-GRID" and refused.file == str(truth)
    run("overlay", slide, tmp_path / "part.tif", "-o", tmp_path / "o.png", "--partial")
    refused = fails(*common, "-o", tmp_path / "x.tif", "--region", "900,0,10,10")
    assert (refused.code, refused.file, refused.option, refused.value) == ("E-REGION", str(slide), "--region", "900,0,10,10")
    assert not (tmp_path / "x.tif").exists()


def test_region_beyond_the_slide(trained, cohort, tmp_path):
    """A mask is smaller than what was asked for, which is said; a slide is learnt or converted as asked for, or not at all."""
    slide = cohort.parent / "b.tif"
    segment = ["segment", slide, "--model", trained[0], "-o"]
    result = run(*segment, tmp_path / "cut.tif", "--region", "500,600,400,400", "--json")
    (warning,) = result.json["warnings"]
    assert warning["code"] == "W-REGION" and warning["file"] == str(slide) and warning["option"] == "--region"
    assert result.json["region"] == [500, 600, 300, 100]
    run(*segment, tmp_path / "inside.tif", "--region", "500,600,300,100")
    assert numpy.array_equal(tifffile.imread(tmp_path / "cut.tif"), tifffile.imread(tmp_path / "inside.tif"))
    assert run(*segment, tmp_path / "edge.tif", "--region", "0,0,800,700", "--json").json.get("warnings", []) == []
    refused = fails("convert", slide, tmp_path / "c.tif", "--region", "500,600,400,400")
    assert (refused.code, refused.file, refused.option, refused.value) == ("E-REGION", str(slide), "--region", "500,600,400,400")
    table = tmp_path / "c.csv"
    table.write_text(f'slide,mask,split,region\n{slide},{cohort.parent / "b.truth.tif"},train,"500,600,400,400"\n')
    for level, region in ((0, "500,600,400,400"), (1, "250,300,200,200")):
        refused = fails(*TRAIN, "--cohort", table, "-o", tmp_path / "run", "--epochs", 1, "--level", level)
        assert (refused.code, refused.file, refused.value) == ("E-REGION", str(slide), region)
    assert not (tmp_path / "c.tif").exists() and not (tmp_path / "run").exists()


def test_several_slides_resume(trained, cohort, tmp_path):
    slides = [cohort.parent / "a.tif", cohort.parent / "b.tif"]
    first = run("segment", *slides, "--model", trained[0], "-o", tmp_path / "masks", "--json").json
    assert [entry["skipped"] for entry in first] == [False, False]
    (tmp_path / "masks" / "a.pyramid.tif").unlink()
    again = run("segment", *slides, "--model", trained[0], "-o", tmp_path / "masks", "--json").json
    assert [entry["skipped"] for entry in again] == [False, True]


def test_mask_of_another_threshold_region_or_model_is_not_kept(trained, cohort, tmp_path):
    slide = cohort.parent / "a.tif"
    common = ["segment", slide, "-o", tmp_path / "m.tif"]
    run(*common, "--model", trained[0], "--region", "0,0,64,64")
    before = (tmp_path / "m.tif").read_bytes()
    assert run(*common, "--model", trained[0], "--region", "0,0,64,64", "--json").json["skipped"]
    # As after another training: one weight differs.
    model = bytearray((trained[0] / "best.safetensors").read_bytes())
    model[-2] ^= 1
    (tmp_path / "other.safetensors").write_bytes(model)
    for options, difference in (
        (["--model", trained[0], "--region", "0,0,64,64", "--threshold", 0.4], "--threshold 0.5 then, 0.4"),
        (["--model", trained[0], "--region", "64,0,64,64"], "--region 0,0,64,64 then, 64,0,64,64 now"),
        (["--model", trained[0], "--region", "0,0,64,32"], "--region 0,0,64,64 then, 0,0,64,32 now"),
        (["--model", tmp_path / "other.safetensors", "--region", "0,0,64,64"], "another model, or one that has changed since"),
    ):
        message = fails(*common, *options)
        assert message.code == "E-OUTPUT-EXISTS" and message.file == str(tmp_path / "m.tif")
        assert difference in message.why and "--overwrite" in message.do
        assert "hash" not in message and message.count(" then, ") <= 1, message
    assert (tmp_path / "m.tif").read_bytes() == before
    run(*common, *options, "--overwrite")
    assert (tmp_path / "m.tif").read_bytes() != before


def test_resolution_has_to_be_the_models(trained, tmp_path):
    pixels = numpy.full((700, 900, 3), 200, numpy.uint8)
    coarse = write_slide(tmp_path / "coarse.tif", pixels, 1.0)
    for level in ([], ["--level", 0]):
        message = fails("segment", coarse, "--model", trained[0], "-o", tmp_path / "m.tif", *level)
        assert message.code == "E-SLIDE-RESOLUTION" and message.file == str(coarse)
        assert "0.500 µm/px" in message.why and "1.000 µm/px" in message.why and "()" not in message
        assert ("--level" in message.do) == bool(level)
    # Of pixels that are not square each side counts, not the mean.
    oblong = tmp_path / "oblong.tif"
    words = {"resolution": (1e4 / 0.75, 1e4 / 0.25), "resolutionunit": "CENTIMETER"}
    tifffile.imwrite(oblong, pixels, tile=(256, 256), photometric="rgb", **words)
    for level in ([], ["--level", 0]):
        message = fails("segment", oblong, "--model", trained[0], "-o", tmp_path / "m.tif", *level)
        assert message.code == "E-SLIDE-RESOLUTION" and "0.750 x 0.250 µm/px" in message.why
    blind = write_slide(tmp_path / "blind.tif", pixels, None)
    refused = fails("segment", blind, "--model", trained[0], "-o", tmp_path / "m.tif")
    assert refused.code == "E-SLIDE-RESOLUTION" and refused.file == str(blind) and "--slide-mpp" in refused.do
    run("segment", blind, "--model", trained[0], "-o", tmp_path / "m.tif", "--slide-mpp", 0.51)
    # Another resolution is another mask, though its pixels are the same.
    again = ["segment", blind, "--model", trained[0], "-o", tmp_path / "m.tif", "--json", "--slide-mpp"]
    assert run(*again, 0.51).json["skipped"]
    refused = fails(*again, 0.5)
    assert refused.code == "E-OUTPUT-EXISTS" and "--slide-mpp 0.51 then, 0.5 now" in refused.why
    run("synthesize", tmp_path / "fine.tif", "--size", "1600x1200", "--slide-mpp", 0.25)
    assert run("segment", tmp_path / "fine.tif", "--model", trained[0], "-o", tmp_path / "f.tif", "--json").json["level"] == 1


def change_weights(source, target, tensor, value):
    """The model with all numbers of one tensor replaced."""
    data = bytearray((source / "best.safetensors").read_bytes())
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8 : 8 + size])[tensor]["data_offsets"]
    data[8 + size + begin : 8 + size + end] = numpy.full((end - begin) // 4, value, "<f4").tobytes()
    target.write_bytes(data)
    return target


FOUR = {"name": "sum", "input": {"channels": 4}, "layers": [{"name": "S", "type": "convolution", "in": 4, "out": 1, "kernel": 1, "activation": "none"}]}


def write_model_of_four_channels(path, bias, weights):
    header = {"__metadata__": {"gigapixel": "2", "network": json.dumps(FOUR), "tile_size": "64", "microns_per_pixel": "0.5"}}
    header["S.bias"] = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header["S.weight"] = {"dtype": "F32", "shape": [1, 4, 1, 1], "data_offsets": [4, 20]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + numpy.array([bias, *weights], "<f4").tobytes())
    return path


def write_channels(path, planes):
    """An OME-TIFF of a page for each channel, as microscopes of fluorescence write it."""
    sizes = {f"PhysicalSize{axis}": 0.5 for axis in "XY"} | {f"PhysicalSize{axis}Unit": "µm" for axis in "XY"}
    tifffile.imwrite(path, planes, ome=True, tile=(128, 128), compression="zlib", photometric="minisblack", metadata={"axes": "CYX", **sizes})
    return path


def test_slides_of_four_channels(tmp_path):
    """A network of as many channels is trained on them and segments them; in which order they come counts."""
    planes = numpy.random.default_rng(1).integers(0, 256, (4, 300, 421), numpy.uint8)
    slide = write_channels(tmp_path / "four.ome.tif", planes)
    weights = (1.0, -2.0, 0.5, 0.75)
    model = write_model_of_four_channels(tmp_path / "four.safetensors", -0.1, weights)
    logits = numpy.tensordot(weights, (255.0 - planes) / 255, 1) - 0.1
    certain = abs(logits) > 1e-6
    run("segment", slide, "--model", model, "-o", tmp_path / "m.tif")
    assert (((tifffile.imread(tmp_path / "m.tif") > 0) == (logits > 0)) | ~certain).all() and 0.1 < (logits > 0).mean() < 0.9
    mask = (logits > 0).astype(numpy.uint8) * 255
    write_slide(tmp_path / "truth.tif", mask)
    (tmp_path / "four.json").write_text(json.dumps(FOUR))
    (tmp_path / "cohort.csv").write_text("slide,mask,split\nfour.ome.tif,truth.tif,train\n")
    run("train", "--cohort", tmp_path / "cohort.csv", "--network", tmp_path / "four.json", "-o", tmp_path / "run", "--epochs", 60, "--learning-rate", 0.1,
        "--mpp", 0.5, "--no-augmentation")
    run("segment", slide, "--model", tmp_path / "run", "-o", tmp_path / "learned.tif")
    assert ((tifffile.imread(tmp_path / "learned.tif") > 0) == (mask > 0)).mean() > 0.9
    tissue = numpy.zeros_like(mask)
    tissue[100:200, 50:400] = 255
    write_slide(tmp_path / "tissue.tif", tissue)
    run("segment", slide, "--model", model, "-o", tmp_path / "inside.tif", "--tissue", tmp_path / "tissue.tif")
    assert ((tifffile.imread(tmp_path / "inside.tif") == numpy.where(tissue > 0, mask, 0)) | ~certain).all()


def test_networks_of_other_channels_than_slides_have_are_refused(cohort, tmp_path):
    folder = tmp_path / "run"
    slide = cohort.parent / "a.tif"
    refused = fails("train", "--cohort", cohort, "--network", "unet:base=1,depth=1,channels=4", "-o", folder)
    assert (refused.code, refused.file, refused.value) == ("E-SLIDE-CHANNELS", str(slide), "3") and not folder.exists()
    model = write_model_of_four_channels(tmp_path / "four.safetensors", 1, (1, 1, 1, 1))
    refused = fails("segment", slide, "--model", model, "-o", tmp_path / "m.tif")
    assert (refused.code, refused.file, refused.value) == ("E-SLIDE-CHANNELS", str(slide), "3")
    for kind, count, value in ((numpy.uint8, 5, "5"), (numpy.uint16, 4, "unsigned_short")):
        slide = write_channels(tmp_path / f"{count}.ome.tif", numpy.zeros((count, 200, 300), kind))
        refused = fails("segment", slide, "--model", model, "-o", tmp_path / "m.tif")
        assert (refused.code, refused.file, refused.value) == ("E-SLIDE-CHANNELS", str(slide), value)
    refused = fails("plan", tmp_path / "5.ome.tif", "--network", "remedios2023")
    assert (refused.code, refused.file, refused.value) == ("E-SLIDE-CHANNELS", str(tmp_path / "5.ome.tif"), "5")
    assert not (tmp_path / "m.tif").exists()


def test_model_that_overflows_is_refused(trained, cohort, tmp_path):
    """Finite weights, but infinite logits: its masks would be full or empty without a word."""
    for tensor, value in (("L1.weight", 1e38), ("L7.weight", 1e38), ("L4.weight", -3e38), ("L7.bias", 3e38)):
        model = change_weights(trained[0], tmp_path / "bad.safetensors", tensor, value)
        refused = fails("segment", cohort.parent / "a.tif", "--model", model, "-o", tmp_path / "m.tif")
        assert (refused.code, refused.file, refused.value) == ("E-NOT-FINITE", str(model), tensor[:2])
    assert not (tmp_path / "m.tif").exists()


def test_model_of_zeros_is_warned_of(trained, cohort, tmp_path):
    """Its probability of 0.5 reaches the threshold: the mask is full."""
    model = change_weights(trained[0], tmp_path / "zeros.safetensors", "L7.weight", 0)
    done = run("segment", cohort.parent / "a.tif", "--model", model, "-o", tmp_path / "m.tif")
    assert 'the weights "L7.weight" of the model are all 0' in done.err


def test_masks_of_one_class_are_warned_of(cohort, tmp_path):
    for name in ("a", "b"):
        shutil.copy(cohort.parent / f"{name}.tif", tmp_path)
        write_slide(tmp_path / f"{name}.truth.tif", numpy.zeros((700, 800), numpy.uint8), 0.5)
    shutil.copy(cohort, tmp_path)
    said = run(*TRAIN, "--cohort", tmp_path / cohort.name, "-o", tmp_path / "run", "--epochs", 1)
    assert said.codes.count("W-DOUBT-MASK-EMPTY") == 2
