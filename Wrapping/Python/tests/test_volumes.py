# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Volumes: learned from files, and segmented from files and ITK images alike."""

import itk
import numpy as np
import pytest

import itkgigapixel as gp
from itkgigapixel.engine import require_torch
from conftest import refused, refused_by_itk

SHAPE = (15, 22, 26)  # z, y, x
DIRECTION = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]], float)


def make(seed):
    """A bright ball in noise, as images of short and of bytes that lie turned in space."""
    rng = np.random.default_rng(seed)
    z, y, x = np.indices(SHAPE)
    center = np.array(SHAPE) / 2 + rng.uniform(-2, 2, 3)
    labels = ((z - center[0]) ** 2 + (y - center[1]) ** 2 + (x - center[2]) ** 2 < 5**2).astype(np.uint8)
    images = [itk.image_from_array((rng.normal(0, 20, SHAPE) + 120 * labels).astype(np.int16)), itk.image_from_array(labels)]
    for image in images:
        image.SetSpacing([0.8, 0.9, 1.5])
        image.SetOrigin([-10, 20, 5])
        image.SetDirection(itk.matrix_from_array(DIRECTION))
    return images


def write_series(folder, image):
    """A DICOM series of CT with a file for each slice, the names in another order than the slices."""
    folder.mkdir()
    slices = itk.array_from_image(image)
    for index, pixels in enumerate(slices):
        piece = itk.image_from_array(pixels[np.newaxis])
        place = image.TransformIndexToPhysicalPoint([0, 0, index])
        piece.SetSpacing(image.GetSpacing())
        elements = piece.GetMetaDataDictionary()
        elements["0008|0016"] = "1.2.840.10008.5.1.4.1.1.2"
        elements["0008|0018"] = f"1.2.3.4.{index}"
        elements["0008|0060"] = "CT"
        elements["0020|000d"] = "1.2.3.9"
        elements["0020|000e"] = "1.2.3.4"
        elements["0020|0032"] = "\\".join(f"{along:g}" for along in place)
        elements["0020|0037"] = "\\".join(f"{along:g}" for along in DIRECTION[:, :2].T.ravel())
        name = folder / f"{(7 * index + 3) % len(slices):02d}.dcm"
        itk.ImageFileWriter[type(piece)].New(Input=piece, ImageIO=itk.GDCMImageIO.New(KeepOriginalUID=True), FileName=str(name)).Update()
    return folder


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A model of two volumes, and the folder with their files."""
    folder = tmp_path_factory.mktemp("volumes")
    for seed in range(3):
        for image, name in zip(make(seed), ("values", "labels")):
            itk.imwrite(image, str(folder / f"{name}{seed}.nii.gz"))
    samples = [(folder / f"values{seed}.nii.gz", folder / f"labels{seed}.nii.gz") for seed in range(3)]
    model = gp.train(samples[:2], folder / "run", validation=samples[2:], network="unet3d:base=2,depth=1", epochs=30, learning_rate=0.02, seed=2)
    return model, folder


def test_segments_files_and_images(learned, tmp_path):
    model, folder = learned
    image, truth = make(7)
    found = gp.segment_volume(image, model)
    labels, expected = itk.array_from_image(found), itk.array_from_image(truth)
    assert labels.dtype == np.uint8 and labels.shape == SHAPE
    assert 2 * (labels & expected).sum() / (labels.sum() + expected.sum()) > 0.85
    assert list(found.GetSpacing()) == pytest.approx([0.8, 0.9, 1.5]) and list(found.GetOrigin()) == pytest.approx([-10, 20, 5])
    assert itk.array_from_matrix(found.GetDirection()) == pytest.approx(DIRECTION)
    file, output = tmp_path / "new.nii.gz", tmp_path / "labels.nii.gz"
    itk.imwrite(image, str(file))
    assert gp.segment_volume(file, folder / "run", output, memory="8G", tile_size=16) == output
    assert (itk.array_from_image(itk.imread(str(output))) == labels).all()
    assert gp.segment_volume([file], model, output) == output  # in place of what stands there


def test_segments_volumes_of_freesurfer(learned, tmp_path):
    """Files that nibabel writes, and labels that nibabel reads."""
    nibabel = pytest.importorskip("nibabel")
    model, _ = learned
    image, _ = make(7)
    file, output, same = tmp_path / "t1.nii.gz", tmp_path / "labels.mgz", tmp_path / "labels.nii.gz"
    itk.imwrite(image, str(file))
    volume = nibabel.load(file)
    nibabel.save(nibabel.MGHImage(np.asarray(volume.dataobj), volume.affine), tmp_path / "t1.mgz")
    gp.segment_volume(tmp_path / "t1.mgz", model, output)
    gp.segment_volume(file, model, same)
    found, expected = nibabel.load(output), nibabel.load(same)
    assert found.affine == pytest.approx(expected.affine, abs=1e-4) and np.asarray(expected.dataobj).any()
    assert (np.asarray(found.dataobj) == np.asarray(expected.dataobj)).all()


def test_segments_dicom_series(learned, tmp_path):
    model, _ = learned
    image, _ = make(7)
    series, expected = write_series(tmp_path / "ct", image), gp.segment_volume(image, model)
    found = gp.segment_volume(series, model)
    assert (itk.array_from_image(found) == itk.array_from_image(expected)).all() and itk.array_from_image(found).any()
    assert list(found.GetSpacing()) == pytest.approx([0.8, 0.9, 1.5]) and list(found.GetOrigin()) == pytest.approx([-10, 20, 5])
    assert itk.array_from_matrix(found.GetDirection()) == pytest.approx(DIRECTION)


def test_learns_from_dicom_series(learned, tmp_path):
    _, folder = learned
    series = write_series(tmp_path / "ct", make(0)[0])
    for values, run in ((series, tmp_path / "series"), (folder / "values0.nii.gz", tmp_path / "file")):
        gp.train([(values, folder / "labels0.nii.gz")], run, network="unet3d:base=2,depth=1", epochs=1, seed=2)
    history = [(tmp_path / run / "history.csv").read_text() for run in ("series", "file")]
    assert history[0] == history[1] and len(history[0].splitlines()) == 2


def test_the_filter_gives_the_same_labels(learned):
    model, _ = learned
    image, _ = make(7)
    expected = itk.array_from_image(gp.segment_volume(image, model, tile_size=16))
    require_torch()
    floats = itk.Image[itk.F, 3]
    volume = itk.cast_image_filter(image, ttype=(type(image), floats))
    found = itk.GigapixelNetworkImageFilter[floats, itk.Image[itk.UC, 3]].New(Input=volume, Model=model, TileSize=16)
    found.Update()
    assert (itk.array_from_image(found.GetOutput()) == expected).all()
    probabilities = itk.GigapixelNetworkImageFilter[floats, itk.VectorImage[itk.F, 3]].New(Input=volume, Model=model)
    probabilities.Update()
    shares = itk.array_from_image(probabilities.GetOutput()).reshape(SHAPE)
    sure = abs(shares - 0.5) > 1e-5
    assert ((shares >= 0.5) == expected)[sure].all() and sure.mean() > 0.99
    with refused_by_itk("E-MODEL-INPUT"):
        itk.GigapixelNetworkImageFilter[floats, itk.Image[itk.UC, 3]].New(Input=volume, ModelFileName="tissue").Update()


def test_refusals(learned, tmp_path):
    model, folder = learned
    file = folder / "values0.nii.gz"
    with refused(TypeError, "E-OPTION-VALUE", option="volume"):
        gp.segment_volume(np.zeros(SHAPE), model)
    with refused(ValueError, "E-FILE-NAME", option="volume"):
        gp.segment_volume([file, "a,b.nii.gz"], model)
    with refused(RuntimeError, "E-MODEL-INPUT", value="2"):
        gp.segment_volume([file, file], model)
    with refused(RuntimeError, "E-MODEL-INPUT", file=str(file)):
        gp.segment_volume(file, "tissue")
    with refused(RuntimeError, "E-FILE-MISSING", file=str(tmp_path / "nowhere.nii.gz")):
        gp.segment_volume(tmp_path / "nowhere.nii.gz", model, tmp_path / "labels.nii.gz")
    assert list(tmp_path.iterdir()) == []
    with refused(RuntimeError, "E-VOLUME-GEOMETRY", file=str(tmp_path / "short.nii.gz")):
        gp.train([(file, _shorter(folder / "labels0.nii.gz", tmp_path))], network="unet3d:base=2,depth=1", epochs=1)


def _shorter(path, folder):
    image = itk.image_from_array(itk.array_from_image(itk.imread(str(path)))[:-1])
    itk.imwrite(image, str(folder / "short.nii.gz"))
    return folder / "short.nii.gz"
