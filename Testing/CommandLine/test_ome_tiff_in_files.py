# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""OME-TIFF in several files, and companion files. The reference is tifffile."""

import os
import pathlib
import resource

import numpy
import pytest
import tifffile

from conftest import fails, run

SCHEMA = "http://www.openmicroscopy.org/Schemas/OME/2016-06"
HEIGHT, WIDTH = 200, 300


def draw(channels, depths=1, dtype=numpy.uint16):
    return numpy.random.default_rng(5).integers(0, 60000, (channels, depths, HEIGHT, WIDTH)).astype(dtype)


def describe(planes, places, order="XYZCT"):
    """The element Image. \\param places (channel, plane, file, page) of each plane"""
    channels, depths, height, width = planes.shape
    text = (
        f'<Image ID="Image:0" Name="x"><Pixels ID="Pixels:0" DimensionOrder="{order}" Type="{planes.dtype.name}" SizeX="{width}" '
        f'SizeY="{height}" SizeZ="{depths}" SizeC="{channels}" SizeT="1" PhysicalSizeX="0.5" PhysicalSizeY="0.5">'
    )
    text += "".join(f'<Channel ID="Channel:0:{c}" Name="c{c}" SamplesPerPixel="1"/>' for c in range(channels))
    for channel, depth, file, page in places:
        identity = f'<UUID FileName="{file}">urn:uuid:{pathlib.Path(file).name}</UUID>'
        text += f'<TiffData IFD="{page}" FirstC="{channel}" FirstZ="{depth}" FirstT="0" PlaneCount="1">{identity}</TiffData>'
    return text + "</Pixels></Image>"


def xml(content, **attributes):
    given = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<?xml version="1.0" encoding="UTF-8"?><OME xmlns="{SCHEMA}"{given}>{content}</OME>'


def write_pages(path, pages, text, byteorder="<", levels=1):
    """Pages with reductions as their children."""
    options = dict(tile=(64, 64), compression="zlib", photometric="minisblack", metadata=None)
    with tifffile.TiffWriter(path, byteorder=byteorder) as file:
        for number, pixels in enumerate(pages):
            description = text if number == 0 else None
            file.write(pixels, description=description, subifds=levels - 1, **options)
            for level in range(1, levels):
                file.write(pixels[:: 2**level, :: 2**level], subfiletype=1, **options)


def write_set(folder, planes, files, text=None, levels=1):
    """\\param files of each: the (channel, plane) of its pages. Their XML is all the same, unless it is given."""
    places = [(c, z, name, page) for name, pages in files.items() for page, (c, z) in enumerate(pages)]
    description = describe(planes, places)
    for number, (name, pages) in enumerate(files.items()):
        said = xml(description, UUID=f"urn:uuid:{name}") if text is None else text
        write_pages(folder / name, [planes[c, z] for c, z in pages], said, "><"[number % 2], levels)
    return description


def read(path, folder, *words):
    """Level 0, (channels, y, x), as tifffile reads what convert writes."""
    out = folder / "out.ome.tif"
    run("convert", path, out, "--compression", "deflate", "--content", "picture", "--overwrite", *words)
    pixels = tifffile.imread(out, series=0, level=0)
    return pixels if pixels.ndim == 3 else pixels[None]


def test_a_file_for_each_channel(tmp_path):
    """Either file shows all channels; files of one set differ in their byte orders."""
    planes = draw(3)
    write_set(tmp_path, planes, {f"C{c}.ome.tif": [(c, 0)] for c in range(3)}, levels=2)
    assert numpy.array_equal(tifffile.imread(tmp_path / "C0.ome.tif"), planes[:, 0])
    for c in range(3):
        path = tmp_path / f"C{c}.ome.tif"
        info = run("info", path, "--json").json
        assert [entry["name"] for entry in info["channelEntries"]] == ["c0", "c1", "c2"]
        assert [level["width"] for level in info["levels"]] == [WIDTH, WIDTH // 2] and info["mpp"] == 0.5
        assert numpy.array_equal(read(path, tmp_path), planes[:, 0])
        assert numpy.array_equal(read(path, tmp_path, "--level", 1), planes[:, 0, ::2, ::2])
        assert numpy.array_equal(read(path, tmp_path, "--channel", "c2", "--channel", "c0"), planes[[2, 0], 0])


def test_pages_in_any_order(tmp_path):
    planes = draw(4)
    files = {"b.ome.tif": [(3, 0), (0, 0)], "a.ome.tif": [(2, 0), (1, 0)]}
    write_set(tmp_path, planes, files)
    for name in files:
        assert numpy.array_equal(tifffile.imread(tmp_path / name), planes[:, 0])
        assert numpy.array_equal(read(tmp_path / name, tmp_path), planes[:, 0])


def test_focal_planes_in_files(tmp_path):
    planes = draw(2, 3)
    write_set(tmp_path, planes, {f"z{z}.ome.tif": [(c, z) for c in range(2)] for z in range(3)})
    for z in range(3):
        assert numpy.array_equal(read(tmp_path / "z0.ome.tif", tmp_path, "--plane", z + 1), planes[:, z])
    assert numpy.array_equal(read(tmp_path / "z2.ome.tif", tmp_path), planes[:, 1])
    assert numpy.array_equal(read(tmp_path / "z2.ome.tif", tmp_path, "--plane", "max"), planes.max(axis=1))


def test_a_file_shows_the_images_that_it_is_of(tmp_path):
    planes, others = draw(2), draw(2)[:, :, ::-1].copy()
    described = [describe(p, [(c, 0, f"{name}{c}.ome.tif", 0) for c in range(2)]) for p, name in ((planes, "a"), (others, "b"))]
    for pixels, name in ((planes, "a"), (others, "b")):
        for c in range(2):
            write_pages(tmp_path / f"{name}{c}.ome.tif", [pixels[c, 0]], xml("".join(described)))
    assert numpy.array_equal(read(tmp_path / "a1.ome.tif", tmp_path), planes[:, 0])
    (tmp_path / "a0.ome.tif").unlink()
    assert numpy.array_equal(read(tmp_path / "b0.ome.tif", tmp_path), others[:, 0])


def test_files_that_describe_a_set_differently(tmp_path):
    """The description of the file that is named holds, and the other one is told of."""
    planes = draw(2)
    placed = [(c, 0, f"{c}.ome.tif", 0) for c in range(2)]
    texts = [describe(planes, placed), describe(planes, placed).replace('"c0"', '"another"')]
    for c, text in enumerate(texts):
        write_pages(tmp_path / f"{c}.ome.tif", [planes[c, 0]], xml(text))
    for c, name in enumerate(["c0", "another"]):
        found = run("info", tmp_path / f"{c}.ome.tif", "--json").json
        assert found["channelEntries"][0]["name"] == name
        assert [w["code"] for w in found["warnings"]].count("W-SLIDE-DESCRIPTION") == 1


def test_descriptions_that_say_the_same(tmp_path):
    """Files of one set may write it in other ways: with identifiers of their own, in another order, with comments."""
    planes = draw(2)
    places = [(c, 0, f"{c}.ome.tif", 0) for c in range(2)]
    texts = [
        describe(planes, places),
        describe(planes, places[::-1]).replace("urn:uuid:", "urn:uuid:another").replace("><", "><!-- so -->\r\n<"),
    ]
    for c, text in enumerate(texts):
        write_pages(tmp_path / f"{c}.ome.tif", [planes[c, 0]], xml(text))
    for c in range(2):
        assert "W-SLIDE-DESCRIPTION" not in [w["code"] for w in run("info", tmp_path / f"{c}.ome.tif", "--json").json["warnings"]]
        assert numpy.array_equal(read(tmp_path / f"{c}.ome.tif", tmp_path), planes[:, 0])


@pytest.mark.parametrize("order", ["XYZCT", "XYCZT", "XYCTZ", "XYZTC", "XYTZC", "XYTCZ"])
@pytest.mark.parametrize("places", ["", "<TiffData/>", '<TiffData IFD="0" PlaneCount="12"/>'])
def test_orders_of_pages(tmp_path, order, places):
    planes = draw(3, 4)
    text = describe(planes, [], order).replace("</Pixels>", places + "</Pixels>")
    pages = planes.reshape(12, HEIGHT, WIDTH) if order.index("Z") < order.index("C") else planes.swapaxes(0, 1).reshape(12, HEIGHT, WIDTH)
    write_pages(tmp_path / "s.ome.tif", pages, xml(text))
    if places:  # without an element tifffile takes the file for pages
        wanted = planes if order.index("Z") < order.index("C") else planes.swapaxes(0, 1)
        assert numpy.array_equal(tifffile.imread(tmp_path / "s.ome.tif"), wanted)
    for z in range(4):
        assert numpy.array_equal(read(tmp_path / "s.ome.tif", tmp_path, "--plane", z + 1), planes[:, z])


def test_all_planes_take_one_descriptor_for_each_file(tmp_path):
    planes = draw(1, 24)
    write_set(tmp_path, planes, {f"z{z}.ome.tif": [(0, z)] for z in range(24)})

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))

    run("convert", tmp_path / "z3.ome.tif", tmp_path / "out.ome.tif", "--compression", "deflate", "--plane", "max", preexec_fn=limit)
    assert numpy.array_equal(tifffile.imread(tmp_path / "out.ome.tif"), planes[0].max(axis=0))


def test_many_claims_on_few_pages(tmp_path):
    """What a short text claims takes no time that grows with the product of its numbers."""
    places = '<TiffData IFD="0" PlaneCount="999999999"/>' * 4096
    for depths, channels in ((512, 4096), (4, 4096), (512, 1)):
        text = f'<Image><Pixels SizeX="{WIDTH}" SizeY="{HEIGHT}" SizeZ="{depths}" SizeC="{channels}" SizeT="1" Type="uint16">{places}</Pixels></Image>'
        write_pages(tmp_path / "s.ome.tif", draw(1)[0], xml(text * 8))
        assert fails("info", tmp_path / "s.ome.tif").code in ("E-OME-XML", "E-SLIDE-PLANES", "E-SLIDE-CHANNELS")


def test_companion_file(tmp_path):
    """Named itself, or by any of its files, which say no more than where it is."""
    planes = draw(2, 2)
    binary = xml('<BinaryOnly MetadataFile="set.companion.ome" UUID="urn:uuid:all"/>')
    files = {"p0.ome.tif": [(0, 0), (1, 0)], "p1.ome.tif": [(0, 1), (1, 1)]}
    description = write_set(tmp_path, planes, files, binary)
    (tmp_path / "set.companion.ome").write_text(xml(description), encoding="utf-8")
    for name in ("p0.ome.tif", "p1.ome.tif", "set.companion.ome"):
        for z in range(2):
            assert numpy.array_equal(read(tmp_path / name, tmp_path, "--plane", z + 1), planes[:, z]), name
    run("label", tmp_path / "set.companion.ome", "-o", tmp_path / "m.tif", "--channel", "c0", "--window", "auto")
    (tmp_path / "set.companion.ome").unlink()
    refused = fails("info", tmp_path / "p0.ome.tif")
    assert (refused.code, refused.value) == ("E-SLIDE-PARTS", "set.companion.ome")


@pytest.mark.parametrize(
    "text, code",
    [
        (xml('<BinaryOnly MetadataFile="set.companion.ome" UUID="urn:uuid:all"/>'), "E-OME-XML"),  # itself
        (xml(""), "E-OME-XML"),
        (xml("<Image><Pixels SizeX='3'"), "E-OME-XML"),
        ("no XML", "E-SLIDE-FORMAT"),
        ("", "E-FILE-DAMAGED"),
    ],
)
def test_companions_that_say_nothing(tmp_path, text, code):
    binary = xml('<BinaryOnly MetadataFile="set.companion.ome" UUID="urn:uuid:all"/>')
    write_pages(tmp_path / "p.ome.tif", [draw(1)[0, 0]], binary)
    (tmp_path / "set.companion.ome").write_text(text)
    assert fails("info", tmp_path / "set.companion.ome").code == code
    assert fails("info", tmp_path / "p.ome.tif").code == "E-OME-XML"


def test_missing_and_damaged_parts(tmp_path):
    planes = draw(3)
    write_set(tmp_path, planes, {f"C{c}.ome.tif": [(c, 0)] for c in range(3)})
    whole = (tmp_path / "C1.ome.tif").read_bytes()
    for content in (None, b"", b"II*\0", whole[:100], b"no TIFF at all"):
        (tmp_path / "C1.ome.tif").unlink(missing_ok=True)
        if content is not None:
            (tmp_path / "C1.ome.tif").write_bytes(content)
        for command in (["info", tmp_path / "C0.ome.tif"], ["convert", tmp_path / "C2.ome.tif", tmp_path / "o.tif"]):
            refused = fails(*command)
            assert (refused.code, refused.value, refused.file) == ("E-SLIDE-PARTS", "C1.ome.tif", str(command[1]))
    (tmp_path / "C1.ome.tif").unlink()
    os.mkfifo(tmp_path / "C1.ome.tif")  # which would wait for a writer
    assert fails("info", tmp_path / "C0.ome.tif").code == "E-SLIDE-PARTS"
    (tmp_path / "C1.ome.tif").unlink()
    write_pages(tmp_path / "C1.ome.tif", [planes[1, 0, :100]], None)  # of another size
    assert fails("info", tmp_path / "C0.ome.tif").code == "E-TIFF-FORMAT"


@pytest.mark.parametrize("name", ["../out.ome.tif", "/etc/passwd", "sub/in.ome.tif", "sub\\in.ome.tif", "..", ".", "&#10;"])
def test_names_that_lead_elsewhere(tmp_path, name):
    folder = tmp_path / "slides"
    (folder / "sub").mkdir(parents=True)
    planes = draw(2)
    said = xml(describe(planes, [(0, 0, "a.ome.tif", 0), (1, 0, name, 0)]))
    write_pages(folder / "a.ome.tif", [planes[0, 0]], said)
    for place in (tmp_path / "out.ome.tif", folder / "sub" / "in.ome.tif"):
        write_pages(place, [planes[1, 0]], None)
    assert fails("info", folder / "a.ome.tif").code == "E-SLIDE-PARTS"


def test_links(tmp_path):
    """A link out of the folder is not followed; links to a whole set, as workflow managers make them, are."""
    folder, work = tmp_path / "slides", tmp_path / "work"
    folder.mkdir(), work.mkdir()
    planes = draw(2)
    files = {"C0.ome.tif": [(0, 0)], "C1.ome.tif": [(1, 0)]}
    write_set(folder, planes, files)
    for name in files:
        (work / name).symlink_to(folder / name)
    assert numpy.array_equal(read(work / "C0.ome.tif", tmp_path), planes[:, 0])
    (folder / "C1.ome.tif").rename(tmp_path / "C1.ome.tif")
    (folder / "C1.ome.tif").symlink_to(tmp_path / "C1.ome.tif")
    refused = fails("info", folder / "C0.ome.tif")
    assert (refused.code, refused.value) == ("E-SLIDE-PARTS", "C1.ome.tif")
    (folder / "C1.ome.tif").unlink()
    (folder / "C1.ome.tif").symlink_to("C1.ome.tif")
    assert fails("info", folder / "C0.ome.tif").code == "E-SLIDE-PARTS"


def test_absurd_descriptions(tmp_path):
    planes = draw(2)
    names = [(c, 0, f"{c}.ome.tif", 0) for c in range(1000)]
    write_pages(tmp_path / "0.ome.tif", [planes[0, 0]], xml(describe(planes, names)))
    assert fails("info", tmp_path / "0.ome.tif").code == "E-FILE-LIMIT"
    files = {"a.ome.tif": [(0, 0)], "b.ome.tif": [(1, 0)]}
    for page in (1, 10**17, 10**18 - 1):
        places = [(0, 0, "a.ome.tif", 0), (1, 0, "b.ome.tif", page)]
        write_set(tmp_path, planes, files, xml(describe(planes, places)))
        assert fails("info", tmp_path / "a.ome.tif").code == "E-OME-XML", page


def list_slides(folder):
    """The names of the slides that a command finds in the folder."""
    result = run("label", folder, "-o", folder / "masks/", "--channel", 1, "--window", "0,60000", "--overwrite", "--json").json
    return [pathlib.Path(each["slide"]).name for each in (result if isinstance(result, list) else [result])]


def test_a_folder_has_a_set_once(tmp_path):
    planes = draw(2)
    write_set(tmp_path, planes, {"b.ome.tif": [(0, 0)], "a.ome.tif": [(1, 0)]}, levels=2)
    write_pages(tmp_path / "c.ome.tif", [planes[0, 0]], xml(describe(planes[:1], [(0, 0, "c.ome.tif", 0)])), levels=2)
    assert list_slides(tmp_path) == ["a.ome.tif", "c.ome.tif"]
    # Files of one XML that show other images are slides by themselves.
    described = "".join(describe(planes[:1], [(0, 0, f"{name}.ome.tif", 0)]) for name in "de")
    for name in "de":
        write_pages(tmp_path / f"{name}.ome.tif", [planes[0, 0]], xml(described), levels=2)
    assert list_slides(tmp_path) == [f"{name}.ome.tif" for name in "acde"]


def test_a_folder_with_a_companion(tmp_path):
    planes = draw(2)
    binary = xml('<BinaryOnly MetadataFile="all.companion.ome" UUID="urn:uuid:all"/>')
    description = write_set(tmp_path, planes, {"p0.ome.tif": [(0, 0)], "p1.ome.tif": [(1, 0)]}, binary, 2)
    (tmp_path / "all.companion.ome").write_text(xml(description), encoding="utf-8")
    assert list_slides(tmp_path) == ["p0.ome.tif"]


def test_another_part_is_another_slide(tmp_path):
    """What was made of a set is not taken for that of one with another file."""
    planes = draw(2)
    files = {"a.ome.tif": [(0, 0)], "b.ome.tif": [(1, 0)]}
    write_set(tmp_path, planes, files)
    command = ["label", tmp_path / "a.ome.tif", "-o", tmp_path / "m.tif", "--channel", "c1", "--window", "0,60000", "--json"]
    run(*command)
    assert run(*command).json["skipped"]
    planes[1] = planes[1, :, ::-1, ::-1]
    write_set(tmp_path, planes, files)
    assert fails(*command).code == "E-OUTPUT-EXISTS"
    # The same holds where elements that name no file are of the file itself.
    named = describe(planes, [(0, 0, "c.ome.tif", 0), (1, 0, "d.ome.tif", 0)])
    alone = named.replace('<UUID FileName="c.ome.tif">urn:uuid:c.ome.tif</UUID>', "")
    write_set(tmp_path, planes, {"c.ome.tif": [(0, 0)], "d.ome.tif": [(1, 0)]}, xml(alone))
    command[1:4] = [tmp_path / "c.ome.tif", "-o", tmp_path / "n.tif"]
    run(*command)
    write_pages(tmp_path / "d.ome.tif", [planes[0, 0]], xml(alone))
    assert fails(*command).code == "E-OUTPUT-EXISTS"


def test_a_set_that_lacks_a_file_fails_in_a_folder(tmp_path):
    planes = draw(2)
    write_set(tmp_path, planes, {"a.ome.tif": [(0, 0)], "b.ome.tif": [(1, 0)]}, levels=2)
    write_pages(tmp_path / "c.ome.tif", [planes[0, 0]], xml(describe(planes[:1], [(0, 0, "c.ome.tif", 0)])), levels=2)
    (tmp_path / "a.ome.tif").unlink()
    told = run("convert", tmp_path, tmp_path / "out/", "--json", code=1)
    assert [each.get("error", {}).get("code") for each in told.json] == ["E-SLIDE-PARTS", None]


def test_a_companion_stands_for_files_that_do_not_point_to_it(tmp_path):
    planes = draw(2)
    places = [(0, 0, "p.tif", 0), (1, 0, "q.tif", 0)]
    for name, plane in (("p.tif", planes[0, 0]), ("q.tif", planes[1, 0])):
        write_pages(tmp_path / name, [plane], None, levels=2)
    (tmp_path / "all.companion.ome").write_text(xml(describe(planes, places)), encoding="utf-8")
    assert list_slides(tmp_path) == ["all.companion.ome"]


def test_a_copy_is_a_slide_by_itself(tmp_path):
    """What was made of a file with its XML has pixels of its own, also beside it."""
    planes = draw(2)
    said = xml(describe(planes[:1], [(0, 0, "b.ome.tif", 0)]))
    for number, name in enumerate(("a.ome.tif", "b.ome.tif")):
        write_pages(tmp_path / name, [planes[number, 0]], said, levels=2)
        assert numpy.array_equal(read(tmp_path / name, tmp_path)[0], planes[number, 0])
    (tmp_path / "out.ome.tif").unlink()
    assert list_slides(tmp_path) == ["a.ome.tif", "b.ome.tif"]


def test_a_tiff_that_has_the_description_of_others(tmp_path):
    planes = draw(2)
    binary = xml('<BinaryOnly MetadataFile="a.ome.tif" UUID="urn:uuid:a"/>')
    write_pages(tmp_path / "a.ome.tif", [planes[0, 0]], xml(describe(planes, [(0, 0, "a.ome.tif", 0), (1, 0, "b.ome.tif", 0)])))
    write_pages(tmp_path / "b.ome.tif", [planes[1, 0]], binary)
    for name in ("a.ome.tif", "b.ome.tif"):
        assert numpy.array_equal(read(tmp_path / name, tmp_path), planes[:, 0])


def test_a_mask_is_of_all_files(tmp_path):
    planes, mask, path = draw(2), tmp_path / "m.tif", tmp_path / "C0.ome.tif"
    write_set(tmp_path, planes, {f"C{c}.ome.tif": [(c, 0)] for c in range(2)})
    run("label", path, "-o", mask, "--preset", "rules", "--downsample", 2)
    run("measure", mask, "--slide", path, "-o", tmp_path / "m.csv")
    write_set(tmp_path, planes[::-1], {f"C{c}.ome.tif": [(c, 0)] for c in range(2)})
    assert fails("measure", mask, "--slide", path, "-o", tmp_path / "other.csv").code == "E-MASK-GRID"
