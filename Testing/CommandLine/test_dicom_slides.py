# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Which frames of a DICOM series are the slide, and which colors they have. Pixels are compared with what was written."""

import base64
import io
import pathlib

import numpy
import pytest
import tifffile
from PIL import Image

from conftest import fails, run
from dicom_slides import JPEG, SIDE, concatenation, cut, element, encode_deep, encode_jpeg, sequence, us, write_dicom, write_slide_file


def pattern(height=80, width=112, seed=0):
    y, x = numpy.mgrid[:height, :width]
    return numpy.stack([40 + x + seed, 60 + y, 200 - x // 2 - seed], -1).astype("uint8")


def smooth(height=64, width=64):
    y, x = numpy.mgrid[:height, :width]
    return numpy.stack([200 - x, 60 + y, 90 + (x + y) // 2], -1).astype("uint8")


def read(slide, folder, *options):
    """Level 0 as convert writes it without loss, and its warnings as code and value."""
    done = run("convert", slide, folder / "read.tif", "--compression", "deflate", "--overwrite", "--quiet", *options)
    told = run("info", slide, "--json", "--quiet").json
    return tifffile.imread(folder / "read.tif", key=0), [(w["code"], w["value"]) for w in told["warnings"]]


def positions(shape, z, *path):
    down, across = (-(-n // SIDE) for n in shape[:2])
    return [(x * SIDE, y * SIDE, z, *path) for y in range(down) for x in range(across)]


# Focal planes

@pytest.mark.parametrize("order", [1, -1])
def test_sparse_focal_planes_do_not_overwrite_each_other(tmp_path, order):
    planes = [pattern(seed=seed) for seed in (0, 20, 40)]
    frames, places = [], []
    for z, plane in list(enumerate(planes))[::order]:
        frames += [tile.tobytes() for tile in cut(plane)]
        places += positions(plane.shape, z / 1000)
    slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames, organization="TILED_SPARSE", places=places)
    pixels, warnings = read(slide, tmp_path)
    assert numpy.array_equal(pixels, planes[1])
    assert warnings == [("W-SLIDE-PLANES", "2 of 3")]
    for number, plane in enumerate(planes, 1):
        for name in (number, f"plane {number}"):
            assert numpy.array_equal(read(slide, tmp_path, "--image", name)[0], plane)
        info = run("info", slide, "--image", number, "--json").json
        assert info["focalPlanes"] == {"read": number, "count": 3, "spacingUm": 0.001} and info["warnings"] == []
    assert numpy.array_equal(read(slide, tmp_path, "--plane", "middle")[0], planes[1])
    assert fails("info", slide, "--image", "plane 4").code == "E-SLIDE-IMAGE"


def test_a_tile_with_one_focal_plane_needs_no_choice(tmp_path):
    """Scanners focus each tile: its depth is its own."""
    pixels = pattern()
    places = [(x, y, i / 1000) for i, (x, y, _) in enumerate(positions(pixels.shape, 0))]
    slide = write_slide_file(tmp_path / "a.dcm", pixels, organization="TILED_SPARSE", places=places)
    found, warnings = read(slide, tmp_path)
    assert numpy.array_equal(found, pixels) and warnings == []


@pytest.mark.parametrize("spacing", ["", "0.0015", "0", "-0.0015"])
def test_full_focal_planes_are_in_order(tmp_path, spacing):
    planes = [pattern(seed=seed) for seed in (0, 20, 40, 60)]
    frames = [tile.tobytes() for plane in planes for tile in cut(plane)]
    add = [element(0x48, 0x303, b"UL", (4).to_bytes(4, "little"))] + ([element(0x18, 0x88, b"DS", spacing)] if spacing else [])
    slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames, add=add)
    pixels, warnings = read(slide, tmp_path)
    assert run("info", slide, "--json").json["focalPlanes"]["spacingUm"] == (1.5 if spacing == "0.0015" else None)
    assert numpy.array_equal(pixels, planes[1]) and warnings == [("W-SLIDE-PLANES", "2 of 4")]
    unnamed = write_dicom(tmp_path / "b.dcm", (112, 80), frames, series="1.2.3.9")
    said = fails("info", unnamed)
    assert (said.code, said.file) == ("E-SLIDE-PLANES", str(unnamed))


def test_a_file_for_each_focal_plane(tmp_path):
    planes = [pattern(seed=seed) for seed in (0, 20, 40)]
    for z, plane in enumerate(planes):
        write_slide_file(tmp_path / f"{2 - z}.dcm", plane, organization="TILED_SPARSE", places=positions(plane.shape, z / 1000))
    for name in "012":  # whichever file is named
        pixels, warnings = read(tmp_path / f"{name}.dcm", tmp_path)
        assert numpy.array_equal(pixels, planes[1]) and warnings == [("W-SLIDE-PLANES", "2 of 3")]
        assert numpy.array_equal(read(tmp_path / f"{name}.dcm", tmp_path, "--image", 3)[0], planes[2])


# Optical paths

def channels_of(slide):
    found = run("info", slide, "--json").json
    return found["channels"], found["channelNames"], found["warnings"]


@pytest.mark.parametrize("kind", ["files", "sparse", "full"])
def test_optical_paths_are_channels(tmp_path, kind):
    gray = [pattern(seed=seed)[..., 0] for seed in (0, 20, 40)]
    names = ["10", "9", "DAPI"] if kind == "files" else ["a", "b", "c"]
    if kind == "files":
        for name, plane in zip(names, gray):
            slide = write_slide_file(tmp_path / f"{name}.dcm", plane, paths=(name,))
        names, gray = ["9", "10", "DAPI"], [gray[1], gray[0], gray[2]]
    else:
        frames = [tile.tobytes() for plane in gray for tile in cut(plane)]
        places = [place for name in names for place in positions(gray[0].shape, 0, name)] if kind == "sparse" else None
        add = [] if places else [element(0x48, 0x302, b"UL", (3).to_bytes(4, "little"))]
        slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames, samples=1, photometric="MONOCHROME2", paths=names, places=places, add=add,
                            organization="TILED_SPARSE" if places else "TILED_FULL")
    assert channels_of(slide) == (3, names, [])
    run("convert", slide, tmp_path / "o.ome.tif")
    assert channels_of(tmp_path / "o.ome.tif") == (3, names, [])
    assert numpy.array_equal(tifffile.imread(tmp_path / "o.ome.tif"), numpy.stack(gray))


def test_optical_paths_in_color_are_refused(tmp_path):
    frames = [tile.tobytes() for seed in (0, 20) for tile in cut(pattern(seed=seed))]
    places = positions((80, 112), 0, "a") + positions((80, 112), 0, "b")
    slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames, organization="TILED_SPARSE", places=places, paths=("a", "b"))
    said = fails("info", slide)
    assert (said.code, said.file) == ("E-SLIDE-CHANNELS", str(slide))


@pytest.mark.parametrize("held", [(12, 2, 12), (2, 12, 2), (12, 2, 3)])
def test_a_focal_plane_with_some_of_its_frames(tmp_path, held):
    """The plane that most tiles have is read; where the middle one of those has gaps, they are counted."""
    planes = [pattern(seed=seed) for seed in (0, 20, 40)]
    frames = [tile.tobytes() for plane, n in zip(planes, held) for tile in cut(plane)[:n]]
    places = [place for z, (plane, n) in enumerate(zip(planes, held)) for place in positions(plane.shape, z)[:n]]
    slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames, organization="TILED_SPARSE", places=places)
    found, warnings = read(slide, tmp_path)
    chosen = {(12, 2, 12): 0, (2, 12, 2): 1, (12, 2, 3): 0}[held]
    assert numpy.array_equal(found, planes[chosen])
    assert warnings == [("W-SLIDE-PLANES", f"{chosen + 1} of 3")]


def test_tiles_of_another_focal_plane_are_counted(tmp_path):
    low, high = pattern(), pattern(seed=20)
    frames = [tile.tobytes() for tile in cut(low)[:8] + cut(high)[6:]]
    places = positions(low.shape, 0)[:8] + positions(low.shape, 1)[6:]
    slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames, organization="TILED_SPARSE", places=places)
    found, warnings = read(slide, tmp_path)
    assert warnings == [("W-SLIDE-PLANES", "1 of 2"), ("W-SLIDE-PLANES-MIXED", "4")]
    assert numpy.array_equal(found[:64], low[:64]) and numpy.array_equal(found[64:], high[64:])
    assert fails("info", slide, "--strict").code == "E-DICOM-PARTS"


def test_an_optical_path_with_some_of_its_frames(tmp_path):
    gray = pattern()[..., 0]
    frames = [tile.tobytes() for tile in cut(gray) + cut(gray)[:5]]
    places = positions(gray.shape, 0, "a") + positions(gray.shape, 0, "b")[:5]
    slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames, samples=1, photometric="MONOCHROME2", paths=("a", "b"), places=places,
                        organization="TILED_SPARSE")
    assert [w["code"] for w in run("info", slide, "--json").json["warnings"]] == ["W-SLIDE-TILES"]
    assert fails("info", slide, "--strict").code == "E-DICOM-PARTS"


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("other", ["plane", "single plane", "path"])
def test_a_level_of_another_plane_or_path_is_left_out(tmp_path, color, other):
    def of(seed, height=80, width=112):
        pixels = pattern(height, width, seed=seed)
        return pixels if color else pixels[..., 0]

    def write(name, planes, depths, path):
        frames = [tile.tobytes() for plane in planes for tile in cut(plane)]
        places = [place for z in depths for place in positions(planes[0].shape, z, path)]
        millimeters = f"{0.0005 * 112 / planes[0].shape[1]:g}"
        spacing = sequence(0x5200, 0x9229, sequence(0x28, 0x9110, element(0x28, 0x30, b"DS", f"{millimeters}\\{millimeters}")))
        return write_dicom(tmp_path / name, planes[0].shape[1::-1], frames, organization="TILED_SPARSE", places=places, paths=(path,),
                           samples=3 if color else 1, photometric="RGB" if color else "MONOCHROME2", add=[spacing])

    base = [of(0)] if other != "plane" else [of(0), of(20), of(40)]
    slide = write("a.dcm", base, range(len(base)), "a")
    write("b.dcm", [of(60, 40, 56)], [0 if other == "path" else 2], "b" if other == "path" else "a")
    told = run("info", slide, "--json").json
    assert len(told["levels"]) == 1
    assert [(w["code"], w["value"]) for w in told["warnings"] if w["code"] != "W-SLIDE-PLANES"] == [("W-SLIDE-LEFT-OUT", str(tmp_path / "b.dcm"))]
    assert fails("info", slide, "--strict").code == "E-DICOM-PARTS"
    write("b.dcm", [of(60, 40, 56)], [1 if other == "plane" else 0], "a")  # the same one is a level
    assert len(run("info", slide, "--json", "--strict").json["levels"]) == 2


# Fragments

@pytest.mark.parametrize("kind", ["jpeg", "jpeg 2000"])
@pytest.mark.parametrize("table", ["basic", "none"])
def test_frames_of_several_fragments(tmp_path, kind, table):
    def encode(tile):
        stream = io.BytesIO()
        Image.fromarray(tile).save(stream, "JPEG2000", no_jp2=True) if kind == "jpeg 2000" else None
        return encode_jpeg(tile) if kind == "jpeg" else stream.getvalue()

    pixels = smooth(64, 96)
    syntax = JPEG if kind == "jpeg" else "1.2.840.10008.1.2.4.90"
    options = {"syntax": syntax, "photometric": "YBR_FULL_422" if kind == "jpeg" else "YBR_RCT"}
    frames = [encode(tile) for tile in cut(pixels)]
    whole = read(write_dicom(tmp_path / "whole.dcm", (96, 64), frames, series="1.2.3.9", **options), tmp_path)[0]
    path = write_dicom(tmp_path / "a.dcm", (96, 64), frames, fragments=3, table=table == "basic", **options)
    found, warnings = read(path, tmp_path, "--strict")
    assert warnings == [] and numpy.array_equal(found, whole)
    if table == "none":
        frames[2] = frames[2][:-2] + bytes(2)  # a stream without an end
        error = fails("info", write_dicom(tmp_path / "a.dcm", (96, 64), frames, fragments=3, table=False, **options))
        assert (error.code, error.file) == ("E-DICOM-FORMAT", str(tmp_path / "a.dcm"))


# Files of a series

def test_another_image_of_the_same_size_is_named(tmp_path):
    first, second = pattern(), pattern(seed=30)
    write_slide_file(tmp_path / "a.dcm", first)
    write_slide_file(tmp_path / "b.dcm", second)
    for name, other, pixels in (("a", "b", first), ("b", "a", second)):
        found, warnings = read(tmp_path / f"{name}.dcm", tmp_path)
        assert numpy.array_equal(found, pixels)
        assert warnings == [("W-SLIDE-LEFT-OUT", str(tmp_path / f"{other}.dcm"))]


def test_a_copy_of_a_file_is_named(tmp_path):
    data = write_slide_file(tmp_path / "a.dcm", pattern(), add=[element(8, 0x18, b"UI", "1.2.3.7")]).read_bytes()
    (tmp_path / "b.dcm").write_bytes(data)
    assert read(tmp_path / "a.dcm", tmp_path)[1] == [("W-SLIDE-LEFT-OUT", str(tmp_path / "b.dcm"))]


def test_a_level_of_another_container_is_left_out(tmp_path):
    """A slide of the same series, of half the size."""
    half = sequence(0x5200, 0x9229, sequence(0x28, 0x9110, element(0x28, 0x30, b"DS", "0.001\\0.001")))
    for container, levels in (("B", 1), ("A", 2)):
        folder = tmp_path / container
        folder.mkdir()
        slide = write_slide_file(folder / "a.dcm", pattern(), add=[element(0x40, 0x512, b"LO", "A")])
        write_slide_file(folder / "b.dcm", pattern()[::2, ::2], add=[element(0x40, 0x512, b"LO", container), half])
        told = run("info", slide, "--json").json
        assert len(told["levels"]) == levels
        assert [(w["code"], w["value"]) for w in told["warnings"]] == [("W-SLIDE-LEFT-OUT", str(folder / "b.dcm"))] * (2 - levels)


FRAME_A, FRAME_B = (element(0x20, 0x52, b"UI", uid) for uid in ("1.2.3.8", "1.2.3.9"))


def origin(x, y=5, z=0):
    """Where the first pixel lies on the slide, in mm."""
    offsets = ((0x72A, x), (0x73A, y), (0x74A, z))
    return sequence(0x48, 8, b"".join(element(0x40, tag, b"DS", f"{value:g}") for tag, value in offsets))


@pytest.mark.parametrize("ones, others", [
    ([origin(5)], [origin(7)]),
    ([origin(5)], [origin(7, z=0.01)]),  # not another focal plane
    ([FRAME_A], [FRAME_B]),
    ([FRAME_A, origin(5)], [FRAME_B, origin(5)]),
])
@pytest.mark.parametrize("gray", [False, True])
def test_another_scan_of_the_series_is_left_out(tmp_path, ones, others, gray):
    """Whichever file is named, a coarser one as well, the levels are those of its scan."""
    half = sequence(0x5200, 0x9229, sequence(0x28, 0x9110, element(0x28, 0x30, b"DS", "0.001\\0.001")))
    scans = {name: pattern(seed=seed)[..., 0] if gray else pattern(seed=seed) for name, seed in (("x", 0), ("y", 30))}
    for (name, pixels), add, path in zip(scans.items(), (ones, others), "12"):
        write_slide_file(tmp_path / f"{name}1.dcm", pixels, add=add, paths=(path,) if gray else ("1",))
        write_slide_file(tmp_path / f"{name}2.dcm", pixels[::2, ::2], add=[*add, half], paths=(path,) if gray else ("1",))
    for name, other in ("xy", "yx"):
        for number in "12":
            slide = tmp_path / f"{name}{number}.dcm"
            found, warnings = read(slide, tmp_path)
            assert numpy.array_equal(found, scans[name])
            assert sorted(warnings) == [("W-SLIDE-LEFT-OUT", str(tmp_path / f"{other}{each}.dcm")) for each in "12"]
            assert numpy.array_equal(read(slide, tmp_path, "--level", 1)[0], scans[name][::2, ::2])


def test_levels_whose_origins_are_rounded_are_of_one_scan(tmp_path):
    half = sequence(0x5200, 0x9229, sequence(0x28, 0x9110, element(0x28, 0x30, b"DS", "0.001\\0.001")))
    slide = write_slide_file(tmp_path / "a.dcm", pattern(), add=[FRAME_A, origin(5)])
    write_slide_file(tmp_path / "b.dcm", pattern()[::2, ::2], add=[FRAME_A, origin(5.005, 5.001), half])
    told = run("info", slide, "--json").json
    assert len(told["levels"]) == 2 and told["warnings"] == []


def test_an_image_of_another_kind_is_named(tmp_path):
    write_slide_file(tmp_path / "a.dcm", pattern())
    write_slide_file(tmp_path / "b.dcm", pattern(40, 56), flavor="LOCALIZER")
    assert read(tmp_path / "a.dcm", tmp_path)[1] == [("W-SLIDE-LEFT-OUT", str(tmp_path / "b.dcm"))]


@pytest.mark.parametrize("named", ["label", "volume", "folder"])
def test_a_label_that_cannot_be_read_is_left_out(tmp_path, named):
    folder = tmp_path / "slide"
    folder.mkdir()
    pixels = pattern()
    write_slide_file(folder / "volume.dcm", pixels)
    write_slide_file(folder / "label.dcm", numpy.full((200, 200), 40000, "uint16"), flavor="LABEL")  # the larger file
    slide = folder if named == "folder" else folder / f"{named}.dcm"
    told = run("info", slide, "--json").json
    told = told[0] if isinstance(told, list) else told
    if named == "folder":
        assert pathlib.Path(told["slide"]).name == "volume.dcm"
    assert [(w["code"], w["value"]) for w in told["warnings"]] == [("W-SLIDE-LEFT-OUT", str(folder / "label.dcm"))]
    assert told["associatedImages"] == [] and (told["width"], told["height"]) == (112, 80)
    assert numpy.array_equal(read(folder / "volume.dcm", tmp_path, "--strict")[0], pixels)  # nothing of the slide is missing


def test_a_level_that_cannot_be_read_is_left_out(tmp_path):
    write_slide_file(tmp_path / "a.dcm", pattern())
    write_slide_file(tmp_path / "b.dcm", numpy.full((40, 56), 40000, "uint16"))
    told = run("info", tmp_path / "a.dcm", "--json").json
    assert len(told["levels"]) == 1 and [(w["code"], w["value"]) for w in told["warnings"]] == [("W-SLIDE-LEFT-OUT", str(tmp_path / "b.dcm"))]


# Concatenations

PARTS = [(1, 0, 5), (2, 5, 10), (3, 10, 12)]  # number, first frame, end


def write_parts(folder, pixels, parts=PARTS, total=3, has_offset=True, **options):
    frames = [tile.tobytes() for tile in cut(pixels)]
    for i, (number, begin, end) in enumerate(parts):
        places = options.pop("all_places", None) or options.get("keep")
        some = {"places": places[begin:end], "organization": "TILED_SPARSE"} if places else {}
        if places:
            options["keep"] = places
        write_dicom(folder / f"{'cab'[i % 3]}{i}.dcm", pixels.shape[1::-1], frames[begin:end], **some,
                    add=concatenation(number, begin if has_offset else None, total))
    return sorted(folder.glob("*.dcm"))[0]


@pytest.mark.parametrize("has_offset", [True, False])
@pytest.mark.parametrize("total", [3, None])
def test_a_whole_concatenation_is_read(tmp_path, total, has_offset):
    pixels = pattern()
    slide = write_parts(tmp_path, pixels, total=total, has_offset=has_offset)
    found, warnings = read(slide, tmp_path, "--strict")
    assert numpy.array_equal(found, pixels) and warnings == []


def test_wrong_numbers_of_parts_do_not_matter_where_frames_are_stated(tmp_path):
    pixels = pattern()
    slide = write_parts(tmp_path, pixels, [(1, 0, 5), (1, 5, 10), (7, 10, 12)])
    found, warnings = read(slide, tmp_path, "--strict")
    assert numpy.array_equal(found, pixels) and warnings == []


@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("total", [3, None])
def test_a_missing_part_is_missed(tmp_path, missing, sparse, total):
    pixels = pattern()
    parts = PARTS[:missing] + PARTS[missing + 1 :]
    slide = write_parts(tmp_path, pixels, parts, total, **({"all_places": positions(pixels.shape, 0)} if sparse else {}))
    found, warnings = read(slide, tmp_path)
    assert [code for code, _ in warnings] == ["W-SLIDE-TILES"]
    expected = pixels.copy()
    for x, y, _ in positions(pixels.shape, 0)[PARTS[missing][1] : PARTS[missing][2]]:
        expected[y : y + SIDE, x : x + SIDE] = 255
    assert numpy.array_equal(found, expected)
    said = fails("convert", slide, tmp_path / "strict.tif", "--strict")
    assert said.code == "E-DICOM-PARTS" and not (tmp_path / "strict.tif").exists()


def test_parts_that_do_not_say_where_they_begin_are_refused(tmp_path):
    slide = write_parts(tmp_path, pattern(), [PARTS[0], PARTS[2]], has_offset=False)
    assert fails("info", slide).code == "E-DICOM-PARTS"


def test_a_part_that_is_there_twice_is_named(tmp_path):
    pixels = pattern()
    slide = write_parts(tmp_path, pixels, [*PARTS, PARTS[1]])
    found, warnings = read(slide, tmp_path, "--strict")
    assert numpy.array_equal(found, pixels)
    assert len(warnings) == 1 and warnings[0][0] == "W-SLIDE-LEFT-OUT" and warnings[0][1] in (str(tmp_path / "a1.dcm"), str(tmp_path / "c3.dcm"))


def test_a_full_image_with_too_few_frames_is_missed(tmp_path):
    frames = [tile.tobytes() for tile in cut(pattern())]
    slide = write_dicom(tmp_path / "a.dcm", (112, 80), frames[:-1])
    assert [code for code, _ in read(slide, tmp_path)[1]] == ["W-SLIDE-TILES"]
    assert fails("info", slide, "--strict").code == "E-DICOM-PARTS"


# Colors

# Where the stream says nothing, OpenSlide and pydicom trust the tag.
JPEGS = {
    "JFIF": {},
    "reduced chroma": {"marker": False, "reduced": True},
    "components 1, 2, 3": {"marker": False, "rgb": True},
    "components R, G, B": {"marker": False, "ids": b"RGB", "rgb": True},
    "components 0, 1, 2": {"marker": False, "ids": (0, 1, 2), "rgb": True},
}


@pytest.mark.parametrize("kind", JPEGS)
def test_the_stream_says_which_colors_an_rgb_tag_has(tmp_path, kind):
    pixels = smooth()
    frames = [encode_jpeg(tile, **JPEGS[kind]) for tile in cut(pixels)]
    slide = write_dicom(tmp_path / "a.dcm", (64, 64), frames, syntax=JPEG, photometric="RGB")
    found, warnings = read(slide, tmp_path)
    assert numpy.abs(found.astype(int) - pixels).max() <= 8 and numpy.abs(found.astype(int) - pixels).mean() < 2
    assert warnings == []


def to_ycbcr(pixels):
    r, g, b = (pixels[..., i].astype(float) for i in range(3))
    return numpy.stack([0.299 * r + 0.587 * g + 0.114 * b, 128 - 0.168736 * r - 0.331264 * g + 0.5 * b, 128 + 0.5 * r - 0.418688 * g - 0.081312 * b], -1).round().astype("uint8")


def test_uncompressed_pixels_of_each_order(tmp_path):
    pixels = smooth()
    planar = [numpy.moveaxis(tile, 2, 0).tobytes() for tile in cut(pixels)]
    found, _ = read(write_dicom(tmp_path / "a.dcm", (64, 64), planar, planar=1), tmp_path)
    assert numpy.array_equal(found, pixels)
    ycbcr = to_ycbcr(pixels)
    back = numpy.asarray(Image.fromarray(ycbcr, "YCbCr").convert("RGB")).astype(int)
    found, _ = read(write_slide_file(tmp_path / "b.dcm", ycbcr, photometric="YBR_FULL", series="1.2"), tmp_path)
    assert numpy.abs(found - back).max() <= 1
    planar = [numpy.moveaxis(tile, 2, 0).tobytes() for tile in cut(ycbcr)]
    again, _ = read(write_dicom(tmp_path / "c.dcm", (64, 64), planar, photometric="YBR_FULL", planar=1, series="1.3"), tmp_path)
    assert numpy.array_equal(again, found)
    pairs = ycbcr.copy()
    pairs[:, 1::2, 1:] = pairs[:, ::2, 1:]  # colors of two pixels together
    frames = [numpy.stack([t[:, ::2, 0], t[:, 1::2, 0], t[:, ::2, 1], t[:, ::2, 2]], -1).tobytes() for t in cut(pairs)]
    back = numpy.asarray(Image.fromarray(pairs, "YCbCr").convert("RGB")).astype(int)
    found, _ = read(write_dicom(tmp_path / "d.dcm", (64, 64), frames, photometric="YBR_FULL_422", series="1.4"), tmp_path)
    assert numpy.abs(found - back).max() <= 1
    gray = pixels[..., 0]
    found, _ = read(write_slide_file(tmp_path / "e.dcm", 255 - gray, photometric="MONOCHROME1", series="1.5"), tmp_path)
    assert numpy.array_equal(found, gray)


def test_gray_of_16_bit(tmp_path):
    pixels = pattern()[..., 0].astype("uint16") * 200
    found, warnings = read(write_slide_file(tmp_path / "a.dcm", pixels), tmp_path)
    assert found.dtype == "uint16" and numpy.array_equal(found, pixels) and warnings == []
    white = write_slide_file(tmp_path / "b.dcm", 4095 - pixels // 16, photometric="MONOCHROME1", series="1.2", add=[element(0x28, 0x101, b"US", us(12))])
    assert numpy.array_equal(read(white, tmp_path)[0], pixels // 16)


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.4.91"])
def test_jpeg_2000_of_16_bit(tmp_path, syntax):
    """One optical path, two of them, and min-is-white of 12 bit; the tiles at the edges are cut."""
    pixels = numpy.random.default_rng(3).integers(0, 65536, (2, 90, 110)).astype("uint16")
    gray = dict(syntax=syntax, samples=1, bits=16)
    tiles = [[encode_deep(tile) for tile in cut(plane)] for plane in pixels]
    slide = write_dicom(tmp_path / "a.dcm", (110, 90), tiles[0], photometric="MONOCHROME2", **gray)
    found, warnings = read(slide, tmp_path)
    assert found.dtype == "uint16" and numpy.array_equal(found, pixels[0]) and warnings == []
    white = [encode_deep(tile) for tile in cut(4095 - pixels[0] // 16)]
    options = dict(photometric="MONOCHROME1", series="1.2", add=[element(0x28, 0x101, b"US", us(12))])
    found, _ = read(write_dicom(tmp_path / "b.dcm", (110, 90), white, **options, **gray), tmp_path)
    assert numpy.array_equal(found, pixels[0] // 16)
    options = dict(photometric="MONOCHROME2", series="1.3", paths=("x", "y"))
    slide = write_dicom(tmp_path / "c.dcm", (110, 90), tiles[0] + tiles[1], **options, **gray)
    read(slide, tmp_path)
    assert numpy.array_equal(tifffile.imread(tmp_path / "read.tif", series=0, level=0), pixels)
    cut_off = [tile[: len(tile) // 2] for tile in tiles[0]]
    slide = write_dicom(tmp_path / "d.dcm", (110, 90), cut_off, photometric="MONOCHROME2", series="1.4", **gray)
    assert fails("convert", slide, tmp_path / "o.tif", "--strict").code == "E-CODEC-DATA"


def test_other_codecs_of_16_bit_are_refused(tmp_path):
    slide = write_dicom(tmp_path / "c.dcm", (32, 32), [b"\xff\xd8"], syntax=JPEG, samples=1, photometric="MONOCHROME2", bits=16)
    said = fails("info", slide)
    assert (said.code, said.file) == ("E-SLIDE-CHANNELS", str(slide))


REFUSED = [
    ("E-SLIDE-CHANNELS", {"bits": 32, "samples": 1, "photometric": "MONOCHROME2"}),
    ("E-SLIDE-CHANNELS", {"bits": 16}),
    ("E-SLIDE-CHANNELS", {"bits": 16, "samples": 1, "photometric": "MONOCHROME2", "add": [element(0x28, 0x103, b"US", us(1))]}),
    ("E-SLIDE-CHANNELS", {"samples": 4, "photometric": "CMYK"}),
    ("E-DICOM-FORMAT", {"samples": 1, "photometric": "PALETTE COLOR"}),
    ("E-DICOM-FORMAT", {"photometric": "HSV"}),
    ("E-DICOM-FORMAT", {"syntax": "1.2.840.10008.1.2.4.80"}),
    ("E-DICOM-FORMAT", {"syntax": "1.2.840.10008.1.2.5"}),
    ("E-DICOM-FORMAT", {"syntax": "1.2.840.10008.1.2.2"}),
]


@pytest.mark.parametrize("code, options", REFUSED)
def test_each_reason_has_its_code(tmp_path, code, options):
    slide = write_dicom(tmp_path / "a.dcm", (64, 64), [bytes(SIDE * SIDE * 8)] * 4, **options)
    said = fails("info", slide)
    assert (said.code, said.file) == (code, str(slide))
    assert "JPEG-LS" in said.why or options.get("syntax") != "1.2.840.10008.1.2.4.80"  # by name


# A 16 x 16 tile, (15 x, 15 y, 8 (x + y)), without loss, by OpenJPH 0.26.3.
HTJ2K = (
    "/0//UQAvQAAAAAAQAAAAEAAAAAAAAAAAAAAAEAAAABAAAAAAAAAAAAADBwEBBwEBBwEB/1AACAACAAAAA/9SAAwAAgABAQUEBEAB/1wAEyBQWFhYWFhYWFhYWFhYUFBQ/2QAFwABT3BlbkpQ"
    "SCBWZXIgMC4yNi4zLv+QAAoAAAAAAUUAAf+TwBKA7wCHdADAEoD4AEd0AMASAP4AYwAAAADACWAEoOgAh3QArAEHdADACWAEgJABB3QAAId0AMAJYASgEAGHdAARAYd0AMAJoATAUv4AAnQA"
    "VOoAI1QAwAmgBMAI8gCCdAD/fwADVADACaAEwAjEAQJ0AIeHAENUAMAKuAFSAIAIAIgBO1i1tgAoQujAAAHstgDACogBOEII8apwAnUA/3/Byey1AMAKiAFUgiAIqnCCdQDDYRj+wBCB7LYA"
    "wBVwBbkAWmAAAADnwKenp0J4AAAAAAAICAAJQAKQAOS3b5LcfnnnXPPOkUcdsQEAAwwwwAGm229Ntt6bbbDttx4AwBVwBVi2bdvnwKenp0J4AN22bf2Se/ZJ7LgAwBWQBWDMzMzM58Cnp6fC"
    "eAC9u7u7/fJ798nsuAD/2Q=="
)


def test_high_throughput_jpeg_2000(tmp_path):
    y, x = numpy.mgrid[:16, :16]
    pixels = numpy.stack([15 * x, 15 * y, 8 * (x + y)], -1)
    slide = write_dicom(tmp_path / "a.dcm", (16, 16), [base64.b64decode(HTJ2K)], syntax="1.2.840.10008.1.2.4.201", photometric="YBR_RCT", side=16)
    found, warnings = read(slide, tmp_path)
    assert numpy.array_equal(found, pixels) and warnings == []
