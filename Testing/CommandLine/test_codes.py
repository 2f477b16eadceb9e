# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The table of codes is what the sources use, and what the reference page says. Its examples are true."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy
import pytest
import tifffile
from conftest import PROGRAM, fails, find_codes, run, write_png, write_slide
from PIL import Image
from test_damage import spoil_largest_tiles
from test_doubts import draw
from test_segment import change_weights
from volumes import write_nrrd_volume, write_threshold_model

SOURCES = pathlib.Path(__file__).parents[2]


def used_codes():
    """Each code in a string of the sources, with one file that has it. The table itself does not count."""
    found = {}
    for folder in ("Modules", "Filters", "Wrapping"):
        for path in sorted((SOURCES / folder).rglob("*")):
            if path.suffix in (".cxx", ".h", ".hxx", ".py", ".swg") and path.name != "gigapixelCodes.cxx":
                for code in re.findall(r'"([EW]-[A-Z0-9]+(?:-[A-Z0-9]+)*)"', path.read_text()):
                    found.setdefault(code, path)
    return found


def table():
    return re.findall(r"^## ([EW]-[A-Z0-9-]+)$", run("--codes").out, re.M)


def test_each_code_of_the_sources_stands_in_the_table():
    assert {code: path for code, path in used_codes().items() if code not in table()} == {}


def test_the_table_is_sorted_and_has_each_code_once():
    codes = table()
    assert codes == sorted(set(codes)) and len(codes) > 50
    assert [code for code, *_ in examples()] == codes


def test_the_reference_page_is_what_the_program_prints():
    assert (SOURCES / "Documentation/Codes.md").read_text() == run("--codes").out, f"{PROGRAM} --codes > Documentation/Codes.md"


def examples():
    """Triples of a code, what is wrong and what is right."""
    return re.findall(r"^## ([EW]-[A-Z0-9-]+)\n\n.+\n\n- Wrong: `([^`\n]+)`\n- Right: `([^`\n]+)`$", run("--codes").out, re.M)


def commands():
    """The examples that name the program: lines of a shell. The others are inputs in a few words, or lines of Python and C++."""
    return [pytest.param(*example, id=example[0]) for example in examples() if re.search(r"\bgigapixel\b", example[1])]


def try_codes(line, exits, folder):
    """The codes on stderr of a line that ends in one of the ways."""
    environment = {**os.environ, "PATH": f"{pathlib.Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"}
    finished = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert finished.returncode in exits, finished.stderr
    return find_codes(finished.stderr)


def write_outlines(path, *squares):
    """Squares of the class Tumor, each of (x, y, side), and the points of (x, y)."""
    features = []
    for x, y, *side in squares:
        corners = [[x + i * s, y + j * s] for s in side for i, j in ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))]
        geometry = {"type": "Polygon", "coordinates": [corners]} if side else {"type": "Point", "coordinates": [x, y]}
        features.append({"type": "Feature", "properties": {"classification": {"name": "Tumor"}}, "geometry": geometry})
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def write_outline_files(folder):
    run("outline", "mask.tif", "--like", "slide.tif", "-o", "outlines.geojson", cwd=folder)
    write_outlines(folder / "far.geojson", (5000, 40, 200))
    write_outlines(folder / "partly.geojson", (100, 100, 200), (5000, 40, 200))
    write_outlines(folder / "tiny.geojson", (100, 100, 200), (300, 400, 2))
    write_outlines(folder / "points.geojson", (100, 100, 200), (5, 5))
    write_outlines(folder / "none.geojson")
    renamed = json.loads((folder / "partly.geojson").read_text())
    renamed["features"][0]["properties"]["name"] = "7"
    (folder / "renamed.geojson").write_text(json.dumps(renamed))


def write_masks(folder):
    labels = numpy.zeros((1024, 1024), numpy.uint8)
    write_png(folder / "empty.png", labels)
    write_png(folder / "full.png", labels + 1)
    labels[:512] = 1
    write_png(folder / "plain.png", labels)
    write_png(folder / "sevens.png", labels * 7)
    tifffile.imwrite(folder / "numbered.tif", numpy.repeat(numpy.arange(512, dtype=numpy.uint16), 2 * 1024).reshape(1024, 1024))
    Image.fromarray(labels * 255).save(folder / "lossy.jpg")
    Image.fromarray(labels > 0).save(folder / "fax.tif", compression="group4")


def write_slides(folder):
    """Parts of the synthetic slide, and drawn tissue on glass: little, much, and less than there is pen."""
    part = numpy.asarray(Image.open(folder / "slide.tif"))[256:512, 256:512]
    pen = numpy.full((512, 512, 3), 243, numpy.uint8)
    pen[50:150, 50:450] = (20, 70, 190)
    write_slide(folder / "pen.tif", pen)
    draw(folder / "little.tif", 0.008, 1600)
    draw(folder / "tissue.tif", 0.98, 1600)
    write_slide(folder / "fine.tif", part, 0.01)
    write_slide(folder / "coarse.tif", part, 10)
    write_slide(folder / "gray.tif", part[..., 0])
    of_tiles = {"tile": (128, 128), "metadata": None, "photometric": "rgb"}
    tifffile.imwrite(folder / "turned.tif", part, extratags=[(274, 3, 1, 3, True)], **of_tiles)
    tifffile.imwrite(folder / "four.tif", numpy.dstack([part, part[..., :1]]), extrasamples=["unspecified"], **of_tiles)
    planes = numpy.stack([part[..., 0].astype(numpy.uint16) * 8] * 3)
    channels = {"axes": "CYX", "Channel": {"Name": ["DAPI", "CD3", "CD8"]}, "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tifffile.imwrite(folder / "channels.ome.tif", planes, tile=(128, 128), metadata=channels)
    sparse = {**channels, "Channel": {"Name": ["DAPI", "empty"]}}
    tifffile.imwrite(folder / "sparse.ome.tif", numpy.stack([planes[0], 0 * planes[0]]), tile=(128, 128), metadata=sparse)
    tifffile.imwrite(folder / "times.ome.tif", planes, tile=(128, 128), metadata={"axes": "TYX"})
    with tifffile.TiffWriter(folder / "images.ome.tif", ome=True) as file:
        for name in ("scan 1", "scan 2"):
            file.write(part, tile=(128, 128), photometric="rgb", metadata={"Name": name})
    for name, spoil in (("damaged", lambda size: (size // 2, b"\xff\xd9")), ("undecodable", lambda size: (0, bytes(size)))):
        spoil_largest_tiles(shutil.copy(folder / "slide.tif", folder / f"{name}.tif"), 1, spoil)


def write_volumes(folder):
    labels = numpy.zeros((8, 8, 8), numpy.uint8)
    labels[2:6, 2:6, 2:6] = 1
    pixels = labels.astype(numpy.float32)
    write_nrrd_volume(folder / "truth.nrrd", labels)
    write_nrrd_volume(folder / "two.nrrd", labels * numpy.uint8(2))
    write_nrrd_volume(folder / "small.nrrd", labels[1:])
    write_nrrd_volume(folder / "t1.nrrd", pixels)
    pixels[2, 3, 4] = numpy.nan
    write_nrrd_volume(folder / "hole.nrrd", pixels)
    write_threshold_model(folder / "brain.safetensors")


def write_models(folder):
    for name, rows in (
        ("cohort", "slide,mask,split\nslide.tif,mask.tif,train\n"),
        ("sevens", "slide,mask,split\nslide.tif,sevens.png,train\n"),
        ("labels", "slide,label,split\nslide.tif,tumor,train\nwide.tif,normal,train\n"),
        ("differing", "slide,patient,label,p_a,p_b\n1,x,a,0.9,0.1\n2,x,b,0.2,0.8\n"),
    ):
        (folder / f"{name}.csv").write_text(rows)
    run("train", "--cohort", "cohort.csv", "-o", "run", "--network", "remedios2023", "--epochs", "1", cwd=folder)
    of_labels = ["--network", "resnet18:width=2", "--epochs", "1", "--tissue", "masks"]
    run("train", "--cohort", "labels.csv", "-o", "labels", *of_labels, cwd=folder)
    last = json.loads((SOURCES / "Modules/Network/networks/remedios2023.json").read_text())["layers"][-1]["name"]
    change_weights(folder / "run", folder / "zero.safetensors", f"{last}.weight", 0)
    shutil.copy(SOURCES / "Modules/Network/networks/remedios2023.json", folder / "network.json")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    run("synthesize", "slide.tif", "--size", "1024x1024", "--seed", "2", "--truth", "truth.tif", cwd=folder)
    run("synthesize", "wide.tif", "--size", "3000x512", "--truth", "other.tif", cwd=folder)
    run("label", "slide.tif", "-o", "mask.tif", cwd=folder)
    run("label", "slide.tif", "wide.tif", "-o", "masks/", cwd=folder)
    (folder / "notes.txt").write_text("no table\n")
    (folder / "empty").mkdir()
    (folder / "slides").mkdir()
    shutil.copy(folder / "slide.tif", folder / "slides/a.tif")
    for write in (write_outline_files, write_masks, write_slides, write_volumes, write_models):
        write(folder)
    return folder


@pytest.mark.parametrize("code, wrong, right", commands())
def test_the_wrong_example_has_the_code_and_the_right_one_has_not(code, wrong, right, files, tmp_path):
    for line, is_wrong in ((wrong, True), (right, False)):
        folder = tmp_path / ("wrong" if is_wrong else "right")
        shutil.copytree(files, folder)
        codes = try_codes(line, (1, 2) if is_wrong and code.startswith("E-") else (0,), folder)
        assert (code in codes) == is_wrong, (line, codes)
        shutil.rmtree(folder)


def test_an_error_has_its_fields_in_json(tmp_path):
    missing = tmp_path / "nowhere.tif"
    refused = fails("info", missing)
    assert refused.code == "E-FILE-MISSING" and refused.file == str(missing)
    assert refused.why and refused.do


def test_wrong_usage_has_its_fields_in_json():
    refused = fails("info", "a.tif", "--levell", "1", code=2)
    assert refused.code == "E-OPTION-UNKNOWN" and refused.option == "--levell"
    refused = fails("train", "--epochs", "-1", code=2)
    assert refused.code == "E-OPTION-VALUE" and (refused.option, refused.value) == ("--epochs", "-1")


# Sources whose exceptions need no code, with the reason.
ALLOWED = {}

RAW = re.compile(
    r"throw std::(?:runtime_error|invalid_argument|length_error|domain_error|out_of_range|logic_error)\b"
    r"|throw itk::ExceptionObject\b|\bitk(?:Generic)?ExceptionMacro\("
    r"|\bitkGenericOutputMacro\(|\bitkWarningMacro\((?!<< (?:gigapixel::)?Remember\()"
    r'|throw UsageError\(\s*(?:std::string\()?"'
)


def test_each_refusal_and_warning_of_the_sources_has_a_code():
    """A new exception is a Refusal, an InvalidArgument, a UsageError or a GigapixelException with a Diagnostic."""
    found = {}
    for folder in ("Modules", "Filters", "Wrapping"):
        for path in sorted((SOURCES / folder).rglob("*")):
            name = str(path.relative_to(SOURCES))
            if path.suffix in (".cxx", ".h", ".hxx") and name not in ALLOWED:
                code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)  # comments may name them
                if number := len(RAW.findall(code)):
                    found[name] = number
    assert found == {}
