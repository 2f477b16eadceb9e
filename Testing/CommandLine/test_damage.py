# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""JPEG tiles that are damaged, but give pixels: named, counted and recorded; refused with --strict."""

import re
import shutil

import numpy
import pytest
import tifffile

from conftest import TRAIN, fails, run, write_slide

RECORD = "gigapixel.source-damaged-tiles = "


def spoil_largest_tiles(slide, count, spoil):
    """Writes what spoil(size) gives, (place in the tile, bytes), into the largest tiles of level 0."""
    with tifffile.TiffFile(slide) as file:
        page = file.pages[0]
        tiles = sorted(zip(page.databytecounts, page.dataoffsets), reverse=True)[:count]
    with open(slide, "r+b") as file:
        for size, offset in tiles:
            place, data = spoil(size)
            file.seek(offset + place)
            file.write(data)
    return slide


@pytest.fixture()
def damage(synthetic, tmp_path):
    """Makes a slide whose largest tiles of level 0 end in the middle, by the end marker."""

    def make(count):
        slide = shutil.copy(synthetic[0], tmp_path / f"damaged-{count}.tif")
        return spoil_largest_tiles(slide, count, lambda size: (size // 2, b"\xff\xd9"))

    return make


@pytest.fixture()
def undecodable(synthetic, tmp_path):
    """Makes a slide of whose largest tiles of level 0 nothing can be decoded."""

    def make(count):
        slide = shutil.copy(synthetic[0], tmp_path / f"undecodable-{count}.tif")
        return spoil_largest_tiles(slide, count, lambda size: (0, bytes(size)))

    return make


def get_description(pyramid):
    with tifffile.TiffFile(pyramid) as file:
        return file.pages[0].description.splitlines()


def test_label_names_and_counts_them_and_the_mask_tells_it(damage, tmp_path):
    slide, mask = damage(3), tmp_path / "mask.tif"
    words = ["label", slide, "-o", mask, "--downsample", 1, "--preset", "remedios2023"]
    result = run(*words, "--quiet", "--json")
    assert result.json["damagedTiles"] == 3
    named = re.findall(r"the tile at \d+,\d+ of level 0 is damaged: Corrupt JPEG data", result.err)
    assert len(named) == len(result.err.splitlines()) == 3
    assert RECORD + "3" in get_description(mask)
    assert run("info", mask, "--json").json["sourceDamagedTiles"] == 3
    assert "damaged tiles  3 of what it was made of" in run("info", mask).out
    again = run(*words, "--json").json
    assert again["skipped"] and again["damagedTiles"] == 3


def test_nothing_is_said_of_sound_slides(synthetic, tmp_path):
    words = ["label", synthetic[0], "-o", tmp_path / "mask.tif", "--downsample", 1, "--preset", "remedios2023"]
    result = run(*words, "--strict", "--json", "--quiet")
    assert result.json["damagedTiles"] == 0 and result.err == ""
    assert not any(line.startswith(RECORD) for line in get_description(tmp_path / "mask.tif"))
    assert "damaged" not in run("info", synthetic[0]).out


def test_five_are_named(damage, tmp_path):
    words = ["label", damage(8), "-o", tmp_path / "mask.tif", "--downsample", 1, "--preset", "remedios2023"]
    result = run(*words, "--quiet")
    assert result.codes == ["W-SLIDE-DAMAGED"] * 5 and len(result.err.splitlines()) == 5
    assert ", 8 damaged tiles" in result.out


def test_strict_refuses_with_one_sentence_and_leaves_nothing(damage, tmp_path):
    slide = damage(1)
    mask = write_slide(tmp_path / "mask.tif", numpy.zeros((1100, 1300), numpy.uint8))
    out = tmp_path / "out"
    out.mkdir()
    for command in (
        ["label", slide, "-o", out / "a.tif", "--downsample", 1],
        ["convert", slide, out / "b.tif"],  # copies tiles
        ["convert", slide, out / "c.tif", "--compression", "jpeg"],
        ["overlay", slide, mask, "-o", out / "d.png", "--picture-size", 1300],
    ):
        refused = fails(*command, "--strict")
        assert (refused.code, refused.file) == ("E-SLIDE-DAMAGED", str(slide))
        assert re.search(r"the tile at \d+,\d+ of level 0 ", refused.why), refused
    assert list(out.iterdir()) == []
    refused = fails("info", slide, "--check", "--strict")
    assert (refused.code, refused.file) == ("E-SLIDE-DAMAGED", str(slide))


def test_strict_judges_what_was_read(damage, tmp_path):
    result = run("label", damage(1), "-o", tmp_path / "mask.tif", "--downsample", 2, "--strict", "--json").json
    assert result["level"] == 1 and result["damagedTiles"] == 0


def test_convert_copies_what_cannot_be_decoded_unless_strict(undecodable, tmp_path):
    slide = undecodable(2)
    refused = fails("convert", slide, tmp_path / "no.tif", "--strict")
    assert (refused.code, refused.file) == ("E-CODEC-DATA", str(slide))
    assert re.search(r"the tile at \d+,\d+ of level 0 ", refused.why), refused
    assert not (tmp_path / "no.tif").exists()
    assert run("convert", slide, tmp_path / "copy.tif", "--json").json["copiedTiles"] > 0
    assert "copied as it is" in " ".join(run("convert", "--help-all").out.split())


def test_check_goes_on_where_a_tile_cannot_be_decoded(undecodable, synthetic):
    slide = undecodable(7)
    results = [run("info", slide, "--check", "--json", "--threads", threads, code=1) for threads in (1, 4)]
    info = results[0].json
    assert [result.json for result in results] == [info, info]
    assert info["undecodableTiles"] == 7 and info["damagedTiles"] == 0 and len(info["levels"]) > 1
    assert {(each["code"], each["file"]) for each in info["undecodable"]} == {("E-CODEC-DATA", str(slide))}
    places = [re.search(r"the tile at (\d+),(\d+) of level 0 cannot be decoded", each["why"]) for each in info["undecodable"]]
    order = [(int(row), int(column)) for column, row in (place.groups() for place in places)]
    assert len(order) == 5 and order == sorted(order)
    assert (info["error"]["code"], info["error"]["file"], info["error"]["value"]) == ("E-CODEC-DATA", str(slide), "7")
    text = run("info", slide, "--check", code=1).out
    assert text.count("bad tile") == 5 and "0 in all levels, 7 cannot be decoded" in text
    batch = run("info", slide, synthetic[0], "--check", "--json", code=1).json
    assert (batch[0]["error"]["code"], batch[0]["error"]["value"]) == ("E-CODEC-DATA", "7") and "error" not in batch[1] and batch[1]["undecodableTiles"] == 0


def test_convert_counts_what_it_decodes(damage, tmp_path):
    slide = damage(2)
    copied = ["convert", slide, tmp_path / "copy.tif"]
    for _ in range(2):  # the second time it is there already
        assert run(*copied, "--json").json["damagedTiles"] is None  # nobody has looked
    assert "tiles copied as they were, unchecked (--strict checks them)" in run(*copied, "--overwrite").out
    decoded = run("convert", slide, tmp_path / "decoded.tif", "--compression", "jpeg", "--json").json
    assert decoded["damagedTiles"] == 2 and RECORD + "2" in get_description(tmp_path / "decoded.tif")
    refused = fails("convert", slide, tmp_path / "decoded.tif", "--compression", "jpeg", "--strict")
    assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(tmp_path / "decoded.tif")) and "2" in refused.why


def test_strict_looks_at_what_an_earlier_run_copied_unchecked(damage, synthetic, tmp_path):
    """As where a conversion of many was interrupted and goes on with --strict."""
    slide, copy = damage(2), tmp_path / "copy.tif"
    run("convert", slide, copy)
    before = copy.read_bytes()
    refused = fails("convert", slide, copy, "--strict")
    assert (refused.code, refused.file) == ("E-SLIDE-DAMAGED", str(copy)) and "--overwrite" in refused.do
    assert copy.read_bytes() == before
    again = run("convert", slide, copy)
    assert "unchecked (--strict checks them) (was there already)" in again.out

    sound = ["convert", synthetic[0], tmp_path / "sound.tif", "--json"]
    for options, skipped, damaged in (([], False, None), ([], True, None), (["--strict"], True, 0), ([], True, None)):
        result = run(*sound, *options).json
        assert (result["skipped"], result["damagedTiles"]) == (skipped, damaged), options
    # What was checked as it was copied is known from then on.
    strict = run(*sound, "--strict", "--overwrite").json
    assert strict["copiedTiles"] > 0 and strict["damagedTiles"] == 0
    assert RECORD + "0" in get_description(tmp_path / "sound.tif")
    for options in ([], ["--strict"]):
        result = run(*sound, *options).json
        assert (result["skipped"], result["damagedTiles"]) == (True, 0)


def test_info_counts_when_it_is_to_look(damage):
    slide = damage(6)
    info = run("info", slide, "--json").json
    assert info["damagedTiles"] is None and info["sourceDamagedTiles"] == 0
    info = run("info", slide, "--check", "--json").json
    assert info["damagedTiles"] == 6 and len(info["warnings"]) == 5
    assert "damaged tiles  6 in all levels" in run("info", slide, "--check").out


@pytest.mark.usefixtures("network")
def test_segment_and_train(damage, synthetic, tmp_path):
    slide, mask, probability = damage(2), tmp_path / "mask.tif", tmp_path / "probability.tif"
    result = run("segment", slide, "--model", "tissue", "-o", mask, "--probability", probability, "--json").json
    assert result["damagedTiles"] == 2
    for pyramid in (mask, probability):
        assert RECORD + "2" in get_description(pyramid)
    for options in ([], ["--fill-holes"]):
        filled = tmp_path / f"filled-{len(options)}.tif"
        run("segment", slide, "--model", "tissue", "-o", filled, *options)
        assert RECORD + "2" in get_description(filled)
    refused = fails("segment", slide, "--model", "tissue", "-o", tmp_path / "no.tif", "--strict")
    assert (refused.code, refused.file) == ("E-SLIDE-DAMAGED", str(slide))
    table = tmp_path / "cohort.csv"
    table.write_text(f"slide,mask,split\n{slide},{synthetic[1]},train\n")
    train = [*TRAIN, "--cohort", table, "--epochs", 1, "-o"]
    assert run(*train, tmp_path / "run", "--json").json["damagedTiles"] == 2
    refused = fails(*train, tmp_path / "strict", "--strict")
    assert (refused.code, refused.file) == ("E-SLIDE-DAMAGED", str(slide))


def replace_tile(slide, index, change):
    """Writes a changed tile of level 0 at the end of the file, and its place into the directory."""
    with tifffile.TiffFile(slide) as file:
        page = file.pages[0]
        order = file.byteorder
        entries = [page.tags[name] for name in ("TileOffsets", "TileByteCounts")]
        size, offset = page.databytecounts[index], page.dataoffsets[index]
    with open(slide, "r+b") as file:
        file.seek(offset)
        data = change(file.read(size))
        offset = file.seek(0, 2)
        file.write(data)
        for entry, value in zip(entries, (offset, len(data))):
            width = {3: 2, 4: 4, 16: 8}[int(entry.dtype)]
            file.seek(entry.valueoffset + index * width)
            file.write(value.to_bytes(width, "little" if order == "<" else "big"))


def test_bytes_that_are_left_over_at_the_end_of_a_tile_are_told(synthetic, tmp_path):
    """Wrong codes may leave pixels for all of a tile, and bytes that nothing needs: libtiff complains of these, too."""
    slide = shutil.copy(synthetic[0], tmp_path / "slide.tif")
    replace_tile(slide, 2, lambda data: data)
    assert run("info", slide, "--check", "--json").json["damagedTiles"] == 0
    replace_tile(slide, 2, lambda data: data[:-2] + bytes(range(1, 60)) + data[-2:])
    result = run("info", slide, "--check", "--json")
    assert result.json["damagedTiles"] == 1 and [each["code"] for each in result.json["warnings"]] == ["W-SLIDE-DAMAGED"]
    refused = fails("label", slide, "-o", tmp_path / "mask.tif", "--downsample", 1, "--strict")
    assert (refused.code, refused.file) == ("E-SLIDE-DAMAGED", str(slide))
