# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Volumes for the tests of the program, written and read byte by byte as the formats' definitions say, and networks for them."""

import gzip
import json
import struct

import numpy

TYPES = {"u1": 2, "<i2": 4, "<i4": 8, "<f4": 16, "<f8": 64, "i1": 256, "<u2": 512, "<i8": 1024}

# An oblique affine: x and y turned by 30 degrees, voxels of 0.5 x 0.75 x 2 mm.
COSINE, SINE = numpy.cos(numpy.pi / 6), numpy.sin(numpy.pi / 6)
OBLIQUE = numpy.array([[0.5 * COSINE, -0.75 * SINE, 0, -20], [0.5 * SINE, 0.75 * COSINE, 0, 33.5], [0, 0, 2, -7.25], [0, 0, 0, 1]])


def write_nifti(path, voxels, affine=OBLIQUE, slope=0.0, intercept=0.0, vector=False):
    """NIfTI-1, https://nifti.nimh.nih.gov/nifti-1: voxels in the order z, y, x, or channel, z, y, x, which become the fourth
    axis, or with vector the components (the fifth)."""
    kind = voxels.dtype.str.lstrip("|")
    sizes = list(voxels.shape[::-1])
    dims = sizes if not vector else [*sizes[:3], 1, sizes[3]]
    header = bytearray(348)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into(f"<{1 + len(dims)}h", header, 40, len(dims), *dims)
    struct.pack_into("<h", header, 68, 1007 if vector else 0)
    struct.pack_into("<hh", header, 70, TYPES[kind], 8 * voxels.dtype.itemsize)
    spacing = numpy.linalg.norm(affine[:3, :3], axis=0)
    struct.pack_into("<8f", header, 76, 1, *spacing, 1, 1, 1, 1)
    struct.pack_into("<fff", header, 108, 352, slope, intercept)
    header[123] = 2  # mm
    struct.pack_into("<hh", header, 252, 0, 1)
    struct.pack_into("<12f", header, 280, *affine[:3].ravel())
    header[344:348] = b"n+1\0"
    raw = bytes(header) + bytes(4) + voxels.tobytes()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def change_header(path, form, place, *values):
    """Of a NIfTI file that is not compressed: other values at a place, packed as the form says."""
    raw = bytearray(path.read_bytes())
    struct.pack_into("<" + form, raw, place, *values)
    path.write_bytes(raw)
    return path


def split_nifti(path):
    """x.nii as the pair x.hdr and x.img. \\return the name of the header"""
    raw = path.read_bytes()
    header = path.with_suffix(".hdr")
    header.write_bytes(raw[:344] + b"ni1\0")
    header.with_suffix(".img").write_bytes(raw[352:])
    path.unlink()
    return change_header(header, "f", 108, 0)


def read_nifti(path):
    """(voxels in the order z, y, x; affine)"""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    rank, *dims = struct.unpack_from("<8h", raw, 40)
    kind = {code: name for name, code in TYPES.items()}[struct.unpack_from("<h", raw, 70)[0]]
    start = int(struct.unpack_from("<f", raw, 108)[0])
    assert struct.unpack_from("<h", raw, 254)[0] > 0, "no sform"
    affine = numpy.array([*struct.unpack_from("<12f", raw, 280), 0, 0, 0, 1]).reshape(4, 4)
    shape = dims[:rank][::-1]
    return numpy.frombuffer(raw, kind, int(numpy.prod(shape)), start).reshape(shape), affine


def write_nrrd_volume(path, voxels, affine=OBLIQUE, vector=False):
    """https://teem.sourceforge.net/nrrd/format.html, compressed; voxels z, y, x, or with vector z, y, x, component. Its axes
    point to the left, back and head, NIfTI's to the right, front and head."""
    turned = numpy.diag([-1, -1, 1, 1]) @ affine
    name = {"u1": "unsigned char", "<i2": "short", "<f4": "float"}[voxels.dtype.str.lstrip("|")]
    axes = ["(" + ",".join(repr(float(x)) for x in turned[:3, i]) + ")" for i in range(3)]
    lines = ["NRRD0004", f"type: {name}", f"dimension: {3 + vector}", "space: left-posterior-superior"]
    lines += ["sizes: " + " ".join(str(n) for n in voxels.shape[::-1])]
    lines += ["space directions: " + " ".join(["none"] * vector + axes)]
    lines += ["kinds: " + " ".join(["vector"] * vector + ["domain"] * 3), "endian: little", "encoding: gzip"]
    lines += ["space origin: (" + ",".join(repr(float(x)) for x in turned[:3, 3]) + ")"]
    path.write_bytes("\n".join(lines).encode() + b"\n\n" + gzip.compress(voxels.tobytes()))
    return path


def write_metaimage(path, voxels, matrix=(1, 0, 0, 0, 1, 0, 0, 0, 1), spacing=(1, 1, 1), origin=(0, 0, 0), packed=None):
    """https://itk.org/Wiki/ITK/MetaIO/Documentation, bytes; voxels z, y, x. \\param packed what the file
    has in place of the voxels, as compressed ones"""
    data = voxels.astype("u1").tobytes() if packed is None else packed
    numbers = {"DimSize": voxels.shape[::-1], "TransformMatrix": matrix, "Offset": origin, "ElementSpacing": spacing}
    lines = ["ObjectType = Image", "NDims = 3", "BinaryData = True", "BinaryDataByteOrderMSB = False"]
    lines += ["CompressedData = False"] if packed is None else ["CompressedData = True", f"CompressedDataSize = {len(packed)}"]
    lines += [f"{key} = {' '.join(str(x) for x in values)}" for key, values in numbers.items()]
    lines += ["ElementType = MET_UCHAR", "ElementDataFile = LOCAL"]
    path.write_bytes("\n".join(lines).encode() + b"\n" + data)
    return path


def write_volume_model(path, operations, arrays, tile_size=64, **more):
    """A model file: safetensors with the network in its metadata. \\param more of the network's description"""
    network = {"name": "for tests", "operations": operations, "output": operations[-1]["name"], **more}
    network.setdefault("input", {"channels": operations[0]["channels"], "invert": False})
    network.setdefault("loss", {"type": "softmax cross-entropy", "ignore unscanned": False})
    metadata = {"gigapixel": "2", "network": json.dumps(network), "microns_per_pixel": "0", "tile_size": str(tile_size)}
    header, data = {"__metadata__": metadata}, b""
    for name, array in arrays.items():
        array = numpy.ascontiguousarray(array, "<f4")
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def write_threshold_model(path, weights=(1.0,), threshold=0.5, **more):
    """Class 1 where the sum of the channels, weighted, is above the threshold."""
    channels = len(weights)
    operations = [
        {"name": "x", "type": "input", "channels": channels, "axes": 3},
        {"name": "y", "type": "conv3d", "inputs": ["x"], "out_channels": 2, "kernel_size": 1},
    ]
    weight = numpy.zeros((2, channels, 1, 1, 1))
    weight[1, :, 0, 0, 0] = weights
    return write_volume_model(path, operations, {"y.weight": weight, "y.bias": [0, -threshold]}, **more)


def write_box_model(path, sums, **more):
    """The class is the number of thresholds that the sum of 3 x 3 x 3 voxels is above, zeros around the volume; these sums
    have equal steps."""
    operations = [
        {"name": "x", "type": "input", "channels": 1, "axes": 3},
        {"name": "s", "type": "conv3d", "inputs": ["x"], "out_channels": 1, "kernel_size": 3, "padding": 1, "bias": False},
        {"name": "y", "type": "conv3d", "inputs": ["s"], "out_channels": len(sums) + 1, "kernel_size": 1},
    ]
    # Class k is k s - t1 - ... - tk: it is above class k - 1 where s is above tk.
    classes = len(sums) + 1
    biases = -numpy.cumsum([0, *sums])
    arrays = {"s.weight": numpy.ones((1, 1, 3, 3, 3)), "y.weight": numpy.arange(classes).reshape(-1, 1, 1, 1, 1), "y.bias": biases}
    return write_volume_model(path, operations, arrays, **more)


def write_dilated_model(path, dilations, channels, threshold, **more):
    """Class 1 where sums of 3 x 3 x 3 voxels that are so far apart, one after the other, are above the threshold. All channels are alike."""
    operations, arrays = [{"name": "x", "type": "input", "channels": 1, "axes": 3}], {}
    for i, dilation in enumerate(dilations):
        name, inputs = f"s{i}", channels if i else 1
        operations.append({"name": name, "type": "conv3d", "inputs": [operations[-1]["name"]], "out_channels": channels, "kernel_size": 3,
                           "padding": dilation, "dilation": dilation, "bias": False})
        arrays[f"{name}.weight"] = numpy.eye(channels, inputs).reshape(channels, inputs, 1, 1, 1) * numpy.ones((3, 3, 3)) if i else numpy.ones((channels, 1, 3, 3, 3))
    operations.append({"name": "y", "type": "conv3d", "inputs": [operations[-1]["name"]], "out_channels": 2, "kernel_size": 1})
    weight = numpy.zeros((2, channels, 1, 1, 1))
    weight[1] = 1 / channels
    return write_volume_model(path, operations, {**arrays, "y.weight": weight, "y.bias": [0, -threshold]}, **more)


def sum_boxes(voxels, dilation=1):
    padded = numpy.pad(voxels.astype(float), dilation)
    d, h, w = voxels.shape
    steps = range(0, 2 * dilation + 1, dilation)
    return sum(padded[z : z + d, y : y + h, x : x + w] for z in steps for y in steps for x in steps)
