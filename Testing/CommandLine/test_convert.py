# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""convert: pyramids as other programs see them, tiles copied byte by byte, and nothing that names a patient."""

import io
import os
import shutil
import signal
import struct
import subprocess
import time

import numpy
import openslide
import pytest
import tifffile
from PIL import Image, ImageCms

from conftest import PROGRAM, blobs, fails, run, write_slide
from test_stated_sizes import write_sparse_dicom


def texture(height, width, channels=3):
    """Waves with noise: no tile is constant, none compresses to nothing."""
    y, x = numpy.mgrid[:height, :width]
    waves = [128 + 80 * numpy.sin(0.02 * (x + c * y)) for c in range(1, channels + 1)]
    noise = numpy.random.default_rng(1).integers(-20, 20, (height, width, channels))
    return (numpy.stack(waves, axis=-1) + noise).clip(0, 255).astype(numpy.uint8)


def tiles(path, page):
    """The compressed bytes of a page's tiles."""
    with tifffile.TiffFile(path) as file:
        return list(raw_tiles(file, file.pages[page]))


def raw_tiles(file, page):
    for offset, count in zip(page.dataoffsets, page.databytecounts):
        file.filehandle.seek(offset)
        yield file.filehandle.read(count)


def levels_by_openslide(path):
    slide = openslide.OpenSlide(str(path))
    return [
        numpy.asarray(slide.read_region((0, 0), k, size))[..., :3] for k, size in enumerate(slide.level_dimensions)
    ]


def levels_by_tifffile(path):
    with tifffile.TiffFile(path) as file:
        return [page.asarray() for page in file.pages]


def halve(pixels):
    """The mean of 2 x 2 blocks, halves rounded up; an odd last row or column counts as its own neighbor."""
    even = numpy.pad(pixels, [(0, pixels.shape[0] % 2), (0, pixels.shape[1] % 2), (0, 0)], mode="edge").astype(int)
    return ((even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2] + 2) // 4).astype(numpy.uint8)


def cut_behind_level_0(path, pyramid):
    """The pyramid with its first level only, as scanners write small regions."""
    data = bytearray(pyramid.read_bytes())
    first = int.from_bytes(data[4:8], "little")
    link = first + 2 + 12 * int.from_bytes(data[first : first + 2], "little")
    data[link : link + 4] = bytes(4)
    path.write_bytes(data)
    return path


def insert_into_tiles(path, pyramid, segment):
    """The pyramid with a JPEG segment more in each tile of level 0, behind the start of the image."""
    data = bytearray(pyramid.read_bytes())
    with tifffile.TiffFile(pyramid) as file:
        page = file.pages[0]
        offsets, counts = (page.tags[tag].valueoffset for tag in (324, 325))
        for i, tile in enumerate(raw_tiles(file, page)):
            data[offsets + 4 * i : offsets + 4 * i + 4] = len(data).to_bytes(4, "little")
            data[counts + 4 * i : counts + 4 * i + 4] = (len(tile) + len(segment)).to_bytes(4, "little")
            data += tile[:2] + segment + tile[2:]
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("compression", ["deflate", "zstd"])
def test_lossless_codecs_are_equal_in_other_programs(tmp_path, compression):
    pixels = texture(700, 1111)
    slide = write_slide(tmp_path / "slide.tif", pixels)
    out = tmp_path / "out.tif"
    result = run("convert", slide, out, "--compression", compression, "--json").json
    assert (result["width"], result["height"], result["levels"]) == (1111, 700, 2)
    assert result["copiedTiles"] == 0 and result["mpp"] == pytest.approx(0.5)
    expected = [pixels, halve(pixels)]
    for k, level in enumerate(levels_by_openslide(out)):
        assert numpy.array_equal(level, expected[k])
    if compression == "deflate":  # tifffile needs imagecodecs for the other
        for k, level in enumerate(levels_by_tifffile(out)):
            assert numpy.array_equal(level, expected[k])
    vips = shutil.which("vips")
    if vips:
        average = subprocess.run([vips, "avg", f"{out}[page=1]"], capture_output=True, text=True, check=True).stdout
        assert float(average) == pytest.approx(expected[1].mean(), abs=1e-5)


@pytest.mark.parametrize("compression", ["jpeg", "webp"])
def test_lossy_codecs_look_the_same_elsewhere(tmp_path, compression):
    pixels = texture(600, 700)
    slide = write_slide(tmp_path / "slide.tif", pixels)
    out = tmp_path / "out.tif"
    run("convert", slide, out, "--compression", compression, "--quality", 95, "--subsampling", "4:4:4")
    try:
        levels = levels_by_openslide(out)
    except openslide.OpenSlideError as error:
        pytest.skip(f"this OpenSlide was built without the codec: {error}")
    for k, level in enumerate(levels):
        expected = pixels if k == 0 else halve(pixels)
        # Noise of 40 levels in each channel; WebP halves the resolution of its colors.
        assert numpy.abs(level.astype(int) - expected).mean() < (5 if compression == "jpeg" else 12)


def test_the_folder_of_a_dicom_slide_is_a_slide(tmp_path):
    (tmp_path / "slide").mkdir()
    for level, side in enumerate((16, 8)):
        write_sparse_dicom(tmp_path / "slide" / f"{level}.dcm", side)
    run("convert", tmp_path / "slide", tmp_path / "out.tif")
    run("convert", tmp_path / "slide", f"{tmp_path}/out/")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0.pyramid.tif", "manifest.json", "timings.jsonl"] and (tmp_path / "out.tif").is_file()


def test_copied_tiles_are_checked_where_it_is_asked_for(tmp_path, synthetic):
    result = run("convert", synthetic[0], tmp_path / "out.tif", "--strict", "--json").json
    assert result["copiedTiles"] > 0 and result["damagedTiles"] == 0


def test_tiles_are_copied_byte_by_byte(tmp_path, synthetic):
    out = tmp_path / "out.tif"
    result = run("convert", synthetic[0], out, "--json").json
    assert result["copiedLevels"] == result["levels"] == 3 and result["decoder"] == "tiles (JPEG)"
    for level in range(3):
        assert tiles(out, level) == tiles(synthetic[0], level)
    for mine, theirs in zip(levels_by_openslide(out), levels_by_openslide(synthetic[0])):
        assert numpy.array_equal(mine, theirs)


def test_levels_that_lack_are_computed_from_the_last_that_is_copied(tmp_path, synthetic):
    slide = cut_behind_level_0(tmp_path / "single.tif", synthetic[0])
    done = run("convert", slide, tmp_path / "out.tif", "--quality", 95, "--json")
    result = done.json
    assert result["copiedLevels"] == 1 and result["levels"] == 3
    assert result["copiedTiles"] > 0 and "[W-OPTION-NO-EFFECT]" in done.err
    assert tiles(tmp_path / "out.tif", 0) == tiles(slide, 0)
    levels = levels_by_openslide(tmp_path / "out.tif")
    assert numpy.abs(levels[1].astype(int) - halve(levels[0])).mean() < 3  # JPEG of quality 95


def test_regions_of_whole_tiles_are_copied_others_are_cut(tmp_path):
    pixels = texture(900, 1200)
    slide = write_slide(tmp_path / "slide.tif", pixels)
    whole = run("convert", slide, tmp_path / "whole.tif", "--region", "256,256,512,512", "--json").json
    assert whole["copiedTiles"] == 4
    assert tiles(tmp_path / "whole.tif", 0) == [tiles(slide, 0)[i] for i in (6, 7, 11, 12)]
    edge = run("convert", slide, tmp_path / "edge.tif", "--region", "1024,768,176,132", "--json").json
    assert edge["copiedTiles"] == 1
    cut = tmp_path / "cut.tif"
    result = run("convert", slide, cut, "--region", "100,50,600,700", "--compression", "deflate", "--json").json
    assert result["copiedTiles"] == 0
    for path, x, y, width, height in (
        (tmp_path / "whole.tif", 256, 256, 512, 512),
        (tmp_path / "edge.tif", 1024, 768, 176, 132),
        (cut, 100, 50, 600, 700),
    ):
        assert numpy.array_equal(levels_by_tifffile(path)[0], pixels[y : y + height, x : x + width])
    # The region knows where it stood: a mask of it lies over the slide.
    with tifffile.TiffFile(cut) as file:
        origin = file.pages[0].description.split("origin-mm = ")[1].split()[:2]
    assert [float(value) for value in origin] == pytest.approx([100 * 0.0005, 50 * 0.0005])


def test_levels_and_resolutions(tmp_path, synthetic):
    by_level = run("convert", synthetic[0], tmp_path / "a.tif", "--level", 1, "--json").json
    by_resolution = run("convert", synthetic[0], tmp_path / "b.tif", "--mpp", 1, "--json").json
    for result in (by_level, by_resolution):
        assert (result["width"], result["height"], result["level"]) == (650, 550, 1)
        assert result["mpp"] == pytest.approx(1.0, rel=1e-6) and result["copiedLevels"] == 2
    assert tiles(tmp_path / "a.tif", 0) == tiles(synthetic[0], 1)


def test_labels_stay_labels(tmp_path):
    mask = blobs(600, 800)
    slide = write_slide(tmp_path / "mask.tif", mask)
    run("convert", slide, tmp_path / "out.tif")
    run("convert", slide, tmp_path / "bits.tif", "--compression", "deflate", "--bilevel")
    for level in (0, 1):
        expected = mask[:: 2**level, :: 2**level]
        assert numpy.array_equal(levels_by_tifffile(tmp_path / "out.tif")[level], expected)
        assert numpy.array_equal(levels_by_tifffile(tmp_path / "bits.tif")[level] > 0, expected > 0)
        assert numpy.array_equal(levels_by_openslide(tmp_path / "bits.tif")[level][..., 0], expected)
    run("convert", slide, tmp_path / "small.tif", "--bilevel")
    assert tifffile.TiffFile(tmp_path / "small.tif").pages[0].bitspersample == 1, "copied as bytes"
    # Bits that are copied stay bits.
    result = run("convert", tmp_path / "bits.tif", tmp_path / "again.tif", "--json").json
    assert result["copiedLevels"] == 2 and tiles(tmp_path / "again.tif", 1) == tiles(tmp_path / "bits.tif", 1)


SECRETS = (b"Jane Doe", b"S20-12345", b"dr_house", b"2020-02-29", b"2020:02:29")


def aperio_slide(path):
    """An Aperio slide that says too much, in its description and in comments of its JPEG label."""
    description = "Aperio Image Library v11\r\n900x600 [0,0 900x600] (240x240) JPEG/RGB Q=70"
    properties = "AppMag = 40|MPP = 0.25|User = dr_house|Date = 2020-02-29|Patient = Jane Doe|Barcode = S20-12345"
    with tifffile.TiffWriter(path) as file:
        options = {"photometric": "rgb", "metadata": None, "compression": "zlib", "software": False}
        file.write(texture(600, 900), tile=(240, 240), description=f"{description}|{properties}", **options)
        file.write(texture(60, 90), rowsperstrip=60, description="Aperio Image Library v11\r\nthumb", **options)
        label = numpy.zeros((80, 90, 3), numpy.uint8)
        options["datetime"] = "2020:02:29 12:00:00"
        file.write(label, rowsperstrip=80, description="Aperio\r\nlabel 90x80 S20-12345", subfiletype=1, **options)
    return path


def test_nothing_names_the_patient_unless_asked(tmp_path):
    slide = aperio_slide(tmp_path / "Jane Doe S20-12345.svs")
    assert all(secret in slide.read_bytes() for secret in SECRETS)
    for options in ([], ["--compression", "jpeg"], ["--region", "0,0,480,480"]):
        out = tmp_path / "anonymous.tif"
        result = run("convert", slide, out, "--overwrite", "--json", *options).json
        assert not any(secret in out.read_bytes() for secret in SECRETS)
        assert result["associated"] == []
        facts = run("info", out, "--json").json
        assert "40" in str(facts) and result["mpp"] == pytest.approx(0.25)  # objective power and resolution stay
    kept = tmp_path / "kept.tif"
    result = run("convert", slide, kept, "--keep-label", "--json").json
    assert {"label", "thumbnail"} <= set(result["associated"])
    assert b"dr_house" in kept.read_bytes()
    assert tiles(kept, 0) == tiles(slide, 0)


def test_comments_of_copied_jpeg_tiles_are_left_out(tmp_path, synthetic):
    secret = b"\xff\xfe\x00\x0aJane Doe" + b"\xff\xe1\x00\x0aJane Doe"
    slide = insert_into_tiles(tmp_path / "talkative.tif", synthetic[0], secret)
    assert b"Jane Doe" in tiles(slide, 0)[0]
    run("convert", slide, tmp_path / "out.tif")
    assert b"Jane Doe" not in (tmp_path / "out.tif").read_bytes()
    assert tiles(tmp_path / "out.tif", 0) == tiles(synthetic[0], 0)


def test_color_profile_is_kept(tmp_path):
    profile = scanner_profile()
    slide = write_slide(tmp_path / "slide.tif", texture(300, 300), extratags=[(34675, 7, len(profile), profile, True)])
    for options in ([], ["--compression", "jpeg"]):
        run("convert", slide, tmp_path / "out.tif", "--overwrite", *options)
        with tifffile.TiffFile(tmp_path / "out.tif") as file:
            kept = bytes(file.pages[0].tags[34675].value)
        # The same colors, without the texts.
        colors = [convert_to_srgb(texture(300, 300), each) for each in (profile, kept)]
        assert numpy.array_equal(*colors) and numpy.abs(colors[0].astype(int) - texture(300, 300)).mean() > 5
        assert b"scanner" in profile and b"scanner" not in kept


def test_folders_skip_what_exists_and_go_on(tmp_path):
    for name in "ab":
        write_slide(tmp_path / f"{name}.tif", texture(300, 400))
    (tmp_path / "broken.svs").write_bytes(b"II*\0 nonsense")
    for folder in (tmp_path / "out", tmp_path):  # the second time, outputs lie among the slides
        first = run("convert", tmp_path, f"{folder}/", "--json", code=1).json
        assert [entry.get("skipped") for entry in first] == [False, False, None] and "error" in first[2]
        bytes_of_a = (folder / "a.pyramid.tif").read_bytes()
        (folder / "b.pyramid.tif").unlink()
        second = run("convert", tmp_path, f"{folder}/", "--json", code=1).json
        assert [entry.get("skipped") for entry in second] == [True, False, None]
        assert (folder / "a.pyramid.tif").read_bytes() == bytes_of_a
        assert not list(folder.glob(".*"))
        for name in "ab":
            (folder / f"{name}.pyramid.tif").unlink()


def test_a_slide_that_ends_early_is_named_with_what_to_do(tmp_path, synthetic):
    """Whether its tiles are copied or decoded."""
    whole = synthetic[0].read_bytes()
    cut = tmp_path / "cut.tif"
    with tifffile.TiffFile(synthetic[0]) as file:
        page = file.pages[0]
        last = max(range(len(page.dataoffsets)), key=lambda tile: page.dataoffsets[tile])
        across = -(-page.imagewidth // page.tilewidth)
        data = bytearray(whole)
        place = page.tags["TileOffsets"].valueoffset + last * (page.tags["TileOffsets"].valuebytecount // len(page.dataoffsets))
        data[place : place + 4] = (len(whole) - 2).to_bytes(4, "little")
    cut.write_bytes(data)
    for options in ([], ["--compression", "jpeg"], ["--strict"]):
        said = fails("convert", cut, tmp_path / "o.tif", *options)
        assert (said.code, said.file) == ("E-FILE-DAMAGED", str(cut))  # its last tile lies behind the end
        assert f"{last % across},{last // across}" in said.why
    assert not (tmp_path / "o.tif").exists()


def test_bad_input_is_refused_in_one_sentence(tmp_path, synthetic):
    slide = synthetic[0]
    out = tmp_path / "out.tif"
    said = fails("convert", slide, out, "--region", "1000,1000,400,400")
    assert (said.code, said.file, said.option, said.value) == ("E-REGION", str(slide), "--region", "1000,1000,400,400")
    said = fails("convert", slide, out, "--level", 9)
    assert (said.code, said.file, said.option, said.value) == ("E-SLIDE-LEVEL", str(slide), "--level", "9")
    shutil.copy(slide, tmp_path / "copy.tif")
    assert fails("convert", tmp_path / "copy.tif", tmp_path / "copy.tif", "--overwrite").code == "E-OUTPUT-INPUT"
    (tmp_path / "link.tif").symlink_to(tmp_path / "copy.tif")
    assert fails("convert", tmp_path / "copy.tif", tmp_path / "link.tif", "--overwrite").code == "E-OUTPUT-INPUT"
    assert fails("convert", slide, tmp_path / "none" / "out.tif").code == "E-FILE-MISSING"
    said = fails("convert", tmp_path / "none.svs", out)
    assert (said.code, said.file) == ("E-FILE-MISSING", str(tmp_path / "none.svs"))
    out.write_bytes(b"precious")
    said = fails("convert", slide, out)
    assert (said.code, said.file) == ("E-OUTPUT-EXISTS", str(out))
    assert out.read_bytes() == b"precious"
    run("convert", slide, tmp_path / "made.tif")
    said = fails("convert", slide, tmp_path / "made.tif", "--quality", 50)
    assert said.code == "E-OUTPUT-EXISTS" and "--quality 80 then, 50 now" in said.why
    said = fails("convert", slide, code=2)
    assert (said.code, said.option) == ("E-OPTION-MISSING", "OUT")
    said = fails("convert", slide, tmp_path / "out.png", code=2)
    assert (said.code, said.option, said.value) == ("E-OUTPUT-ENDING", "OUT", str(tmp_path / "out.png"))
    said = fails("convert", slide, tmp_path / "tile.tif", "--tile-size", 100, code=2)
    assert (said.code, said.option, said.value) == ("E-OPTION-VALUE", "--tile-size", "100")
    gray = write_slide(tmp_path / "gray.tif", texture(300, 300, 1)[..., 0])
    said = fails("convert", gray, out, "--overwrite", "--compression", "jpeg", "--content", "labels")
    assert (said.code, said.file) == ("E-OPTION-CONFLICT", str(out))
    assert fails("convert", gray, tmp_path / "bits.tif", "--compression", "zstd", "--bilevel").code == "E-LABEL-VALUE"
    assert fails("convert", slide, tmp_path / "bits.tif", "--bilevel").code == "E-OPTION-APPLIES"
    assert not list(tmp_path.glob(".*"))


def test_full_disk_leaves_nothing(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a small disk can only be mounted by root")
    slide = write_slide(tmp_path / "slide.tif", texture(1500, 1500))
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        refused = fails("convert", slide, disk / "out.tif")
        assert (refused.code, refused.file) == ("E-DISK-FULL", str(disk / "out.tif"))
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_killed_writers_leave_what_the_next_sweeps(tmp_path):
    slide = write_slide(tmp_path / "slide.tif", texture(3000, 3000))
    out = tmp_path / "out.tif"
    process = subprocess.Popen([PROGRAM, "convert", slide, out, "--compression", "webp", "--threads", "1", "-q"])
    while not list(tmp_path.glob(".out.tif.*.part")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists() and len(list(tmp_path.glob(".out.tif.*.part"))) == 1
    run("convert", slide, out)
    assert out.exists() and not list(tmp_path.glob(".*"))


def test_the_real_slide_keeps_its_tiles(tmp_path):
    data = os.environ.get("GIGAPIXEL_TEST_DATA", "")
    slide = os.path.join(data, "slides/cmu-1-small-region.svs")
    if not os.path.exists(slide):
        pytest.skip("no real slides (GIGAPIXEL_TEST_DATA)")
    out = tmp_path / "out.tif"
    result = run("convert", slide, out, "--json").json
    assert result["copiedTiles"] == 130 and result["mpp"] == pytest.approx(0.499)
    assert tiles(out, 0) == tiles(slide, 0)
    assert numpy.array_equal(levels_by_openslide(out)[0], levels_by_openslide(slide)[0])
    text = out.read_bytes()
    with tifffile.TiffFile(slide) as file:
        for word in file.pages[0].description.split("|"):
            key, _, value = word.partition(" = ")
            if key in ("Filename", "User", "ScanScope ID", "ImageID", "Date", "Time"):
                assert value.encode() not in text


def scanner_profile():
    """An ICC profile (version 2, matrices and curves) of colors more saturated than sRGB's, with a curve of 1.8."""

    def number(value):
        return struct.pack(">i", round(value * 65536))

    def xyz(*values):
        return b"XYZ \0\0\0\0" + b"".join(number(value) for value in values)

    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(1.8 * 256)) + b"\0\0"
    parts = {  # columns add up to the white of all profiles, D50
        b"rXYZ": xyz(0.6097, 0.3111, 0.0195),
        b"gXYZ": xyz(0.2053, 0.6257, 0.0609),
        b"bXYZ": xyz(0.1492, 0.0632, 0.7446),
        b"wtpt": xyz(0.9642, 1.0, 0.8249),
        b"rTRC": curve,
        b"gTRC": curve,
        b"bTRC": curve,
        b"cprt": b"text\0\0\0\0none\0\0\0\0",
        b"desc": b"desc\0\0\0\0" + struct.pack(">I", 8) + b"scanner\0" + bytes(78),
    }
    at, table, data = 128 + 4 + 12 * len(parts), struct.pack(">I", len(parts)), b""
    for name, part in parts.items():
        part += bytes(-len(part) % 4)
        table += name + struct.pack(">II", at + len(data), len(part))
        data += part
    header = struct.pack(">I4sI4s4s4s", at + len(data), b"none", 0x02400000, b"scnr", b"RGB ", b"XYZ ")
    header += struct.pack(">6H4s28x", 2026, 1, 1, 0, 0, 0, b"acsp") + number(0.9642) + number(1.0) + number(0.8249)
    return header.ljust(128, b"\0") + table + data


def convert_to_srgb(pixels, profile):
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    return numpy.asarray(ImageCms.profileToProfile(Image.fromarray(pixels), source, ImageCms.createProfile("sRGB")))


def test_colors_become_srgb_as_pillow_makes_them(tmp_path):
    pixels, profile = texture(300, 400), scanner_profile()
    slide = write_slide(tmp_path / "slide.tif", pixels, extratags=[(34675, 7, len(profile), profile, True)])
    run("convert", slide, tmp_path / "kept.tif")
    run("convert", slide, tmp_path / "srgb.tif", "--colors", "srgb", "--compression", "deflate")
    with tifffile.TiffFile(tmp_path / "kept.tif") as file:
        kept = bytes(file.pages[0].tags[34675].value)
        assert numpy.array_equal(convert_to_srgb(pixels, kept), convert_to_srgb(pixels, profile))
    assert tiles(tmp_path / "kept.tif", 0) == tiles(slide, 0)
    with tifffile.TiffFile(tmp_path / "srgb.tif") as file:
        assert 34675 not in file.pages[0].tags
        converted = file.pages[0].asarray().astype(int)
    expected = convert_to_srgb(pixels, profile)
    assert numpy.abs(converted - pixels).mean() > 5  # there was something to do
    assert numpy.abs(converted - expected).max() <= 1  # versions of Little CMS round differently


def test_gray_is_that_of_jpeg_or_that_of_colors(tmp_path, synthetic):
    grays = {}
    for colors in ("luma", "gray"):
        out = tmp_path / f"{colors}.tif"
        result = run("convert", synthetic[0], out, "--colors", colors, "--compression", "deflate", "--json").json
        assert result["copiedTiles"] == 0
        grays[colors] = [level.astype(int) for level in levels_by_tifffile(out)]
        assert numpy.array_equal(grays[colors][1], halve(grays[colors][0][..., None])[..., 0])  # a picture, no labels
    red, green, blue = numpy.moveaxis(levels_by_openslide(synthetic[0])[0].astype(int), -1, 0)
    assert numpy.array_equal(grays["gray"][0], (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16)
    assert 1 <= numpy.abs(grays["gray"][0] - grays["luma"][0]).max() <= 17


@pytest.mark.parametrize("ending", ["tif", "ome.tif"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_labels_of_more_bits(tmp_path, dtype, ending):
    """Labels keep their values on all levels, tiles are copied, and other commands read the pyramid again."""
    labels = numpy.random.default_rng(6).integers(0, numpy.iinfo(dtype).max, (40, 60), dtype, endpoint=True).repeat(15, 0).repeat(13, 1)
    source, out, again = write_slide(tmp_path / "m.tif", labels), tmp_path / f"out.{ending}", tmp_path / f"again.{ending}"
    run("convert", source, out, "--content", "labels", "--compression", "zstd", "--tile-size", 128)
    run("convert", out, again)  # which tifffile alone decodes
    run("convert", again, out, "--compression", "deflate", "--overwrite", "--tile-size", 64)
    with tifffile.TiffFile(out) as file:
        levels = [level.asarray() for level in file.series[0].levels] if ending == "ome.tif" else [page.asarray() for page in file.pages]
    assert len(levels) == 4
    for number, level in enumerate(levels):
        assert level.dtype == dtype and numpy.array_equal(level, labels[:: 2**number, :: 2**number])
    told = run("info", out, "--json").json
    assert told["sampleType"] == {"uint16": "unsigned_short", "uint32": "unsigned_int"}[dtype] and told["levels"][0]["width"] == 780
    assert run("evaluate", out, source, "--json").json["dice"] == 1
    if dtype == "uint32":
        assert fails("convert", source, tmp_path / "p.tif", "--content", "picture").code == "E-SLIDE-CHANNELS"
        assert fails("overlay", source, source, "-o", tmp_path / "o.png").code == "E-SLIDE-CHANNELS"


@pytest.mark.parametrize("name", ["out.pyramid.tif", "out.ome.tif"])
@pytest.mark.parametrize("compression", ["copy", "deflate"])
def test_bigtiff_by_choice(tmp_path, name, compression):
    """The same pixels and levels in a BigTIFF, which small files are not by themselves."""
    slide = write_slide(tmp_path / "s.tif", texture(600, 800))
    small, big = tmp_path / f"small.{name}", tmp_path / name
    run("convert", slide, small, "--compression", compression)
    run("convert", slide, big, "--compression", compression, "--bigtiff")
    with tifffile.TiffFile(small) as one, tifffile.TiffFile(big) as other:
        assert (one.is_bigtiff, other.is_bigtiff) == (False, True)
        assert len(one.series[0].levels) == len(other.series[0].levels) > 1
        for level, same in zip(one.series[0].levels, other.series[0].levels):
            assert numpy.array_equal(level.asarray(), same.asarray())
    assert fails("convert", slide, small, "--compression", compression, "--bigtiff").code == "E-OUTPUT-EXISTS"
