# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""measure: figures against scikit-image's regionprops, and what the command does with masks and slides that it is given."""

import csv
import os

import numpy
import pytest

from conftest import blobs, fails, run, segment, write_nrrd, write_png, write_slide

PERCENTS = (5, 25, 50, 75, 95)


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measure(path, *arguments):
    """The result, the rows of components, and those of whole classes."""
    result = run("measure", *arguments, "-o", path, "--json").json
    rows = read_table(path)
    return result, [row for row in rows if row["component"] != "0"], [row for row in rows if row["component"] == "0"]


def labels(height, width, values, seed, density=0.5):
    """Noise of labels, in which components cross tiles' borders, lie in each other's holes, and touch at corners."""
    random = numpy.random.default_rng(seed)
    noise = random.random((height // 3 + 1, width // 3 + 1)).repeat(3, 0).repeat(3, 1)[:height, :width] < density
    mask = random.integers(1, values + 1, (height // 40 + 1, width // 40 + 1)).repeat(40, 0).repeat(40, 1)[:height, :width]
    return numpy.where(noise ^ (random.random((height, width)) < 0.02), mask, 0).astype(numpy.uint8)


def statistics(pixels):
    pixels = pixels.astype(float)
    return [pixels.mean(), pixels.std(), *numpy.percentile(pixels, PERCENTS)]


def check_values(row, channels, pixels):
    """\\param pixels of the slide, (n, channels)"""
    assert int(row["slide_pixels"]) == len(pixels)
    for channel, name in enumerate(channels):
        found = [float(row[f"{name}_{figure}"]) for figure in ("mean", "deviation", *(f"p{percent}" for percent in PERCENTS))]
        assert found == pytest.approx(statistics(pixels[:, channel]), rel=1e-12, abs=1e-9), (name, row)


@pytest.mark.parametrize("connectivity", [8, 4])
@pytest.mark.parametrize("values", [1, 3])
def test_as_regionprops(tmp_path, connectivity, values):
    skimage = pytest.importorskip("skimage.measure")
    mask = labels(330, 540, values, values)
    pixels = numpy.random.default_rng(9).integers(0, 256, (330, 540, 3)).astype(numpy.uint8)
    write_slide(tmp_path / "m.tif", mask)
    write_slide(tmp_path / "s.tif", pixels)
    words = [tmp_path / "m.tif", "--slide", tmp_path / "s.tif", "--connectivity", connectivity]
    result, rows, _ = measure(tmp_path / "t.csv", *words)
    neighbors = 2 if connectivity == 8 else 1
    regions = skimage.regionprops(skimage.label(mask, connectivity=neighbors))
    assert result["components"] == len(rows) == len(regions) > 100
    for number, (row, region) in enumerate(zip(rows, regions), 1):
        top, left, bottom, right = region.bbox
        assert int(row["component"]) == number
        assert int(row["label"]) == mask[tuple(region.coords[0])]
        assert int(row["area_px"]) == region.area
        assert (float(row["centroid_y"]), float(row["centroid_x"])) == region.centroid
        assert [int(row[name]) for name in ("x", "y", "width", "height")] == [left, top, right - left, bottom - top]
        assert float(row["perimeter_px"]) == pytest.approx(region.perimeter, rel=1e-12)
        assert int(row["holes"]) == 1 - skimage.euler_number(region.image, connectivity=neighbors)
        assert float(row["area_mm2"]) == pytest.approx(region.area * 0.25e-6, rel=1e-5)
        assert float(row["perimeter_mm"]) == pytest.approx(region.perimeter * 0.5e-3, rel=1e-5)
        assert float(row["centroid_x_mm"]) == pytest.approx((region.centroid[1] + 0.5) * 0.5e-3, rel=1e-5)
        if number % 10 == 1:
            check_values(row, ("red", "green", "blue"), pixels[tuple(region.coords.T)])


def test_a_class_as_a_whole(tmp_path):
    mask = labels(300, 300, 3, 4)
    pixels = numpy.random.default_rng(9).integers(0, 256, (300, 300)).astype(numpy.uint8)
    write_slide(tmp_path / "m.tif", mask)
    write_slide(tmp_path / "s.tif", pixels)
    result, rows, classes = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif")
    assert [int(row["label"]) for row in classes] == [each["label"] for each in result["classes"]] == [1, 2, 3]
    for row, told in zip(classes, result["classes"]):
        label = int(row["label"])
        y, x = numpy.nonzero(mask == label)
        own = [each for each in rows if each["label"] == row["label"]]
        assert int(row["area_px"]) == len(x) == told["pixels"]
        assert told["components"] == len(own) and int(row["holes"]) == sum(int(each["holes"]) for each in own)
        assert float(row["centroid_x"]) == x.mean() and float(row["centroid_y"]) == y.mean()
        assert [int(row[name]) for name in ("x", "y", "width", "height")] == [x.min(), y.min(), numpy.ptp(x) + 1, numpy.ptp(y) + 1]
        check_values(row, ["gray"], pixels[mask == label][:, None])


@pytest.mark.parametrize("factor", [2, 3, 8])
def test_mask_coarser_than_the_slide(tmp_path, factor):
    pixels = numpy.random.default_rng(1).integers(0, 256, (731, 903, 3)).astype(numpy.uint8)
    mask = blobs(731, 903, 2)[::factor, ::factor]
    write_slide(tmp_path / "s.tif", pixels)
    write_slide(tmp_path / "m.tif", mask, 0.5 * factor)
    result, rows, (whole,) = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif")
    assert result["slidePixels"] == [factor, factor] and result["level"] == 0
    blown = numpy.kron(mask, numpy.ones((factor, factor), numpy.uint8))[:731, :903]
    check_values(whole, ("red", "green", "blue"), pixels[blown > 0])
    assert int(whole["area_px"]) == numpy.count_nonzero(mask)
    assert sum(int(row["slide_pixels"]) for row in rows) == int(whole["slide_pixels"])


def test_mask_finer_than_the_slide(tmp_path):
    pixels = numpy.random.default_rng(1).integers(0, 256, (300, 280, 3)).astype(numpy.uint8)
    mask = blobs(1200, 1120, 2)
    write_slide(tmp_path / "s.tif", pixels, 2.0)
    write_slide(tmp_path / "m.tif", mask, 0.5)
    _, _, (whole,) = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif")
    check_values(whole, ("red", "green", "blue"), pixels.repeat(4, 0).repeat(4, 1)[mask > 0])


def test_sixteen_bits(tmp_path):
    pixels = numpy.random.default_rng(1).integers(0, 65536, (600, 700)).astype(numpy.uint16)
    mask = labels(600, 700, 1, 2, 0.9)  # one component has so many pixels that they are counted by value
    write_slide(tmp_path / "s.tif", pixels)
    write_slide(tmp_path / "m.tif", mask)
    _, rows, (whole,) = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif")
    assert max(int(row["area_px"]) for row in rows) > 4 * 65536
    check_values(whole, ["gray"], pixels[mask > 0][:, None])


def test_floats_as_regionprops(tmp_path):
    """Samples as they are stored, negative ones among them; those that are no numbers do not count."""
    skimage = pytest.importorskip("skimage.measure")
    mask = labels(330, 540, 3, 1)
    pixels = numpy.random.default_rng(3).normal(-0.5, 3, (330, 540)).astype(numpy.float32)
    write_slide(tmp_path / "m.tif", mask)
    write_slide(tmp_path / "s.tif", pixels)
    _, rows, classes = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif", "--connectivity", 4)
    regions = skimage.regionprops(skimage.label(mask, connectivity=1), pixels.astype(float))
    assert len(rows) == len(regions) > 100
    for row, region in zip(rows, regions):
        assert float(row["gray_mean"]) == pytest.approx(region.mean_intensity, rel=1e-9, abs=1e-9)
        check_values(row, ["gray"], pixels[tuple(region.coords.T)][:, None])
    for row in classes:
        check_values(row, ["gray"], pixels[mask == int(row["label"])][:, None])
    pixels[::7] = numpy.nan
    write_slide(tmp_path / "s.tif", pixels)
    _, _, classes = measure(tmp_path / "n.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif")
    for row in classes:
        check_values(row, ["gray"], pixels[(mask == int(row["label"])) & ~numpy.isnan(pixels)][:, None])


@pytest.mark.parametrize("mean", [-40, 0.01, 3e6])
def test_many_floats(tmp_path, mean):
    """Of more than 65536 pixels percentiles are of floats that are alike; mean and deviation are of all."""
    pixels = numpy.random.default_rng(3).normal(mean, abs(mean) / 3, (600, 700)).astype(numpy.float32)
    mask = labels(600, 700, 1, 2, 0.9)
    write_slide(tmp_path / "m.tif", mask)
    write_slide(tmp_path / "s.tif", pixels)
    _, _, (whole,) = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif")
    wanted = statistics(pixels[mask > 0])
    found = [float(whole[f"gray_{figure}"]) for figure in ("mean", "deviation", *(f"p{percent}" for percent in PERCENTS))]
    assert found[:2] == pytest.approx(wanted[:2], rel=1e-9) and found[2:] == pytest.approx(wanted[2:], rel=1 / 128)


def test_pixels_that_are_not_square(tmp_path):
    mask = numpy.zeros((300, 400), numpy.uint8)
    mask[100:120, 50:250] = 255
    resolution = {"resolution": (1e4 / 0.5, 1e4 / 0.25), "resolutionunit": "CENTIMETER"}
    write_slide(tmp_path / "m.tif", mask, None, **resolution)
    _, (row,), _ = measure(tmp_path / "t.csv", tmp_path / "m.tif")
    assert float(row["area_mm2"]) == pytest.approx(200 * 0.5e-3 * 20 * 0.25e-3, rel=1e-5)
    assert float(row["perimeter_mm"]) == pytest.approx(2 * (199 * 0.5e-3 + 19 * 0.25e-3), rel=1e-5)
    assert float(row["perimeter_px"]) == 2 * (199 + 19)
    assert float(row["centroid_y_mm"]) == pytest.approx(110 * 0.25e-3, rel=1e-5)


def test_unknown_size_of_pixels(tmp_path):
    mask = blobs(300, 400, 1)
    write_png(tmp_path / "m.png", mask)
    write_slide(tmp_path / "s.tif", numpy.zeros((600, 800, 3), numpy.uint8))
    result, rows, (whole,) = measure(tmp_path / "t.csv", tmp_path / "m.png")
    assert "W-MASK-RESOLUTION" in [warning["code"] for warning in result["warnings"]]
    assert result["mpp"] is None and int(whole["area_px"]) == numpy.count_nonzero(mask)
    assert {row[name] for row in rows for name in ("area_mm2", "perimeter_mm", "centroid_x_mm")} == {""}
    result, _, (whole,) = measure(tmp_path / "u.csv", tmp_path / "m.png", "--slide", tmp_path / "s.tif")
    assert "warnings" not in result
    assert float(whole["area_mm2"]) == pytest.approx(numpy.count_nonzero(mask) * 1e-6, rel=1e-5)


def test_empty_mask(tmp_path):
    write_slide(tmp_path / "m.tif", numpy.zeros((300, 300), numpy.uint8))
    write_slide(tmp_path / "s.tif", numpy.zeros((300, 300, 3), numpy.uint8))
    result, rows, (whole,) = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--slide", tmp_path / "s.tif")
    assert rows == [] and result["components"] == 0 and result["classes"] == []
    assert whole["area_px"] == whole["slide_pixels"] == "0" and whole["centroid_x"] == whole["red_mean"] == ""
    assert [doubt["code"] for doubt in result["doubts"]] == ["W-DOUBT-MASK-EMPTY"]


def test_classes_with_names(tmp_path, synthetic):
    slide, _ = synthetic
    run("label", slide, "-o", tmp_path / "c.tif", "--preset", "auto", "--classes")
    result, rows, classes = measure(tmp_path / "t.csv", tmp_path / "c.tif", "--slide", slide)
    assert [(row["label"], row["class"]) for row in classes] == [("1", "tissue"), ("2", "pen"), ("3", "artifact")]
    assert {row["class"] for row in rows} <= {"tissue", "pen", "artifact"}
    assert result["classes"][0]["components"] == sum(row["class"] == "tissue" for row in rows) > 0


@pytest.mark.parametrize("dtype, most", [(numpy.uint16, 65535), (numpy.uint32, 4294967295)])
def test_numbered_objects(tmp_path, dtype, most):
    """Labels above 255, of which neighbors touch: each is measured alone, in a TIFF and with rows from the bottom up."""
    skimage = pytest.importorskip("skimage.measure")
    mask = numpy.arange(1, 30 * 40 + 1).reshape(30, 40).repeat(9, 0).repeat(11, 1).astype(dtype) * dtype(most // 1200)
    mask[labels(270, 440, 1, 3, 0.2) > 0] = 0
    mask[5:9, 5:9] = most
    write_slide(tmp_path / "m.tif", mask)
    _, rows, classes = measure(tmp_path / "t.csv", tmp_path / "m.tif", "--connectivity", 4)
    regions = skimage.regionprops(skimage.label(mask, connectivity=1))
    assert [int(row["label"]) for row in rows] == [mask[tuple(region.coords[0])] for region in regions]
    assert [int(row["area_px"]) for row in rows] == [region.area for region in regions]
    assert [float(row["perimeter_px"]) for row in rows] == pytest.approx([region.perimeter for region in regions], rel=1e-12)
    values, counts = numpy.unique(mask[mask > 0], return_counts=True)
    assert [int(row["label"]) for row in classes] == values.tolist() and values[-1] == most
    assert [int(row["area_px"]) for row in classes] == counts.tolist()
    write_nrrd(tmp_path / "m.nrrd", mask, flips=(-1, -1))
    pixels = numpy.random.default_rng(2).integers(0, 256, (270, 440)).astype(numpy.uint8)
    write_slide(tmp_path / "s.tif", pixels)
    _, turned, _ = measure(tmp_path / "n.csv", tmp_path / "m.nrrd", "--slide", tmp_path / "s.tif", "--connectivity", 4)
    assert [row["label"] for row in turned] == [row["label"] for row in rows]
    means = [pixels[tuple(region.coords.T)].mean() for region in regions]
    assert [float(row["gray_mean"]) for row in turned] == pytest.approx(means, rel=1e-12)


@pytest.mark.parametrize("value", [-1, 2**32])
def test_labels_beyond_32_bits_are_refused(tmp_path, value):
    mask = numpy.zeros((300, 300), numpy.int64)
    mask[10:20, 10:20] = value
    write_slide(tmp_path / "m.tif", mask)
    refused = fails("measure", tmp_path / "m.tif", "-o", tmp_path / "t.csv")
    assert (refused.code, refused.value) == ("E-LABEL-VALUE", str(value))
    assert not (tmp_path / "t.csv").exists()


def test_a_mask_of_another_slide(tmp_path):
    write_slide(tmp_path / "m.tif", blobs(300, 400, 1))
    write_slide(tmp_path / "s.tif", numpy.zeros((900, 400, 3), numpy.uint8))
    assert fails("measure", tmp_path / "m.tif", "--slide", tmp_path / "s.tif", "-o", tmp_path / "t.csv").code == "E-MASK-GRID"
    run("synthesize", tmp_path / "a.tif", "--size", "600x500", "--seed", 1)
    run("synthesize", tmp_path / "b.tif", "--size", "600x500", "--seed", 2)
    run("label", tmp_path / "a.tif", "-o", tmp_path / "a.mask.tif")
    words = [tmp_path / "a.mask.tif", "-o", tmp_path / "t.csv", "--slide"]
    assert fails("measure", *words, tmp_path / "b.tif").code == "E-MASK-GRID"
    run("measure", *words, tmp_path / "a.tif")


def test_a_mask_that_was_converted(tmp_path, synthetic):
    """It tells the file that it was converted from, which is no slide."""
    slide, mask, converted = synthetic[0], tmp_path / "m.tif", tmp_path / "c.ome.tif"
    run("label", slide, "-o", mask)
    run("convert", mask, converted)
    tables = []
    for made in (mask, converted):
        run("measure", made, "--slide", slide, "-o", tmp_path / "t.csv", "--overwrite")
        tables.append([{**row, "mask": None} for row in read_table(tmp_path / "t.csv")])
    assert tables[0] == tables[1] and tables[0]


def test_refusals(tmp_path):
    mask = write_slide(tmp_path / "m.tif", blobs(300, 400, 1))
    table = tmp_path / "t.csv"
    assert fails("measure", mask, "-o", tmp_path / "t.txt", code=2).code == "E-OUTPUT-ENDING"
    assert fails("measure", tmp_path / "no.tif", "-o", table).code == "E-FILE-MISSING"
    assert fails("measure", mask, "--level", 0, "-o", table, code=2).code == "E-OPTION-NEEDS"
    assert fails("measure", mask, "--connectivity", 6, "-o", table, code=2).code == "E-OPTION-VALUE"
    wide = write_slide(tmp_path / "f.tif", numpy.zeros((300, 400), numpy.uint32))
    assert fails("measure", mask, "--slide", wide, "-o", table).code == "E-SLIDE-CHANNELS"
    (tmp_path / "folder").mkdir()
    assert fails("measure", tmp_path / "folder", "-o", table).code == "E-FOLDER-EMPTY"
    assert not table.exists()
    table.write_text("something else")
    assert fails("measure", mask, "-o", table).code == "E-OUTPUT-EXISTS"
    assert table.read_text() == "something else"
    run("measure", mask, "-o", table, "--overwrite")
    assert read_table(table)


@pytest.fixture
def folders(tmp_path):
    """Folders of slides and of their masks; a fourth slide has none."""
    (tmp_path / "slides").mkdir()
    (tmp_path / "masks").mkdir()
    for seed in range(4):
        run("synthesize", tmp_path / f"slides/{seed}.tif", "--size", "600x500", "--seed", seed)
    slides = [tmp_path / f"slides/{seed}.tif" for seed in range(3)]
    run("label", *slides, "-o", tmp_path / "masks/")
    return tmp_path


def test_folders(folders):
    result, rows, classes = measure(folders / "t.csv", folders / "masks", "--slide", folders / "slides")
    assert [each["mask"] for each in result] == [str(folders / f"masks/{seed}.pyramid.tif") for seed in range(3)]
    assert [row["slide"] for row in classes] == [str(folders / f"slides/{seed}.tif") for seed in range(3)]
    assert len(rows) == sum(each["components"] for each in result)
    assert [name for name in os.listdir(folders) if name.startswith(".")] == []
    single = read_table(folders / "t.csv")
    _, alone, _ = measure(folders / "one.csv", folders / "masks/1.pyramid.tif", "--slide", folders / "slides/1.tif")
    assert alone == [row for row in single if row["mask"].endswith("1.pyramid.tif") and row["component"] != "0"]


def test_a_batch_goes_on(folders):
    """One mask has no slide yet: the others are written, and are not measured again."""
    hidden = folders / "2.tif"
    (folders / "slides/2.tif").rename(hidden)
    words = ["measure", folders / "masks", "--slide", folders / "slides", "-o", folders / "t.csv"]
    error = run(*words, "--json", code=1).json[2]["error"]
    assert error["code"] == "E-FILE-MISSING" and error["option"] == "--slide"
    assert {row["mask"][-len("0.pyramid.tif") :] for row in read_table(folders / "t.csv")} == {"0.pyramid.tif", "1.pyramid.tif"}
    hidden.rename(folders / "slides/2.tif")
    assert fails(*words).code == "E-OUTPUT-EXISTS"
    result = run(*words, "--overwrite", "--json").json
    assert [each["skipped"] for each in result] == [True, True, False]
    again = (folders / "t.csv").read_bytes()
    run(*words, "--overwrite")
    assert (folders / "t.csv").read_bytes() == again
    assert [name for name in os.listdir(folders) if name.startswith(".")] == []


def test_another_connectivity_is_measured_again(folders):
    (folders / "slides/2.tif").unlink()
    words = ["measure", folders / "masks", "--slide", folders / "slides", "-o", folders / "t.csv"]
    run(*words, code=1)
    result = run(*words, "--overwrite", "--connectivity", 4, "--json", code=1).json
    assert [each.get("skipped") for each in result] == [False, False, None]


def test_segmentation_of_slicer(tmp_path):
    mask = (blobs(200, 300, 1) > 0).astype(numpy.uint8)
    write_nrrd(tmp_path / "m.seg.nrrd", mask, **segment(0, "Lesion", 1))
    _, rows, (whole,) = measure(tmp_path / "t.csv", tmp_path / "m.seg.nrrd")
    assert int(whole["area_px"]) == mask.sum() == sum(int(row["area_px"]) for row in rows)
    assert float(whole["area_mm2"]) == pytest.approx(mask.sum() * 0.25e-6, rel=1e-5)
