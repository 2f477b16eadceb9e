# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Slides of vendors' formats in a few kB each, as OpenSlide's drivers describe them. Each function gives the files by their
names, the one to be opened first; `edit` changes the text that describes the slide before it is packed (Slidedat.ini, the
.vms or .vmu, the XML or the description of a TIFF)."""

import io
import sqlite3
import struct

import numpy
import tifffile


def draw(height, width, seed=1):
    """Blocks of one color each, Y, Cb and Cr, none of them near an end of its range."""
    random = numpy.random.default_rng(seed)
    luma = random.integers(90, 180, (height, width, 1), numpy.uint8)
    chroma = random.integers(120, 137, (height, width, 2), numpy.uint8)
    return numpy.concatenate([luma, chroma], axis=2)


def encode_jpeg(blocks, interval=0):
    """A baseline JPEG stream of flat blocks of 8 x 8 pixels. Their coefficients are quantized by 8, so that of a block just
    one is left: its value less 128. \\param interval blocks between two restart markers; 0: none
    \\return the stream, and where in it each interval begins"""
    height, width, samples = blocks.shape

    def segment(marker, data):
        return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data

    components = b"".join(bytes([i + 1, 0x11, 0]) for i in range(samples))
    scan = b"".join(bytes([i + 1, 0]) for i in range(samples))
    header = b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0") + segment(0xDB, b"\0" + b"\x08" * 64)
    header += segment(0xC0, struct.pack(">BHHB", 8, height * 8, width * 8, samples) + components)
    header += segment(0xC4, b"\0" + bytes([0, 0, 0, 9] + [0] * 12) + bytes(range(9)))  # nine categories, 4 bits each
    header += segment(0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\0")  # the end of a block, 1 bit
    header += segment(0xDD, struct.pack(">H", interval)) if interval else b""
    header += segment(0xDA, bytes([samples]) + scan + bytes([0, 63, 0]))
    stream, starts = header, []
    flat = blocks.reshape(-1, samples).astype(int) - 128
    step = interval or len(flat)
    for number, first in enumerate(range(0, len(flat), step)):
        starts.append(len(stream))
        differences = numpy.diff(flat[first : first + step], axis=0, prepend=0).reshape(-1)
        bits = ""
        for value in differences.tolist():
            size = abs(value).bit_length()
            bits += f"{size:04b}" + (f"{value if value > 0 else value + (1 << size) - 1:0{size}b}" if size else "") + "0"
        bits += "1" * (-len(bits) % 8)
        data = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")
        last = first + step >= len(flat)
        stream += data + (b"\xff\xd9" if last else bytes([0xFF, 0xD0 + number % 8]))
    return stream, starts


def no_edit(text):
    return text


def mirax(edit=no_edit):
    """4 x 3 images of 64 x 64 pixels, and 2 x 2 of half the resolution."""
    across, down, side, identity = 4, 3, 8, "0123456789ABCDEF"
    sections = ""
    for level, overlap in enumerate((0, 0)):
        sections += f"""[LAYER_0_LEVEL_{level}_SECTION]
OVERLAP_X={overlap}
OVERLAP_Y={overlap}
MICROMETER_PER_PIXEL_X=0.{25 * 2**level}
MICROMETER_PER_PIXEL_Y=0.{25 * 2**level}
IMAGE_FORMAT=JPEG
IMAGE_FILL_COLOR_BGR=16777215
DIGITIZER_WIDTH={8 * side}
DIGITIZER_HEIGHT={8 * side}
IMAGE_CONCAT_FACTOR={level}
"""
    slidedat = edit(
        f"""[GENERAL]
SLIDE_VERSION=01.02
SLIDE_ID={identity}
IMAGENUMBER_X={across}
IMAGENUMBER_Y={down}
OBJECTIVE_MAGNIFICATION=20
CameraImageDivisionsPerSide=1
[HIERARCHICAL]
HIER_COUNT=1
NONHIER_COUNT=2
INDEXFILE=Index.dat
HIER_0_NAME=Slide zoom level
HIER_0_COUNT=2
HIER_0_VAL_0=ZoomLevel_0
HIER_0_VAL_0_SECTION=LAYER_0_LEVEL_0_SECTION
HIER_0_VAL_1=ZoomLevel_1
HIER_0_VAL_1_SECTION=LAYER_0_LEVEL_1_SECTION
NONHIER_0_NAME=VIMSLIDE_POSITION_BUFFER
NONHIER_0_COUNT=1
NONHIER_0_VAL_0=default
NONHIER_0_VAL_0_SECTION=NONHIERLAYER_0_SECTION
NONHIER_1_NAME=Scan data layer
NONHIER_1_COUNT=1
NONHIER_1_VAL_0=ScanDataLayer_SlideThumbnail
NONHIER_1_VAL_0_SECTION=NONHIERLAYER_1_SECTION
[NONHIERLAYER_1_SECTION]
THUMBNAIL_IMAGE_TYPE=JPEG
[DATAFILE]
FILE_COUNT=1
FILE_0=Data0000.dat
{sections}"""
    )
    data = b""

    def keep(content):
        nonlocal data
        data += content
        return len(data) - len(content), len(content)

    levels = [
        [(y * across + x, *keep(encode_jpeg(draw(side, side, 100 * step + 10 * y + x))[0]), 0) for y in range(0, down, step) for x in range(0, across, step)]
        for step in (1, 2)
    ]
    positions = b"".join(struct.pack("<bii", 0, 8 * side * x, 8 * side * y) for y in range(down) for x in range(across))
    records = [keep(positions), keep(encode_jpeg(draw(4, 6, 7))[0])]
    index = b"01.02" + identity.encode()
    root = len(index)
    pages = b""
    begin = root + 8 + 4 * (len(levels) + len(records))

    def page(content):
        """Behind its head: a zero, and where it is."""
        nonlocal pages
        place = begin + len(pages)
        pages += struct.pack("<ii", 0, place + 8) + content
        return place

    places = [page(struct.pack("<ii", len(level), 0) + b"".join(struct.pack("<iiii", *image) for image in level)) for level in levels]
    places += [page(struct.pack("<iiiiiii", 1, 0, 0, 0, *record, 0)) for record in records]
    index += struct.pack("<ii", root + 8, root + 8 + 4 * len(levels)) + struct.pack(f"<{len(places)}i", *places) + pages
    return {"slide.mrxs": encode_jpeg(draw(2, 2, 8))[0], "slide/Slidedat.ini": slidedat.encode(), "slide/Index.dat": index, "slide/Data0000.dat": data}


def vms(edit=no_edit):
    """2 x 2 JPEG images of 128 x 64 pixels, and the map of all of them at a quarter."""
    names = {(x, y): f"image{x}{y}.jpg" for y in range(2) for x in range(2)}
    images = "".join(f"ImageFile{f'({x},{y})' if x or y else ''}={name}\n" for (x, y), name in names.items())
    text = edit(
        f"""[Virtual Microscope Specimen]
NoLayers=1
NoJpegColumns=2
NoJpegRows=2
{images}MapFile=map.jpg
MacroImage=macro.jpg
OptimisationFile=
PhysicalWidth=64000
PhysicalHeight=32000
SourceLens=20
"""
    )
    files = {"slide.vms": text.encode()}
    for (x, y), name in names.items():
        files[name] = encode_jpeg(draw(8, 16, 10 * y + x), 8)[0]
    files["map.jpg"] = encode_jpeg(draw(4, 8, 30), 4)[0]
    files["macro.jpg"] = encode_jpeg(draw(4, 6, 7))[0]
    return files


def vmu(edit=no_edit):
    """64 x 32 pixels of 3 x 12 bits, in two columns, and their map at a half."""
    text = edit(
        """[Uncompressed Virtual Microscope Specimen]
ImageFile=image.ngr
MapFile=map.ngr
BitsPerPixel=36
PixelOrder=RGB
PhysicalWidth=16000
PhysicalHeight=8000
SourceLens=20
"""
    )

    def pack(height, width, column, seed):
        pixels = numpy.random.default_rng(seed).integers(0, 4096, (height, width // column, column, 3), "<u2")
        header = b"GN\0\0" + struct.pack("<iii", width, height, column)
        return header.ljust(24, b"\0") + struct.pack("<i", 28) + numpy.moveaxis(pixels, 1, 0).tobytes()

    return {"slide.vmu": text.encode(), "image.ngr": pack(32, 64, 32, 1), "map.ngr": pack(16, 32, 32, 2)}


def ndpi(edit=no_edit, planes=(0,), first=0):
    """256 x 128 pixels, their quarter, and the glass: a JPEG image each in one strip, cut by restart markers. `edit` is of
    the list of entries (tag, type, count, value) of the first page. \\param planes offsets of focal planes"""
    content = struct.pack("<2sHQ", b"II", 42, 0)
    link = 4
    pages = [(height, width, lens, z) for z in planes for height, width, lens in ((16, 32, 20.0), (4, 8, 5.0))]
    for number, (height, width, lens, z) in enumerate([*pages, (4, 6, -1.0, 0)]):
        seed = {20.0: 0, 5.0: 1, -1.0: 2}[lens] + z % 7919 * 3 + first
        stream, starts = encode_jpeg(draw(height, width, seed), width // 4 if lens > 0 else 0)
        place = len(content)
        content += stream
        table = len(content)
        content += struct.pack(f"<{len(starts)}I", *starts)
        resolution = len(content)
        content += struct.pack("<II", int(lens) * 2000 if lens > 0 else 1, 1)
        entries = [
            (256, 4, 1, 8 * width),
            (257, 4, 1, 8 * height),
            (258, 3, 1, 8),
            (259, 3, 1, 7),
            (262, 3, 1, 6),
            (273, 4, 1, place),
            (277, 3, 1, 3),
            (278, 4, 1, 8 * height),
            (279, 4, 1, len(stream)),
            (282, 5, 1, resolution),
            (283, 5, 1, resolution),
            (296, 3, 1, 3),
            (65420, 4, 1, 1),
            (65421, 11, 1, struct.unpack("<I", struct.pack("<f", lens))[0]),
            (65424, 9, 1, z & 0xFFFFFFFF),
        ]
        entries += [(65426, 4, len(starts), table)] if lens > 0 else []
        entries = entries if number else edit(entries)
        content = content[:link] + struct.pack("<Q", len(content)) + content[link + 8 :]
        content += struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries)
        link = len(content)
        content += bytes(8 + 4 * len(entries))
    return {"slide.ndpi": content}


def ndpis(channels, header="[NanoZoomer Digital Pathology Image Set]"):
    """An NDPI for each channel: name (three letters) and wavelength of its light in nm, where they are known."""
    files, lines = {}, [header, f"NoImages={len(channels)}"]
    for number, (name, emission) in enumerate(channels):

        def add(entries):
            inline = [(65434, 2, 4, int.from_bytes(name.encode() + b"\0", "little"))] if name else []
            light = [(65451, 11, 1, struct.unpack("<I", struct.pack("<f", emission))[0])] if emission else []
            return entries + inline + light

        files[f"s-{number}.ndpi"] = ndpi(add, first=100 * number)["slide.ndpi"]
        lines.append(f"Image{number}=s-{number}.ndpi")
    return {"s.ndpis": "\r\n".join(lines).encode(), **files}


def sakura(edit=no_edit):
    """150 x 100 pixels in tiles of 64, and their half: a gray JPEG image for each color. `edit` is of the script of SQL."""
    script = """CREATE TABLE DataManagerSQLiteConfigXPO (TableName TEXT);
INSERT INTO DataManagerSQLiteConfigXPO VALUES ('Unique');
CREATE TABLE SVScannedImageDataXPO (OID INTEGER, Image BLOB);
CREATE TABLE SVSlideDataXPO (OID INTEGER, m_labelScan INTEGER, m_overviewScan INTEGER, SlideId TEXT, Date TEXT, Description TEXT, Creator TEXT, DiagnosisCode TEXT, Keywords TEXT);
CREATE TABLE SVHRScanDataXPO (OID INTEGER, ParentSlide INTEGER, ScanId TEXT, ResolutionMmPerPix REAL, NominalLensMagnification REAL, FocussingMethod TEXT, Date TEXT, Name TEXT, Description TEXT, ThumbnailImage BLOB);
INSERT INTO SVSlideDataXPO VALUES (1, 1, 1, 'one', 'today', '', '', '', '');
INSERT INTO SVHRScanDataXPO VALUES (1, 1, 'one', 0.0005, 20, '', 'today', '', '', NULL);
CREATE TABLE 'Unique' (id TEXT, data BLOB);
INSERT INTO 'Unique' VALUES ('++MagicBytes', 'SVGigaPixelImage');
INSERT INTO 'Unique' VALUES ('++VersionBytes', '3.1');
"""

    def insert(table, name, data):
        return f"INSERT INTO '{table}' VALUES ({name}, X'{data.hex()}');\n"

    script += insert("SVScannedImageDataXPO", "1", encode_jpeg(draw(4, 6, 7))[0])
    script += insert("Unique", "'Header'", struct.pack("<IIIII", 64, 150, 100, 0, 1))
    for step in (1, 2):
        for y in range(0, 100, 64 * step):
            for x in range(0, 150, 64 * step):
                for color in range(3):
                    tile = encode_jpeg(draw(8, 8, 1000 * step + 10 * x + y + color)[..., :1])[0]
                    script += insert("Unique", f"'T;{x}|{y};{step};{color};0'", tile)
    database = sqlite3.connect(":memory:")
    database.execute("PRAGMA page_size = 1024")
    database.executescript(edit(script))
    content = database.serialize()
    database.close()
    return {"slide.svslide": content}


def write_pages(pages, edit, **options):
    """(pixels, description, options) of each page; `edit` is of the first description."""
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as file:
        for number, (pixels, description, more) in enumerate(pages):
            words = description if number else edit(description)
            file.write(pixels, description=words, metadata=None, photometric="rgb", compression="zlib", **{**options, **more})
    return out.getvalue()


def draw_levels(*sides):
    """Squares of 4 x 4 pixels of one color each."""
    blocks = [numpy.random.default_rng(side).integers(0, 256, (side // 4, side // 4, 3), numpy.uint8) for side in sides]
    return [block.repeat(4, axis=0).repeat(4, axis=1) for block in blocks]


TILED = {"tile": (32, 32)}
CENTIMETER = {"resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}


def trestle(edit=no_edit):
    pages = [(pixels, "Background Color=FFFFFF;Objective Power=20;OverlapsXY= 4 4 2 2", TILED) for pixels in draw_levels(192, 96)]
    return {"slide.tif": write_pages(pages, edit, software="MedScan", resolution=(0.5, 0.5))}


def leica(edit=no_edit):
    """An area of 128 x 128 pixels on a glass of 256 x 256, and the picture of the glass."""
    glass, area, half = draw_levels(64, 128, 64)
    nanometers = 'sizeX="128000" sizeY="128000"'
    settings = "<scanSettings><objectiveSettings><objective>20</objective></objectiveSettings><illuminationSettings><numericalAperture>0.4</numericalAperture><illuminationSource>brightfield</illuminationSource></illuminationSettings></scanSettings>"
    xml = f"""<?xml version="1.0"?>
<scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01"><collection name="a" {nanometers}>
<image name="glass"><creationDate>now</creationDate><device model="m" version="1"/><pixels sizeX="64" sizeY="64"><dimension r="0" ifd="0" sizeX="64" sizeY="64"/></pixels><view offsetX="0" offsetY="0" {nanometers}/>{settings}</image>
<image name="area"><creationDate>now</creationDate><device model="m" version="1"/><pixels sizeX="128" sizeY="128"><dimension r="0" ifd="1" sizeX="128" sizeY="128"/><dimension r="1" ifd="2" sizeX="64" sizeY="64"/></pixels><view offsetX="32000" offsetY="16000" sizeX="64000" sizeY="64000"/>{settings}</image>
</collection></scn>"""
    pages = [(glass, xml, TILED), (area, "", TILED), (half, "", TILED)]
    return {"slide.scn": write_pages(pages, edit, **CENTIMETER)}


def philips(edit=no_edit):
    def attribute(name, kind, value):
        return f'<Attribute Name="{name}" Group="0x0000" Element="0x0000" PMSVR="{kind}">{value}</Attribute>'

    def thing(kind, value):
        return f'<DataObject ObjectType="{kind}">{value}</DataObject>'

    def spacing(mm):
        return attribute("DICOM_PIXEL_SPACING", "IDoubleArray", f'"{mm}" "{mm}"')

    levels = "".join(thing("PixelDataRepresentation", spacing(mm)) for mm in ("0.0005", "0.001"))
    image = attribute("PIM_DP_IMAGE_TYPE", "IString", "WSI") + spacing("0.0005")
    image += attribute("PIIM_PIXEL_DATA_REPRESENTATION_SEQUENCE", "IDataObjectArray", f"<Array>{levels}</Array>")
    images = f'<Array>{thing("DPScannedImage", image)}</Array>'
    xml = '<?xml version="1.0" encoding="UTF-8" ?>' + thing(
        "DPUfsImport",
        attribute("DICOM_MANUFACTURER", "IString", "PHILIPS") + attribute("PIM_DP_SCANNED_IMAGES", "IDataObjectArray", images),
    )
    pages = [(pixels, xml if pixels.shape[0] == 128 else "", TILED | {"subfiletype": int(pixels.shape[0] < 128)}) for pixels in draw_levels(128, 64)]
    return {"slide.tiff": write_pages(pages, edit, software="Philips DP v1.0")}


def ventana(edit=no_edit):
    """4 x 4 tiles that overlap by 4 pixels, and their half; `edit` is of the XML of level 0."""
    glass, area, half = draw_levels(64, 128, 64)
    joint = 'FlagJoined="1" Confidence="90" OverlapX="4" OverlapY="0"'
    xml = edit(
        f'<EncodeInfo Ver="2"><SlideStitchInfo><ImageInfo AOIScanned="1" Width="32" Height="32" NumRows="4" NumCols="4" Pos-X="0" Pos-Y="0">'
        f'<TileJointInfo {joint} Direction="RIGHT" Tile1="1" Tile2="2"/><TileJointInfo {joint} Direction="UP" Tile1="4" Tile2="5"/>'
        f'</ImageInfo></SlideStitchInfo><AoiOrigin><AOI0 OriginX="0" OriginY="0"/></AoiOrigin></EncodeInfo>'
    ).encode()
    iscan = b'<iScan Magnification="20" ScanRes="0.5" UnitNumber="7"></iScan>'

    def tags(packet):
        return {"extratags": [(700, 1, len(packet), packet, True)]}

    pages = [
        (glass, "Label Image", {"rowsperstrip": 64} | tags(iscan)),
        (area, "level=0 mag=20", TILED | tags(xml)),
        (half, "level=1 mag=10", TILED),
    ]
    return {"slide.bif": write_pages(pages, no_edit)}


def aperio(edit=no_edit):
    words = "Aperio Image Library v10\n128x128 [0,0 128x128] (32x32) J2K|AppMag = 20|MPP = 0.5"
    level, thumbnail, half = draw_levels(128, 64, 64)
    pages = [(level, words, TILED), (thumbnail, "Aperio", {"rowsperstrip": 64}), (half, words, TILED)]
    return {"slide.svs": write_pages(pages, edit)}


WRITERS = {writer.__name__: writer for writer in (mirax, vms, vmu, ndpi, sakura, trestle, leica, philips, ventana, aperio)}


def write(files, folder):
    """\\return the slide's path"""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder / next(iter(files))
