#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""brainchop's MeshNets for brains of 256 x 256 x 256 voxels, in tiles, beside PyTorch on the whole volume: labels, memory, CPU seconds.

    ninja -C build ApplyNetwork
    Testing/Benchmark/import/compare_volumes.py [--build build] [--side 256] [--network model5_gw_ae] [--tiles 64]

A tie is a voxel whose two greatest logits differ by less than 1e-4. Both have two threads; memory is the process's peak above
what it has with the network loaded (PyTorch) or at its start (ours). Needs NumPy, PyTorch, safetensors and the test data
($GIGAPIXEL_TEST_DATA).
"""

import argparse
import gzip
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy
import safetensors.numpy
import safetensors.torch
import torch
from torch import nn

DATA = pathlib.Path(os.environ["GIGAPIXEL_TEST_DATA"])
TIE = 1e-4


def read_volume(path, side):
    """A NIfTI of unsigned char, z, y, x, from 0 to 1, from its middle."""
    raw = gzip.decompress(path.read_bytes())
    shape = numpy.frombuffer(raw, "<i2", 8, 40)[1:4]
    kind = {2: "u1", 4: "<i2", 16: "<f4"}[int(numpy.frombuffer(raw, "<i2", 1, 70)[0])]
    start = int(numpy.frombuffer(raw, "<f4", 1, 108)[0])
    volume = numpy.frombuffer(raw, kind, int(numpy.prod(shape.astype(int))), start).reshape(shape[::-1]).astype(numpy.float32)
    low, high = volume.min(), volume.max()
    begin = [(length - side) // 2 for length in volume.shape]
    cut = volume[tuple(slice(b, b + side) for b in begin)]
    return numpy.ascontiguousarray((cut - low) / (high - low))


def read_arrays(path):
    if path.read_bytes()[:2] == b"PK":
        return torch.load(path, map_location="cpu", weights_only=True)
    return safetensors.torch.load(path.read_bytes())


class Writer:
    """Operations of our graph and modules of PyTorch, side by side."""

    def __init__(self, arrays):
        self.arrays, self.modules, self.used = arrays, [], {}
        self.operations = [{"name": "input", "type": "input", "channels": 1, "axes": 3}]

    def put(self, kind, module, **attributes):
        name = f"{kind}_{len(self.operations)}"
        self.operations.append({"name": name, "type": kind, "inputs": [self.operations[-1]["name"]], **attributes})
        self.modules.append(module)
        return name

    def convolve(self, prefix, layer):
        weight, bias = self.arrays[prefix + ".weight"], self.arrays.get(prefix + ".bias")
        module = nn.Conv3d(weight.shape[1], weight.shape[0], layer["kernel_size"], layer["stride"], layer["padding"], layer["dilation"], bias=bias is not None)
        name = self.put("conv3d", module, out_channels=weight.shape[0], kernel_size=layer["kernel_size"], stride=layer["stride"],
                        padding=layer["padding"], dilation=layer["dilation"], bias=bias is not None)
        for role, array in (("weight", weight), ("bias", bias)):
            if array is not None:
                getattr(module, role).data.copy_(array)
                self.used[f"{name}.{role}"] = array.float().contiguous().numpy()


def build(folder):
    arrays = read_arrays(folder / "model.pth")
    writer = Writer(arrays)
    prefixes = [name[: -len(".weight")] for name in arrays if name.endswith(".weight") and arrays[name].ndim == 5]
    prefixes.sort(key=lambda prefix: int(prefix.split(".")[1]))
    if (folder / "layers.json").exists():
        passes = json.loads((folder / "layers.json").read_text())["forward_pass"]
        for step in passes:
            if step["op"] == "conv3d":
                writer.convolve(prefixes.pop(0), step["params"])
            elif step["op"] == "group_norm":
                writer.put("instance_norm", nn.InstanceNorm3d(step["params"]["num_channels"]))
            elif step["op"] == "gelu":
                writer.put("gelu", nn.GELU())
        return writer
    layers = json.loads((folder / "model.json").read_text())["layers"]
    for i, layer in enumerate(layers):
        writer.convolve(prefixes[i], layer)
        if i + 1 < len(layers):
            writer.put("elu", nn.ELU())
    return writer


def save(writer, path, tile):
    network = {"name": "meshnet", "input": {"channels": 1, "invert": False}, "operations": writer.operations,
               "output": writer.operations[-1]["name"], "loss": {"type": "softmax cross-entropy", "ignore unscanned": False}}
    metadata = {"gigapixel": "2", "network": json.dumps(network), "microns_per_pixel": "0", "tile_size": str(tile)}
    safetensors.numpy.save_file(writer.used, path, metadata=metadata)


def measure(command):
    """Peak in MB and CPU seconds, by a process of its own: one that is forked here begins with the peak of this one."""
    code = """if True:
        import resource, subprocess, sys
        subprocess.run(sys.argv[1:], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)"""
    return map(float, subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True).stdout.split())


def get_peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--network", default="model5_gw_ae")
    parser.add_argument("--tiles", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(2)
    volume = read_volume(DATA / "volumes/brainchop-t1_crop.nii.gz", options.side)
    writer = build(DATA / "networks/brainchop" / options.network)
    with tempfile.TemporaryDirectory() as folder:
        model, pixels, labels = (os.path.join(folder, name) for name in ("model.safetensors", "pixels", "labels"))
        save(writer, model, options.tiles)
        volume.tofile(pixels)
        side = str(options.side)
        peak, seconds = measure([options.build / "bin/ApplyNetwork", model, pixels, side, side, str(options.tiles), labels, side])
        given = numpy.fromfile(labels, numpy.uint8).reshape(volume.shape)
    print(f"{options.network}, {side}^3, tiles of {options.tiles}: {peak:.0f} MB, {seconds:.1f} CPU s", flush=True)
    start, begun = get_peak(), resource.getrusage(resource.RUSAGE_SELF)
    with torch.inference_mode():
        logits = nn.Sequential(*writer.modules).eval()(torch.from_numpy(volume)[None, None])[0]
        ended = resource.getrusage(resource.RUSAGE_SELF)
        print(f"PyTorch {torch.__version__}: {get_peak() - start:.0f} MB above {start:.0f}, "
              f"{ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime:.1f} CPU s", flush=True)
        greatest = logits.topk(2, 0).values
        ties = ((greatest[0] - greatest[1]) < TIE).numpy()
        different = given != logits.argmax(0).numpy()
    print(f"{(different & ~ties).sum()} of {(~ties).sum()} voxels have another label; {ties.sum()} ties, {(different & ties).sum()} of them differ; "
          f"labels {numpy.bincount(given.ravel()).tolist()}")
    return int((different & ~ties).any())


if __name__ == "__main__":
    sys.exit(main())
