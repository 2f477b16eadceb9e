# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Tissue filters from Python: against NumPy, scikit-image and SciPy, and as members of ITK pipelines."""

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import scipy.ndimage
import skimage.measure
import skimage.morphology
from itkgigapixel.files import write
from itkgigapixel.commands import run
from conftest import refused, refused_by_itk

RGB = itk.Image[itk.RGBPixel[itk.UC], 2]
GRAY = itk.Image[itk.UC, 2]


@pytest.fixture
def mask():
    """Blobs with holes, touching all borders."""
    noise = scipy.ndimage.gaussian_filter(np.random.default_rng(5).normal(size=(240, 310)), 4)
    return np.where(noise > 0, 255, 0).astype(np.uint8)


def disc(radius: int) -> np.ndarray:
    """ITK's ball: d^2 <= (r + 1/2)^2."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return y * y + x * x <= (radius + 0.5) ** 2


def test_median_is_scipys(mask):
    ours = itk.binary_majority_image_filter(itk.image_from_array(mask), radius=3)
    assert np.array_equal(itk.array_from_image(ours), scipy.ndimage.median_filter(mask, size=7, mode="nearest"))


@pytest.mark.parametrize("radius", [1, 4, 9])
def test_disc_erosion_and_dilation_are_skimages(mask, radius):
    padded = np.pad(mask, radius, constant_values=255)  # outside counts as tissue in an erosion
    eroded = skimage.morphology.erosion(padded, disc(radius))[radius:-radius, radius:-radius]
    assert np.array_equal(itk.binary_disc_erode_image_filter(mask, radius=radius), eroded)
    padded = np.pad(mask, radius)
    dilated = skimage.morphology.dilation(padded, disc(radius))[radius:-radius, radius:-radius]
    assert np.array_equal(itk.binary_disc_dilate_image_filter(mask, radius=radius), dilated)


def test_hole_fill_is_scipys(mask):
    filled = scipy.ndimage.binary_fill_holes(mask > 0)  # holes are 4-connected in both
    assert np.array_equal(itk.binary_hole_fill_image_filter(mask) > 0, filled)


def test_area_opening_is_skimages(mask):
    ours = itk.binary_area_opening_image_filter(mask, minimum_area=200) > 0
    labels = skimage.measure.label(mask > 0, connectivity=2)  # tissue is 8-connected, as holes are 4-connected
    keep = np.bincount(labels.ravel()) >= 200
    keep[0] = False
    assert np.array_equal(ours, keep[labels])


def test_block_mean_is_numpys():
    pixels = np.random.default_rng(2).integers(0, 256, (64, 80, 3), dtype=np.uint8)
    image = itk.image_from_array(pixels, ttype=RGB)
    ours = itk.array_from_image(itk.block_mean_image_filter(image, shrink_factor=8))
    mean = pixels.reshape(8, 8, 10, 8, 3).mean(axis=(1, 3))
    assert np.abs(ours - mean).max() <= 0.5


def test_label_is_label_in_pieces(drawn):
    whole = itk.array_from_image(gp.label(drawn[0]))
    assert set(np.unique(whole)) == {0, 255} and whole.shape == (250, 375)
    io = itk.WholeSlideImageIO.New()
    io.SetLevel(2)  # of downsample 4, which gp.label chooses for its 8
    reader = itk.ImageFileReader[RGB].New(FileName=drawn[0], ImageIO=io)
    tissue = itk.TissueLabelImageFilter[RGB, GRAY].New(Input=reader.GetOutput(), ShrinkFactor=2)
    streamer = itk.StreamingImageFilter[GRAY, GRAY].New(Input=tissue.GetOutput(), NumberOfStreamDivisions=7)
    streamer.Update()
    assert np.array_equal(itk.array_from_image(streamer.GetOutput()), whole)


def test_label_meets_the_truth(drawn):
    """Synthetic slides are drawn with pen and debris."""
    truth = gp.Slide(drawn[1]).read(gray=True)[4::8, 4::8] > 0
    labels = itk.array_from_image(gp.label(drawn[0]))[: truth.shape[0], : truth.shape[1]] > 0
    assert (labels & truth).sum() / (labels | truth).sum() > 0.7


def test_label_writes_a_pyramid(drawn, tmp_path):
    path = gp.label(drawn[0], tmp_path / "mask.pyramid.tif")
    mask = gp.Slide(path)
    assert mask.mpp == pytest.approx(4.0)
    assert np.array_equal(mask.read(gray=True), itk.array_from_image(gp.label(drawn[0])))


@pytest.mark.parametrize("downsample", [0, -8, 2.5, 257])
def test_label_at_no_such_grid(drawn, downsample):
    with refused(ValueError, "E-OPTION-VALUE", option="downsample", value=str(downsample)):
        gp.label(drawn[0], downsample=downsample)


def test_a_slide_is_never_its_own_mask(drawn, tmp_path):
    slide = shutil.copy(drawn[0], tmp_path / "slide.pyramid.tif")
    before = slide.read_bytes()
    for make in (gp.label, gp.convert, lambda *files: gp.segment(files[0], "tissue", files[1])):
        with refused(ValueError, "E-OUTPUT-INPUT", option="output"):
            make(slide, tmp_path / ".." / tmp_path.name / slide.name)
    assert slide.read_bytes() == before and list(tmp_path.iterdir()) == [slide]


def test_a_kind_of_file_that_nobody_writes(drawn, tmp_path):
    with refused(ValueError, "E-OUTPUT-ENDING", file=str(tmp_path / "mask.xyz")):
        gp.label(drawn[0], tmp_path / "mask.xyz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mask.png", "mask.mhd", "mask.pyramid.tif"])
def test_files_of_all_kinds_hold_the_mask(drawn, tmp_path, name):
    gp.label(drawn[0], tmp_path / name)
    expected = itk.array_from_image(gp.label(drawn[0]))
    assert np.array_equal(itk.array_from_image(itk.imread(tmp_path / name, itk.UC)), expected)
    assert {path.stem.split(".")[0] for path in tmp_path.iterdir()} == {"mask"}


def test_what_stood_there_stays_until_there_is_something_else(drawn, tmp_path):
    """A writer of ITK's that stops half way leaves half a file."""
    mask = tmp_path / "mask.nrrd"
    mask.write_text("precious")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, before[1]))
    try:
        with pytest.raises(RuntimeError):
            gp.label(drawn[0], mask, downsample=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert mask.read_text() == "precious" and list(tmp_path.iterdir()) == [mask]
    with refused(RuntimeError, "E-OUTPUT-WRITE", file=str(tmp_path / "nowhere" / "mask.nrrd")):
        gp.label(drawn[0], tmp_path / "nowhere" / "mask.nrrd")


@pytest.mark.parametrize("name", ["mask.png", "mask.pyramid.tif"])
def test_ctrl_c_stops_what_is_written(drawn, tmp_path, name):
    """Not only what is streamed: a PNG is written when all of it is there."""
    slide = itk.WholeSlideImageIO.New(FileName=drawn[0])
    tissue = itk.SlideTissueImageSource.New(Slide=slide, Downsample=1)
    tissue.UpdateOutputInformation()
    seen = []

    def interrupt():
        if not seen:
            signal.raise_signal(signal.SIGINT)
        seen.append(tissue.GetProgress())

    tissue.AddObserver(itk.ProgressEvent(), interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            write(tissue, slide, tmp_path / name, "label", False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen[-1] < 1 and not list(tmp_path.iterdir())


def test_python_ends_while_threads_work(drawn):
    """Threads that Python does not wait for; they came back from C++ into nothing, and the process was aborted."""
    code = f"""
import threading, time
import itkgigapixel as gp
begun = threading.Event()
def work():
    while True:
        gp.label({drawn[0]!r}, downsample=1)
        begun.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (result.returncode, result.stderr) == (0, "")


def test_presets():
    assert {"auto", "remedios2023"} <= set(gp.presets())
    tissue = itk.TissueLabelImageFilter[RGB, GRAY].New()
    with refused_by_itk("E-TISSUE-PRESET"):
        tissue.SetPreset("no such preset")


def test_errors_are_sentences(drawn):
    with refused(RuntimeError, "E-TISSUE-PRESET"):
        gp.label(drawn[0], preset="no such preset")


def test_observers_and_abort(drawn):
    reader = itk.ImageFileReader[RGB].New(FileName=drawn[0])
    tissue = itk.TissueLabelImageFilter[RGB, GRAY].New(Input=reader.GetOutput())
    seen = []
    tissue.AddObserver(itk.ProgressEvent(), lambda: seen.append(tissue.GetProgress()))
    tissue.Update()
    assert seen and seen == sorted(seen) and 0 <= seen[0] and seen[-1] <= 1

    reader = itk.ImageFileReader[RGB].New(FileName=drawn[0])
    stopped = itk.TissueLabelImageFilter[RGB, GRAY].New(Input=reader.GetOutput())
    stopped.AddObserver(itk.ProgressEvent(), stopped.AbortGenerateDataOn)
    with pytest.raises(RuntimeError, match="(?i)abort"):
        stopped.Update()


def test_between_itks_own_filters():
    pixels = np.random.default_rng(3).integers(0, 256, (90, 120), dtype=np.uint8)
    threshold = itk.binary_threshold_image_filter(itk.image_from_array(pixels), lower_threshold=128, inside_value=255)
    median = itk.BinaryMajorityImageFilter.New(threshold, Radius=2)
    inverted = itk.InvertIntensityImageFilter.New(median.GetOutput(), Maximum=255)
    inverted.Update()
    reference = itk.median_image_filter(threshold, radius=2)
    assert np.array_equal(itk.array_from_image(inverted.GetOutput()), 255 - itk.array_from_image(reference))


def test_annotation_is_skimages():
    """A polygon with a hole, as GeoJSON has it, at half the resolution."""
    rings = [[(10.0, 12.0), (180.5, 20.0), (150.0, 130.25), (30.0, 110.0)], [(60, 40), (100, 45), (80, 90)]]
    source = itk.AnnotationImageSource.New()
    source.SetSize(100, 70)
    source.SetDownsample(2)
    source.AddAnnotation(rings, 7)
    source.Update()
    centers = np.stack(np.meshgrid(np.arange(100), np.arange(70)), axis=-1).reshape(-1, 2) * 2 + 1.0
    outer, hole = (skimage.measure.points_in_poly(centers, ring) for ring in rings)
    mask = itk.array_from_image(source.GetOutput())
    assert np.array_equal(mask.ravel(), np.where(outer & ~hole, 7, 0))
    source.SetOutlineOrigin([4, 6])  # a scanned area that begins there
    source.Update()
    assert np.array_equal(itk.array_from_image(source.GetOutput())[3:, 2:], mask[:-3, :-2])
    with pytest.raises(TypeError, match="sequence of rings"):
        source.AddAnnotation([[1, 2]], 7)


def test_hints_are_those_of_the_program(tmp_path, drawn):
    ring = [[64, 64], [320, 64], [320, 320], [64, 320], [64, 64]]
    stroke = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": {"classification": "Glass"}}
    hints = tmp_path / "strokes.geojson"
    hints.write_text(json.dumps({"type": "FeatureCollection", "features": [stroke]}))
    run("label", {"output": tmp_path / "mask.tif", "hints": hints}, [drawn[0]])
    mask = itk.array_from_image(gp.label(drawn[0], hints=hints))
    assert not mask[8:40, 8:40].any()
    assert np.array_equal(mask, itk.array_from_image(itk.imread(tmp_path / "mask.tif")))
    with refused(gp.GigapixelError, "E-OPTION-APPLIES"):
        gp.label(drawn[0], hints=hints, preset="robust")


@contextlib.contextmanager
def limited_files():
    """No file of this process grows beyond that, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def small_disk(folder):
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("no small disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # some writers still have the file open


@pytest.mark.parametrize("ending", [".png", ".nii", ".nii.gz", ".bmp", ".nrrd", ".mha", ".tif", ".pyramid.tif"])
def test_a_full_disk_is_an_error_of_each_writer(drawn, tmp_path, ending):
    """ITK's own drop what there is no room for, some of them without a word."""
    gp.label(drawn[0], full_resolution=True)  # what is loaded with that writes files
    output = tmp_path / "out" / f"mask{ending}"
    output.parent.mkdir()
    with limited_files(), refused(OSError, "E-DISK-FULL", file=str(output)) as raised:
        gp.label(drawn[0], output, full_resolution=True)
    assert raised.value.errno == errno.EFBIG or ending == ".pyramid.tif"
    assert list(output.parent.iterdir()) == []
    with small_disk(output.parent), refused(OSError, "E-DISK-FULL", file=str(output)):
        gp.label(drawn[0], output, full_resolution=True)
