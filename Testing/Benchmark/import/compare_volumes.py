#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of others for whole volumes, in tiles, beside PyTorch on the whole volume: labels, memory, CPU seconds.

    ninja -C build ApplyNetwork
    Testing/Benchmark/import/compare_volumes.py [--build build] [--side 256] [--network model5_gw_ae] [--tiles 64]

brainchop's MeshNets by the names of their folders, on a brain of 256 x 256 x 256 voxels, and "torchio", its network for whole images,
on a T2 of 320 x 320 x 26. Each is taken over by gp.import_network.

A tie is a voxel whose two greatest logits differ by less than 1e-4. Both have two threads; memory is the process's peak above
what it has with the network loaded (PyTorch) or at its start (ours). Needs NumPy, itk-gigapixel[torch], for "torchio" the package unet,
and the test data ($GIGAPIXEL_TEST_DATA).
"""

import argparse
import _codecs
import gzip
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import itkgigapixel as gp
import numpy
import torch
from torch.nn import functional

DATA = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA", "nowhere"))
TIE = 1e-4
#: That networks take sizes of: to them the volume is padded by its last voxels, as the network that is taken over does.
MULTIPLES = {"torchio": 4}


def read_nifti(path):
    """z, y, x."""
    raw = gzip.decompress(path.read_bytes())
    shape = numpy.frombuffer(raw, "<i2", 8, 40)[1:4]
    kind = {2: "u1", 4: "<i2", 16: "<f4", 512: "<u2"}[int(numpy.frombuffer(raw, "<i2", 1, 70)[0])]
    start = int(numpy.frombuffer(raw, "<f4", 1, 108)[0])
    return numpy.frombuffer(raw, kind, int(numpy.prod(shape.astype(int))), start).reshape(shape[::-1]).astype(numpy.float32)


def read_brain(path, side):
    """From 0 to 1, from its middle."""
    volume = read_nifti(path)
    low, high = volume.min(), volume.max()
    begin = [(length - side) // 2 for length in volume.shape]
    cut = volume[tuple(slice(b, b + side) for b in begin)]
    return numpy.ascontiguousarray((cut - low) / (high - low))


def read_t2(path):
    """Standardized by what is brighter than the mean, as torchio's ZNormalization by ZNormalization.mean."""
    volume = read_nifti(path)
    inside = volume[volume > volume.mean()]
    return numpy.ascontiguousarray((volume - inside.mean()) / inside.std())


def read_arrays(path):
    """Of a checkpoint that has NumPy's arrays beside the tensors."""
    import numpy._core.multiarray as multiarray

    allowed = [(multiarray._reconstruct, "numpy.core.multiarray._reconstruct"), numpy.ndarray, numpy.dtype, type(numpy.dtype(float)), _codecs.encode]
    with torch.serialization.safe_globals(allowed):
        return torch.load(path, map_location="cpu", weights_only=True)


def make_torchio():
    """The network of torchio's tutorial, three levels with batch norms and PReLU, whose skips are cropped to what is enlarged."""
    from unet import UNet3D

    # PyTorch's export does not follow sizes through tensors, which the package computes the same numbers by.
    def crop(self, skip, x):
        less = [(a - b) // 2 for a, b in zip(skip.shape[:1:-1], x.shape[:1:-1])]
        return functional.pad(skip, [-each for each in less for _ in range(2)])

    from unet import decoding

    decoding.DecodingBlock.center_crop = crop
    module = UNet3D(in_channels=1, out_classes=2, num_encoding_blocks=3, out_channels_first_layer=8, normalization="batch", upsampling_type="linear", padding=True, activation="PReLU")
    weights = DATA / "networks/torchio/whole_images_epoch_5.pth"
    if weights.exists():
        module.load_state_dict(read_arrays(weights)["weights"])
    return module.eval()


def make(name):
    return make_torchio() if name == "torchio" else gp.load_meshnet(DATA / "networks/brainchop" / name)


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
    parser.add_argument("--side", type=int, default=256, help="of brains")
    parser.add_argument("--network", default="model5_gw_ae")
    parser.add_argument("--tiles", type=int, default=64)
    parser.add_argument("--write", metavar="MODEL", help="only take the network over into this file")
    options = parser.parse_args()
    torch.set_num_threads(2)
    module = make(options.network)
    if options.write:
        gp.import_network(module, options.write, example=(96, 96, 96), tile_size=options.tiles)
        return 0
    volume = read_t2(DATA / "volumes/torchio-fernando-t2.nii.gz") if options.network == "torchio" else read_brain(DATA / "volumes/brainchop-t1_crop.nii.gz", options.side)
    size = " x ".join(map(str, volume.shape))
    with tempfile.TemporaryDirectory() as folder:
        model, pixels, labels = (os.path.join(folder, name) for name in ("model.safetensors", "pixels", "labels"))
        # In a process of its own, whose memory is not this one's.
        subprocess.run([sys.executable, __file__, "--network", options.network, "--tiles", str(options.tiles), "--write", model], check=True)
        volume.tofile(pixels)
        depth, height, width = map(str, volume.shape)
        peak, seconds = measure([options.build / "bin/ApplyNetwork", model, pixels, width, height, str(options.tiles), labels, depth])
        given = numpy.fromfile(labels, numpy.uint8).reshape(volume.shape)
    print(f"{options.network}, {size}, tiles of {options.tiles}: {peak:.0f} MB, {seconds:.1f} CPU s", flush=True)
    start, begun = get_peak(), resource.getrusage(resource.RUSAGE_SELF)
    with torch.inference_mode():
        maps = torch.from_numpy(volume)[None, None]
        padding = [side for length in reversed(volume.shape) for side in (0, -length % MULTIPLES.get(options.network, 1))]
        logits = module(functional.pad(maps, padding, "replicate"))[0][(slice(None), *map(slice, volume.shape))]
        ended = resource.getrusage(resource.RUSAGE_SELF)
        print(f"PyTorch {torch.__version__}: {get_peak() - start:.0f} MB above {start:.0f}, "
              f"{ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime:.1f} CPU s", flush=True)
        greatest = logits.topk(2, 0).values
        ties = ((greatest[0] - greatest[1]) < TIE).numpy()
        expected = logits.argmax(0).numpy()
        different = given != expected
    print(f"{(different & ~ties).sum()} of {(~ties).sum()} voxels have another label; {ties.sum()} ties, {(different & ties).sum()} of them differ; "
          f"labels {numpy.bincount(given.ravel()).tolist()}")
    return int((different & ~ties).any())


if __name__ == "__main__":
    sys.exit(main())
