# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""No output has a text of the slide that may name a person (Documentation/Privacy.md)."""

import struct
import subprocess

import numpy
import pytest
import tifffile

from conftest import run
from dicom_slides import cut, element, encode_jpeg, sequence, write_dicom
from dicom_slides import JPEG as DICOM_JPEG
from test_convert import scanner_profile, texture

NAME, BARCODE, DATE, FILE, USER, SERIAL = "Doe^Jane", "S20-12345", "2020:02:29 11:22:33", "doe_jane_left.svs", "dr_house", "SS7755"
SECRETS = [secret.encode() for secret in (NAME, BARCODE, DATE, FILE, USER, SERIAL)]
EVERYTHING = f"{NAME} {BARCODE} {DATE} {FILE} {USER} {SERIAL}"
LABEL = numpy.frombuffer(EVERYTHING.encode() * 400, numpy.uint8)[: 60 * 90 * 3].reshape(60, 90, 3)  # an uncompressed image of text


def talkative_profile():
    """A color profile whose texts say everything."""
    profile = scanner_profile()
    said = EVERYTHING.encode()
    parts = {}
    for i in range(struct.unpack_from(">I", profile, 128)[0]):
        name, at, size = struct.unpack_from(">4sII", profile, 132 + 12 * i)
        parts[name] = profile[at : at + size]
    parts[b"cprt"] = b"text\0\0\0\0" + said + b"\0"
    parts[b"targ"] = b"text\0\0\0\0" + said + b"\0"
    parts[b"desc"] = b"desc\0\0\0\0" + struct.pack(">I", len(said) + 1) + said + bytes(79)
    at, table, data = 132 + 12 * len(parts), struct.pack(">I", len(parts)), b""
    for name, part in parts.items():
        part += bytes(-len(part) % 4)
        table += name + struct.pack(">II", at + len(data), len(part))
        data += part
    return struct.pack(">I", at + len(data)) + profile[4:128] + table + data


def tags(profile=True):
    """Texts in every TIFF tag that takes one. XMP, IPTC and Photoshop's are bytes."""
    said = EVERYTHING + "\0"
    texts = [(tag, 2, len(said), said, True) for tag in (269, 271, 272, 285, 315, 316, 33432)]
    texts += [(tag, 1, len(said), said.encode(), True) for tag in (700, 33723, 34377)]
    return texts + ([(34675, 7, len(talkative_profile()), talkative_profile(), True)] if profile else [])


def talk_in_jpeg(stream):
    """A comment, application segments, Adobe's with more than it has, a segment that decoders skip, and bytes behind the end."""
    said = EVERYTHING.encode()

    def segment(marker, content):
        return b"\xff" + marker + struct.pack(">H", len(content) + 2) + content

    segments = b"".join(segment(marker, said) for marker in (b"\xfe", b"\xe0", b"\xe1", b"\xed", b"\xee", b"\xdc"))
    return stream[:20] + segments + segment(b"\xee", b"Adobe\0\x64\0\0\0\0\1" + said) + stream[20:] + said


def read_streams(path):
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        return [file.filehandle.seek(offset) and file.filehandle.read(size) for offset, size in zip(page.dataoffsets, page.databytecounts)]


def replace_streams(path, streams):
    """The file with these streams for the tiles of its first page."""
    data = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        tags = [file.pages[0].tags[tag] for tag in (324, 325)]
    for i, stream in enumerate(streams):
        for tag, value in zip(tags, (len(data), len(stream))):
            size = {3: 2, 4: 4}[int(tag.dtype)]  # of a number: SHORT or LONG
            data[tag.valueoffset + size * i : tag.valueoffset + size * (i + 1)] = value.to_bytes(size, "little")
        data += stream
    path.write_bytes(data)


def replace_tiles(path, frames):
    """The file with these JPEG streams of YCbCr for the tiles of its first page."""
    replace_streams(path, frames)
    data = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        for tag, value in ((259, 7), (262, 6)):
            struct.pack_into("<H", data, file.pages[0].tags[tag].valueoffset, value)
    path.write_bytes(data)


def write_pages(path, description, associated=True, jpeg=True):
    """A tiled image of JPEG tiles that talk, or deflate; a label that is text."""
    pixels = texture(512, 768)
    options = {"photometric": "rgb", "metadata": None, "software": EVERYTHING, "datetime": DATE}
    subsampling = [(530, 3, 2, (1, 1), True)] if jpeg else []
    with tifffile.TiffWriter(path) as file:
        file.write(pixels, tile=(256, 256), compression="zlib", description=description, extratags=tags() + subsampling, **options)
        if associated:
            for name in ("label", "macro"):
                file.write(LABEL, rowsperstrip=60, description=f"Aperio\r\n{name} 90x60 {EVERYTHING}", subfiletype=1 if name == "label" else 9,
                           extratags=tags(), **options)
    if jpeg:
        replace_tiles(path, [talk_in_jpeg(encode_jpeg(tile)) for tile in cut(pixels, 256)])
    return path


def aperio(path):
    properties = "|".join(["AppMag = 40", "MPP = 0.25", f"User = {USER}", f"Date = {DATE}", f"Patient = {NAME}", f"Barcode = {BARCODE}",
                           f"Filename = {FILE}", f"ScanScope ID = {SERIAL}", f"Title = {EVERYTHING}"])
    return write_pages(path / f"{FILE}", f"Aperio Image Library v11\r\n768x512 [0,0 768x512] (256x256) JPEG/RGB Q=70|{properties}")


def ome(path):
    xml = (f'<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" Creator="{EVERYTHING}">'
           f'<Experimenter ID="Experimenter:0" UserName="{USER}" FirstName="{NAME}"/><Instrument ID="Instrument:0"><Microscope SerialNumber="{SERIAL}"/></Instrument>'
           f'<Image ID="Image:0" Name="{FILE}"><AcquisitionDate>{DATE}</AcquisitionDate><Description>{EVERYTHING}</Description>'
           '<Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint8" SizeX="768" SizeY="512" SizeC="3" SizeZ="1" SizeT="1" PhysicalSizeX="0.25" PhysicalSizeY="0.25">'
           '<Channel ID="Channel:0" SamplesPerPixel="3"/><TiffData/></Pixels></Image></OME>')
    return write_pages(path / "doe_jane_left.svs.ome.tif", xml, associated=False, jpeg=False)


def plain(path):
    return write_pages(path / "plain.tif", EVERYTHING, associated=False)


def dicom(path):
    folder = path / "dicom"
    folder.mkdir()
    said = [element(8, 0x20, b"DA", "20200229"), element(8, 0x1010, b"SH", SERIAL), element(8, 0x1070, b"PN", USER), element(0x10, 0x10, b"PN", NAME),
            element(0x10, 0x20, b"LO", BARCODE), element(0x18, 0x1000, b"LO", SERIAL), element(0x20, 0x4000, b"LT", EVERYTHING),
            element(0x28, 0x301, b"CS", "YES"), element(0x40, 0x512, b"LO", BARCODE), element(0x48, 8, b"SQ", b""),
            sequence(0x48, 0x105, element(0x28, 0x2000, b"OB", talkative_profile()) + element(0x48, 0x106, b"SH", "1") + element(0x48, 0x107, b"ST", EVERYTHING))]
    pixels = texture(128, 192)
    frames = [talk_in_jpeg(encode_jpeg(tile)) for tile in cut(pixels, 64)]
    slide = write_dicom(folder / "volume.dcm", (192, 128), frames, syntax=DICOM_JPEG, photometric="YBR_FULL", side=64, add=said)
    write_dicom(folder / "label.dcm", (90, 60), [numpy.pad(LABEL, [(0, 36), (0, 6), (0, 0)]).tobytes()], side=96, flavor="LABEL", add=said)
    return slide


SLIDES = {"aperio": aperio, "ome": ome, "plain": plain, "dicom": dicom}


def find(path):
    data = path.read_bytes()
    return [secret for secret in SECRETS if secret in data]


@pytest.mark.parametrize("options", [[], ["--compression", "jpeg"], ["--compression", "deflate"], ["--region", "0,0,64,64", "--compression", "deflate"]],
                         ids=["copied", "jpeg", "deflate", "region"])
@pytest.mark.parametrize("kind", SLIDES)
def test_convert_drops_texts_unless_asked(tmp_path, kind, options):
    slide = SLIDES[kind](tmp_path)
    assert len(find(slide)) >= (4 if kind == "dicom" else len(SECRETS))
    out = tmp_path / "out.tif"
    result = run("convert", slide, out, "--json", *options).json
    assert find(out) == [] and result["associated"] == []
    assert (result["copiedTiles"] > 0) == (options == [] and kind != "dicom")
    info = run("info", out, "--json").json
    assert result["mpp"] == pytest.approx(info["mpp"]) if info["mpp"] else kind == "plain"
    with tifffile.TiffFile(out) as file:
        assert 34675 in file.pages[0].tags


@pytest.mark.parametrize("compression", ["none", "deflate", "lzw", "packbits", "zstd", "jpeg", "webp"])
@pytest.mark.parametrize("kind", ["colors", "bits"])
def test_copied_tiles_end_where_their_streams_end(tmp_path, compression, kind):
    """A tile has room for more bytes than libtiff wrote: whatever stands there is not copied."""
    if kind == "bits" and compression in ("jpeg", "webp"):
        pytest.skip("no codec of bits")
    pixels = texture(512, 768)
    tifffile.imwrite(tmp_path / "pixels.tif", pixels if kind == "colors" else pixels[:, :, 0], photometric="rgb" if kind == "colors" else "minisblack")
    slide, out = tmp_path / "slide.tif", tmp_path / "out.tif"
    bits = ["--bitdepth", "1", "--predictor", "none"] if kind == "bits" else []
    subprocess.run(["vips", "tiffsave", tmp_path / "pixels.tif", slide, "--tile", "--tile-width", "256", "--tile-height", "256",
                    "--compression", compression, "--lossless", *bits], check=True)
    streams = read_streams(slide)
    assert len(streams) == 6
    said = EVERYTHING.encode()
    hidden = struct.pack("<II", 0x184D2A53, len(said)) + said if compression == "zstd" else b""  # a frame that decoders skip
    replace_streams(slide, [hidden + stream + bytes(3) + said + b"VP8 " + struct.pack("<I", len(said)) + said for stream in streams])
    assert len(find(slide)) == len(SECRETS)
    result = run("convert", slide, out, "--json").json
    assert result["copiedTiles"] == len(streams) and read_streams(out) == streams and find(out) == []


def test_texts_between_the_segments_of_a_tile_are_dropped(tmp_path):
    """Decoders look for the next marker behind a byte that belongs to no segment."""
    slide, out = plain(tmp_path), tmp_path / "out.tif"
    said = b"\xff\xfe" + struct.pack(">H", len(EVERYTHING) + 2) + EVERYTHING.encode()
    replace_streams(slide, [stream[:20] + b"\0" + said + stream[20:] for stream in read_streams(slide)])
    run("convert", slide, out)
    assert find(out) == []
    clean = write_pages(tmp_path / "clean.tif", "", associated=False)
    run("convert", clean, tmp_path / "clean-out.tif")
    assert read_streams(out) == read_streams(tmp_path / "clean-out.tif")


@pytest.mark.parametrize("kind", ["aperio", "ome", "plain"])
def test_texts_are_kept_where_it_is_asked_for(tmp_path, kind):
    out = tmp_path / "out.tif"
    result = run("convert", SLIDES[kind](tmp_path), out, "--keep-text", "--json").json
    assert len(find(out)) == len(SECRETS) and result["associated"] == []
    again = tmp_path / "again.tif"
    run("convert", out, again)
    assert find(again) == []  # a pyramid of ours is a slide like others


def test_label_and_macro_are_kept_where_it_is_asked_for(tmp_path):
    out = tmp_path / "out.tif"
    result = run("convert", aperio(tmp_path), out, "--keep-label", "--json").json
    assert "macro" in result["associated"] and len(find(out)) == len(SECRETS)


@pytest.mark.parametrize("kind", SLIDES)
def test_other_outputs_have_no_texts_of_the_slide(tmp_path, kind):
    """Whatever the files are called: names of slides are for the tables that list slides."""
    slide = SLIDES[kind](tmp_path)
    mask, overlay, outline = tmp_path / "mask.tif", tmp_path / "overlay.png", tmp_path / "outline.geojson"
    run("label", slide, "-o", mask)
    run("overlay", slide, mask, "-o", overlay)
    run("outline", mask, "-o", outline, "--like", slide)
    for out in (mask, overlay, outline):
        assert find(out) == [], out
