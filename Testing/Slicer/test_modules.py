# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The command-line modules as programs, without Slicer: descriptions, results, regions, progress, being stopped."""

import gzip
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import numpy
import pytest
import tifffile
from conftest import NAMES, PROGRAM, module, read_level, run
from PIL import Image
from xml_lint import lint


def read_nrrd(path):
    """Header fields, key/value pairs and pixels (z, y, x) of an attached NRRD of bytes."""
    head, data = path.read_bytes().split(b"\n\n", 1)
    lines = head.decode().splitlines()
    values = dict(line.split(":=", 1) for line in lines if ":=" in line)
    fields = dict(line.split(": ", 1) for line in lines if ": " in line and ":=" not in line)
    data = gzip.decompress(data) if fields["encoding"] == "gzip" else data
    return fields, values, numpy.frombuffer(data, "u1").reshape([int(n) for n in fields["sizes"].split()][::-1])


def vectors(text):
    return numpy.array([[float(x) for x in v.split(",")] for v in re.findall(r"\(([^)]*)\)", text)])


def results_of(path):
    return dict(line.split(" = ", 1) for line in path.read_text().splitlines())


def info(slide):
    return json.loads(subprocess.run([PROGRAM, "info", slide, "--json"], capture_output=True, check=True).stdout)


@pytest.mark.parametrize("name", NAMES)
def test_description(name):
    program = module(name)
    xml = subprocess.run([program, "--xml"], capture_output=True, text=True, check=True).stdout
    assert lint(xml) == []
    assert (program.parent / f"{name}.xml").read_text() == xml  # Slicer takes the file, and starts nothing


def test_endings_are_those_that_are_written():
    """What Slicer's form offers is what the module takes."""
    found = set()
    for name in NAMES:
        xml = ElementTree.fromstring(subprocess.run([module(name), "--xml"], capture_output=True, check=True).stdout)
        found |= {
            (each.findtext("name"), each.get("fileExtensions"))
            for each in xml.iter()
            if each.findtext("channel") == "output" and each.get("fileExtensions")
        }
    assert found == {
        ("thumbnail", ".png"),
        ("volume", ".nrrd"),
        ("picture", ".png"),
        ("outputSegmentation", ".seg.nrrd,.nrrd"),
        ("map", ".nrrd"),
        ("table", ".csv"),
        ("mask", ".tif,.tiff"),
        ("probability", ".tif,.tiff"),
    }


BROKEN = {
    "the root is": ("executable>", "program>"),
    "something stands before": ("<?xml", "\n<?xml"),
    "not well-formed": ("</title>", ""),
    "title is missing": ("<title>Tissue Label</title>", ""),
    "longflag slide twice": ("<longflag>mask</longflag>", "<longflag>slide</longflag>"),
    "name slide twice": ("<name>mask</name>", "<name>slide</name>"),
    "slide: label is missing": ("<label>Slide</label>", ""),
    "slide: a file has no channel": ("<channel>input</channel>", ""),
    "slide: channel in is": ("<channel>input</channel>", "<channel>in</channel>"),
    "slide: no longflag": ("<longflag>slide</longflag>", ""),
    "is no word": ("<longflag>slideMpp</longflag>", "<longflag>slide-mpp</longflag>"),
    "is not known": ('type="label"', 'type="segmentation"'),
    "default maybe": ("<default>no</default>", "<default>maybe</default>"),
    "is not from": ("<default>8</default>", "<default>0</default>"),
    "is no integer": ("<default>8</default>", "<default>eight</default>"),
    "element boolean": ("string-enumeration>", "boolean>"),
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_lint_finds(sentence):
    xml = subprocess.run([module("TissueLabel"), "--xml"], capture_output=True, text=True, check=True).stdout
    before, after = BROKEN[sentence]
    assert before in xml
    assert any(sentence in found for found in lint(xml.replace(before, after)))


def test_slide_info(slide, tmp_path):
    run("SlideInfo", slide=slide[0], returnparameterfile=tmp_path / "results")
    results, told = results_of(tmp_path / "results"), info(slide[0])
    assert (results["width"], results["height"]) == ("2600", "2200")
    assert float(results["mpp"]) == told["mpp"] == 0.5
    assert json.loads(results["levels"]) == told["levels"]


@pytest.mark.parametrize("level", [-1, 0, 1])
def test_tissue_label(slide, tmp_path, level):
    """The segmentation holds the mask of `gigapixel label`, each 2^level-th pixel, where the slide has them."""
    mask = tmp_path / "mask.tif"
    subprocess.run([PROGRAM, "label", slide[0], "-o", mask, "--downsample", "2", "--quiet"], check=True)
    arguments = {"slide": slide[0], "downsample": 2, "outputSegmentation": tmp_path / "out.seg.nrrd"}
    run("TissueLabel", **arguments, segmentationLevel=level, returnparameterfile=tmp_path / "results")
    fields, values, pixels = read_nrrd(tmp_path / "out.seg.nrrd")
    step = 1 if level < 1 else 2**level
    expected = tifffile.imread(mask)[::step, ::step] > 0
    assert pixels.shape == (1, *expected.shape) and (pixels[0] == expected).all()
    assert fields["space"] == "left-posterior-superior"
    spacing = 0.0005 * 2 * step
    assert numpy.allclose(vectors(fields["space directions"]), numpy.diag([spacing, spacing, 1]))
    first = 0.0005 * (2 * step - 1) / 2  # the center of the first pixel, from the center of the slide's
    assert numpy.allclose(vectors(fields["space origin"]), [[first, first, 0]])
    assert values["Segment0_Name"] == "Tissue" and values["Segment0_LabelValue"] == "1"
    assert values["Segment0_Layer"] == "0" and values["Segment0_ID"] and len(values["Segment0_Color"].split()) == 3
    assert values["Segment0_Extent"] == f"0 {expected.shape[1] - 1} 0 {expected.shape[0] - 1} 0 0"
    results = results_of(tmp_path / "results")
    whole = tifffile.imread(mask) > 0
    assert float(results["objectFraction"]) == pytest.approx(whole.mean())
    assert float(results["objectMm2"]) == pytest.approx(whole.sum() * 1e-6)
    assert float(results["segmentationMpp"]) == pytest.approx(spacing * 1000)


def test_hints_of_a_form_are_those_of_label(slide, tmp_path):
    """What lies in an outline is what it says, where the mask had tissue."""
    before = tmp_path / "before.tif"
    subprocess.run([PROGRAM, "label", slide[0], "-o", before, "--quiet"], check=True)
    rows, columns = numpy.nonzero(tifffile.imread(before))
    y, x = rows[len(rows) // 2] // 8 * 8, columns[len(rows) // 2] // 8 * 8
    ring = [[8 * x, 8 * y], [8 * x + 64, 8 * y], [8 * x + 64, 8 * y + 64], [8 * x, 8 * y + 64], [8 * x, 8 * y]]
    glass = {"type": "Feature", "properties": {"classification": {"name": "Glass"}}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
    hints = tmp_path / "hints.geojson"
    hints.write_text(json.dumps({"type": "FeatureCollection", "features": [glass]}, default=int))
    run("TissueLabel", slide=slide[0], hints=hints, outputSegmentation=tmp_path / "out.seg.nrrd")
    pixels = read_nrrd(tmp_path / "out.seg.nrrd")[2][0]
    assert tifffile.imread(before)[y : y + 8, x : x + 8].any() and not pixels[y : y + 8, x : x + 8].any()
    subprocess.run([PROGRAM, "label", slide[0], "-o", tmp_path / "after.tif", "--hints", hints, "--quiet"], check=True)
    assert numpy.array_equal(pixels > 0, tifffile.imread(tmp_path / "after.tif") > 0)


def write_disc(path, append=False, size=(1200, 800), mpp=(0.5, 0.25)):
    """A TIFF of one level with a stained disc, by default on pixels that are not square."""
    y, x = numpy.mgrid[: size[1], : size[0]]
    disc = ((x - size[0] / 2) * mpp[0]) ** 2 + ((y - size[1] / 2) * mpp[1]) ** 2 < (size[1] * mpp[1] / 3) ** 2
    pixels = numpy.where(disc[..., None], (200, 80, 140), 240).astype(numpy.uint8)
    options = {"resolution": (1e4 / mpp[0], 1e4 / mpp[1]), "resolutionunit": "CENTIMETER", "append": append}
    tifffile.imwrite(path, pixels, tile=(256, 256), photometric="rgb", metadata=None, **options)
    return path


def test_tissue_label_of_pixels_that_are_not_square(tmp_path):
    slide = write_disc(tmp_path / "flat.tif")
    arguments = {"mask": tmp_path / "mask.tif", "outputSegmentation": tmp_path / "out.seg.nrrd", "preset": "remedios2023"}
    run("TissueLabel", slide=slide, mpp=1, **arguments, returnparameterfile=tmp_path / "results")
    fields, _, pixels = read_nrrd(tmp_path / "out.seg.nrrd")
    assert pixels.shape == (1, 200, 600) and (pixels[0] == (tifffile.imread(tmp_path / "mask.tif") > 0)).all()
    assert numpy.allclose(vectors(fields["space directions"]), numpy.diag([0.001, 0.001, 1]))
    # The first pixel's corner is that of the slide's, and both origins are centers.
    assert numpy.allclose(vectors(fields["space origin"]), [[0.0005 - 0.00025, 0.0005 - 0.000125, 0]])
    results = results_of(tmp_path / "results")
    assert float(results["segmentationMpp"]) == pytest.approx(1)
    assert float(results["objectMm2"]) == pytest.approx(numpy.pi * (200 / 3 * 0.001) ** 2, rel=0.1)


def test_modules_read_the_image_that_is_chosen(tmp_path):
    """Its resolution and place, too."""
    slide = write_disc(tmp_path / "two.tif", mpp=(0.5, 0.5))
    write_disc(slide, append=True, mpp=(0.25, 0.25))
    for image, mpp in ((1, 0.5), (2, 0.25)):
        run("SlideInfo", slide=slide, image=image, returnparameterfile=tmp_path / "info")
        results = results_of(tmp_path / "info")
        assert float(results["mpp"]) == pytest.approx(mpp)
        assert float(results["spacingX"]) == pytest.approx(mpp / 1000)
        run("TissueLabel", slide=slide, image=image, downsample=4, outputSegmentation=tmp_path / "out.seg.nrrd")
        fields, _, _ = read_nrrd(tmp_path / "out.seg.nrrd")
        assert numpy.allclose(vectors(fields["space directions"]), numpy.diag([0.004 * mpp, 0.004 * mpp, 1]))


def test_strict_is_a_choice(slide, tmp_path):
    """A slide with a tile that ends in the middle: its pixels are taken, or it is refused."""
    damaged = tmp_path / "damaged.tif"
    damaged.write_bytes(slide[0].read_bytes())
    with tifffile.TiffFile(damaged) as file:
        size, offset = max(zip(file.pages[0].databytecounts, file.pages[0].dataoffsets))
    with open(damaged, "r+b") as file:
        file.seek(offset + size // 2)
        file.write(b"\xff\xd9")
    arguments = {"slide": damaged, "downsample": 1, "outputSegmentation": tmp_path / "out.seg.nrrd"}
    run("TissueLabel", **arguments)
    run("TissueLabel", **arguments, strict="no")
    run("TissueLabel", **arguments, strict="yes", code=1)


def test_mask_is_kept(slide, tmp_path):
    run("TissueLabel", slide=slide[0], mask=tmp_path / "mask.tif", fullResolution="yes")
    assert tifffile.imread(tmp_path / "mask.tif").shape == (2200, 2600)
    assert [path.name for path in tmp_path.iterdir()] == ["mask.tif"]


def test_region_of_a_slide(slide, tmp_path):
    """The same pixels by level-0 pixels and by a box in mm; in the file's own place."""
    whole = read_level(slide[0])
    run("SlideRegion", slide=slide[0], level=0, region="512,300,200,100", volume=tmp_path / "pixels.nrrd")
    fields, _, pixels = read_nrrd(tmp_path / "pixels.nrrd")
    expected = whole[300:400, 512:712]
    assert pixels.shape == (1, 100, 200, 3)
    assert numpy.abs(pixels[0].astype(int) - expected).max() <= 1  # two decoders of JPEG
    assert numpy.allclose(vectors(fields["space origin"]), [[512 * 0.0005, 300 * 0.0005, 0]])
    center = [(512 + 100 - 0.5) * 0.0005, (300 + 50 - 0.5) * 0.0005, 0]
    box = ",".join(map(str, [*center, 100 * 0.0005, 50 * 0.0005, 1]))
    run("SlideRegion", slide=slide[0], level=0, region=box, volume=tmp_path / "box.nrrd")
    assert (tmp_path / "box.nrrd").read_bytes() == (tmp_path / "pixels.nrrd").read_bytes()


def test_region_of_a_channel(tmp_path):
    """The picture that the program makes of the same channel."""
    planes = numpy.random.default_rng(1).integers(0, 60000, (2, 300, 400)).astype("uint16")
    path, made = tmp_path / "s.ome.tif", tmp_path / "made.tif"
    tifffile.imwrite(path, planes, tile=(128, 128), metadata={"axes": "CYX", "Channel": {"Name": ["DAPI", "CD3"]}})
    words = ["--channel", "CD3", "--window", "1000,50000", "--compression", "deflate"]
    subprocess.run([PROGRAM, "convert", path, made, *words], check=True, stdout=subprocess.DEVNULL)
    run("SlideRegion", slide=path, level=0, channel="CD3", window="1000,50000", picture=tmp_path / "picture.png")
    picture, gray = numpy.asarray(Image.open(tmp_path / "picture.png")), tifffile.imread(made, key=0)
    assert numpy.array_equal(picture, numpy.dstack([gray] * 3) if gray.ndim == 2 else gray)


@pytest.mark.parametrize("region", [None, (516, 300, 804, 642)])
def test_region_at_a_resolution(slide, tmp_path, region):
    """Means of areas of the next finer level: of 1 um/px, two pixels of 1.5 um are made of three."""
    words = {"region": ",".join(map(str, region))} if region else {}
    run("SlideRegion", slide=slide[0], mpp=1.5, volume=tmp_path / "volume.nrrd", returnparameterfile=tmp_path / "results", **words)
    assert float(results_of(tmp_path / "results")["downsample"]) == 3
    fields, _, pixels = read_nrrd(tmp_path / "volume.nrrd")
    x, y, width, height = (each // 6 for each in region or (0, 0, 2600, 2200))  # pairs of pixels
    three = read_level(slide[0], 1)[3 * y : 3 * (y + height), 3 * x : 3 * (x + width)].reshape(height, 3, width, 3, 3)
    weights = numpy.array([[1, 0.5, 0], [0, 0.5, 1]]) / 1.5
    expected = numpy.einsum("ai,bj,yixjc->yaxbc", weights, weights, three).reshape(2 * height, 2 * width, 3)
    assert numpy.abs(pixels[0, : 2 * height, : 2 * width] - expected).max() <= 1.5
    assert (pixels.shape[2] - 2 * width, pixels.shape[1] - 2 * height) == ((0, 0) if region else (1, 2))
    assert numpy.allclose(vectors(fields["space directions"]), numpy.diag([0.0015, 0.0015, 1]))
    assert numpy.allclose(vectors(fields["space origin"]), [[(6 * x + 1) * 0.0005, (6 * y + 1) * 0.0005, 0]])


def test_a_resolution_of_pixels_that_are_no_squares(tmp_path):
    """They become squares, and the whole slide keeps its sides in mm."""
    slide = write_disc(tmp_path / "flat.tif", mpp=(0.5, 0.4))
    run("SlideInfo", slide=slide, returnparameterfile=tmp_path / "results")
    sides = [float(results_of(tmp_path / "results")[name]) for name in ("widthMm", "heightMm")]
    run("SlideRegion", slide=slide, mpp=1, volume=tmp_path / "volume.nrrd")
    fields, _, pixels = read_nrrd(tmp_path / "volume.nrrd")
    assert numpy.allclose(vectors(fields["space directions"]), numpy.diag([0.001, 0.001, 1]))
    assert numpy.allclose(numpy.array(pixels.shape[2:0:-1]) * 0.001, sides, atol=0.001)


def test_shrunk_region(slide, tmp_path):
    """Beyond the coarsest level blocks are averaged, those at the edges over what is there."""
    picture = tmp_path / "picture.png"
    run("SlideRegion", slide=slide[0], maxSide=200, picture=picture, returnparameterfile=tmp_path / "results")
    results = results_of(tmp_path / "results")
    level = info(slide[0])["levels"][int(results["readLevel"])]
    factor = round(float(results["downsample"]) / level["downsample"])
    assert factor > 1 and max(int(results["width"]), int(results["height"])) <= 200
    pixels = read_level(slide[0], level["level"]).astype(float)
    rows, columns = range(0, pixels.shape[0], factor), range(0, pixels.shape[1], factor)
    expected = [[pixels[y : y + factor, x : x + factor].mean((0, 1)) for x in columns] for y in rows]
    assert numpy.abs(numpy.array(Image.open(picture)) - numpy.array(expected)).max() <= 1.5


def test_segment(slide, tmp_path):
    """The ready model at its resolution, on a region: the segmentation lies where the region does."""
    output = tmp_path / "out.seg.nrrd"
    run("GigapixelUNetSegment", slide=slide[0], region="512,256,1024,768", outputSegmentation=output)
    fields, values, pixels = read_nrrd(output)
    truth = tifffile.imread(slide[1])[256:1024, 512:1536] > 0
    assert pixels.shape == (1, 768, 1024) and values["Segment0_Name"] == "Object"
    assert numpy.allclose(vectors(fields["space origin"]), [[0.256, 0.128, 0]])
    both = (pixels[0] > 0) & truth
    assert 2 * both.sum() / ((pixels > 0).sum() + truth.sum()) > 0.9


def test_segment_a_volume(volume, tmp_path):
    """The labels of `gigapixel segment` as segments, where the volume lies."""
    folder, truth = volume
    files = {"volume": folder / "t1.nrrd", "volume2": folder / "t2.nrrd"}
    model, output = folder / "run" / "best.safetensors", tmp_path / "out.seg.nrrd"
    told = run("GigapixelVolumeSegment", **files, model=model, outputSegmentation=output, returnparameterfile=tmp_path / "results")
    fields, values, voxels = read_nrrd(output)
    words = ["segment", ",".join(map(str, files.values())), "--model", model, "-o", tmp_path / "labels.nrrd", "--quiet"]
    subprocess.run([PROGRAM, *words], check=True)
    assert (voxels == read_nrrd(tmp_path / "labels.nrrd")[2]).all()
    assert 2 * (voxels & truth).sum() / (voxels.sum() + truth.sum()) > 0.9
    assert numpy.allclose(vectors(fields["space directions"]), [[0, 0.5, 0], [-0.75, 0, 0], [0, 0, 2]])
    assert numpy.allclose(vectors(fields["space origin"]), [[-3, 4, 5]])
    assert values["Segment0_Name"] == "Class 1" and "filter-progress" in told.stdout
    classes = json.loads(results_of(tmp_path / "results")["classes"])
    assert classes == {"Class 1": pytest.approx(voxels.sum() * 0.75 / 1000)}
    refused = run("GigapixelVolumeSegment", 1, volume=files["volume"], model=model, outputSegmentation=tmp_path / "one.seg.nrrd")
    assert refused.stderr.rstrip().endswith("[E-MODEL-INPUT]") and not (tmp_path / "one.seg.nrrd").exists()


def test_train(cohort, tmp_path):
    table, run_folder = tmp_path / "cohort.csv", tmp_path / "run"
    table.write_text("\n".join(",".join(map(str, row)) for row in [("slide", "mask", "split"), *cohort]))
    told = run("GigapixelUNetTrain", cohort=table, run=run_folder, network="remedios2023", epochs=2, returnparameterfile=tmp_path / "results")
    results = results_of(tmp_path / "results")
    history = (run_folder / "history.csv").read_text().splitlines()
    assert results["epochsDone"] == "2" and len(history) == 3
    assert float(results["lastLoss"]) == pytest.approx(float(history[2].split(",")[1]), rel=1e-5)
    assert "epoch 2/2" in told.stdout and told.stderr == ""


def test_classify(labels, tmp_path):
    """The figures and the map of `gigapixel classify`, the map as a volume where it lies on the slide."""
    (_, (slide, _)), model = labels
    run("GigapixelClassify", slide=slide, model=model, map=tmp_path / "map.nrrd", returnparameterfile=tmp_path / "results")
    results = results_of(tmp_path / "results")
    words = ["classify", slide, "--model", model, "-o", tmp_path / "p.csv", "--maps", tmp_path / "maps", "--json", "--quiet"]
    told = json.loads(subprocess.run([PROGRAM, *words], capture_output=True, check=True).stdout)
    assert json.loads(results["probabilities"]) == told["probabilities"] and results["predicted"] == told["predicted"]
    assert float(results["probability"]) == max(told["probabilities"].values())
    assert results["mapKind"] == "activation" and results["activatedClass"] == "tumor" and results["mapDownsample"] == "32.0"
    head, data = (tmp_path / "map.nrrd").read_bytes().split(b"\n\n", 1)
    fields = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line and ":=" not in line)
    data = gzip.decompress(data) if fields["encoding"] == "gzip" else data
    assert fields["space"] == "left-posterior-superior" and fields["type"] == "float" and fields["sizes"] == "8 6 1"
    assert numpy.allclose(vectors(fields["space directions"]), numpy.diag([0.016, 0.016, 1]))
    assert numpy.allclose(vectors(fields["space origin"]), [[0, 0, 0]])
    values = numpy.frombuffer(data, "<f4").reshape(6, 8)
    assert numpy.array_equal(values, tifffile.imread(tmp_path / "maps" / f"{slide.stem}.pyramid.tif"))
    assert float(results["mapGreatest"]) == pytest.approx(values.max())


def test_classify_without_a_map(labels, tmp_path):
    (_, (slide, _)), model = labels
    run("GigapixelClassify", slide=slide, model=model, table=tmp_path / "table.csv", returnparameterfile=tmp_path / "results")
    assert "mapKind" not in results_of(tmp_path / "results")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "table.csv"]
    assert (tmp_path / "table.csv").read_text().startswith("slide,predicted,p_normal,p_tumor")


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_the_help(name, tmp_path):
    """It fails for want of its files only."""
    text = subprocess.run([module(name), "--help"], capture_output=True, text=True, check=True).stdout
    example = shlex.split(text.split("Example:")[1])
    assert example[0] == name
    result = subprocess.run([module(name), *example[1:]], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1 and result.stderr.rstrip().endswith("[E-FILE-MISSING]"), result


def test_progress_rises(large, tmp_path):
    told = run("TissueLabel", slide=large[0], downsample=1, outputSegmentation=tmp_path / "out.seg.nrrd").stdout
    steps = [float(step) for step in re.findall("<filter-progress>(.*)</filter-progress>", told)]
    assert len(steps) > 10 and steps == sorted(steps) and steps[-1] == 1  # one for each strip of tiles
    assert told.startswith("<filter-start>") and "<filter-end>" in told


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGKILL])
def test_stopped_leaves_nothing(large, tmp_path, signal_):
    output = tmp_path / "out.seg.nrrd"
    words = ["--slide", large[0], "--downsample", "1", "--outputSegmentation", output, "--mask", tmp_path / "mask.tif"]
    process = subprocess.Popen([module("TissueLabel"), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while b"filter-progress" not in process.stdout.readline():  # it works, and what it writes is half there
        assert process.poll() is None
    assert list(tmp_path.iterdir())
    process.send_signal(signal_)
    process.stdout.read()
    assert process.wait() in (130, -signal_)
    deadline = time.monotonic() + 30  # the janitor comes after the end
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name, arguments, status, code",
    [
        ("TissueLabel", {"slide": "nothing.svs", "mask": "m.tif"}, 1, "E-FILE-MISSING"),
        ("TissueLabel", {"slide": "{slide}"}, 2, "E-OPTION-MISSING"),
        ("TissueLabel", {"slide": "{slide}", "mask": "nowhere/m.tif"}, 1, "E-FILE-MISSING"),
        ("TissueLabel", {"slide": "{slide}", "mask": "m.tif", "outputSegmentation": "./m.tif"}, 1, "E-OUTPUT-TWICE"),
        ("TissueLabel", {"slide": "{slide}", "mask": "m.tif", "returnparameterfile": "nowhere/r"}, 1, "E-FILE-MISSING"),
        ("SlideRegion", {"slide": "{slide}", "volume": "v.nrrd", "picture": "nowhere/p.png"}, 1, "E-FILE-MISSING"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "region": "9e18,0,9e18,1"}, 1, "E-REGION"),
        ("TissueLabel", {"slide": "{slide}", "mask": "m.tif", "preset": "best"}, 2, "E-OPTION-VALUE"),
        ("TissueLabel", {"slide": "{slide}", "mask": "m.tif", "downsample": 4, "mpp": 4}, 2, "E-OPTION-CONFLICT"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "region": "0,0,9000,10"}, 1, "E-REGION"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "region": "a"}, 2, "E-OPTION-VALUE"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "level": 9}, 1, "E-SLIDE-LEVEL"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "level": 0, "maxSide": 64}, 1, "E-OPTION-VALUE"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "mpp": 1, "maxSide": 64}, 1, "E-OPTION-VALUE"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "mpp": 1, "level": 0}, 2, "E-OPTION-CONFLICT"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.png", "mpp": 0.2}, 1, "E-SLIDE-RESOLUTION"),
        ("GigapixelUNetSegment", {"slide": "{slide}", "mask": "m.tif", "model": "no.safetensors"}, 1, "E-FILE-MISSING"),
        ("TissueLabel", {"slide": "{slide}", "mask": "m.png"}, 2, "E-OUTPUT-ENDING"),
        ("TissueLabel", {"slide": "{slide}", "outputSegmentation": "s.tif"}, 2, "E-OUTPUT-ENDING"),
        ("GigapixelClassify", {"slide": "{slide}", "model": "tissue.safetensors", "map": "m.nrrd"}, 1, "E-FILE-MISSING"),
        ("GigapixelClassify", {"slide": "{slide}", "model": "m.safetensors", "map": "m.tif"}, 2, "E-OUTPUT-ENDING"),
        ("SlideRegion", {"slide": "{slide}", "volume": "v.mha"}, 2, "E-OUTPUT-ENDING"),
        ("SlideRegion", {"slide": "{slide}", "picture": "p.jpg"}, 2, "E-OUTPUT-ENDING"),
        ("SlideInfo", {"slide": "{slide}", "thumbnail": "t.jpg"}, 2, "E-OUTPUT-ENDING"),
        ("GigapixelUNetSegment", {"slide": "{slide}", "mask": "m"}, 2, "E-OUTPUT-ENDING"),
        ("GigapixelUNetSegment", {"slide": "{slide}", "mask": "m.tif", "probability": "p.png"}, 2, "E-OUTPUT-ENDING"),
    ],
)
def test_wrong_input_is_a_sentence(slide, tmp_path, monkeypatch, name, arguments, status, code):
    monkeypatch.chdir(tmp_path)
    told = run(name, code=status, **{key: str(value).format(slide=slide[0]) for key, value in arguments.items()})
    assert told.stderr.rstrip().endswith(f"[{code}]") and len(told.stderr.strip().splitlines()) == 1, told.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name, output",
    [
        ("SlideInfo", "thumbnail"),
        ("SlideInfo", "returnparameterfile"),
        ("SlideRegion", "volume"),
        ("TissueLabel", "mask"),
        ("TissueLabel", "outputSegmentation"),
        ("GigapixelUNetSegment", "outputSegmentation"),
    ],
)
def test_the_slide_is_never_an_output(slide, tmp_path, name, output):
    """Not under another name either: the slide would be gone."""
    own, link = tmp_path / "own.png", tmp_path / "link.png"
    own.write_bytes(slide[0].read_bytes())
    link.symlink_to(own)
    for file in (own, link):
        told = run(name, code=1, slide=own, **{output: file})
        assert f"--{output}" in told.stderr and told.stderr.rstrip().endswith("[E-OUTPUT-INPUT]"), told.stderr
    assert own.read_bytes() == slide[0].read_bytes() and link.is_symlink()


def test_a_pipe_is_no_output(slide, tmp_path):
    """Nor a device: what is there would be replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = run("TissueLabel", code=1, slide=slide[0], mask=pipe)
    assert "--mask" in told.stderr and told.stderr.rstrip().endswith("[E-OUTPUT-KIND]") and pipe.is_fifo()


@pytest.mark.parametrize("words, status", [({"slide": "a b.svs"}, 1), ({"slide": "a b.svs", "plane": "x"}, 2), ({}, 2)])
def test_messages_have_the_fields_of_the_program(tmp_path, monkeypatch, words, status):
    """One line of JSON, which is the error that the program prints with --json."""
    monkeypatch.chdir(tmp_path)
    (line,) = run("SlideInfo", code=status, messages="json", **words).stderr.splitlines()
    options = [word for key, value in words.items() if key != "slide" for word in (f"--{key}", value)]
    told = subprocess.run([PROGRAM, "info", *([words["slide"]] if words else []), *options, "--json"], capture_output=True, text=True)
    expected = json.loads(told.stdout)["error"]
    same = ("code", "file", "value") if status == 2 else tuple(expected)
    said = json.loads(line)
    assert told.returncode == status and [said[key] for key in same] == [expected[key] for key in same] and set(said) == set(expected)


def test_a_volume_on_a_full_disk(slide, tmp_path):
    """What is written beyond the limit fails, as there."""
    words = [module("SlideRegion"), "--slide", slide[0], "--volume", tmp_path / "v.nrrd"]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    finished = subprocess.run([*map(str, words), "--messages", "json"], capture_output=True, text=True, preexec_fn=limit)
    told = json.loads(finished.stderr.splitlines()[-1])
    assert finished.returncode == 1 and (told["code"], told["file"]) == ("E-DISK-FULL", str(tmp_path / "v.nrrd"))
    assert list(tmp_path.iterdir()) == []
