# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The program that imports, and one that computes what was imported."""

import json
import os
import pathlib
import resource
import struct
import subprocess

import numpy

PROGRAM, APPLY = os.environ["GIGAPIXEL_PROGRAM"], os.environ["GIGAPIXEL_APPLY_NETWORK"]
HERE = pathlib.Path(__file__).parent


def limit_memory(most):
    """Of this process's address space, of which sanitizers take more than there is."""
    if "GIGAPIXEL_SANITIZED" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(*words, code=0):
    result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert result.returncode == code, f"{words}\n{result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


class Refused(str):
    """The message of an error, with the fields of --json."""

    def __new__(cls, message, fields):
        self = super().__new__(cls, message)
        self.code, self.file, self.option, self.value, self.why, self.do = (fields[name] for name in ("code", "file", "option", "value", "why", "do"))
        return self


def refuse(*words, code=1):
    """The one sentence, and what it is about."""
    result = run(*words, "--quiet", *(() if "--json" in words else ("--json",)), code=code)
    fields = json.loads(result.stdout)["error"]
    assert len(result.stderr.strip().splitlines()) == 1 and result.stderr.rstrip().endswith(f"[{fields['code']}]"), result.stderr
    return Refused(result.stderr, fields)


def compute(model, pixels, *tiles):
    """Probabilities for each side of tiles: height, width, channels. A side of 0 is the whole image."""
    height, width, _ = pixels.shape
    folder = model.parent
    pixels.tofile(folder / "pixels")
    sides = ",".join(map(str, tiles))
    subprocess.run([APPLY, model, folder / "pixels", str(width), str(height), sides, folder / "probabilities"], check=True)
    return numpy.fromfile(folder / "probabilities", numpy.float32).reshape(len(tiles), height, width, -1)


def compute_volume(model, samples, *tiles):
    """The same of a volume of floats: depth, height, width, channels."""
    depth, height, width, _ = samples.shape
    folder = model.parent
    samples.astype(numpy.float32).tofile(folder / "samples")
    sides = ",".join(map(str, tiles))
    subprocess.run([APPLY, model, folder / "samples", str(width), str(height), sides, folder / "probabilities", str(depth), "probabilities"], check=True)
    return numpy.fromfile(folder / "probabilities", numpy.float32).reshape(len(tiles), depth, height, width, -1)


def write_json(folder, network):
    """A network's file."""
    file = folder / "network.json"
    file.write_text(json.dumps(network))
    return file


def read_header(content):
    """Of a safetensors file, and its length."""
    (length,) = struct.unpack_from("<Q", content)
    return json.loads(content[8 : 8 + length]), length


def read_network(model):
    """The description that a model holds."""
    return json.loads(read_header(model.read_bytes())[0]["__metadata__"]["network"])


def read_arrays(model):
    """Of a safetensors file, by their names."""
    content = model.read_bytes()
    header, length = read_header(content)
    header.pop("__metadata__", None)
    cut = {key: content[8 + length :][slice(*entry["data_offsets"])] for key, entry in header.items()}
    return {key: numpy.frombuffer(cut[key], numpy.float32).reshape(entry["shape"]) for key, entry in header.items()}
