# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""info: against openslide-python and against what was written."""

import os
import pathlib
import subprocess

import numpy
import openslide
import pytest
import tifffile

import vendor_slides
from conftest import PROGRAM, fails, find_codes, obey_permissions, run, write_slide
from test_stated_sizes import write_sparse_dicom


def real_slide(path):
    folder = os.environ.get("GIGAPIXEL_TEST_DATA")
    if folder is None:
        folder = pathlib.Path(__file__).parents[3] / "shared" / "data"
        if not (folder / path).exists():
            pytest.skip(f"no real slides here: {path} (set GIGAPIXEL_TEST_DATA)")
    slide = pathlib.Path(folder) / path
    assert slide.exists(), f"GIGAPIXEL_TEST_DATA is set, but there is no {slide}"
    return slide


def test_levels_and_resolution_of_a_synthetic_slide(synthetic):
    slide = synthetic[0]
    info = run("info", slide, "--json").json
    reference = openslide.OpenSlide(str(slide))
    assert [(level["width"], level["height"]) for level in info["levels"]] == list(reference.level_dimensions)
    assert [level["downsample"] for level in info["levels"]] == [2**k for k in range(len(info["levels"]))]
    assert info["mpp"] == pytest.approx(0.5, rel=1e-6)
    assert info["levels"][1]["mpp"] == pytest.approx(1.0, rel=1e-6)
    assert info["widthMm"] == pytest.approx(0.65, rel=1e-6) and info["heightMm"] == pytest.approx(0.55, rel=1e-6)
    assert info["channels"] == 3 and info["fileBytes"] == slide.stat().st_size
    assert info["warnings"] == [] and info["associatedImages"] == []


def test_text_names_the_same(synthetic):
    result = run("info", synthetic[0])
    assert "1300 x 1100" in result.out and "0.5000 µm/px" in result.out
    assert result.err == ""


def test_unknown_resolution_is_null_until_stated(tmp_path):
    slide = write_slide(tmp_path / "a.tif", numpy.full((300, 400, 3), 200, numpy.uint8), mpp=None)
    info = run("info", slide, "--json").json
    assert info["mpp"] is None and info["widthMm"] is None
    assert run("info", slide, "--slide-mpp", 0.25, "--json").json["mpp"] == pytest.approx(0.25)


def test_implausible_resolution_is_a_warning(tmp_path):
    slide = write_slide(tmp_path / "a.tif", numpy.full((300, 400, 3), 200, numpy.uint8), mpp=300)
    info = run("info", slide, "--json").json
    assert info["mpp"] is None
    assert [(warning["code"], warning["file"]) for warning in info["warnings"]] == [("W-SLIDE-RESOLUTION", str(slide))]
    assert "WARNING" not in run("info", slide).out


def write_vendors(path, sides=(1024, 512, 256), **tags):
    """Tiled levels with what a vendor's first page says of itself."""
    with tifffile.TiffWriter(path) as file:
        for side in sides:
            pixels = numpy.zeros((side, side, 3), numpy.uint8)
            file.write(pixels, tile=(128, 128), photometric="rgb", metadata=None, **tags)
    return path


def test_what_openslide_mutters_is_not_shown(tmp_path):
    # Of Trestle's kind, with levels out of order: GLib warns, and OpenSlide refuses it.
    slide = write_vendors(tmp_path / "a.tif", (1024, 256, 512), software="MedScan", description="a=b")
    assert fails("info", slide).file == str(slide)


NO_OPENSLIDE = {"GIGAPIXEL_OPENSLIDE": "/nowhere/libopenslide.so"}


@pytest.mark.parametrize(
    "tags",
    [
        {"software": "MedScan", "description": "Objective Power=20"},
        {"description": '<scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01"/>'},
        {"software": "Philips DP", "description": '<DataObject ObjectType="DPUfsImport"/>'},
        {"extratags": [(700, 7, 16, b"<iScan Mag='20'/>"[:16], True)]},
    ],
    ids=["trestle", "leica", "philips", "ventana"],
)
def test_vendors_slides_are_not_read_as_plain_tiff_without_openslide(tmp_path, tags):
    slide = write_vendors(tmp_path / "a.tif", **tags)
    refused = fails("info", slide, env=NO_OPENSLIDE)
    assert refused.code == "E-INSTALLATION" and refused.file == str(slide)


def test_what_needs_no_openslide(tmp_path, synthetic):
    plain = write_vendors(tmp_path / "a.tif")
    for slide in (synthetic[0], plain):
        assert run("info", slide, "--json", env=NO_OPENSLIDE).json == run("info", slide, "--json").json
    mirax = tmp_path / "a.mrxs"
    mirax.write_text("no slide")
    refused = fails("info", mirax, env=NO_OPENSLIDE)  # the folder of its name is missing, whoever reads it
    assert (refused.code, refused.file) == ("E-SLIDE-PARTS", str(mirax))
    (tmp_path / "a").mkdir()
    assert fails("info", mirax, env=NO_OPENSLIDE).code == "E-INSTALLATION"
    assert fails("info", mirax).code == "E-SLIDE-FORMAT"
    assert run("doctor", "--json", env=NO_OPENSLIDE, code=1).json["openslide"] is None
    assert "install it (Debian: libopenslide0" in run("doctor", env=NO_OPENSLIDE, code=1).out


def test_the_file_of_a_mirax_slide_may_be_empty(tmp_path):
    """OpenSlide looks at its name, and what lies in the folder of this name."""
    files = vendor_slides.mirax()
    info = run("info", vendor_slides.write(files, tmp_path), "--check", "--json").json
    slide = vendor_slides.write({**files, "slide.mrxs": b""}, tmp_path)
    assert run("info", slide, "--check", "--json").json == {**info, "fileBytes": 0}
    alone = tmp_path / "alone.mrxs"
    alone.touch()
    refused = fails("info", alone)
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(alone))


def test_hamamatsu_needs_no_openslide():
    slide = real_slide("slides/fluorescence-dapi.ndpi")
    with_it = run("info", slide, "--json").json
    without = run("info", slide, "--json", env=NO_OPENSLIDE).json
    for key in ("vendor", "width", "height", "levels", "mpp"):
        assert without[key] == with_it[key], key


def test_several_slides_and_a_folder_are_lists(tmp_path, synthetic):
    for name in ("b.tif", "a.tif"):
        write_slide(tmp_path / name, numpy.full((300, 400, 3), 200, numpy.uint8))
    (tmp_path / "notes.txt").write_text("no slide")
    info = run("info", tmp_path, "--json").json
    assert [pathlib.Path(entry["slide"]).name for entry in info] == ["a.tif", "b.tif"]
    assert len(run("info", tmp_path, synthetic[0], "--json").json) == 3


def test_one_bad_slide_stops_no_other(tmp_path):
    good = write_slide(tmp_path / "good.tif", numpy.full((300, 400, 3), 200, numpy.uint8))
    result = run("info", tmp_path / "missing.tif", good, "--json", code=1)
    assert "error" in result.json[0] and result.json[1]["width"] == 400
    assert result.codes == ["E-FILE-MISSING"] and "missing.tif" in result.err


def test_three_channels_may_be_no_colors(tmp_path):
    """Neither pages of an OME-TIFF whose channels have no names, nor samples that no tag calls red, green and blue."""
    pixels = numpy.random.default_rng(1).integers(0, 256, (3, 200, 300), numpy.uint8)
    tile = {"tile": (128, 128), "photometric": "minisblack"}
    tifffile.imwrite(tmp_path / "pages.ome.tif", pixels, metadata={"axes": "CYX"}, **tile)
    tifffile.imwrite(tmp_path / "samples.tif", numpy.moveaxis(pixels, 0, 2), planarconfig="contig", metadata=None, **tile)
    for name in ("pages.ome.tif", "samples.tif"):
        info = run("info", tmp_path / name, "--json").json
        assert info["channels"] == 3 and info["color"] is False
        assert "300 x 200 pixels, 3 channels" in run("info", tmp_path / name).out
        run("convert", tmp_path / name, tmp_path / "m.tif", "--overwrite")
        assert numpy.array_equal(tifffile.imread(tmp_path / "m.tif"), pixels)
    assert run("info", write_slide(tmp_path / "rgb.tif", numpy.moveaxis(pixels, 0, 2)), "--json").json["color"] is True


def test_aperio_against_openslide(tmp_path):
    slide = real_slide("slides/cmu-1-small-region.svs")
    info = run("info", slide, "--json").json
    reference = openslide.OpenSlide(str(slide))
    assert info["vendor"] == "aperio"
    assert info["mpp"] == pytest.approx(float(reference.properties["openslide.mpp-x"]))
    assert info["magnification"] == float(reference.properties["openslide.objective-power"])
    names = {image["name"]: (image["width"], image["height"]) for image in info["associatedImages"]}
    assert names == {name: image.size for name, image in reference.associated_images.items()}
    target = tmp_path / "macro.png"
    run("info", slide, "--associated", "macro", "-o", target)
    from PIL import Image

    assert numpy.array_equal(
        numpy.asarray(Image.open(target)), numpy.asarray(reference.associated_images["macro"].convert("RGB"))
    )
    assert fails("info", slide, "--associated", "macro", "-o", target).code == "E-OUTPUT-EXISTS"
    refused = fails("info", slide, "--associated", "nothing", "-o", tmp_path / "x.png")
    assert refused.code == "E-SLIDE-IMAGE" and refused.value == "nothing"


def test_a_folder_of_a_dicom_series_is_one_slide():
    folder = real_slide("dicom/cmu-1-small-region")
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_size)
    assert len(files) == 3, "the slide, its label, its macro picture"
    assert [pathlib.Path(info["slide"]) for info in run("info", folder, "--json").json] == files[-1:]


def dicom_slide(folder):
    """Three levels in a file each."""
    folder.mkdir()
    for level, side in enumerate((16, 8, 4)):
        write_sparse_dicom(folder / f"l{level}.dcm", side)
    return folder


NO_LEVEL = {
    "empty": (lambda whole: b"", "it is empty"),
    "zeros": (lambda whole: bytes(len(whole)), "its name says DICOM, but it is no DICOM file"),
    "text": (lambda whole: b"hello\n", "its name says DICOM, but it is no DICOM file"),
    "begun": (lambda whole: whole[:140], "it does not say what kind of image it is"),
    "cut": (lambda whole: whole[:-100], "the file ends early"),
}


@pytest.mark.parametrize("kind", NO_LEVEL)
def test_a_level_of_a_dicom_slide_that_cannot_be_read_is_missed(tmp_path, kind):
    """It may be the finest one, without which the slide has another size and resolution."""
    damage, reason = NO_LEVEL[kind]
    folder = dicom_slide(tmp_path / "s")
    finest, coarser = folder / "l0.dcm", folder / "l1.dcm"
    finest.write_bytes(damage(finest.read_bytes()))
    told = run("info", coarser, "--json")
    missed = [("W-SLIDE-PARTS", str(coarser), str(finest))]
    assert [(w["code"], w["file"], w["value"]) for w in told.json["warnings"]] == missed and reason in told.json["warnings"][0]["why"]
    assert "W-SLIDE-PARTS" in run("convert", coarser, tmp_path / "o.tif").codes
    for command in (["info", coarser], ["convert", coarser, tmp_path / "strict.tif"], ["label", coarser, "-o", tmp_path / "strict.tif"]):
        said = fails(*command, "--strict")
        assert (said.code, said.file, said.value) == ("E-DICOM-PARTS", str(coarser), str(finest))
    assert not (tmp_path / "strict.tif").exists()
    # The folder is one slide, and another slide beside it leaves open whose part the file is.
    slides = run("info", folder, "--json").json
    assert len(slides) == 1 and [(w["code"], w["file"], w["value"]) for w in slides[0]["warnings"]] == missed
    assert run("info", folder, "--strict", "--json", code=1).json[0]["error"]["code"] == "E-DICOM-PARTS"
    write_slide(folder / "other.tif", numpy.zeros((40, 50, 3), numpy.uint8))
    entries = run("info", folder, "--json", code=1).json
    assert {pathlib.Path(entry["slide"]).name: "error" in entry for entry in entries} == {"l0.dcm": True, "l1.dcm": False, "other.tif": False}


def test_a_level_of_a_dicom_slide_that_may_not_be_read_is_missed(tmp_path):
    folder = dicom_slide(tmp_path / "s")
    (folder / "l0.dcm").chmod(0)
    words = [PROGRAM, "info", str(folder / "l1.dcm"), "--strict"]
    told = subprocess.run(words, capture_output=True, text=True, preexec_fn=obey_permissions)
    assert told.returncode == 1 and find_codes(told.stderr) == ["E-DICOM-PARTS"]
    assert str(folder / "l0.dcm") in told.stderr
    (folder / "l0.dcm").unlink()
    (folder / "l0.dcm").symlink_to("nowhere")
    refused = fails("info", folder / "l1.dcm", "--strict")
    assert (refused.code, refused.file, refused.value) == ("E-DICOM-PARTS", str(folder / "l1.dcm"), str(folder / "l0.dcm"))


def test_what_is_no_part_of_a_dicom_slide_is_no_damage(tmp_path):
    folder = dicom_slide(tmp_path / "s")
    (folder / "notes.txt").write_text("of the scanner")
    (folder / "._l0.dcm").write_text("of a Mac")
    whole = (folder / "l0.dcm").read_bytes()
    (folder / "annotations.dcm").write_bytes(whole.replace(b"77.1.6", b"91.1.1"))
    told = run("info", folder, "--strict", "--json")
    assert told.json[0]["warnings"] == [] and len(told.json) == 1 and len(told.json[0]["levels"]) == 3
