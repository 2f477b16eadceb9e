#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""`gigapixel segment` of a real T1 with brainchop's networks, beside PyTorch on the whole volume and nibabel: labels, place, memory.

    Testing/Benchmark/import/segment_volumes.py [--program build/bin/gigapixel] [--network model5_gw_ae] [segment's options]

The volume goes from file to file: the program reads, normalizes (the least value becomes 0, the greatest 1), computes and writes. A
tie is a voxel whose two greatest logits differ by less than 1e-4. Needs what compare_volumes.py needs, and nibabel.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import nibabel
import numpy
import safetensors.numpy
import torch
from torch import nn

from compare_volumes import DATA, TIE, build


def save(writer, path):
    network = {"name": "meshnet", "operations": writer.operations, "output": writer.operations[-1]["name"],
               "input": {"channels": 1, "normalization": {"type": "percentiles", "low": 0, "high": 100}},
               "loss": {"type": "softmax cross-entropy", "ignore unscanned": False}}
    metadata = {"gigapixel": "2", "network": json.dumps(network), "microns_per_pixel": "0", "tile_size": "64"}
    safetensors.numpy.save_file(writer.used, path, metadata=metadata)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/bin/gigapixel"))
    parser.add_argument("--network", default="model5_gw_ae")
    parser.add_argument("--volume", type=pathlib.Path, default=DATA / "volumes/brainchop-t1_crop.nii.gz")
    options, more = parser.parse_known_args()
    torch.set_num_threads(2)
    writer = build(DATA / "networks/brainchop" / options.network)
    with tempfile.TemporaryDirectory() as folder:
        model, output = pathlib.Path(folder) / "model.safetensors", pathlib.Path(folder) / "labels.nii.gz"
        save(writer, model)
        words = [options.program, "segment", options.volume, "--model", model, "-o", output, "--json", *more]
        told = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        labels = nibabel.load(output)
        given = numpy.asarray(labels.dataobj)
    volume = nibabel.load(options.volume)
    moved = abs(labels.affine - volume.affine).max()
    print(f"{options.network} on {options.volume.name}, {volume.shape}: {told['plan']['tiles']} tiles of {told['plan']['tileSize']}, "
          f"{told['plan']['passes']} passes, peak {told['peakBytes'] / 2**20:.0f} MiB (planned {told['estimatedPeakBytes'] / 2**20:.0f}), "
          f"{told['cpuSeconds']['all']:.1f} CPU s; affine differs by {moved:.1e}", flush=True)
    voxels = volume.get_fdata(dtype=numpy.float32).T
    voxels = (voxels - voxels.min()) / (voxels.max() - voxels.min())
    with torch.inference_mode():
        logits = nn.Sequential(*writer.modules).eval()(torch.from_numpy(numpy.ascontiguousarray(voxels))[None, None])[0]
        greatest = logits.topk(2, 0).values
        ties = ((greatest[0] - greatest[1]) < TIE).numpy()
        different = given.T != logits.argmax(0).numpy()
    print(f"{(different & ~ties).sum()} of {(~ties).sum()} voxels have another label than PyTorch's ({torch.__version__}); {ties.sum()} ties, "
          f"{(different & ties).sum()} of them differ; labels {numpy.bincount(given.ravel()).tolist()}")
    return int((different & ~ties).any() or moved > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
