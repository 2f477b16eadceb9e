#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes what the corpora of codecs, networks, tables and outlines begin with:
    GIGAPIXEL_PROGRAM=build/bin/gigapixel Testing/Fuzz/make_seeds.py Testing/Fuzz/corpus
Most of slides and pages are files that the reader's own tests write, reduced by libFuzzer (-merge=1) to the
smallest ones that reach as much code."""

import gzip
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy
import tifffile
from PIL import Image, ImageCms

ROOT = pathlib.Path(sys.argv[1])
TESTING = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTING / "CommandLine"))
import vendor_slides  # behind the path to it

NETWORKS = numpy.load(TESTING / "Import/networks.npz")
VOLUMES = numpy.load(TESTING / "Import/volumes.npz")
WEIGHTS = numpy.load(TESTING / "Import/weights.npz")
PROGRAM = os.environ["GIGAPIXEL_PROGRAM"]


def write(target, name, content):
    folder = ROOT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def picture(channels, side=40):
    y, x = numpy.mgrid[:side, :side]
    pixels = numpy.stack([(x * (3 + c) + y * (5 - c)) % 256 for c in range(max(channels, 1))], -1).astype(numpy.uint8)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels)


def write_slides():
    """Sets, with a zero before the slide that they name, and stacks with one table."""
    for count in (1, 2):
        files = vendor_slides.ndpis([("DAP", 455.0)])
        names = "".join(f"Image{number}=s.ndpi\n" for number in range(count))
        write("Slide", f"set-{count}", f"[Set]\nNoImages={count}\n{names}".encode() + b"\0" + files["s-0.ndpi"])
    planes = numpy.arange(2 * 2 * 5 * 7, dtype=numpy.uint16).reshape(2, 2, 5, 7)
    for imagej in (False, True):
        stream = io.BytesIO()
        metadata = {"axes": "ZCYX"} if imagej else {"axes": "ZCYX", "Channel": {"Name": ["a", "b"]}}
        tifffile.imwrite(stream, planes, imagej=imagej, truncate=True, photometric="minisblack", metadata=metadata)
        write("Slide", "stack-imagej" if imagej else "stack-tifffile", stream.getvalue())


def encode(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def write_tiles():
    """Before each stream what the target takes as choices: see there."""
    for channels in (1, 3):
        for name, options in {"plain": {}, "progressive": {"progressive": True}, "even": {"subsampling": 0}, "restarts": {"restart_marker_blocks": 1}}.items():
            stream = encode(picture(channels), "JPEG", quality=70, **options)
            for reduction in (0, 2):
                write("JPEGTile", f"{name}-{channels}-{reduction}", bytes([3 - channels % 3, channels // 3, reduction, 39, 39, 0]) + stream)
        for name, options in {"plain": {}, "lossy": {"irreversible": True, "quality_mode": "rates", "quality_layers": [8]}, "codestream": {"no_jp2": True}}.items():
            stream = encode(picture(channels), "JPEG2000", **options)
            write("JPEG2000Tile", f"{name}-{channels}", bytes([channels // 2, channels // 3, 1, 39, 39]) + stream)
    for channels in (3, 4):
        for name, options in {"lossy": {}, "lossless": {"lossless": True}}.items():
            write("WebPTile", f"{name}-{channels}", bytes([channels - 2, 39, 39]) + encode(picture(channels), "WEBP", **options))
    pixels = picture(3).tobytes()
    choices = bytes([2, 0, 39, 39])
    write("TileBytes", "deflate", b"\0" + choices + zlib.compress(pixels))
    write("TileBytes", "zstandard", b"\1" + choices + subprocess.run(["zstd", "-c"], input=pixels, capture_output=True, check=True).stdout)
    for number, kind in ((2, "tiff_lzw"), (3, "packbits")):
        tiff = Image.open(io.BytesIO(encode(picture(3), "TIFF", compression=kind)))
        place, size = tiff.tag_v2[273][0], tiff.tag_v2[279][0]
        tiff.fp.seek(place)
        write("TileBytes", kind, bytes([number]) + choices + tiff.fp.read(size))
    write("ColorProfile", "sRGB", ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())


def element(tag, kind, value):
    """Of DICOM, explicit VR, little endian (PS3.5, 7.1.2)."""
    value += (b" " if kind in ("CS", "IS", "DS") else b"\0") * (len(value) % 2)
    size = struct.pack("<HI", 0, len(value)) if kind in ("OB", "OV", "SQ") else struct.pack("<H", len(value))
    return struct.pack("<HH", tag >> 16, tag & 0xFFFF) + kind.encode() + size + value


def item(content):
    content += b"\0" * (len(content) % 2)
    return struct.pack("<HHI", 0xFFFE, 0xE000, len(content)) + content


def make_dicom(kind):
    """Two tiles beside each other: their JPEG streams behind a table of offsets, behind one of 64 bits, or in places that
    are said for each; or stored pixels."""
    side, tiles = 16, [encode(picture(3, 16), "JPEG", quality=70 + 10 * i) for i in range(2)]
    tiles = [tile + bytes(len(tile) % 2) for tile in tiles]
    uid, syntax = b"1.2.840.10008.5.1.4.1.1.77.1.6", b"1.2.840.10008.1.2.1" if kind == "raw" else b"1.2.840.10008.1.2.4.50"
    file = bytes(128) + b"DICM" + element(0x00020002, "UI", uid) + element(0x00020010, "UI", syntax)
    file += element(0x00080008, "CS", b"ORIGINAL\\PRIMARY\\VOLUME\\NONE") + element(0x00080016, "UI", uid) + element(0x0020000E, "UI", b"1.2.3.4")
    file += element(0x00209311, "CS", b"TILED_SPARSE" if kind == "sparse" else b"TILED_FULL") + element(0x00280002, "US", struct.pack("<H", 3))
    file += element(0x00280004, "CS", b"RGB" if kind == "raw" else b"YBR_FULL_422") + element(0x00280006, "US", bytes(2)) + element(0x00280008, "IS", b"2")
    file += b"".join(element(tag, "US", struct.pack("<H", value)) for tag, value in ((0x00280010, side), (0x00280011, side), (0x00280100, 8)))
    file += element(0x00480006, "UL", struct.pack("<I", 2 * side)) + element(0x00480007, "UL", struct.pack("<I", side))
    file += element(0x52009229, "SQ", item(element(0x00289110, "SQ", item(element(0x00280030, "DS", b"0.0005\\0.00025")))))
    if kind == "sparse":
        places = [element(0x0048021E, "SL", struct.pack("<i", 1 + side * i)) + element(0x0048021F, "SL", struct.pack("<i", 1)) for i in (1, 0)]
        file += element(0x52009230, "SQ", b"".join(item(element(0x0048021A, "SQ", item(place))) for place in places))
    if kind == "raw":
        return file + element(0x7FE00010, "OB", 2 * picture(3, side).tobytes())
    frames = [item(tile) for tile in tiles]
    offsets = [0, len(frames[0])]
    if kind == "extended":
        file += element(0x7FE00001, "OV", struct.pack("<2Q", *offsets)) + element(0x7FE00002, "OV", struct.pack("<2Q", *map(len, tiles)))
    table = struct.pack("<2I", *offsets) if kind == "basic" else b""
    return file + struct.pack("<HH2sHI", 0x7FE0, 0x0010, b"OB", 0, 0xFFFFFFFF) + item(table) + b"".join(frames) + struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)


def write_dicom():
    for kind in ("basic", "extended", "sparse", "raw"):
        for target in ("DICOM", "Slide"):
            write(target, f"dicom-{kind}", make_dicom(kind))


def write_networks(folder):
    for stored, kind in ((NETWORKS, ""), (VOLUMES, "volume-")):
        for key in stored.files:
            if key.endswith("/onnx") and stored[key].nbytes < 2600:
                write("ONNX", kind + key[:-5].replace("/", "-"), stored[key].tobytes())
    for key in WEIGHTS.files:
        if key.endswith("/file") and WEIGHTS[key].nbytes < 6000:
            write("Weights", key[:-5].replace("/", "-"), WEIGHTS[key].tobytes())
    for file in (TESTING.parent / "Modules/Network/networks").glob("*.json"):
        write("NetworkDescription", file.stem, json.dumps(json.loads(file.read_text()), indent=1).encode())
    for name in ("Relu", "channels_taken_off", "two_inputs", "axes_named_anew"):
        (folder / "network.onnx").write_bytes(NETWORKS[f"{name}/onnx"].tobytes())
        model = folder / f"{name}.safetensors"
        subprocess.run([PROGRAM, "import", folder / "network.onnx", "-o", model, "--quiet"], check=True)
        content = model.read_bytes()
        write("Model", name, content)
        header = json.loads(content[8 : 8 + struct.unpack_from("<Q", content)[0]])
        write("NetworkDescription", name, next(v for v in header["__metadata__"].values() if v.startswith("{")).encode())


def write_runs(folder):
    """Checkpoints of a network of a few numbers, with each optimizer."""
    network = {
        "name": "tiny",
        "input": {"channels": 1},
        "operations": [
            {"name": "image", "type": "input", "channels": 1},
            {"name": "conv", "type": "conv2d", "inputs": ["image"], "out_channels": 2, "kernel_size": 3, "padding": 1},
            {"name": "logits", "type": "conv2d", "inputs": ["conv"], "out_channels": 1, "kernel_size": 1},
        ],
        "output": "logits",
    }
    (folder / "tiny.json").write_text(json.dumps(network))
    for name in "ab":
        subprocess.run([PROGRAM, "synthesize", f"{name}.tif", "--size", "160x128", "--truth", f"{name}.m.tif", "-q"], cwd=folder, check=True)
    (folder / "cohort.csv").write_text("slide,mask,split\na.tif,a.m.tif,train\nb.tif,b.m.tif,validation\n")
    for name, options in {"adam": [], "sgd": ["--optimizer", "sgd"], "plateau": ["--learning-rate-schedule", "plateau", "--learning-rate-decay", "0.1"]}.items():
        words = [PROGRAM, "train", "--cohort", "cohort.csv", "-o", name, "--epochs", "2", "--network", "tiny.json", "-q"]
        subprocess.run([*words, *options], cwd=folder, check=True)
        write("Checkpoint", name, (folder / name / "last.safetensors").read_bytes())


def write_tables():
    write("Cohort", "plain", b"slide,mask,split,region\na.tif,a.m.tif,train,\nb.tif,b.m.tif,validation,\"1,2,30,40\"\n")
    write("Cohort", "quoted", b'split,mask,"slide",note\r\ntest,"a.m.tif","a.tif","he said ""no"""\r\n\r\ntrain,b.m.tif,b.tif,1 2 3 4\r\n')
    write("Cohort", "regions", b"slide,mask,split,region\na.tif,a.m.tif,train,0 0 8 8\na.tif,a.m.tif,train,8;0;8;8\na.tif,a.m.tif,test,99 99 8 8\n")


def write_outlines():
    square = [[5, 5], [40, 5], [40.5, 40], [5, 40], [5, 5]]
    hole = [[10, 10], [20, 10], [20, 20], [10, 10]]
    feature = {"type": "Feature", "properties": {"classification": {"name": "Tumor"}}, "geometry": {"type": "Polygon", "coordinates": [square, hole]}}
    several = {**feature, "geometry": {"type": "MultiPolygon", "coordinates": [[square], [hole]]}}
    collection = {**feature, "properties": {}, "geometry": {"type": "GeometryCollection", "geometries": [feature["geometry"], {"type": "Point", "coordinates": [1, 2]}]}}
    named = {**feature, "properties": {"classification": {"names": ["a", "b"]}}, "geometry": None}
    write("Annotation", "feature", json.dumps(feature).encode())
    coordinates = "".join(f'<Coordinate Order="{i}" X="{x}" Y="{y}"/>' for i, (x, y) in enumerate([(1, 1), (40, 2), (30, 50)]))
    asap = f'<ASAP_Annotations><Annotations><Annotation Type="Polygon" PartOfGroup="Tumor"><Coordinates>{coordinates}</Coordinates></Annotation></Annotations></ASAP_Annotations>'
    write("Annotation", "asap", asap.encode())
    write("Annotation", "imagescope", asap.replace("ASAP_Annotations", "Annotations").replace("Coordinates", "Region").replace("Coordinate", "Vertex").encode())
    write("Annotation", "gzip", gzip.compress(json.dumps(feature).encode(), mtime=0))
    write("Annotation", "list", json.dumps([feature, several]).encode())
    write("Annotation", "collection", json.dumps({"type": "FeatureCollection", "features": [feature, several, collection, named]}).encode())


with tempfile.TemporaryDirectory() as scratch:
    write_slides()
    write_tiles()
    write_dicom()
    write_networks(pathlib.Path(scratch))
    write_runs(pathlib.Path(scratch))
write_tables()
write_outlines()
