# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides through itk itself, against openslide-python and tifffile."""

import itk
import itkgigapixel as gp
import numpy as np
import openslide
import pytest
import tifffile
from conftest import real_slide, refused, refused_by_itk


def test_imread_is_tifffile(slide):
    image = itk.imread(slide)
    assert type(image) is itk.Image[itk.RGBPixel[itk.UC], 2]
    with tifffile.TiffFile(slide) as file:
        reference = file.pages[0].asarray()
    pixels = itk.array_view_from_image(image)
    assert pixels.shape == reference.shape
    # JPEG: imagecodecs decodes with libjpeg-turbo as we do, but may be built with another version.
    assert np.abs(pixels.astype(int) - reference).max() <= 1


def test_imread_is_openslide():
    path = real_slide("slides/cmu-1-small-region.svs")
    with openslide.OpenSlide(path) as reference:
        expected = np.asarray(reference.read_region((0, 0), 0, reference.dimensions))[..., :3]
        mpp = float(reference.properties["openslide.mpp-x"])
    image = itk.imread(path)
    assert np.abs(itk.array_view_from_image(image).astype(int) - expected).max() <= 1
    assert image.GetSpacing()[0] == pytest.approx(mpp / 1000, rel=1e-9)
    assert tuple(image.GetOrigin()) == (0, 0)


def test_what_only_openslide_reads(tmp_path):
    """A slide of Trestle's, as small as it can be."""
    path = str(tmp_path / "trestle.tif")
    pixels = np.random.default_rng(3).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    description = "Background Color=FFFFFF"
    tifffile.imwrite(path, pixels, tile=(64, 64), photometric="rgb", software="MedScan", description=description, metadata=None)
    io = itk.WholeSlideImageIO.New()
    image = itk.imread(path, imageio=io)
    with openslide.OpenSlide(path) as reference:
        assert reference.properties["openslide.vendor"] == "trestle"
    assert np.array_equal(itk.array_view_from_image(image), pixels)
    assert io.GetDecoder().startswith("OpenSlide 4")


def test_hamamatsu_is_openslide():
    path = real_slide("slides/fluorescence-dapi.ndpi")
    io = itk.WholeSlideImageIO.New()
    io.SetLevel(2)
    image = itk.imread(path, imageio=io)
    with openslide.OpenSlide(path) as reference:
        size = reference.level_dimensions[2]
        expected = np.asarray(reference.read_region((0, 0), 2, size))[..., :3]
    assert tuple(image.GetLargestPossibleRegion().GetSize()) == size
    assert np.abs(itk.array_view_from_image(image).astype(int) - expected).max() <= 1


@pytest.mark.parametrize("dtype, shape", [(np.uint8, (5, 60, 70)), (np.uint16, (60, 70)), (np.float32, (60, 70))])
def test_other_tiffs_stay_itks(tmp_path, dtype, shape):
    """With the same pixels and type as ITK alone reads them (see also test_import for what is no TIFF)."""
    name = str(tmp_path / "other.tif")
    array = np.random.default_rng(1).integers(0, 255, shape).astype(dtype)
    tifffile.imwrite(name, array, photometric="minisblack")
    image = itk.imread(name)
    assert np.array_equal(itk.array_from_image(image), array)
    assert itk.array_from_image(image).dtype == dtype


def test_streamed_is_whole(slide):
    image = itk.Image[itk.UC, 2]

    def reader():
        io = itk.WholeSlideImageIO.New()
        io.GrayOn()
        return itk.ImageFileReader[image].New(FileName=slide, ImageIO=io)

    whole, pieces = reader(), reader()
    whole.Update()
    streamer = itk.StreamingImageFilter[image, image].New(Input=pieces.GetOutput(), NumberOfStreamDivisions=13)
    streamer.Update()
    assert np.array_equal(itk.array_from_image(streamer.GetOutput()), itk.array_from_image(whole.GetOutput()))


def test_exceptions_between_libraries(tmp_path):
    """PyPI's itk and ours each have parts of the C++ library: what one throws is caught behind the other."""
    image = itk.Image[itk.RGBPixel[itk.UC], 2]
    broken, missing = tmp_path / "broken.svs", tmp_path / "missing.png"
    broken.write_bytes(b"no slide")
    ours = itk.ImageFileReader[image].New(FileName=str(broken), ImageIO=itk.WholeSlideImageIO.New())
    with refused_by_itk("E-SLIDE-FORMAT", file=str(broken)):  # thrown by ours, through the reader of PyPI's itk
        ours.Update()
    theirs = itk.ImageFileReader[image].New(FileName=str(missing), ImageIO=itk.PNGImageIO.New())
    label = itk.TissueLabelImageFilter.New(Input=theirs.GetOutput())
    with pytest.raises(RuntimeError, match="missing.png"):  # thrown by PyPI's itk, through our filter
        label.Update()


def test_errors_are_sentences(tmp_path):
    name = tmp_path / "broken.svs"
    name.write_bytes(b"no slide")
    io = itk.WholeSlideImageIO.New()
    io.SetFileName(str(name))
    with refused_by_itk("E-SLIDE-FORMAT", file=str(name)):
        io.ReadImageInformation()
    with refused(RuntimeError, "E-SLIDE-FORMAT", file=str(name)):
        gp.Slide(name)


@pytest.mark.parametrize("name", ["mask.pyramid.tif", "mask.pyramid.tiff"])
def test_pyramid_is_read_by_others(tmp_path, name):
    mask = np.zeros((1500, 2200), np.uint8)
    mask[300:900, 400:1700] = 255
    image = itk.image_from_array(mask)
    image.SetSpacing((0.002, 0.002))
    path = str(tmp_path / name)
    itk.imwrite(image, path)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        assert page.is_tiled and np.array_equal(page.asarray(), mask)
    with openslide.OpenSlide(path) as reference:
        assert reference.level_dimensions[0] == (2200, 1500) and reference.level_count > 1
        assert float(reference.properties["openslide.mpp-x"]) == pytest.approx(2)
        assert np.array_equal(np.asarray(reference.read_region((0, 0), 0, (2200, 1500)))[..., 0], mask)


def test_plain_tiff_stays_itks(tmp_path):
    path = str(tmp_path / "plain.tif")
    itk.imwrite(itk.image_from_array(np.zeros((600, 700), np.uint8)), path)
    with tifffile.TiffFile(path) as file:
        assert not file.pages[0].is_tiled and len(file.pages) == 1
