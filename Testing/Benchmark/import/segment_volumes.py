#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""`gigapixel segment` of a real T1 with brainchop's networks, beside PyTorch on the whole volume: labels, place, memory, CPU seconds.

    Testing/Benchmark/import/segment_volumes.py [--program build/bin/gigapixel] [--networks mindgrab model30chan50cls model5_gw_ae]
                                                [segment's options: --scratch FOLDER --memory 2G]

Each network is taken over by gp.import_network, and the volume goes from file to file: the program reads, normalizes (the 2nd percentile
becomes 0, the 98th 1, as brainchop's program has it: from its least to its greatest value, model30 sees no brain), computes and writes. Both have one thread. Memory is the peak of ours whole, and of PyTorch what it is above
what it has with network and volume loaded; CPU seconds are those of the whole program, and of PyTorch those of the network and the
greatest logits. A tie is a voxel whose two greatest logits differ by less than 1e-4. Needs nibabel and what compare_volumes.py needs.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import itkgigapixel as gp
import nibabel
import numpy
import torch

from compare_volumes import DATA, TIE, get_peak, make

PERCENTILES = 2, 98
VOLUME = DATA / "volumes/brainchop-t1_crop.nii.gz"


def read(path):
    """x, y, z as in the file, from 0 to 1."""
    voxels = nibabel.load(path).get_fdata(dtype=numpy.float32)
    low, high = numpy.percentile(voxels, PERCENTILES)
    return numpy.clip((voxels - low) / (high - low), 0, 1).astype(numpy.float32)


def label_by_torch(name, path):
    """Labels and ties into a file, and what they took, by a process of its own."""
    import resource

    torch.set_num_threads(1)
    module, voxels = make(name), torch.from_numpy(numpy.ascontiguousarray(read(VOLUME).T))[None, None]
    start, begun = get_peak(), resource.getrusage(resource.RUSAGE_SELF)
    with torch.inference_mode():
        logits = module(voxels)[0]
        labels = logits.argmax(0)
    ended, peak = resource.getrusage(resource.RUSAGE_SELF), get_peak()
    greatest = logits.topk(2, 0).values
    numpy.savez(path, labels=labels.numpy().astype(numpy.uint8).T, ties=((greatest[0] - greatest[1]) < TIE).numpy().T)
    print(json.dumps({"megabytes": peak - start, "seconds": ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime}))


def take_over(name, path):
    gp.import_network(make(name), path, example=(96, 96, 96), tile_size=64, normalization={"type": "percentiles", "low": PERCENTILES[0], "high": PERCENTILES[1]})


def call(*words):
    return subprocess.run([sys.executable, __file__, *map(str, words)], check=True, capture_output=True, text=True).stdout.splitlines()[-1:]


def compare(options, more, name, folder):
    """A row of the table; whether all but ties are alike."""
    model, output, whole = (pathlib.Path(folder) / f"{name}{ending}" for ending in (".safetensors", ".nii.gz", ".npz"))
    call("--take-over", name, model)
    words = [options.program, "segment", VOLUME, "--model", model, "-o", output, "--threads", 1, "--quiet", "--json", *more]
    told = json.loads(subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True).stdout)
    plan, labels = told["plan"], nibabel.load(output)
    ours = f"{told['peakBytes'] / 2**20:.0f} ({told['estimatedPeakBytes'] / told['peakBytes']:.2f})"
    kept = f"{plan['keptBytes'] / 2**20:.0f}" if plan["keptBytes"] else ""
    cells = [name, plan["passes"], kept, ours, f"{told['cpuSeconds']['all']:.0f}"]
    print("| " + " | ".join(map(str, cells)), end=" | ", flush=True)
    eager = json.loads(call("--label-by-torch", name, whole)[0])
    expected = numpy.load(whole)
    different, ties = numpy.asarray(labels.dataobj) != expected["labels"], expected["ties"]
    moved = abs(labels.affine - nibabel.load(VOLUME).affine).max()
    wrong = int((different & ~ties).sum())
    ratio = told["cpuSeconds"]["all"] / eager["seconds"]
    cells = [f"{eager['megabytes']:.0f}", f"{eager['seconds']:.0f}", f"{ratio:.2f}", f"{wrong} of {(~ties).sum()}", int(ties.sum()), f"{moved:.0e}"]
    print(" | ".join(map(str, cells)) + " |", flush=True)
    return wrong == 0 and moved < 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/bin/gigapixel"))
    parser.add_argument("--networks", nargs="+", default=["mindgrab", "model30chan50cls", "model5_gw_ae"])
    for name in ("--take-over", "--label-by-torch"):
        parser.add_argument(name, nargs=2, help=argparse.SUPPRESS)
    options, more = parser.parse_known_args()
    if options.take_over:
        return take_over(*options.take_over)
    if options.label_by_torch:
        return label_by_torch(*options.label_by_torch)
    print("| network | passes | MB of kept maps | MB (planned / peak) | CPU s | PyTorch, MB | CPU s | ours / PyTorch's | other labels | ties | place differs by, mm |")
    print("| --- " * 11 + "|")
    with tempfile.TemporaryDirectory() as folder:
        alike = [compare(options, more, name, folder) for name in options.networks]
    return int(not all(alike))


if __name__ == "__main__":
    sys.exit(main())
