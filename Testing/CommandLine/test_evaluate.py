# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""evaluate: against numpy, on equal and unequal grids."""

import pathlib

import numpy
import pytest

from conftest import blobs, fails, run, segment, write_nrrd, write_png, write_slide


def reference(prediction, truth):
    """All figures from two boolean arrays of one shape."""
    tp = int(numpy.sum(prediction & truth))
    fp = int(numpy.sum(prediction & ~truth))
    fn = int(numpy.sum(~prediction & truth))
    tn = int(numpy.sum(~prediction & ~truth))

    def quotient(part, whole):
        return part / whole if whole else 1.0

    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "dice": quotient(2 * tp, 2 * tp + fp + fn),
        "iou": quotient(tp, tp + fp + fn),
        "sensitivity": quotient(tp, tp + fn),
        "specificity": quotient(tn, tn + fp),
        "precision": quotient(tp, tp + fp),
        "diceAllForeground": quotient(2 * (tp + fn), tp + fn + tp + fp + fn + tn),
    }


def check(result, prediction, truth):
    for key, value in reference(prediction > 0, truth > 0).items():
        assert result[key] == pytest.approx(value, rel=1e-12), key


def test_one_grid(tmp_path):
    a, b = blobs(731, 903, 1), blobs(731, 903, 2)
    write_slide(tmp_path / "a.tif", a)
    write_slide(tmp_path / "b.tif", b)
    result = run("evaluate", tmp_path / "a.tif", tmp_path / "b.tif", "--json").json
    check(result, a, b)
    assert result["matchedBy"] == "millimeters" and result["mpp"] == pytest.approx(0.5, rel=1e-6)
    assert result["truthMm2"] == pytest.approx(numpy.sum(b > 0) * 0.25e-6, rel=1e-5)
    assert result["predictionMm2"] == pytest.approx(numpy.sum(a > 0) * 0.25e-6, rel=1e-5)
    text = run("evaluate", tmp_path / "a.tif", tmp_path / "b.tif").out
    assert f"{result['dice']:.6f}" in text


@pytest.mark.parametrize("mpp", [0.5, None], ids=["in mm", "by extent"])
@pytest.mark.parametrize("factor", [2, 3, 8])
def test_mask_at_a_fraction_of_the_resolution(tmp_path, factor, mpp):
    fine = blobs(731, 903, 1)
    coarse = blobs(731, 903, 2)[::factor, ::factor]
    assert coarse.shape == (-(-731 // factor), -(-903 // factor))
    write_slide(tmp_path / "fine.tif", fine, mpp)
    write_slide(tmp_path / "coarse.tif", coarse, mpp and mpp * factor)
    blown = numpy.kron(coarse, numpy.ones((factor, factor), numpy.uint8))[:731, :903]
    check(run("evaluate", tmp_path / "fine.tif", tmp_path / "coarse.tif", "--json").json, fine, blown)
    result = run("evaluate", tmp_path / "coarse.tif", tmp_path / "fine.tif", "--json").json
    check(result, blown, fine)
    assert result["matchedBy"] == ("millimeters" if mpp else "extent")


def test_a_ratio_that_is_no_integer(tmp_path):
    fine, coarse = blobs(800, 1000, 1), blobs(320, 400, 2)
    write_slide(tmp_path / "fine.tif", fine, 0.4)
    write_slide(tmp_path / "coarse.tif", coarse, 1.0)
    rows = ((numpy.arange(800) + 0.5) * 0.4).astype(int)
    columns = ((numpy.arange(1000) + 0.5) * 0.4).astype(int)
    sampled = coarse[numpy.ix_(rows, columns)]
    check(run("evaluate", tmp_path / "fine.tif", tmp_path / "coarse.tif", "--json").json, fine, sampled)


def test_empty_masks(tmp_path):
    nothing, all_, some = numpy.zeros((300, 300)), numpy.full((300, 300), 255), blobs(300, 300)
    for name, pixels in (("nothing", nothing), ("all", all_), ("some", some)):
        write_slide(tmp_path / f"{name}.tif", pixels.astype(numpy.uint8))
    result = run("evaluate", tmp_path / "nothing.tif", tmp_path / "nothing.tif", "--json").json
    assert result["dice"] == result["iou"] == result["sensitivity"] == result["specificity"] == 1
    assert result["diceAllForeground"] == 0
    for first, a in (("nothing", nothing), ("all", all_), ("some", some)):
        for second, b in (("nothing", nothing), ("all", all_), ("some", some)):
            result = run("evaluate", tmp_path / f"{first}.tif", tmp_path / f"{second}.tif", "--json")
            check(result.json, a, b)
            # A figure of 1 that had nothing to judge is told from one that is good.
            expected = {"nothing": "W-DOUBT-MASK-EMPTY", "all": "W-DOUBT-MASK-FULL"}
            told = [(w["code"], w["file"]) for w in result.json.get("warnings", [])]
            names = [second, first]
            assert told == [(expected[n], str(tmp_path / f"{n}.tif")) for n in names if n in expected]


def test_other_formats_and_values(tmp_path):
    a, b = blobs(301, 403, 1), blobs(301, 403, 2)
    write_png(tmp_path / "a.png", a // 255)
    write_png(tmp_path / "b.png", b)
    result = run("evaluate", tmp_path / "a.png", tmp_path / "b.png", "--json").json
    check(result, a, b)
    assert result["mpp"] is None and result["truthMm2"] is None
    write_slide(tmp_path / "b.tif", b)
    check(run("evaluate", tmp_path / "a.png", tmp_path / "b.tif", "--json").json, a, b)


def test_sixteen_bit_label_map(tmp_path):
    import tifffile

    a = blobs(301, 403, 1)
    # 256 becomes 0 where somebody takes the low byte.
    tifffile.imwrite(tmp_path / "a.tif", (a // 255).astype(numpy.uint16) * 256)
    write_png(tmp_path / "b.png", a)
    assert run("evaluate", tmp_path / "a.tif", tmp_path / "b.png", "--json").json["dice"] == 1


@pytest.mark.parametrize("encoding", ["raw", "gzip"])
@pytest.mark.parametrize("flips", [(1, 1), (-1, 1), (1, -1), (-1, -1)])
def test_masks_of_3d_slicer(tmp_path, flips, encoding):
    """Volumes of one slice, in either of the two directions that NRRD may count in, are where their header says."""
    a, b = blobs(301, 403, 1), blobs(301, 403, 2)
    write_slide(tmp_path / "b.tif", b)
    spaces = ("left-posterior-superior", "right-anterior-superior")
    for name, space in zip(("a.seg.nrrd", "a.nrrd"), spaces):
        write_nrrd(tmp_path / name, a // 255, flips=flips, encoding=encoding, space=space, **segment(0, "Tumor", 1))
        result = run("evaluate", tmp_path / name, tmp_path / "b.tif", "--json").json
        check(result, a, b)
        assert result["matchedBy"] == "millimeters"
    # At 1/4, of which the first pixel's center lies in the middle of four by four.
    coarse = blobs(76, 101, 3)
    corner = (1.5 * 0.0005, 1.5 * 0.0005)
    write_nrrd(tmp_path / "c.nrrd", coarse.astype(numpy.int16), mpp=2, flips=flips, corner=corner, encoding=encoding)
    blown = numpy.kron(coarse, numpy.ones((4, 4), numpy.uint8))[:301, :403]
    check(run("evaluate", tmp_path / "c.nrrd", tmp_path / "b.tif", "--json").json, blown, b)


def test_segmentations_that_are_no_masks(tmp_path):
    a = blobs(301, 403, 1)
    write_slide(tmp_path / "a.tif", a)
    segments = {**segment(0, "Tumor", 1), **segment(1, "Vessel", 1, layer=1)}
    layers = write_nrrd(tmp_path / "layers.seg.nrrd", numpy.stack([a // 255, a // 255], -1), **segments)
    refused = fails("evaluate", layers, tmp_path / "a.tif")
    assert (refused.code, refused.file) == ("E-MASK-FORMAT", str(layers)) and "2 layers" in refused.why
    assert "labelmap" in refused.do
    away = write_nrrd(tmp_path / "away.nrrd", a, corner=(0.1, 0))
    refused = fails("evaluate", away, tmp_path / "a.tif")
    assert refused.code == "E-MASK-GRID" and str(away) in refused.why
    turned = write_nrrd(tmp_path / "turned.nrrd", a, encoding="raw")
    turned.write_bytes(turned.read_bytes().replace(b"(0.0005,0,0) (0,0.0005,0)", b"(0,0.0005,0) (0.0005,0,0)"))
    refused = fails("evaluate", turned, tmp_path / "a.tif")
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(turned))
    cut = write_nrrd(tmp_path / "cut.nrrd", a)
    cut.write_bytes(cut.read_bytes()[:-100])
    assert fails("evaluate", cut, tmp_path / "a.tif").file == str(cut)


def test_masks_that_are_cut_short(tmp_path):
    """Of formats whose readers fill up what is missing."""
    from PIL import Image

    a = blobs(300, 400)
    write_slide(tmp_path / "a.tif", a)
    header = "ObjectType = Image\nNDims = 2\nDimSize = 400 300\nElementSpacing = 0.0005 0.0005\nElementType = MET_UCHAR\n"
    whole = (header + "ElementDataFile = LOCAL\n").encode() + a.tobytes()
    (tmp_path / "m.mha").write_bytes(whole)
    assert run("evaluate", tmp_path / "m.mha", tmp_path / "a.tif", "--json").json["dice"] == 1
    (tmp_path / "m.mha").write_bytes(whole[:-1])
    refused = fails("evaluate", tmp_path / "m.mha", tmp_path / "a.tif")
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(tmp_path / "m.mha"))
    Image.fromarray(a).save(tmp_path / "m.jpg", quality=95)
    run("evaluate", tmp_path / "m.jpg", tmp_path / "a.tif")
    whole = (tmp_path / "m.jpg").read_bytes()
    middle = (len(whole) + whole.index(b"\xff\xda")) // 2  # of the pixels, where no marker stands
    (tmp_path / "m.jpg").write_bytes(whole[:middle] + b"\xff\x45" + whole[middle + 2 :])
    refused = fails("evaluate", tmp_path / "m.jpg", tmp_path / "a.tif")
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(tmp_path / "m.jpg"))
    assert "0x45" in refused.why, "the marker"
    (tmp_path / "m.jpg").write_bytes(whole[:-2])
    refused = fails("evaluate", tmp_path / "m.jpg", tmp_path / "a.tif")
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(tmp_path / "m.jpg"))


def test_float_masks(tmp_path):
    a = blobs(300, 400)
    write_slide(tmp_path / "a.tif", a)
    for value in (1, 0.5, numpy.nan):
        pixels = (a // 255).astype(numpy.float32)
        pixels[pixels > 0] = value
        mask = tmp_path / "float.mha"
        header = "ObjectType = Image\nNDims = 2\nDimSize = 400 300\nElementSpacing = 0.0005 0.0005\nElementType = MET_FLOAT\n"
        mask.write_bytes((header + "ElementDataFile = LOCAL\n").encode() + pixels.tobytes())
        if value == 1:
            assert run("evaluate", mask, tmp_path / "a.tif", "--json").json["dice"] == 1
        else:
            refused = fails("evaluate", mask, tmp_path / "a.tif")
            assert (refused.code, refused.file, refused.value) == ("E-LABEL-VALUE", str(mask), str(value))


def test_refusals(tmp_path, synthetic):
    write_slide(tmp_path / "a.tif", blobs(300, 400))
    write_slide(tmp_path / "other.tif", blobs(300, 500))
    write_slide(tmp_path / "turned.tif", blobs(400, 300), None)
    refused = fails("evaluate", tmp_path / "a.tif", tmp_path / "other.tif")
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(tmp_path / "other.tif"))
    assert "400 x 300" in refused.why and "500 x 300" in refused.why
    refused = fails("evaluate", tmp_path / "a.tif", tmp_path / "turned.tif")
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(tmp_path / "turned.tif"))
    write_slide(tmp_path / "part.tif", blobs(100, 100))
    error = fails("evaluate", tmp_path / "part.tif", tmp_path / "a.tif")
    assert error.code == "E-MASK-GRID" and "--partial" in error.do
    assert "--partial" not in fails("evaluate", tmp_path / "a.tif", tmp_path / "part.tif")
    one = write_png(tmp_path / "one.png", numpy.full((1, 1), 255, numpy.uint8))
    refused = fails("evaluate", one, tmp_path / "a.tif")
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(one))
    error = fails("evaluate", tmp_path / "a.tif", synthetic[0])
    assert (error.code, error.file) == ("E-MASK-FORMAT", str(synthetic[0]))
    refused = fails("evaluate", tmp_path / "missing.tif", tmp_path / "a.tif")
    assert refused.code == "E-FILE-MISSING" and refused.file == str(tmp_path / "missing.tif")
    refused = fails("evaluate", tmp_path / "turned.tif", tmp_path / "a.tif", "--partial")
    assert (refused.code, refused.file) == ("E-SLIDE-RESOLUTION", str(tmp_path / "turned.tif"))
    assert "--partial" in refused.do
