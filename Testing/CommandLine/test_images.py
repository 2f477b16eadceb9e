"""Which image of a TIFF is read: associated images, levels, channels, focal planes and further images.

Each file is written here by tifffile. The right value of a page is the constant that it is filled with."""

import shutil

import numpy
import openslide
import pytest
import tifffile

import vendor_slides
from conftest import fails, run, weights, write_slide
from tiff_pages import write_tiff

APERIO = "Aperio Image Library v12\r\n{0}x{1} [0,0,{0}x{1}] (64x64) JPEG/RGB Q=70|AppMag = 20|MPP = 0.5"
QPI = "<PerkinElmer-QPI-ImageDescription><ImageType>{}</ImageType><Name>{}</Name></PerkinElmer-QPI-ImageDescription>"


def page(size, value, text=None, kind=0, tiled=True, rgb=True, children=()):
    return dict(size=size, value=value, text=text, kind=kind, tiled=tiled, rgb=rgb, children=children)


def write(path, pages, big=False):
    """Pages of one value each. \\param pages page(): size is (width, height), kind is NewSubfileType"""
    with tifffile.TiffWriter(path, bigtiff=big) as file:

        def add(each, **options):
            (width, height), rgb = each["size"], each["rgb"]
            pixels = numpy.full((height, width, 3) if rgb else (height, width), each["value"], numpy.uint8)
            layout = {"tile": (64, 64)} if each["tiled"] else {"rowsperstrip": 16}
            file.write(pixels, photometric="rgb" if rgb else "minisblack", compression="zlib", subfiletype=each["kind"],
                       description=each["text"], metadata=None, **layout, **options)

        for each in pages:
            add(each, subifds=len(each["children"]) or None)
            for child in each["children"]:
                add(child)
    return path


def describe(path, *options):
    """Sizes of levels, associated images by name, and the rest of info."""
    info = run("info", path, "--json", *options).json
    info = info[0] if isinstance(info, list) else info
    levels = [(level["width"], level["height"]) for level in info["levels"]]
    return levels, {a["name"]: (a["width"], a["height"]) for a in info["associatedImages"]}, info


def values_of_levels(path, folder, *options):
    """Value of each page of the pyramid that convert writes; each page has to have one."""
    run("convert", path, folder / "out.tif", "--compression", "deflate", "--quiet", "--overwrite", *options)
    with tifffile.TiffFile(folder / "out.tif") as file:
        pages = [p.asarray() for top in file.pages for p in [top, *(top.pages or [])]]
    assert len({p.shape for p in pages}) == len(pages)
    values = [numpy.unique(p).tolist() for p in pages]
    assert all(len(v) == 1 for v in values), values
    return {v[0] for v in values}


BASE, QUARTER = (1024, 768), (256, 192)


def aperio(size, more="", name=None):
    return f"Aperio Image Library v12\r\n{name} {size[0]}x{size[1]}" if name else APERIO.format(*size) + more


@pytest.mark.parametrize("text, kind, size, name", [
    (True, 1, (125, 150), "label"),  # text, another aspect
    (True, 0, (125, 150), "label"),  # text alone
    (False, 1, (128, 96), "label"),  # NewSubfileType alone, with the aspect of a level
    (False, 9, (128, 96), "macro"),
    (True, 9, (640, 240), "macro"),
    (True, 1, (256, 300), "label"),  # as wide as a level
    (True, 1, (600, 500), "label"),  # larger than a level
    (False, 0, (125, 150), "page 4"),  # aspect alone
    (True, 1, (1200, 1600), "label"),  # larger than the slide
])
def test_tiled_associated_image_of_aperio(tmp_path, text, kind, size, name):
    said = aperio(size, name=name if text else None)
    pages = [page(BASE, 200, aperio(BASE)), page((128, 96), 10, aperio(BASE), tiled=False), page(QUARTER, 200, aperio(BASE)),
             page(size, 60, said, kind)]
    path = write(tmp_path / "a.svs", pages)
    levels, associated, info = describe(path)
    assert levels == [BASE, QUARTER]
    assert associated == {"thumbnail": (128, 96), name: size}
    assert len(info["images"]) == 1 and info["warnings"] == []
    assert values_of_levels(path, tmp_path) == {200}


def test_a_tiled_page_of_aperio_without_a_size_is_no_level(tmp_path):
    pages = [page(BASE, 200, aperio(BASE)), page((512, 384), 60, "Aperio Image Library v12\r\n"), page(QUARTER, 200, aperio(BASE))]
    path = write(tmp_path / "a.svs", pages)
    levels, associated, _ = describe(path)
    assert levels == [BASE, QUARTER] and associated == {"page 2": (512, 384)}
    assert values_of_levels(path, tmp_path) == {200}


@pytest.mark.parametrize("text", ["", APERIO.format(512, 384)])
def test_a_label_of_aperio_that_nothing_calls_so_shows_something_else(tmp_path, text):
    """It has the aspect, the tiles and the codec of a level."""
    half = (512, 384)
    label = write(tmp_path / "label.svs", [page(BASE, 200, aperio(BASE)), page(half, 60, text), page(QUARTER, 200, text)])
    levels, associated, info = describe(label)
    assert levels == [BASE, QUARTER] and associated == {"page 2": half} and info["warnings"] == []
    assert values_of_levels(label, tmp_path) == {200}
    level = write(tmp_path / "level.svs", [page(BASE, 200, aperio(BASE)), page(half, 195, text), page(QUARTER, 200, text)])
    assert describe(level)[:2] == ([BASE, half, QUARTER], {})


def test_levels_of_aperio_that_are_picked_pixels_stay_levels(tmp_path):
    random = numpy.random.default_rng(2)
    pixels = random.integers(0, 256, (768, 1024, 3), numpy.uint8)
    pixels[200:500, 300:700] //= 4
    tags = lambda text: {270: (2, text.encode() + b"\0")}
    pages = [{"pixels": pixels[::step, ::step], "tags": tags(aperio(BASE) if step == 1 else ""), "tile": (64, 64)} for step in (1, 2, 8)]
    write_tiff(tmp_path / "a.svs", *pages)
    assert describe(tmp_path / "a.svs")[:2] == ([BASE, (512, 384), (128, 96)], {})


@pytest.mark.parametrize("first", [page((320, 120), 9), page((320, 120), 9, "macro", 9, tiled=False), page((320, 120), 9, tiled=False)])
def test_text_of_aperio_behind_a_page_of_another_program(tmp_path, first):
    """As OpenSlide reads the same pages without the first one."""
    pages = [page(BASE, 200, aperio(BASE)), page(QUARTER, 200, aperio(QUARTER)), page((90, 60), 9, aperio((90, 60), name="label"), 1, tiled=False)]
    reader = openslide.OpenSlide(write(tmp_path / "alone.svs", pages))
    levels, associated, info = describe(write(tmp_path / "a.svs", [first, *pages]))
    assert levels == list(reader.level_dimensions) and "label" in associated
    assert (info["mppX"], info["mppY"]) == (float(reader.properties["openslide.mpp-x"]), float(reader.properties["openslide.mpp-y"]))
    assert info["vendor"] == reader.properties["openslide.vendor"]


@pytest.mark.parametrize("what", ["level", "label", "macro"])
def test_a_page_whose_compression_is_not_decoded_is_warned_of(tmp_path, what):
    """Without it a level is missing, or a label that is to be kept."""
    random = numpy.random.default_rng(1)
    sizes = {"base": BASE, "half": (512, 384), "level": QUARTER, "label": (90, 60), "macro": (160, 60)}
    pages = []
    for name, (width, height) in sizes.items():
        text = aperio((width, height), name=name if name in ("label", "macro") else None)
        tags = {254: (4, [{"label": 1, "macro": 9}.get(name, 0)]), 270: (2, text.encode() + b"\0")}
        pixels = random.integers(0, 255, (height, width, 3), numpy.uint8)
        tile = height if name in ("label", "macro") else (64, 64)
        pages.append({"pixels": pixels, "tags": tags, "tile": tile})
        if name == what:
            pages[-1].update(compression=50002, encode=lambda data: b"\xff\x0a" + data[:100])
    write_tiff(tmp_path / "a.svs", *pages)
    levels, associated, info = describe(tmp_path / "a.svs")
    assert levels == [size for name, size in sizes.items() if name in ("base", "half", "level") and name != what]
    assert associated == {name: sizes[name] for name in ("label", "macro") if name != what}
    written = run("convert", tmp_path / "a.svs", tmp_path / "out.tif", "--keep-label", "--json").json
    assert sorted(written["associated"]) == sorted(associated)
    for result in (info, written):
        found = [w for w in result["warnings"] if w["code"] == "W-SLIDE-CODEC"]
        assert [(w["file"], w["value"]) for w in found] == [(str(tmp_path / "a.svs"), "JPEG XL")]


@pytest.mark.parametrize("tag", [269, 270, 285], ids=["DocumentName", "ImageDescription", "PageName"])
@pytest.mark.parametrize("where", ["page", "child", "svs"])
def test_tags_that_name_a_label(tmp_path, tag, where):
    path = tmp_path / ("a.svs" if where == "svs" else "a.tif")
    with tifffile.TiffWriter(path) as file:

        def add(size, value, text=None, **options):
            tags = [(270, 2, 0, aperio(BASE), True)] if where == "svs" and not text else [(tag, 2, 0, text, True)] if text else []
            pixels = numpy.full((size[1], size[0], 3), value, numpy.uint8)
            file.write(pixels, photometric="rgb", tile=(64, 64), metadata=None, extratags=tags, **options)

        add(BASE, 200, subifds=2 if where == "child" else None)
        add((512, 384), 60, "Label image", subfiletype=int(where != "svs"))
        add(QUARTER, 200, subfiletype=int(where != "svs"))
    levels, associated, _ = describe(path)
    assert levels == [BASE, QUARTER] and associated == {"label": (512, 384)}
    assert values_of_levels(path, tmp_path) == {200}


def test_tiled_thumbnail_of_aperio(tmp_path):
    pages = [page(BASE, 200, aperio(BASE)), page((128, 96), 10, aperio(BASE)), page(QUARTER, 200, aperio(BASE))]
    levels, associated, _ = describe(write(tmp_path / "a.svs", pages, big=True))
    assert levels == [BASE, QUARTER] and associated == {"thumbnail": (128, 96)}


def test_levels_marked_as_reduced_in_a_file_with_aperios_text(tmp_path):
    pages = [page(BASE, 200, aperio(BASE)), page((512, 384), 200, aperio(BASE), 1), page(QUARTER, 200, aperio(BASE), 1)]
    levels, associated, _ = describe(write(tmp_path / "a.svs", pages))
    assert levels == [BASE, (512, 384), QUARTER] and associated == {}


@pytest.mark.parametrize("offsets", [(0, 1, 2), (-1, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("by_plane", [True, False])
def test_focal_planes_of_aperio(tmp_path, offsets, by_plane):
    def of(size):
        return [page(size, 100 + o, aperio(size, f"|OffsetZ = {o}.0")) for o in offsets]

    large, small = of(BASE), of(QUARTER)
    pages = [p for pair in zip(large, small) for p in pair] if by_plane else large + small
    path = write(tmp_path / "z.svs", pages)
    levels, _, info = describe(path)
    assert levels == [BASE, QUARTER]
    assert [i["read"] for i in info["images"]] == [o == 0 for o in offsets]
    assert [w["code"] for w in info["warnings"]] == ["W-SLIDE-PLANES"]
    assert values_of_levels(path, tmp_path) == {100}
    assert values_of_levels(path, tmp_path, "--image", 1) == {100 + offsets[0]}
    assert values_of_levels(path, tmp_path, "--image", "OffsetZ 1.0") == {101}
    for number, offset in enumerate(sorted(offsets), 1):
        assert values_of_levels(path, tmp_path, "--plane", number) == {100 + offset}
        assert describe(path, "--plane", number)[2]["focalPlanes"] == {"read": number, "count": 3, "spacingUm": 1.0}
    assert values_of_levels(path, tmp_path, "--plane", "middle") == {100 + sorted(offsets)[1]}


def test_channels_of_qptiff(tmp_path):
    names = ["DAPI", "CD3", "CD8"]
    pages = [page(BASE, 10 * i, QPI.format("FullResolution", n), rgb=False) for i, n in enumerate(names, 1)]
    pages += [page((128, 96), 99, QPI.format("Thumbnail", ""), tiled=False)]
    for size in ((512, 384), QUARTER):
        pages += [page(size, 10 * i, QPI.format("ReducedResolution", n), 1, rgb=False) for i, n in enumerate(names, 1)]
    pages += [page((300, 600), 98, QPI.format("Overview", "")), page((200, 150), 97, QPI.format("Label", ""))]
    path = write(tmp_path / "c.qptiff", pages)
    levels, associated, info = describe(path)
    assert levels == [BASE, (512, 384), QUARTER]
    assert info["channels"] == 3 and info["channelNames"] == names
    assert associated == {"thumbnail": (128, 96), "overview": (300, 600), "label": (200, 150)}
    assert [values_of_levels(path, tmp_path, "--channel", name) for name in names] == [{10}, {20}, {30}]


def test_two_pyramids(tmp_path):
    """Reduced pages belong to the image before them; page sizes of both are the same."""
    pages = [page(BASE, 1), page((512, 384), 1, kind=1), page(BASE, 2), page((512, 384), 2, kind=1), page(QUARTER, 2, kind=1)]
    path = write(tmp_path / "two.tif", pages)
    assert describe(path)[0] == [BASE, (512, 384)]
    assert describe(path, "--image", 2)[0] == [BASE, (512, 384), QUARTER]
    assert values_of_levels(path, tmp_path) == {1}
    assert values_of_levels(path, tmp_path, "--image", 2) == {2}
    refused = fails("info", path, "--image", "3")
    assert refused.code == "E-SLIDE-IMAGE" and refused.file == str(path) and refused.value == "3"


def test_channels_on_pages_before_their_reductions(tmp_path):
    pages = [page(BASE, 10 * i, rgb=False) for i in (1, 2, 3)]
    for size in ((512, 384), QUARTER):
        pages += [page(size, 10 * i, kind=1, rgb=False) for i in (1, 2, 3)]
    path = write(tmp_path / "c.tif", pages)
    levels, _, info = describe(path)
    assert levels == [BASE, (512, 384), QUARTER] and len(info["images"]) == 3
    for number in (1, 2, 3):
        assert values_of_levels(path, tmp_path, "--image", number) == {10 * number}


def test_second_image_is_the_largest(tmp_path):
    small = (400, 300)
    path = write(tmp_path / "s.tif", [page(small, 1), page((200, 150), 1, kind=1), page(BASE, 2), page((512, 384), 2, kind=1)])
    levels, _, info = describe(path)
    assert levels == [BASE, (512, 384)] and [i["read"] for i in info["images"]] == [False, True]
    assert values_of_levels(path, tmp_path) == {2}
    assert describe(path, "--image", 1)[0] == [small, (200, 150)]


def test_pages_of_another_aspect_are_no_levels(tmp_path):
    path = write(tmp_path / "a.tif", [page(BASE, 1), page((256, 256), 2), page((192, 256), 3, kind=1)])
    levels, associated, info = describe(path)
    assert levels == [BASE] and list(associated.values()) == [(192, 256)]
    assert [(i["width"], i["height"]) for i in info["images"]] == [BASE, (256, 256)]


def test_thumbnail_first(tmp_path):
    for tiled in (True, False):
        pages = [page((128, 96), 1, tiled=tiled), page(BASE, 2), page((512, 384), 2, kind=1)]
        levels, associated, info = describe(write(tmp_path / f"t{tiled}.tif", pages))
        assert levels == [BASE, (512, 384)] and associated == {"thumbnail": (128, 96)} and info["warnings"] == []


def test_unmarked_levels_and_children(tmp_path):
    sizes = [(1000, 700), (500, 350), (250, 175), (125, 88)]
    assert describe(write(tmp_path / "u.tif", [page(s, 1) for s in sizes]))[0] == sizes
    children = [page(s, 1, kind=1) for s in sizes[1:]]
    path = write(tmp_path / "c.tif", [page((90, 60), 3, "macro", tiled=False), page(sizes[0], 1, children=children)])
    levels, associated, _ = describe(path)
    assert levels == sizes and associated == {"macro": (90, 60)}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kind", [1, 9])
def test_a_marked_label_or_macro_says_nothing_of_levels(tmp_path, kind, first):
    levels, other = [page(size, 1) for size in (BASE, (512, 384), QUARTER)], page((1000, 340), 2, kind=kind, tiled=False)
    path = write(tmp_path / "m.tif", [other, *levels] if first else [*levels, other])
    found, associated, info = describe(path)
    assert found == [BASE, (512, 384), QUARTER] and list(associated.values()) == [(1000, 340)] and info["warnings"] == []


@pytest.mark.parametrize("sizes", [(BASE, (512, 384), QUARTER), ((128, 96), BASE), ((128, 96), QUARTER, BASE), (BASE, BASE)])
def test_pages_of_a_document_are_images(tmp_path, sizes):
    """NewSubfileType 2 says: one page of several. Page 2 is no level, plane or thumbnail of page 1."""
    path = write(tmp_path / "a.tif", [page(size, 100 + 50 * i, kind=2) for i, size in enumerate(sizes)])
    main = sizes.index(BASE)
    levels, associated, info = describe(path)
    assert (levels, associated) == ([BASE], {})
    assert [(each["width"], each["height"], each["read"]) for each in info["images"]] == [(*s, i == main) for i, s in enumerate(sizes)]
    assert values_of_levels(path, tmp_path) == {100 + 50 * main}
    assert values_of_levels(path, tmp_path, "--image", 1) == {100}


def test_reduced_pages_of_a_document_are_levels(tmp_path):
    path = write(tmp_path / "a.tif", [page(BASE, 100, kind=2), page(QUARTER, 100, kind=3), page((512, 384), 200, kind=2)])
    levels, associated, info = describe(path)
    assert levels == [BASE, QUARTER] and not associated and len(info["images"]) == 2


def test_text_of_a_mask_of_labels_is_no_name(tmp_path):
    path = write(tmp_path / "l.tif", [page(BASE, 1, "label", rgb=False), page((512, 384), 1, "label", 1, rgb=False)])
    assert describe(path)[:2] == ([BASE, (512, 384)], {})


def ome(*images, files=("a.ome.tif",)):
    """OME-XML. \\param images (name, size, samples, depths, times, IFD)"""
    text = '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
    for name, (width, height), samples, depths, times, ifd in images:
        text += (f'<Image Name="{name}"><Pixels Type="uint8" SizeX="{width}" SizeY="{height}" SizeC="{samples}" SizeZ="{depths}" '
                 f'SizeT="{times}" PhysicalSizeX="0.5" PhysicalSizeY="0.5"><Channel SamplesPerPixel="{samples}"/>')
        for i, file in enumerate(files):
            text += f'<TiffData IFD="{ifd}" FirstC="{i}" PlaneCount="1"><UUID FileName="{file}">urn:uuid:{i}</UUID></TiffData>'
        text += "</Pixels></Image>"
    return text + "</OME>"


@pytest.mark.parametrize("order", [("label", "slide", "macro image"), ("slide", "label", "macro image"), ("macro image", "label", "slide")])
def test_associated_images_of_ome(tmp_path, order):
    known = {"slide": BASE, "label": (100, 120), "macro image": (300, 100)}
    xml = ome(*[(n, known[n], 3, 1, 1, i) for i, n in enumerate(order)])
    half = [page((512, 384), 5, kind=1)]
    pages = [page(known[n], 5 if n == "slide" else 9, xml if i == 0 else None, tiled=n == "slide", children=half if n == "slide" else ())
             for i, n in enumerate(order)]
    path = write(tmp_path / "a.ome.tif", pages)
    levels, associated, info = describe(path)
    assert levels == [BASE, (512, 384)] and info["mpp"] == 0.5
    assert associated == {"label": (100, 120), "macro": (300, 100)} and len(info["images"]) == 1
    assert values_of_levels(path, tmp_path) == {5}


def test_further_image_of_ome(tmp_path):
    xml = ome(("first", (400, 300), 3, 1, 1, 0), ("second", BASE, 3, 1, 1, 1))
    path = write(tmp_path / "a.ome.tif", [page((400, 300), 1, xml), page(BASE, 2)])
    levels, _, info = describe(path)
    assert levels == [BASE] and [(i["name"], i["read"]) for i in info["images"]] == [("first", False), ("second", True)]
    assert describe(path, "--image", "first")[0] == [(400, 300)]


def write_stack(path, axes, planes, levels=True):
    """An OME-TIFF of focal planes that tifffile writes, each page with a level as its SubIFD. \\param planes in the order ZCYX"""
    order = [("ZC".index(axis), axis) for axis in axes if axis in "ZC"]
    stored = planes if order[0][1] == "Z" else planes.swapaxes(0, 1)
    stored = stored if len(order) == 2 else planes[:, 0]
    options = dict(tile=(64, 64), photometric="minisblack")
    with tifffile.TiffWriter(path, ome=True) as file:
        metadata = {"axes": axes, "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 0.75, "PhysicalSizeZUnit": "µm"}
        file.write(stored, subifds=int(levels), metadata=metadata, **options)
        if levels:
            file.write(stored[..., ::2, ::2], subfiletype=1, **options)
    return path


@pytest.mark.parametrize("axes", ["ZYX", "ZCYX", "CZYX"])
def test_focal_planes_of_ome(tmp_path, axes):
    planes = numpy.random.default_rng(1).integers(0, 65536, (4, 2 if "C" in axes else 1, 300, 400), numpy.uint16)
    path = write_stack(tmp_path / "stack.ome.tif", axes, planes)
    info = run("info", path, "--json").json
    assert info["focalPlanes"] == {"read": 2, "count": 4, "spacingUm": 0.75}
    assert [(i["name"], i["read"]) for i in info["images"]] == [(f"plane {n}", n == 2) for n in (1, 2, 3, 4)]
    assert (info["channels"], len(info["levels"]), info["mpp"]) == (planes.shape[1], 2, 0.5)
    assert [w["code"] for w in info["warnings"]] == ["W-SLIDE-PLANES"]
    for number, *words in [(2,), (2, "--plane", "middle"), *[(n, "--image", f"plane {n}") for n in (1, 2, 3, 4)], (4, "--image", 4)]:
        for channel in range(planes.shape[1]):
            options = words + (["--channel", channel + 1] if "C" in axes else [])
            run("convert", path, tmp_path / "o.tif", "--overwrite", *options)
            assert numpy.array_equal(tifffile.imread(tmp_path / "o.tif", key=0), planes[number - 1, channel]), (words, channel)
    assert fails("info", path, "--image", "plane 5").code == fails("info", path, "--image", "plane 0").code == "E-SLIDE-IMAGE"


def test_focal_planes_of_imagej(tmp_path):
    planes = numpy.random.default_rng(1).integers(0, 256, (5, 300, 400), numpy.uint8)
    metadata = {"axes": "ZYX", "spacing": 1.5, "unit": "um"}
    tifffile.imwrite(tmp_path / "s.tif", planes, imagej=True, resolution=(2, 2), metadata=metadata)
    info = run("info", tmp_path / "s.tif", "--json").json
    assert info["focalPlanes"] == {"read": 3, "count": 5, "spacingUm": 1.5} and info["mpp"] == 0.5
    for number, *words in [(3,), (1, "--image", "plane 1"), (5, "--image", 5), (3, "--plane", "middle")]:
        run("convert", tmp_path / "s.tif", tmp_path / "o.tif", "--overwrite", *words)
        assert numpy.array_equal(tifffile.imread(tmp_path / "o.tif", key=0), planes[number - 1])


@pytest.mark.parametrize(
    "change, code",
    [
        (('SizeZ="3"', 'SizeZ="30000000000"'), "E-SLIDE-PLANES"),
        (('SizeZ="3"', 'SizeZ="4"'), "E-SLIDE-PLANES"),
        (('SizeT="1"', 'SizeT="3"'), "E-SLIDE-PLANES"),
        (('IFD="2"', 'IFD="1"'), "E-OME-XML"),
    ],
)
def test_stacks_that_contradict_their_pages(tmp_path, change, code):
    xml = ome(("x", BASE, 3, 3, 1, 0)).replace("</Pixels>", '<TiffData IFD="1" FirstZ="1"/><TiffData IFD="2" FirstZ="2"/></Pixels>')
    xml = xml.replace("<UUID FileName=\"a.ome.tif\">urn:uuid:0</UUID>", "")
    path = write(tmp_path / "a.ome.tif", [page(BASE, n, text) for n, text in ((1, xml), (2, None), (3, None))])
    assert values_of_levels(path, tmp_path, "--image", "plane 3") == {3}
    path = write(tmp_path / "b.ome.tif", [page(BASE, n, text) for n, text in ((1, xml.replace(*change)), (2, None), (3, None))])
    for command in (["info", path], ["label", path, "-o", tmp_path / "m.tif"]):
        assert fails(*command).code == code


def test_ome_with_several_channels_of_colors_is_refused_as_such(tmp_path):
    path = tmp_path / "a.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(numpy.zeros((2, 96, 128, 3), numpy.uint8), photometric="rgb", tile=(64, 64), metadata={"axes": "CYXS"})
    for command in (["info", path], ["label", path, "-o", tmp_path / "m.tif"]):
        error = fails(*command)
        assert (error.code, error.file) == ("E-SLIDE-CHANNELS", str(path))


def test_ome_in_several_files_names_them(tmp_path):
    path = write(tmp_path / "a.ome.tif", [page(BASE, 1, ome(("x", BASE, 2, 1, 1, 0), files=("a.ome.tif", "b.ome.tif")), rgb=False)])
    refused = fails("info", path)
    assert refused.code == "E-SLIDE-PARTS" and "b.ome.tif" in refused.why


def test_overviews_of_other_files_are_refused(tmp_path):
    data = tmp_path / "_s_" / "stack1"
    data.mkdir(parents=True)
    (data / "frame_t.ets").write_bytes(b"SIS\0")
    path = write(tmp_path / "s.vsi", [page((256, 192), 1)])
    for command in (["info", path], ["label", path, "-o", tmp_path / "m.tif"]):
        refused = fails(*command)
        assert refused.code == "E-SLIDE-OVERVIEW" and "_s_/stack1/frame_t.ets" in refused.why
    shutil.rmtree(data)
    for _ in range(2):  # with an empty folder, then without it
        for command in (["info", path], ["convert", path, tmp_path / "o.tif"]):
            refused = fails(*command)
            assert (refused.code, refused.file) == ("E-SLIDE-PARTS", str(path)) and "_s_" in refused.why
        shutil.rmtree(data.parent, ignore_errors=True)
    # A TIFF of this name was exported from the VSI: it has its own pixels.
    assert describe(write(tmp_path / "s.tif", [page((256, 192), 1)]))[0] == [(256, 192)]
    path = tmp_path / "s.afi"
    path.write_text("<ImageList><Image><Path>s_DAPI.svs</Path></Image></ImageList>")
    refused = fails("info", path)
    assert refused.code == "E-SLIDE-OVERVIEW" and "s_DAPI.svs" in refused.why


def test_files_that_name_others(tmp_path):
    for files in (vendor_slides.vms(), vendor_slides.vmu()):
        path = vendor_slides.write(files, tmp_path)
        for missing in [name for name in files if name != path.name and "macro" not in name]:
            (tmp_path / missing).unlink()
            refused = fails("info", path)
            assert (refused.code, refused.file) == ("E-SLIDE-PARTS", str(path)) and missing in refused.why
            (tmp_path / missing).write_bytes(files[missing])


def test_ome_with_one_part_elsewhere(tmp_path):
    """Elements without a name are of this file, those with one are not."""
    xml = ome(("x", BASE, 2, 1, 1, 0), files=("", "b.ome.tif")).replace('<UUID FileName="">urn:uuid:0</UUID>', "")
    refused = fails("info", write(tmp_path / "a.ome.tif", [page(BASE, 1, xml, rgb=False)]))
    assert refused.code == "E-SLIDE-PARTS" and "b.ome.tif" in refused.why
    xml = ome(("x", BASE, 1, 1, 1, 0), files=("old name.ome.tif",))
    assert describe(write(tmp_path / "a.ome.tif", [page(BASE, 1, xml, rgb=False)]))[0] == [BASE]


@pytest.mark.parametrize("offsets", [(0, 1000, -1000), (-1000, 500, 2000)])
def test_focal_planes_of_hamamatsu(tmp_path, offsets):
    (name, content), *_ = vendor_slides.ndpi(planes=offsets).items()
    path = tmp_path / name
    path.write_bytes(content)
    levels, associated, info = describe(path)
    assert levels[0] == (256, 128) and len(set(levels)) == len(levels) and "macro" in associated
    order = sorted(offsets)
    chosen = min(range(3), key=lambda i: abs(order[i]))
    assert [(i["name"], i["read"]) for i in info["images"]] == [(f"ZOffset {o}", n == chosen) for n, o in enumerate(order)]
    assert [w["code"] for w in info["warnings"]] == ["W-SLIDE-PLANES"]
    assert info["focalPlanes"]["spacingUm"] == (order[1] - order[0]) / 1000

    def pixels(*options):
        run("convert", path, tmp_path / "o.tif", "--compression", "deflate", "--quiet", "--overwrite", *options)
        return tifffile.imread(tmp_path / "o.tif", key=0)

    alone = {}
    for offset in offsets:
        path.write_bytes(vendor_slides.ndpi(planes=(offset,))[name])
        alone[offset] = pixels()
    path.write_bytes(content)
    assert numpy.array_equal(pixels(), alone[order[chosen]])
    for number, offset in enumerate(order, 1):
        assert numpy.array_equal(pixels("--image", number), alone[offset])
        assert numpy.array_equal(pixels("--image", f"ZOffset {offset}"), alone[offset])
        assert numpy.array_equal(pixels("--plane", number), alone[offset])
    assert numpy.array_equal(pixels("--plane", "middle"), alone[order[1]])
    assert fails("info", path, "--image", 4).code == "E-SLIDE-IMAGE"


def test_focal_planes_of_leica(tmp_path):
    def stack(xml):
        return xml.replace('<dimension r="1" ifd="2" ', '<dimension r="0" z="1" ifd="1" sizeX="128" sizeY="128"/><dimension r="1" ifd="2" ')

    path = vendor_slides.write(vendor_slides.leica(stack), tmp_path)
    _, _, info = describe(path)
    assert [(i["name"], i["read"]) for i in info["images"]] == [("z 0", True), ("z 1", False)]
    assert [(w["code"], w["value"]) for w in info["warnings"]] == [("W-SLIDE-PLANES", "1 of 2")]
    assert info["focalPlanes"] == {"read": 1, "count": 2, "spacingUm": None}
    refused = fails("info", path, "--image", 2)
    assert (refused.code, refused.option) == ("E-SLIDE-PLANES", "--image")
    assert describe(vendor_slides.write(vendor_slides.leica(), tmp_path))[2]["warnings"] == []


def test_channels_of_leica_are_named(tmp_path):
    """Slides of fluorescence are refused."""
    channels = "".join(f'<channel index="{i}" name="{name}"/>' for i, name in enumerate(("405|Empty", "L5|Empty")))
    dimensions = "".join(f'<dimension sizeX="1024" sizeY="768" r="0" c="{i}" ifd="{i}"/>' for i in range(2))
    xml = f"""<?xml version="1.0"?><scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01"><collection name="c" sizeX="2000000"
sizeY="3000000"><image name="i" uuid="u"><pixels sizeX="1024" sizeY="768">{dimensions}</pixels><view sizeX="512000" sizeY="384000"
offsetX="100000" offsetY="200000"/><scanSettings><objectiveSettings><objective>20</objective></objectiveSettings>
<channelSettings>{channels}</channelSettings><illuminationSettings><illuminationSource>fluorescence</illuminationSource>
</illuminationSettings></scanSettings></image></collection></scn>"""
    path = tmp_path / "a.scn"
    write(path, [page(BASE, 50, xml, rgb=False), page(BASE, 90, rgb=False)])
    error = fails("info", path)
    assert (error.code, error.file, error.value) == ("E-SLIDE-CHANNELS", str(path), "2 channels, 405|Empty, L5|Empty")


def test_a_file_of_one_image_has_number_1(tmp_path):
    path = write(tmp_path / "one.tif", [page(BASE, 7)])
    assert describe(path, "--image", 1)[0] == [BASE]
    refused = fails("info", path, "--image", "x")
    assert refused.code == "E-SLIDE-IMAGE" and refused.value == "x"


def test_another_image_is_another_output(tmp_path):
    """An output of one image is not kept for another one."""
    path = write(tmp_path / "two.tif", [page(BASE, 1), page(BASE, 2)])
    run("convert", path, tmp_path / "o.tif", "--quiet")
    whole = (tmp_path / "o.tif").read_bytes()
    assert fails("convert", path, tmp_path / "o.tif", "--image", 2)
    assert (tmp_path / "o.tif").read_bytes() == whole


@pytest.fixture(scope="module")
def two_images(tmp_path_factory):
    """A file of two images of the same size, both as files of their own, and the object in the second."""
    folder = tmp_path_factory.mktemp("two")
    y, x = numpy.mgrid[:600, :800]
    inside = (x - 350) ** 2 + (y - 300) ** 2 < 200**2
    noise = [numpy.random.default_rng(seed).integers(0, 32, (600, 800, 3), numpy.uint8) for seed in (1, 2)]
    images = [numpy.where(each[..., None], numpy.uint8([200, 80, 140]), numpy.uint8(215)) + grain for each, grain in zip((~inside, inside), noise)]
    with tifffile.TiffWriter(folder / "two.tif") as file:
        for pixels in images:
            file.write(pixels, tile=(128, 128), compression="zlib", photometric="rgb", resolution=(20000,) * 2, resolutionunit="CENTIMETER")
    alone = [write_slide(folder / f"{number}.tif", pixels) for number, pixels in enumerate(images, 1)]
    return folder / "two.tif", alone, write_slide(folder / "truth.tif", inside.astype(numpy.uint8) * 255)


def train(slide, truth, run_folder, *options):
    """The words of a training on one slide; \\param truth a mask, or a label, where a copy has another one"""
    network, table = ("remedios2023", "mask") if str(truth).endswith(".tif") else ("resnet18:width=2", "label")
    cohort = run_folder.with_suffix(".csv")
    rows = [f"{slide},{truth},train"]
    if table == "label":
        rows.append(f"{shutil.copy(slide, run_folder.with_suffix('.tif'))},other,train")
    cohort.write_text("\n".join([f"slide,{table},split", *rows, ""]))
    return ["train", "--cohort", cohort, "--network", network, "--epochs", 1, "--tile-size", 512, "-o", run_folder, *options]


@pytest.mark.parametrize("options", [(), ("--mpp", 1.3), ("--memory", "2G")], ids=str)
def test_the_image_is_trained_on(tmp_path, network, two_images, options):
    path, alone, truth = two_images
    made = {}
    for name, slide, image in (("first", path, ["--image", 1]), ("second", path, ["--image", 2]), ("expected", alone[1], [])):
        run(*train(slide, truth, tmp_path / name, *image, *options))
        made[name] = weights(tmp_path / name)
    assert made["second"] == made["expected"] != made["first"]
    refused = fails(*train(path, truth, tmp_path / "third", "--image", 3, *options))
    assert (refused.code, refused.file, refused.value) == ("E-SLIDE-IMAGE", str(path), "3")


def test_a_run_of_one_image_does_not_go_on_with_another(tmp_path, network, two_images):
    path, _, truth = two_images
    run(*train(path, truth, tmp_path / "run", "--image", 2))
    before = weights(tmp_path / "run")
    assert fails(*train(path, truth, tmp_path / "run", "--image", 1, "--resume"))
    assert weights(tmp_path / "run") == before
    run(*train(path, truth, tmp_path / "run", "--image", 2, "--resume"))


def test_tissue_is_that_of_the_image(tmp_path, network, two_images):
    path, alone, truth = two_images
    for slide, name, options in ((path, "tissue", ["--image", 2]), (alone[1], "expected", [])):
        run("label", slide, "-o", tmp_path / f"{name}.tif", *options)
        run(*train(slide, truth, tmp_path / name, *options, "--tissue", tmp_path / f"{name}.tif"))
    assert weights(tmp_path / "tissue") == weights(tmp_path / "expected")
    refused = fails(*train(path, truth, tmp_path / "other", "--image", 1, "--tissue", tmp_path / "tissue.tif"))
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(tmp_path / "tissue.tif"))


def test_the_image_is_classified(tmp_path, network, two_images):
    h5py = pytest.importorskip("h5py")
    path, alone, _ = two_images
    run(*train(path, "one", tmp_path / "run", "--image", 2))
    run(*train(alone[1], "one", tmp_path / "expected"))
    assert weights(tmp_path / "run") == weights(tmp_path / "expected")

    def results(slide, name, *options):
        """Of classify and features."""
        run("classify", slide, "--model", tmp_path / "run", "-o", tmp_path / f"{name}.csv", *options)
        run("features", slide, "--model", tmp_path / "run", "-o", tmp_path / f"{name}.h5", *options)
        with h5py.File(tmp_path / f"{name}.h5") as file:
            features = file["features"][()].tolist()
        return (tmp_path / f"{name}.csv").read_text().splitlines()[1].split(",")[1:], features

    expected = [results(slide, slide.stem) for slide in alone]
    for number in (1, 2):
        made = results(path, f"image{number}", "--image", number)
        assert [a == b for a, b in zip(made, expected[number - 1])] == [True, True]
        assert [a == b for a, b in zip(made, expected[2 - number])] == [False, False]
