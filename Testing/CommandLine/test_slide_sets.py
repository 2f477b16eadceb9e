# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Hamamatsu NDPIS: an NDPI for each channel. OpenSlide reads each of them."""

import struct

import numpy
import openslide
import pytest
import tifffile

import vendor_slides
from conftest import fails, run

CHANNELS = [("DAP", 455.0), ("FIT", 520.0), ("CY5", 670.0), ("", 0.0)]
BANDS = [2, 1, 0, None]  # of RGB; None: the largest


def write(folder, channels=CHANNELS):
    return vendor_slides.write(vendor_slides.ndpis(channels), folder)


def read(path, level):
    with openslide.OpenSlide(str(path)) as slide:
        return numpy.asarray(slide.read_region((0, 0), level, slide.level_dimensions[level]))[..., :3]


def expect(folder, level=0):
    pages = [read(folder / f"s-{number}.ndpi", level) for number in range(len(BANDS))]
    return [pixels.max(axis=2) if band is None else pixels[..., band] for pixels, band in zip(pages, BANDS)]


def convert(path, *words):
    out = path.with_name("out.tif")
    run("convert", path, out, "--overwrite", "--compression", "deflate", *words)
    return tifffile.imread(out, series=0, level=0)


def test_each_file_is_a_channel(tmp_path):
    path = write(tmp_path)
    info = run("info", path, "--check", "--json").json
    assert info["channels"] == 4 and info["warnings"] == [] and (info["width"], info["height"]) == (256, 128)
    told = [(channel["name"], channel["color"], channel["emissionNm"]) for channel in info["channelEntries"]]
    assert told == [("DAP", "#0000ff", 455.0), ("FIT", "#00ff00", 520.0), ("CY5", "#ff0000", 670.0), ("s-3", "#ffffff", None)]
    assert [(image["name"]) for image in info["associatedImages"]] == ["macro"]
    wanted = expect(tmp_path)
    assert numpy.array_equal(convert(path), wanted)
    for name, plane in zip(("DAP", "FIT", "CY5", "s-3"), wanted):
        assert numpy.array_equal(convert(path, "--channel", name), plane)
    assert numpy.array_equal(convert(path, "--channel", "CY5", "--channel", "DAP"), [wanted[2], wanted[0]])
    stored = [level["width"] for level in info["levels"]].index(64)
    assert numpy.array_equal(convert(path, "--level", stored), expect(tmp_path, stored))


def test_one_channel(tmp_path):
    path = write(tmp_path, CHANNELS[:1])
    assert numpy.array_equal(convert(path), read(tmp_path / "s-0.ndpi", 0)[..., 2])


def test_a_folder_has_the_set_once(tmp_path):
    folder = tmp_path / "slides"
    folder.mkdir()
    path = write(folder)
    vendor_slides.write({"other.ndpi": vendor_slides.ndpi()["slide.ndpi"]}, folder)
    info = run("info", folder, "--json").json
    assert sorted(entry["slide"].rsplit("/", 1)[1] for entry in info) == ["other.ndpi", "s.ndpis"]
    run("convert", path, tmp_path / "out.tif")
    assert run("convert", path, tmp_path / "out.tif", "--json").json["skipped"]
    (folder / "s-2.ndpi").write_bytes((folder / "s-1.ndpi").read_bytes())
    assert fails("convert", path, tmp_path / "out.tif").code == "E-OUTPUT-EXISTS"


def test_missing_files(tmp_path):
    path = write(tmp_path)
    (tmp_path / "s-2.ndpi").unlink()
    refused = fails("info", path)
    assert (refused.code, refused.value) == ("E-SLIDE-PARTS", "s-2.ndpi")


@pytest.mark.parametrize(
    "text, code",
    [
        ("Image0=../s-0.ndpi", "E-SLIDE-PARTS"),
        ("Image0=/etc/passwd", "E-SLIDE-PARTS"),
        ("NoImages=2\r\nImage0=s-0.ndpi", "E-SLIDE-PARTS"),
        ("NoImages=10000\r\nImage0=s-0.ndpi", "E-FILE-LIMIT"),
        ("NoImages=1e300\r\nImage0=s-0.ndpi", "E-FILE-LIMIT"),
        ("Image0=s.ndpis", "E-SLIDE-FORMAT"),
        ("Image0=notes.txt", "E-SLIDE-FORMAT"),
        ("Image99999999999999999999=s-0.ndpi", "E-SLIDE-PARTS"),
        ("", "E-SLIDE-PARTS"),
    ],
)
def test_hostile_texts(tmp_path, text, code):
    path = write(tmp_path, CHANNELS[:1])
    (tmp_path / "notes.txt").write_text("nothing")
    path.write_text("[NanoZoomer Digital Pathology Image Set]\r\n" + text)
    refused = fails("info", path)
    assert (refused.code, refused.file) == (code, str(path))


def test_more_channels_than_are_read(tmp_path):
    path = write(tmp_path, CHANNELS[:1])
    path.write_text("".join(f"Image{number}=s-0.ndpi\n" for number in range(10000)))
    assert fails("info", path).code == "E-FILE-LIMIT"


def test_channels_of_different_sizes(tmp_path):
    path = write(tmp_path, CHANNELS[:2])
    no_lens = (65421, 11, 1, struct.unpack("<I", struct.pack("<f", -2.0))[0])

    def take_level(entries):  # the finest one
        return [no_lens if entry[0] == no_lens[0] else entry for entry in entries]

    (tmp_path / "s-1.ndpi").write_bytes(vendor_slides.ndpi(take_level)["slide.ndpi"])
    assert fails("info", path).code == "E-SLIDE-PARTS"


def test_a_mask_of_a_set_is_of_all_its_files(tmp_path):
    path, mask = write(tmp_path), tmp_path / "m.tif"
    run("label", path, "-o", mask, "--preset", "rules", "--downsample", 2)
    run("measure", mask, "--slide", path, "-o", tmp_path / "m.csv")
    (tmp_path / "s-2.ndpi").write_bytes((tmp_path / "s-1.ndpi").read_bytes())
    assert fails("measure", mask, "--slide", path, "-o", tmp_path / "other.csv").code == "E-MASK-GRID"


def replace(path, *changed):
    """An NDPI that has these entries on its first page."""
    tags = [entry[0] for entry in changed]
    path.write_bytes(vendor_slides.ndpi(lambda entries: sorted([*(entry for entry in entries if entry[0] not in tags), *changed]))["slide.ndpi"])


def test_channels_of_different_resolutions(tmp_path):
    path = write(tmp_path, CHANNELS[:2])
    replace(tmp_path / "s-1.ndpi", (282, 4, 1, 40200), (283, 4, 1, 40200))  # pixels per cm, of which the others have 40000
    assert run("info", path, "--json").json["mpp"] == 0.25
    replace(tmp_path / "s-1.ndpi", (282, 4, 1, 20000), (283, 4, 1, 20000))
    assert fails("info", path).code == "E-SLIDE-PARTS"


def test_warnings_of_all_channels(tmp_path):
    path = write(tmp_path, CHANNELS[:2])
    replace(tmp_path / "s-1.ndpi", (282, 4, 1, 400), (283, 4, 1, 400))  # 25 micrometers
    told, alone = (run("info", tmp_path / name, "--json").json["warnings"] for name in ("s.ndpis", "s-1.ndpi"))
    assert [warning["file"] for warning in told] == [str(tmp_path / "s-1.ndpi")] and told == alone


def test_channels_of_16_bit(tmp_path):
    path = write(tmp_path, CHANNELS[:2])
    stored = tmp_path / "s-1.ndpi"
    replace(stored, (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 1), (279, 4, 1, 256 * 128 * 2))
    stored.write_bytes(stored.read_bytes() + bytes(256 * 128 * 2))
    refused = fails("info", path)
    assert (refused.code, refused.value, refused.file) == ("E-SLIDE-PARTS", "16", str(path))
