# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""All focal planes as one slide: their maximum, and their sharpest pixels. NumPy is the reference."""

import json
import pathlib

import numpy
import pytest
import tifffile
from conftest import fails, run
from PIL import Image
from report_pages import Page
from test_network_files import write_arrays

TILE = 64


def draw(depths, height, width, channels=1, dtype="uint8", seed=0):
    """ZCYX: noise that is blurred by its distance from a plane that changes from left to right."""
    random = numpy.random.default_rng(seed)
    sharp = random.integers(0, 200, (channels, height, width)).astype(float)
    planes = []
    for depth in range(depths):
        plane = sharp.copy()
        for step in range(depths):
            weight = numpy.abs(numpy.arange(width) * depths // width - depth) > step
            plane = numpy.where(weight, (plane + numpy.roll(plane, 1, 1) + numpy.roll(plane, 1, 2) + numpy.roll(plane, -1, 2)) / 4, plane)
        planes.append(plane + random.integers(0, 3, plane.shape))
    scale = 1 if dtype == "uint8" else 100
    return (numpy.stack(planes) * scale).astype(dtype)


def write(path, planes, levels=0, photometric="minisblack"):
    """An OME-TIFF of focal planes, with levels of every second pixel as SubIFDs."""
    options = dict(photometric=photometric, tile=(TILE, TILE))
    axes = "ZYXS" if photometric == "rgb" else "ZCYX"
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(planes, subifds=levels, metadata={"axes": axes, "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}, **options)
        for level in range(1, levels + 1):
            step = 2**level
            file.write(planes[:, ::step, ::step] if photometric == "rgb" else planes[:, :, ::step, ::step], subfiletype=1, **options)
    return path


def find_energy(gray):
    """Nayar and Nakagawa 1994: the modified Laplacian of a plane, summed over 9 x 9 pixels."""
    padded = numpy.pad(gray, 1, mode="edge")
    changes = numpy.abs(2 * gray - padded[1:-1, :-2] - padded[1:-1, 2:]) + numpy.abs(2 * gray - padded[:-2, 1:-1] - padded[2:, 1:-1])
    windows = numpy.lib.stride_tricks.sliding_window_view(numpy.pad(changes, 4, mode="edge"), (9, 9))
    return windows.sum(axis=(2, 3))


def focus(planes):
    """Of ZYXC."""
    gray = planes.astype("float64" if planes.dtype.kind == "f" else "int64").sum(axis=3)
    best = numpy.argmax([find_energy(plane) for plane in gray], axis=0)
    return numpy.take_along_axis(planes, best[None, ..., None], axis=0)[0]


def project(planes, method):
    return planes.max(axis=0) if method == "max" else focus(planes)


def convert(path, *words):
    out = path.with_name("out.ome.tif")
    run("convert", path, out, "--overwrite", "--compression", "deflate", *words)
    pixels = tifffile.imread(out)
    return numpy.moveaxis(pixels, 0, -1) if pixels.ndim == 3 and pixels.shape[-1] != 3 else pixels


@pytest.mark.parametrize("method", ["max", "focus"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_gray(tmp_path, method, dtype):
    planes = draw(4, 150, 210, dtype=dtype)
    path = write(tmp_path / "s.ome.tif", planes)
    wanted = project(numpy.moveaxis(planes, 1, -1), method)[..., 0]
    found = convert(path, "--plane", method)
    assert found.dtype == dtype and numpy.array_equal(found, wanted)
    assert method == "max" or not numpy.array_equal(wanted, planes[1, 0])  # no plane alone has it
    assert numpy.array_equal(convert(path, "--plane", method, "--region", "50,30,101,77"), wanted[30:107, 50:151])


@pytest.mark.parametrize("method", ["max", "focus"])
def test_colors_and_channels(tmp_path, method):
    planes = numpy.moveaxis(draw(3, 150, 210, 3), 1, -1)
    path = write(tmp_path / "rgb.ome.tif", planes, photometric="rgb")
    wanted = project(planes, method)
    assert numpy.array_equal(convert(path, "--plane", method), wanted)
    luma = convert(path, "--plane", method, "--colors", "gray").astype(float)
    assert numpy.abs(luma - wanted @ [0.299, 0.587, 0.114]).max() <= 0.51  # fixed point of 16 bit
    planes = draw(3, 150, 210, 4, "uint16")
    path = write(tmp_path / "channels.ome.tif", planes)
    wanted = project(numpy.moveaxis(planes, 1, -1), method)
    assert numpy.array_equal(convert(path, "--plane", method), wanted)
    assert numpy.array_equal(convert(path, "--plane", method, "--channel", 3), wanted[..., 2])


@pytest.mark.parametrize("method", ["max", "focus"])
def test_each_level_is_made_of_the_planes_levels(tmp_path, method):
    planes = numpy.moveaxis(draw(3, 300, 420, 3), 1, -1)
    path = write(tmp_path / "s.ome.tif", planes, levels=1, photometric="rgb")
    found = convert(path, "--plane", method, "--level", 1)
    assert numpy.array_equal(found, project(planes[:, ::2, ::2], method))


def test_info_and_what_was_made_already(tmp_path):
    path = write(tmp_path / "s.ome.tif", draw(4, 150, 210))
    info = run("info", path, "--plane", "focus", "--json").json
    assert info["focalPlanes"] == {"read": "focus", "count": 4, "spacingUm": None} and not any(each["read"] for each in info["images"])
    out = tmp_path / "out.tif"
    for words in (["max"], ["focus", "--overwrite"]):
        assert not run("convert", path, out, "--json", "--plane", *words).json["skipped"]
    assert run("convert", path, out, "--json", "--plane", "focus").json["skipped"]
    for other in (["--plane", "max"], ["--plane", "middle"], ["--image", 2]):
        assert fails("convert", path, out, *other).code == "E-OUTPUT-EXISTS"


def test_stacks_of_imagej(tmp_path):
    planes = draw(5, 150, 210)[:, 0]
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, planes, imagej=True, metadata={"axes": "ZYX", "slices": 5})
    assert numpy.array_equal(convert(path, "--plane", "max"), planes.max(axis=0))
    assert numpy.array_equal(convert(path, "--plane", "focus"), focus(planes[..., None])[..., 0])


def test_masks_and_pictures_are_made_of_them(tmp_path):
    """What a command makes is what it makes of a slide that holds the projection."""
    planes = numpy.full((3, 600, 900, 3), 240, numpy.uint8)
    for depth in range(3):
        planes[depth, 100:500, 100 + 200 * depth : 400 + 200 * depth] = (200, 120, 180)
    planes += numpy.random.default_rng(0).integers(0, 6, planes.shape, numpy.uint8)
    path = write(tmp_path / "s.ome.tif", planes, photometric="rgb")
    for method in ("max", "focus"):
        alone = tmp_path / f"{method}.tif"
        run("convert", path, alone, "--compression", "deflate", "--plane", method)
        for slide, name, words in ((alone, "a", []), (path, "b", ["--plane", method])):
            run("label", slide, "-o", tmp_path / f"{name}.mask.tif", "--preset", "robust", "--overwrite", *words)
            run("overlay", slide, tmp_path / f"{name}.mask.tif", "-o", tmp_path / f"{name}.png", "--overwrite", *words)
        masks = [tifffile.imread(tmp_path / f"{name}.mask.tif") for name in "ab"]
        assert numpy.array_equal(*masks) and (method == "max" or len(numpy.unique(masks[0])) == 2)
        pictures = [numpy.asarray(Image.open(tmp_path / f"{name}.png")).astype(int) for name in "ab"]
        assert numpy.abs(pictures[0] - pictures[1]).mean() < 1  # one is made of a smaller level


@pytest.mark.parametrize("method", ["max", "focus"])
def test_slides_without_focal_planes(tmp_path, method):
    tifffile.imwrite(tmp_path / "s.tif", numpy.zeros((100, 200, 3), numpy.uint8), photometric="rgb", tile=(64, 64))
    refused = fails("info", tmp_path / "s.tif", "--plane", method)
    assert (refused.code, refused.option, refused.value) == ("E-SLIDE-IMAGE", "--plane", method)


def test_stacks_of_several_images(tmp_path):
    """A plane is of the image that is named, by its name or by the number of any of its planes; else of the largest one."""
    small, large = draw(2, 60, 80), draw(5, 150, 210, seed=1)
    path = tmp_path / "s.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        for name, planes in (("detail", large), ("region", small)):
            file.write(planes[:, 0], photometric="minisblack", tile=(TILE, TILE), metadata={"axes": "ZYX", "Name": name})
    names = [image["name"] for image in run("info", path, "--json").json["images"]]
    assert names == [f"detail plane {n + 1}" for n in range(5)] + [f"region plane {n + 1}" for n in range(2)]
    assert numpy.array_equal(convert(path), large[2, 0])
    for name, planes in (("detail", large), ("region", small)):  # without a plane: the one that the image stands for
        assert numpy.array_equal(convert(path, "--image", name), planes[(len(planes) - 1) // 2, 0])
    for image, planes in (([], large), (["--image", "detail"], large), (["--image", 4], large), (["--image", "region"], small), (["--image", 7], small)):
        for n in range(len(planes)):
            assert numpy.array_equal(convert(path, *image, "--plane", n + 1), planes[n, 0])
        assert numpy.array_equal(convert(path, *image, "--plane", "middle"), planes[(len(planes) - 1) // 2, 0])
        assert numpy.array_equal(convert(path, *image, "--plane", "max"), planes[:, 0].max(axis=0))
        refused = fails("info", path, *image, "--plane", len(planes) + 1)
        assert (refused.code, refused.option, refused.value) == ("E-SLIDE-IMAGE", "--plane", str(len(planes) + 1))
        counted = run("info", path, *image, "--plane", 2, "--json").json["focalPlanes"]
        assert (counted["read"], counted["count"]) == (2, len(planes))
    for words in (["--plane", "best"], ["--plane", 0], ["--plane", ""]):
        assert fails("info", path, *words, code=2).option == "--plane"
    assert fails("info", path, "--image", "label", "--plane", 1).option == "--image"


def test_names_that_several_images_have(tmp_path):
    path = tmp_path / "s.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        for rows in (150, 160):
            file.write(draw(2, rows, 210)[:, 0], photometric="minisblack", tile=(TILE, TILE), metadata={"axes": "ZYX", "Name": "A"})
    for words in (["--image", "A", "--plane", 1], ["--image", "A", "--plane", "max"], ["--image", "A plane 2"]):
        assert fails("info", path, *words).code == "E-SLIDE-IMAGE"
    for image, rows in ((2, 150), (3, 160)):
        assert convert(path, "--image", image, "--plane", "max").shape[0] == rows


def test_names_of_images_are_no_planes(tmp_path):
    """Whatever an image is called, --image finds it and --plane a plane of it."""
    path = tmp_path / "s.ome.tif"
    stacks = {"plane max": draw(2, 150, 210), "A plane 2": draw(3, 160, 220, seed=1)}
    flat = draw(1, 90, 100, seed=2)[0, 0]
    with tifffile.TiffWriter(path, ome=True) as file:
        for name, planes in stacks.items():
            file.write(planes[:, 0], photometric="minisblack", tile=(TILE, TILE), metadata={"axes": "ZYX", "Name": name})
        file.write(flat, photometric="minisblack", tile=(TILE, TILE), metadata={"axes": "YX", "Name": "plane focus"})
    assert numpy.array_equal(convert(path, "--image", "plane focus"), flat)
    for name, planes in stacks.items():
        assert numpy.array_equal(convert(path, "--image", name, "--plane", 2), planes[1, 0])
        assert numpy.array_equal(convert(path, "--image", name, "--plane", "max"), planes[:, 0].max(axis=0))
    refused = fails("info", path, "--image", "plane focus", "--plane", "max")
    assert (refused.code, refused.option, refused.value) == ("E-SLIDE-IMAGE", "--plane", "max")
    assert fails("info", path, "--image", "plane middle").option == "--image"


def test_one_image_with_a_name(tmp_path):
    planes = draw(3, 150, 210)
    path = tmp_path / "s.ome.tif"
    tifffile.imwrite(path, planes[:, 0], ome=True, photometric="minisblack", tile=(TILE, TILE), metadata={"axes": "ZYX", "Name": "A"})
    for image in ([], ["--image", "A"], ["--image", 1]):
        for plane in (1, "+2", "03"):
            assert numpy.array_equal(convert(path, *image, "--plane", plane), planes[int(plane) - 1, 0])
        assert numpy.array_equal(convert(path, *image, "--plane", "max"), planes[:, 0].max(axis=0))
    assert fails("info", path, "--image", "B", "--plane", 1).option == "--image"


def test_names_that_are_numbers(tmp_path):
    """A name goes before a number, and a marked number is none."""
    images = {name: draw(1, 150 + 10 * number, 210, seed=number)[0, 0] for number, name in enumerate("321")}
    path = tmp_path / "s.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        for name, pixels in images.items():
            file.write(pixels, photometric="minisblack", tile=(TILE, TILE), metadata={"axes": "YX", "Name": name})
    for number, (name, pixels) in enumerate(images.items(), 1):
        assert numpy.array_equal(convert(path, "--image", name), pixels)
        assert numpy.array_equal(convert(path, "--image", f"number:{number}"), pixels)
    assert fails("info", path, "--image", "number:4").code == "E-SLIDE-IMAGE"


@pytest.mark.parametrize("plane", ["max", "focus", "2"])
def test_a_mask_of_a_projection_is_of_its_slide(tmp_path, plane):
    """It lies on all planes of its stack, and neither on another stack of the file nor on another file."""
    stacks = draw(3, 150, 210), draw(2, 150, 210, seed=1)
    path = tmp_path / "s.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        for name, planes in zip("AB", stacks):
            file.write(planes, photometric="minisblack", tile=(TILE, TILE), metadata={"axes": "ZCYX", "Name": name})
    mask = tmp_path / "m.tif"
    run("label", path, "-o", mask, "--image", "A", "--plane", plane, "--preset", "rules", "--downsample", 2)
    model = write_threshold_model(tmp_path / "model.safetensors")
    for number, other in enumerate(["1", "2", "3", "max", "focus"]):
        words = ["--slide", path, "--image", "A", "--plane", other, "-o", tmp_path / f"{number}.csv", "--json"]
        assert run("measure", mask, *words).json["components"] >= 1
        run("segment", path, "--image", "A", "--plane", other, "--model", model, "-o", tmp_path / f"{number}.tif", "--tissue", mask, "--level", 0)
    other = write(tmp_path / "other.ome.tif", stacks[1])
    for words in (["--slide", path, "--image", "B", "--plane", 1], ["--slide", path, "--image", "B", "--plane", "max"], ["--slide", other, "--plane", plane]):
        assert fails("measure", mask, *words, "-o", tmp_path / "n.csv").code == "E-MASK-GRID"


def write_threshold_model(path):
    """A network of one operation, whose mask has what is brighter than 100 of 255."""
    operations = [
        {"name": "x", "type": "input", "channels": 1},
        {"name": "y", "type": "conv2d", "inputs": ["x"], "out_channels": 1, "kernel_size": 1},
    ]
    network = {"name": "threshold", "operations": operations, "output": "y", "loss": {"type": "binary cross-entropy"}}
    arrays = {"y.weight": numpy.full((1, 1, 1, 1), 255, "f4"), "y.bias": numpy.full(1, -100, "f4")}
    metadata = {"gigapixel": "2", "network": json.dumps(network), "tile_size": "64", "microns_per_pixel": "0"}
    return write_arrays(path, arrays, metadata)


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("plane, others", [("max", ["focus", "2"]), ("3", ["max", "1"])])
def test_a_model_keeps_its_plane(tmp_path, plane, others):
    """segment reads the plane of the training, unless it is told another one; a slide without planes is read as it is."""
    planes = draw(3, 150, 210)
    path = write(tmp_path / "s.ome.tif", planes)
    tifffile.imwrite(tmp_path / "mask.tif", (planes[0, 0] > 90).astype(numpy.uint8) * 255, tile=(TILE, TILE))
    (tmp_path / "c.csv").write_text(f"slide,mask,split\n{path},{tmp_path / 'mask.tif'},train\n")
    words = ["--network", "unet:channels=1,base=2,depth=1", "--plane", plane, "--epochs", 1]
    run("train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", *words)
    assert run("info", tmp_path / "run", "--json").json["focalPlane"] == plane

    def segment(slide, name, *words):
        files = ["-o", tmp_path / f"{name}.tif", "--probability", tmp_path / f"{name}.p.tif"]
        run("segment", slide, "--model", tmp_path / "run", *files, "--level", 0, *words)
        return tifffile.imread(tmp_path / f"{name}.p.tif", key=0)

    def flatten(which):
        """The plane as a slide of its own."""
        run("convert", path, tmp_path / f"{which}.slide.tif", "--plane", which, "--content", "picture", "--compression", "deflate")
        return segment(tmp_path / f"{which}.slide.tif", f"{which}.flat")

    kept = segment(path, "kept")
    assert numpy.array_equal(kept, flatten(plane))
    for other in others:
        found = segment(path, other, "--plane", other)
        assert numpy.array_equal(found, flatten(other)) and not numpy.array_equal(found, kept)
    # An image that is one of the planes is that plane.
    assert numpy.array_equal(segment(path, "second", "--image", 2), flatten(2))


def test_a_run_that_goes_on_keeps_its_plane(tmp_path):
    """The middle plane is read where none is named, so that the images are those of the run."""
    planes = draw(3, 150, 210)
    path = write(tmp_path / "s.ome.tif", planes)
    tifffile.imwrite(tmp_path / "mask.tif", (planes[0, 0] > 90).astype(numpy.uint8) * 255, tile=(TILE, TILE))
    (tmp_path / "c.csv").write_text(f"slide,mask,split\n{path},{tmp_path / 'mask.tif'},train\n")
    words = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run"]
    run(*words, "--network", "unet:channels=1,base=2,depth=1,normalization=percentiles", "--plane", 2, "--epochs", 1)
    run(*words, "--epochs", 2, "--resume")
    assert run("info", tmp_path / "run", "--json").json["focalPlane"] == "2"


def test_a_folder_of_stacks(tmp_path):
    (tmp_path / "slides").mkdir()
    for name, seed in (("a.ome.tif", 0), ("b.OME.TIFF", 1)):
        write(tmp_path / "slides" / name, draw(3, 150, 210, seed=seed))
    run("convert", tmp_path / "slides", tmp_path / "out", "--plane", "max")
    for name, seed in (("a.ome", 0), ("b.OME", 1)):
        found = tifffile.imread(tmp_path / "out" / f"{name}.pyramid.tif", level=0)
        assert numpy.array_equal(found, draw(3, 150, 210, seed=seed)[:, 0].max(axis=0))


@pytest.mark.parametrize("axes", ["ZCYX", "CZYX", "CYX", "ZYX"])
def test_stacks_that_say_what_pages_are(tmp_path, axes):
    """ImageJ has the channels of a plane behind each other, tifffile any order."""
    sizes = {"Z": 3, "C": 4}
    planes = numpy.random.default_rng(0).integers(0, 60000, [sizes.get(axis, 0) or dict(Y=90, X=70)[axis] for axis in axes], numpy.uint16)
    wanted = numpy.moveaxis(planes, axes.index("C"), -1) if "C" in axes else planes[..., None]
    wanted = wanted if "Z" in axes else wanted[None]
    tifffile.imwrite(tmp_path / "shaped.tif", planes, metadata={"axes": axes}, photometric="minisblack")
    files = [tmp_path / "shaped.tif"]
    if axes != "CZYX":
        tifffile.imwrite(tmp_path / "j.tif", planes, imagej=True, metadata={"axes": axes})
        files.append(tmp_path / "j.tif")
    for path in files:
        for plane in range(len(wanted)) if len(wanted) > 1 else [None]:
            found = convert(path, *(["--plane", plane + 1] if plane is not None else []))
            assert numpy.array_equal(found.reshape(wanted[plane or 0].shape), wanted[plane or 0])


def test_tiles_that_a_plane_lacks(tmp_path):
    """The filling of a tile that is missing has no sharpness beside it."""
    sharp = numpy.random.default_rng(1).integers(90, 110, (128, 256, 3)).astype(numpy.uint8)
    flat = numpy.full_like(sharp, 100)

    def tiles():
        for plane, missing in ((sharp, ()), (flat, (1,))):
            for number in range(8):
                y, x = 64 * (number // 4), 64 * (number % 4)
                yield None if number in missing else plane[y : y + 64, x : x + 64].copy()

    path = tmp_path / "s.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(tiles(), shape=(2, *sharp.shape), dtype="uint8", photometric="rgb", tile=(64, 64), metadata={"axes": "ZYXS"})
    assert numpy.array_equal(convert(path, "--plane", "focus"), sharp)
    wanted = numpy.maximum(sharp, flat)
    wanted[:64, 64:128] = sharp[:64, 64:128]
    assert numpy.array_equal(convert(path, "--plane", "max"), wanted)


def test_planes_that_differ(tmp_path):
    """Aperio's planes, one of which has other tiles."""
    plane = numpy.zeros((200, 300, 3), numpy.uint8)
    with tifffile.TiffWriter(tmp_path / "s.svs") as file:
        for offset, tile in ((0, 64), (1.5, 32)):
            text = f"Aperio Image Library v1\n300x200|AppMag = 20|MPP = 0.5|OffsetZ = {offset}"
            file.write(plane, description=text, photometric="rgb", tile=(tile, tile), metadata=None)
    assert fails("info", tmp_path / "s.svs", "--plane", "max").code == "E-SLIDE-PLANES"
    assert run("info", tmp_path / "s.svs", "--plane", 2, "--json").json["levels"]


def test_damaged_planes(tmp_path):
    """A tile of one plane that cannot be decoded is named."""
    planes = draw(3, 150, 210)
    path = tmp_path / "s.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(planes, photometric="minisblack", tile=(TILE, TILE), compression="zlib", metadata={"axes": "ZCYX"})
    with tifffile.TiffFile(path) as file:
        offset, size = file.pages[1].dataoffsets[2], file.pages[1].databytecounts[2]
    data = bytearray(path.read_bytes())
    data[offset : offset + size] = bytes(size)
    path.write_bytes(data)
    for method in ("max", "focus"):
        assert fails("convert", path, tmp_path / "out.tif", "--plane", method).code == "E-CODEC-DATA"


def find_shown(page):
    """The gray of the corner of a page's only slide."""
    page = Page(page)
    (slide,) = page.slides.values()
    return page.picture(slide["picture"])[-1, -1].mean()


def test_a_report_shows_what_results_were_made_of(tmp_path):
    """The picture of a slide is the plane, image and channels that its mask tells of."""
    values = {1: 40, 2: 200, 3: 120}
    planes = numpy.stack([numpy.full((1, 300, 400), value, numpy.uint8) for value in values.values()])
    planes[:, :, 50:200, 50:200] += 40
    slides = tmp_path / "slides"
    slides.mkdir()
    write(slides / "s.ome.tif", planes)
    for words, value in ((["--plane", "1"], 40), (["--plane", "max"], 200), (["--plane", "3"], 120)):
        out = tmp_path / "-".join(words).strip("-")
        run("label", slides, "-o", out, "--preset", "rules", "--downsample", 2, *words)
        run("report", out, "-o", tmp_path / "page.html", "--overwrite")
        assert find_shown(tmp_path / "page.html") == pytest.approx(value, abs=3)
    run("report", out, "-o", tmp_path / "page.html", "--overwrite", "--plane", "2")
    assert find_shown(tmp_path / "page.html") == pytest.approx(200, abs=3)
    metadata = {"axes": "ZCYX", "Channel": {"Name": ["A", "B", "C"]}}
    options = dict(photometric="minisblack", tile=(TILE, TILE), metadata=metadata)
    tifffile.imwrite(slides / "s.ome.tif", planes.repeat(3, axis=1), ome=True, **options)
    run("label", slides, "-o", tmp_path / "b", "--preset", "rules", "--downsample", 2, "--plane", "max", "--channel", "A", "--channel", "C")
    run("report", tmp_path / "b", "-o", tmp_path / "page.html", "--overwrite")
    (slide,) = Page(tmp_path / "page.html").slides.values()
    assert [channel["name"] for channel in slide["channels"]] == ["A", "C"]


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("channels", [1, 3])
def test_a_report_shows_what_tables_were_made_of(tmp_path, channels):
    """Results of measure and classify tell the plane and the channels; those of a model count as if they were typed."""
    planes = numpy.stack([numpy.full((channels, 300, 400), value, numpy.uint8) for value in (40, 200, 120)])
    planes[:, :, 50:200, 50:200] += 40
    metadata = {"axes": "ZCYX", "Channel": {"Name": ["A", "B", "C"][:channels]}}
    for name in ("a", "b"):
        options = dict(photometric="minisblack", tile=(TILE, TILE), metadata=metadata)
        tifffile.imwrite(tmp_path / f"{name}.ome.tif", planes // (1 if name == "a" else 2), ome=True, **options)
    path = tmp_path / "a.ome.tif"
    of_mask, of_table, of_model = ([word for name in names[:channels] for word in ("--channel", name)] for names in ("A", "CA", "BA"))
    if channels == 1:
        of_mask = of_table = of_model = []
    run("label", path, "-o", tmp_path / "m.tif", "--preset", "rules", "--downsample", 2, "--plane", "max", *of_mask)
    words = ["measure", tmp_path / "m.tif", "--slide", path, "-o", tmp_path / "m.csv", "--json"]
    (tmp_path / "m.json").write_text(run(*words, "--plane", 3, *of_table).out)
    (tmp_path / "c.csv").write_text(f"slide,label,split\n{path},a,train\n{tmp_path / 'b.ome.tif'},b,train\n")
    words = ["--network", f"resnet18:width=2,channels={1 if channels == 1 else 2}", "--epochs", 1, "--plane", 1, *of_model]
    run("train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", *words)
    words = ["classify", path, "--model", tmp_path / "run", "-o", tmp_path / "p.csv", "--report", tmp_path / "batch.html", "--json"]
    (tmp_path / "p.json").write_text(run(*words).out)
    run("report", tmp_path / "p.json", "-o", tmp_path / "p.html")
    run("report", tmp_path / "m.json", "-o", tmp_path / "m.html")
    for page, value, names in (("m", 120, "CA"), ("p", 40, "BA"), ("batch", 40, "BA")):
        (slide,) = Page(tmp_path / f"{page}.html").slides.values()
        if channels == 1:
            assert find_shown(tmp_path / f"{page}.html") == pytest.approx(value, abs=3)
        else:
            assert [channel["name"] for channel in slide["channels"]] == list(names)


def test_a_report_of_two_masks_of_a_slide(tmp_path):
    """Each has a row, with the slide as it was made of."""
    planes = numpy.stack([numpy.full((1, 300, 400), value, numpy.uint8) for value in (40, 120)])
    planes[:, :, 50:200, 50:200] += 40
    (tmp_path / "slides").mkdir()
    path = write(tmp_path / "slides/s.ome.tif", planes)
    for plane in ("1", "2"):
        run("label", tmp_path / "slides", "-o", tmp_path / plane, "--preset", "rules", "--downsample", 2, "--plane", plane)
    for inputs in (["1", "2"], ["2", "1"]):
        run("report", *(tmp_path / each for each in inputs), "-o", tmp_path / "page.html", "--overwrite")
        page = Page(tmp_path / "page.html")
        rows = page.data["slides"]
        assert [pathlib.Path(row["slide"]).resolve() for row in rows] == [path.resolve()] * 2
        assert [page.picture(row["picture"])[-1, -1].mean() for row in rows] == pytest.approx([{"1": 40, "2": 120}[each] for each in inputs], abs=3)


@pytest.mark.parametrize("axes", ["ZYX", "CYX", "ZCYX"])
@pytest.mark.parametrize("imagej", [True, False])
def test_a_folder_of_other_stacks(tmp_path, axes, imagej):
    """Stacks of ImageJ and tifffile are slides of a folder; other pictures that lie there are not."""
    sizes = {"Z": 3, "C": 2, "Y": 90, "X": 70}
    planes = numpy.random.default_rng(0).integers(0, 60000, [sizes[axis] for axis in axes], numpy.uint16)
    (tmp_path / "slides").mkdir()
    kind = dict(imagej=True) if imagej else dict(photometric="minisblack")
    tifffile.imwrite(tmp_path / "slides" / "s.tif", planes, metadata={"axes": axes}, **kind)
    tifffile.imwrite(tmp_path / "slides" / "picture.tif", planes[(0,) * (planes.ndim - 2)])
    tifffile.imwrite(tmp_path / "slides" / "figure.tif", numpy.zeros((90, 70, 3), numpy.uint8), photometric="rgb")
    words = ["--plane", 2] if "Z" in axes else []
    told = run("convert", tmp_path / "slides", tmp_path / "out", "--json", *words).json
    assert [result["slide"] for result in (told if isinstance(told, list) else [told])] == [str(tmp_path / "slides" / "s.tif")]
    found = tifffile.imread(tmp_path / "out" / "s.pyramid.tif", level=0)
    assert numpy.array_equal(found, planes[1] if "Z" in axes else planes)


def test_more_planes_than_are_told_apart(tmp_path):
    planes = numpy.zeros((513, 16, 16), numpy.uint8)
    tifffile.imwrite(tmp_path / "j.tif", planes, imagej=True, metadata={"axes": "ZYX"})
    tifffile.imwrite(tmp_path / "shaped.tif", planes, photometric="minisblack", metadata={"axes": "ZYX"})
    tifffile.imwrite(tmp_path / "o.ome.tif", planes, ome=True, photometric="minisblack", metadata={"axes": "ZYX"})
    for name in ("j.tif", "shaped.tif", "o.ome.tif"):
        for words in ([], ["--plane", 2]):
            refused = fails("info", tmp_path / name, *words)
            assert refused.code == "E-SLIDE-PLANES" and "513" in refused.why and "512" in refused.why
    tifffile.imwrite(tmp_path / "j.tif", planes[1:], imagej=True, metadata={"axes": "ZYX"})
    assert run("info", tmp_path / "j.tif", "--json").json["focalPlanes"]["count"] == 512


def test_names_of_channels_of_other_stacks(tmp_path):
    names = ["DAPI", "CD3 \u00b5m", 'a"b\\c\U0001f600']
    planes = numpy.random.default_rng(0).integers(0, 60000, (3, 40, 50), numpy.uint16)
    both = planes[None].repeat(2, axis=0)
    tifffile.imwrite(tmp_path / "j.tif", planes, imagej=True, metadata={"axes": "CYX", "Labels": names})
    longer = {"axes": "CYX", "Labels": [f"{name}\nmore" for name in names]}
    tifffile.imwrite(tmp_path / "big.tif", planes, imagej=True, byteorder=">", metadata=longer)
    tifffile.imwrite(tmp_path / "z.tif", both, imagej=True, metadata={"axes": "ZCYX", "Labels": names * 2})
    tifffile.imwrite(tmp_path / "shaped.tif", planes, photometric="minisblack", metadata={"axes": "CYX", "Channel": {"Name": names}})
    for name in ("j.tif", "big.tif", "z.tif", "shaped.tif"):
        told = run("info", tmp_path / name, "--json").json
        assert [channel["name"] for channel in told["channelEntries"]] == names, name
        assert numpy.array_equal(convert(tmp_path / name, "--channel", names[1]), planes[1])
    tifffile.imwrite(tmp_path / "few.tif", planes, photometric="minisblack", metadata={"axes": "CYX", "Channel": {"Name": names[:2]}})
    told = run("info", tmp_path / "few.tif", "--json").json
    assert [channel["name"] for channel in told["channelEntries"]] == ["channel1", "channel2", "channel3"]


@pytest.mark.parametrize("method", ["max", "focus"])
def test_what_a_check_tells_of_a_plane(tmp_path, method):
    """A tile of one plane that cannot be decoded is told once, with its plane, whatever tiles are made of it."""
    path = tmp_path / "s.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(draw(3, 200, 210), photometric="minisblack", tile=(TILE, TILE), compression="zlib", metadata={"axes": "ZCYX"})
    with tifffile.TiffFile(path) as file:
        offset, size = file.pages[1].dataoffsets[5], file.pages[1].databytecounts[5]
    data = bytearray(path.read_bytes())
    data[offset : offset + size] = bytes(size)
    path.write_bytes(data)
    told = run("info", path, "--plane", method, "--check", "--json", code=1).json
    assert told["undecodableTiles"] == 1
    why = told["error"]["why"]
    assert why.count("1,1 of level 0") == 1 and "focal plane 2 of 3" in why
    assert "focal plane 2 of 3" in fails("info", path, "--plane", 2, "--check").why
    assert run("info", path, "--plane", 1, "--check", "--json").json["undecodableTiles"] == 0


@pytest.mark.parametrize("axes, imagej", [*((axes, imagej) for axes in ("ZCYX", "CYX", "ZYX") for imagej in (True, False)), ("CZYX", False)])
def test_stacks_with_one_table(tmp_path, axes, imagej):
    """The pixels of all pages follow those of the first one, which alone is described."""
    sizes = {"Z": 3, "C": 4, "Y": 90, "X": 70}
    planes = numpy.random.default_rng(0).integers(0, 60000, [sizes[axis] for axis in axes], numpy.uint16)
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, planes, truncate=True, imagej=imagej, photometric="minisblack", metadata={"axes": axes})
    wanted = numpy.moveaxis(planes, axes.index("C"), -1) if "C" in axes else planes[..., None]
    wanted = wanted if "Z" in axes else wanted[None]
    for plane in range(len(wanted)):
        found = convert(path, *(["--plane", plane + 1] if len(wanted) > 1 else []))
        assert numpy.array_equal(found.reshape(wanted[plane].shape), wanted[plane])


def test_colors_with_one_table(tmp_path):
    planes = numpy.random.default_rng(0).integers(0, 256, (3, 90, 70, 3), numpy.uint8)
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, planes, truncate=True, photometric="rgb", metadata={"axes": "ZYXS"}, rowsperstrip=16)
    for number, plane in enumerate(planes, 1):
        assert numpy.array_equal(convert(path, "--plane", number), plane)


@pytest.mark.parametrize("imagej", [True, False])
def test_stacks_that_were_cut(tmp_path, imagej):
    """What is there is read, and it is said that pages are missing."""
    planes = numpy.random.default_rng(0).integers(0, 60000, (5, 90, 70), numpy.uint16)
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, planes, truncate=True, imagej=imagej, photometric="minisblack", metadata={"axes": "ZYX"})
    path.write_bytes(path.read_bytes()[: -planes[0].nbytes])
    warnings = run("info", path, "--json").json["warnings"]
    assert [(warning["code"], warning["value"]) for warning in warnings] == [("W-SLIDE-PLANES", "1 of 5")]
    assert numpy.array_equal(convert(path), planes[0])


def test_an_imagej_stack_that_lacks_pages(tmp_path):
    planes = numpy.random.default_rng(0).integers(0, 60000, (5, 90, 70), numpy.uint16)
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, planes[:3], photometric="minisblack", metadata=None, description="ImageJ=1.54f\nimages=5\nslices=5\n")
    warnings = run("info", path, "--json").json["warnings"]
    assert ("W-SLIDE-PLANES", "3 of 5") in [(warning["code"], warning["value"]) for warning in warnings]


@pytest.mark.parametrize("text", ['{"shape": [1e9, 90, 70], "truncated": true}', '{"shape": [-1], "truncated": true, "axes": 4}', '{"shape": {}, "Channel": [1]}',
                                  '{"shape": [18446744073709551615, 18446744073709551615, 90, 70], "axes": "ZCYX", "truncated": true}', "{" * 100000,
                                  '{"shape": [5000, 90, 70], "axes": "ZYX", "truncated": true, "Channel": {"Name": [1, null]}}'])
def test_descriptions_of_stacks_that_are_wrong(tmp_path, text):
    pixels = numpy.random.default_rng(0).integers(0, 60000, (90, 70), numpy.uint16)
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, pixels, photometric="minisblack", metadata=None, description=text)
    assert run("info", path, "--json").json["focalPlanes"] is None
    assert numpy.array_equal(convert(path), pixels)


@pytest.mark.parametrize("key", ["Channel", "axes", "truncated", "other"])
def test_descriptions_that_nest_deeply(tmp_path, key):
    """Valid JSON that would take a stack of its own to walk through."""
    depth, pixels = 300000, numpy.zeros((90, 70), numpy.uint16)
    path = tmp_path / "s.tif"
    text = f'{{"shape": [90, 70], "{key}": {"[" * depth}{"]" * depth}}}'
    tifffile.imwrite(path, pixels, photometric="minisblack", metadata=None, description=text)
    assert run("info", path, "--json").json["channels"] == 1


def test_descriptions_with_numbers_that_are_none(tmp_path):
    """Python writes them as words, which JSON does not have."""
    planes = numpy.random.default_rng(0).integers(0, 60000, (2, 40, 50), numpy.uint16)
    names = ["NaN [\\", 'Infinity "{']
    metadata = {"axes": "CYX", "Channel": {"Name": names}, "a": float("nan"), "b": [float("inf"), -float("inf")]}
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, planes, photometric="minisblack", metadata=metadata)
    with tifffile.TiffFile(path) as file:
        assert all(word in file.pages[0].description for word in ("NaN,", "[Infinity", "-Infinity]"))
    told = run("info", path, "--json").json
    assert [channel["name"] for channel in told["channelEntries"]] == names
    assert numpy.array_equal(convert(path), numpy.moveaxis(planes, 0, -1))


def test_stacks_of_more_pages_than_are_read(tmp_path):
    planes = numpy.zeros((4097, 4, 4), numpy.uint8)
    path = tmp_path / "s.tif"
    tifffile.imwrite(path, planes, truncate=True, photometric="minisblack", metadata={"axes": "CYX"})
    (warning,) = (each for each in run("info", path, "--json").json["warnings"] if each["code"] == "W-SLIDE-PLANES")
    assert warning["value"] == "1 of 4097" and "4096" in warning["why"]
