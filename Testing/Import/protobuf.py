# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""ONNX files byte by byte, also such as no library would write: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto"""

import struct

FLOAT, INT64, STRING = 1, 7, 8


def varint(number):
    number &= 2**64 - 1
    content = b""
    while number > 0x7F:
        content += bytes([number & 0x7F | 0x80])
        number >>= 7
    return content + bytes([number])


def integer(field, number):
    return varint(field << 3) + varint(number)


def part(field, content):
    """A message, or text."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name, shape, raw=b"", kind=FLOAT, **place):
    """With a place it lies in another file."""
    content = b"".join(integer(1, length) for length in shape) + integer(2, kind) + part(8, name)
    for key, value in place.items():
        content += part(13, part(1, key) + part(2, value))
    return content + (integer(14, 1) if place else part(9, raw))


def floats(name, *shape, value=0.5):
    count = 1
    for length in shape:
        count *= length
    return tensor(name, shape, struct.pack("<f", value) * count)


def whole(name, *numbers):
    return tensor(name, [len(numbers)], b"".join(struct.pack("<q", number) for number in numbers), INT64)


def attribute(name, value):
    kinds = {float: (1, lambda: b"\x15" + struct.pack("<f", value)), int: (2, lambda: integer(3, value)), str: (3, lambda: part(4, value)), bytes: (4, lambda: part(5, value))}
    kind, write = kinds.get(type(value), (7, lambda: b"".join(integer(8, number) for number in value)))
    return part(1, name) + write() + integer(20, kind)


def branch(nodes, *outputs, arrays=()):
    """A body of If."""
    return part(6, b"".join(part(1, each) for each in nodes) + part(2, "branch") + b"".join(part(5, each) for each in arrays) + b"".join(part(12, part(1, each)) for each in outputs))


def node_if(condition, true, false, *outputs):
    return node("If", [condition], *outputs) + b"".join(part(5, part(1, name) + body + integer(20, 5)) for name, body in (("then_branch", true), ("else_branch", false)))


def node(kind, inputs, *outputs, name="", **attributes):
    content = b"".join(part(1, each) for each in inputs) + b"".join(part(2, each) for each in outputs)
    content += part(3, name) + part(4, kind)
    return content + b"".join(part(5, attribute(key, value)) for key, value in attributes.items())


def value(name, shape):
    """A length of 0 is any."""
    dimensions = b"".join(part(1, integer(1, length) if length else part(2, "any")) for length in shape)
    return part(1, name) + part(2, part(1, integer(1, FLOAT) + part(2, dimensions)))


def network(nodes, arrays=(), size=(0, 0), output="logits", opset=17, version=8, more=b"", classes=2, more_outputs=()):
    graph = b"".join(part(1, each) for each in nodes) + part(2, "graph") + b"".join(part(5, each) for each in arrays)
    graph += part(11, value("image", (1, 3, *size))) + part(12, value(output, (1, classes, *size)))
    graph += b"".join(part(12, value(each, (1, classes, *size))) for each in more_outputs)
    return integer(1, version) + part(7, graph) + part(8, integer(2, opset)) + more
