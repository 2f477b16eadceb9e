# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""--mpp resamples to exactly the resolution in all commands: compared with tifffile and NumPy."""

import json
import math

import numpy
import pytest
import tifffile

from conftest import fails, run, weights, write_slide

WIDTH, HEIGHT = 700, 530


def covers(length, factor):
    """How much each pixel of a resolution covers of each pixel of a level along one axis: (count, length)."""
    parts = 1024 if factor < 250 else 1
    count = max(1, math.ceil(length / factor - 0.01))
    edges = numpy.minimum(numpy.rint(numpy.arange(count + 1) * (factor * parts)), length * parts)[:, None]
    at = numpy.arange(length) * parts
    return numpy.clip(numpy.minimum(edges[1:], at + parts) - numpy.maximum(edges[:-1], at), 0, None)


def means(pixels, factor_x, factor_y=None):
    """The mean of each area; whole numbers are rounded, halves up."""
    x, y = covers(pixels.shape[1], factor_x), covers(pixels.shape[0], factor_y or factor_x)
    planes = pixels.reshape(*pixels.shape[:2], -1).astype(float)
    sums = numpy.stack([y @ planes[..., c] @ x.T for c in range(planes.shape[2])], axis=-1)
    result = sums / (y.sum(1)[:, None, None] * x.sum(1)[:, None])
    if numpy.issubdtype(pixels.dtype, numpy.integer):
        result = numpy.floor(result + 0.5)
    return result.astype(pixels.dtype).reshape(len(y), len(x), *pixels.shape[2:])


def picked(pixels, factor):
    """Labels: the pixel at the center."""
    y, x = (numpy.minimum((numpy.arange(math.ceil(n / factor - 0.01)) + 0.5) * factor, n - 1).astype(int) for n in pixels.shape[:2])
    return pixels[y[:, None], x]


def noise(*shape, seed=1):
    return numpy.random.default_rng(seed).integers(0, 256, shape, numpy.uint8)


@pytest.fixture(scope="module")
def slide(tmp_path_factory):
    """Levels of 0.5 and 1 um."""
    path = tmp_path_factory.mktemp("resolution") / "slide.tif"
    levels = [noise(HEIGHT, WIDTH, 3), noise(HEIGHT // 2, WIDTH // 2, 3, seed=2)]
    with tifffile.TiffWriter(path) as file:
        for number, pixels in enumerate(levels):
            file.write(pixels, tile=(128, 128), compression="zlib", photometric="rgb", subfiletype=number,
                       resolution=(20000 / 2**number,) * 2, resolutionunit="CENTIMETER")  # fmt: skip
    return path, levels


@pytest.mark.parametrize("mpp, level", [(0.46, 0), (0.7, 0), (0.995, 0), (1.4, 1), (7.0, 1), (300.0, 1)])
def test_convert_resamples(tmp_path, slide, mpp, level):
    path, levels = slide
    factor = mpp / (0.5 * 2**level)
    out = tmp_path / "out.tif"
    result = run("convert", path, out, "--mpp", mpp, "--compression", "deflate", "--json").json
    expected = means(levels[level], factor)
    assert (result["height"], result["width"]) == expected.shape[:2]
    assert (result["level"], result["resampledFrom"], result["copiedTiles"]) == (None, level, 0)
    assert result["mpp"] == pytest.approx(mpp, rel=1e-6)
    assert numpy.array_equal(tifffile.imread(out), expected)
    again = run("convert", path, out, "--mpp", mpp, "--compression", "deflate", "--json").json
    assert again["skipped"] and again["resampledFrom"] == level
    with tifffile.TiffFile(out) as file:
        origin = [float(v) for v in file.pages[0].description.split("origin-mm = ")[1].split()[:2]]
    assert origin == pytest.approx([(mpp - 0.5) / 2000] * 2)  # the center of the first pixel


def test_a_level_of_the_resolution_is_copied(tmp_path, slide):
    path, levels = slide
    for mpp, level in ((0.5, 0), (1.0, 1), (1.0004, 1)):
        result = run("convert", path, tmp_path / f"{mpp}.tif", "--mpp", mpp, "--json").json
        assert (result["level"], result["resampledFrom"]) == (level, None) and result["copiedTiles"] > 0
        assert numpy.array_equal(tifffile.imread(tmp_path / f"{mpp}.tif"), levels[level])


def test_a_region_has_the_pixels_of_the_whole(tmp_path, slide):
    path, levels = slide
    whole = means(levels[0], 1.6)
    run("convert", path, tmp_path / "part.tif", "--mpp", 0.8, "--region", "160,80,320,240", "--compression", "deflate")
    assert numpy.array_equal(tifffile.imread(tmp_path / "part.tif"), whole[50:200, 100:300])


def test_finer_than_level_0_is_refused(tmp_path, slide):
    refused = fails("convert", slide[0], tmp_path / "out.tif", "--mpp", 0.3)
    assert (refused.code, refused.option, refused.value, refused.file) == ("E-SLIDE-RESOLUTION", "--mpp", "0.3", str(slide[0]))
    blind = write_slide(tmp_path / "blind.tif", noise(300, 400, 3), mpp=None)
    refused = fails("convert", blind, tmp_path / "out.tif", "--mpp", 2)
    assert (refused.code, refused.option, refused.file) == ("E-SLIDE-RESOLUTION", "--mpp", str(blind))
    run("convert", blind, tmp_path / "out.tif", "--mpp", 2, "--slide-mpp", 0.8, "--compression", "deflate")
    assert numpy.array_equal(tifffile.imread(tmp_path / "out.tif"), means(noise(300, 400, 3), 2.5))


def test_pixels_become_square(tmp_path):
    pixels = noise(400, 600, 3)
    tifffile.imwrite(tmp_path / "flat.tif", pixels, tile=(128, 128), photometric="rgb", resolution=(20000, 10000), resolutionunit="CENTIMETER")
    result = run("convert", tmp_path / "flat.tif", tmp_path / "out.tif", "--mpp", 2, "--compression", "deflate", "--json").json
    assert (result["mppX"], result["mppY"]) == pytest.approx((2, 2))
    assert numpy.array_equal(tifffile.imread(tmp_path / "out.tif"), means(pixels, 4, 2))


def test_samples_of_16_bit_and_labels(tmp_path):
    deep = numpy.random.default_rng(1).integers(0, 65536, (300, 400), numpy.uint16)
    write_slide(tmp_path / "deep.tif", deep)
    run("convert", tmp_path / "deep.tif", tmp_path / "out.tif", "--mpp", 0.8, "--content", "picture")
    assert numpy.array_equal(tifffile.imread(tmp_path / "out.tif"), means(deep, 1.6))
    labels = numpy.random.default_rng(1).integers(0, 4, (300, 400), numpy.uint8)
    write_slide(tmp_path / "labels.tif", labels)
    run("convert", tmp_path / "labels.tif", tmp_path / "picked.tif", "--mpp", 0.8)
    assert numpy.array_equal(tifffile.imread(tmp_path / "picked.tif"), picked(labels, 1.6))
    bits = numpy.random.default_rng(1).integers(0, 2, (300, 400), bool)
    tifffile.imwrite(tmp_path / "bits.tif", bits, tile=(128, 128), photometric="minisblack", resolution=(20000,) * 2, resolutionunit="CENTIMETER")
    run("convert", tmp_path / "bits.tif", tmp_path / "picked.tif", "--mpp", 0.8, "--content", "picture", "--compression", "deflate", "--overwrite")
    assert numpy.array_equal(tifffile.imread(tmp_path / "picked.tif"), picked(bits, 1.6) * numpy.uint8(255))


@pytest.fixture(scope="module")
def resampled(slide, tmp_path_factory):
    """The slide at 1.3 um, as a file."""
    path = tmp_path_factory.mktemp("resampled") / "slide.tif"
    run("convert", slide[0], path, "--mpp", 1.3, "--compression", "deflate")
    return path


def test_label_resamples(tmp_path):
    y, x = numpy.mgrid[:1100, :1300]
    tissue = (x - 600) ** 2 + (y - 500) ** 2 < 350**2
    pixels = numpy.where(tissue[..., None], (200, 80, 140), 240).astype(numpy.uint8)
    path = write_slide(tmp_path / "slide.tif", (pixels + noise(1100, 1300, 3) // 32).astype(numpy.uint8))
    result = run("label", "--preset", "robust", path, "-o", tmp_path / "mask.tif", "--mpp", 1.3, "--json").json
    assert (result["mppX"], result["mppY"], result["mpp"], result["downsample"]) == pytest.approx((1.3, 1.3, 1.3, 2.6))
    assert (result["width"], result["height"], result["level"], result["resampledFrom"]) == (500, 424, None, 0)
    assert result["tissueMm2"] == pytest.approx(math.pi * (350 * 0.0005) ** 2, rel=0.02)
    run("convert", path, tmp_path / "coarse.tif", "--mpp", 1.3, "--compression", "deflate")
    run("label", "--preset", "robust", tmp_path / "coarse.tif", "-o", tmp_path / "coarse.mask.tif", "--downsample", 1)
    assert numpy.array_equal(tifffile.imread(tmp_path / "mask.tif"), tifffile.imread(tmp_path / "coarse.mask.tif"))
    assert run("label", "--preset", "robust", path, "-o", tmp_path / "mask.tif", "--mpp", 1.3, "--json").json["skipped"]
    # A whole downsample is the same grid by another name.
    for options in (["--mpp", 2], ["--downsample", 4]):
        result = run("label", "--preset", "robust", path, "-o", tmp_path / f"{options[1]}.tif", *options, "--json").json
        assert (result["downsample"], result["mpp"]) == (4, pytest.approx(2))
    assert numpy.array_equal(tifffile.imread(tmp_path / "2.tif"), tifffile.imread(tmp_path / "4.tif"))
    refused = fails("label", path, "-o", tmp_path / "full.tif", "--mpp", 1.3, "--full-resolution")
    assert (refused.code, refused.option, refused.file) == ("E-OPTION-CONFLICT", "--full-resolution", str(path))
    refused = fails("label", path, "-o", tmp_path / "fine.tif", "--mpp", 0.3)
    assert (refused.code, refused.option, refused.file) == ("E-SLIDE-RESOLUTION", "--mpp", str(path))


SUM = {"name": "sum", "input": {"channels": 3}, "layers": [{"name": "S", "type": "convolution", "in": 3, "out": 1, "kernel": 3, "padding": 1, "activation": "none"}]}


def write_model(path, mpp):
    """A network of one convolution, by chance."""
    kernel = numpy.random.default_rng(1).normal(0, 1, 3 * 3 * 3).astype("<f4")
    header = {"__metadata__": {"gigapixel": "2", "network": json.dumps(SUM), "tile_size": "64", "microns_per_pixel": str(mpp)}}
    header["S.bias"] = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header["S.weight"] = {"dtype": "F32", "shape": [1, 3, 3, 3], "data_offsets": [4, 4 + kernel.nbytes]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + numpy.float32(-kernel.sum() / 2).tobytes() + kernel.tobytes())
    return path


def test_label_says_both_downsamples(tmp_path):
    pixels = numpy.full((400, 600, 3), 240, numpy.uint8)
    pixels[100:300, 200:400] = 200, 80, 140
    tifffile.imwrite(tmp_path / "flat.tif", pixels, tile=(128, 128), photometric="rgb", resolution=(20000, 10000), resolutionunit="CENTIMETER")
    result = run("label", tmp_path / "flat.tif", "-o", tmp_path / "mask.tif", "--mpp", 2, "--json").json
    assert (result["mppX"], result["mppY"], result["width"], result["height"]) == (2, 2, 150, 200)
    assert result["downsamples"] == pytest.approx([4, 2]) and result["downsample"] == pytest.approx(3)
    result = run("label", tmp_path / "flat.tif", "-o", tmp_path / "8.tif", "--json").json
    assert result["downsamples"] == [8, 8]


def test_segment_resamples_to_the_models_resolution(tmp_path, slide, resampled):
    """Where no level is within 10 % of it."""
    model = write_model(tmp_path / "model.safetensors", 1.3)
    result = run("segment", slide[0], "--model", model, "-o", tmp_path / "mask.tif", "--json").json
    assert (result["level"], result["resampledFrom"]) == (None, 1) and result["mpp"] == pytest.approx(1.3)
    assert result["downsamples"] == pytest.approx([2.6, 2.6])
    expected = run("segment", resampled, "--model", model, "-o", tmp_path / "expected.tif", "--json").json
    assert (result["width"], result["height"]) == (expected["width"], expected["height"])
    mask = tifffile.imread(tmp_path / "mask.tif")
    assert numpy.array_equal(mask, tifffile.imread(tmp_path / "expected.tif")) and 0 < mask.mean() < 255
    near = write_model(tmp_path / "near.safetensors", 1.06)
    result = run("segment", slide[0], "--model", near, "-o", tmp_path / "near.tif", "--json").json
    assert (result["level"], result["resampledFrom"], result["mpp"]) == (1, None, pytest.approx(1.0))


@pytest.mark.parametrize("strips", [False, True], ids=["pyramid", "strips"])
def test_training_resamples(tmp_path, slide, resampled, strips):
    """The same network, to the bit, as from slides that were resampled before."""
    path, (pixels, _) = slide
    if strips:  # which other readers open where no resolution is asked for
        path, resampled = tmp_path / "strips.tif", tmp_path / "resampled.tif"
        tifffile.imwrite(path, pixels, photometric="rgb", resolution=(20000,) * 2, resolutionunit="CENTIMETER")
        run("convert", path, resampled, "--mpp", 1.3, "--compression", "deflate")
    truth = write_slide(tmp_path / "truth.tif", (pixels[..., 0] > 128).astype(numpy.uint8) * 255)
    (tmp_path / "network.json").write_text(json.dumps(SUM))

    def train(image, folder, *options):
        (tmp_path / "cohort.csv").write_text(f"slide,mask,split\n{image},{truth},train\n")
        return "train", "--cohort", tmp_path / "cohort.csv", "--network", tmp_path / "network.json", "--epochs", 2, "-o", tmp_path / folder, *options

    run(*train(path, "run", "--mpp", 1.3))
    run(*train(resampled, "expected"))
    assert weights(tmp_path / "run") == weights(tmp_path / "expected")
    assert run("info", tmp_path / "run", "--json").json["mpp"] == pytest.approx(1.3)
    refused = fails(*train(path, "finer", "--mpp", 0.3))
    assert (refused.code, refused.option, refused.file) == ("E-SLIDE-RESOLUTION", "--mpp", str(path))


def test_training_resamples_by_the_resolution_that_is_stated(tmp_path, slide, resampled):
    """Of a file that says none, and of one that says the same."""
    path, levels = slide
    blind = tmp_path / "blind.tif"
    with tifffile.TiffWriter(blind) as file:
        for number, pixels in enumerate(levels):
            file.write(pixels, tile=(128, 128), compression="zlib", photometric="rgb", subfiletype=number)
    truth = write_slide(tmp_path / "truth.tif", (levels[0][..., 0] > 128).astype(numpy.uint8) * 255)
    (tmp_path / "network.json").write_text(json.dumps(SUM))

    def train(image, *options):
        (tmp_path / "cohort.csv").write_text(f"slide,mask,split\n{image},{truth},train\n")
        words = ["train", "--cohort", tmp_path / "cohort.csv", "--network", tmp_path / "network.json", "--epochs", 1, *options]
        run(*words, "-o", tmp_path / f"run{len(list(tmp_path.iterdir()))}")
        return weights(max(tmp_path.glob("run*"), key=lambda folder: folder.stat().st_mtime_ns))

    expected = train(resampled)
    assert train(blind, "--slide-mpp", 0.5, "--mpp", 1.3) == expected
    assert train(path, "--slide-mpp", 0.5, "--mpp", 1.3) == expected
    assert train(path, "--slide-mpp", 0.5, "--level", 1) != expected


def test_slides_are_classified_at_the_models_resolution(tmp_path, slide, resampled):
    """Where no level is within 10 % of it, as the resampled slide is."""
    (tmp_path / "cohort.csv").write_text(f"slide,label,split\n{slide[0]},one,train\n{resampled},two,train\n")
    run("train", "--cohort", tmp_path / "cohort.csv", "--network", "resnet18:width=2", "--epochs", 1, "--tile-size", 64, "--mpp", 1.3, "-o", tmp_path / "run")
    run("classify", slide[0], resampled, "--model", tmp_path / "run", "-o", tmp_path / "out.csv")
    rows = [line.split(",")[1:] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert len(rows) == 2 and rows[0] == rows[1]
    for number, path in enumerate((slide[0], resampled)):
        result = run("features", path, "--model", tmp_path / "run", "-o", tmp_path / f"{number}.h5", "--json").json
        assert result["mpp"] == pytest.approx(1.3)
