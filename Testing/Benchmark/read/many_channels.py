#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Peak memory of commands on many channels: many_channels.py [--program P] [--channels 40] [--side 40000] [--flat] [--write]

The slide is drawn: an OME-TIFF of 16 bit whose directories share a few tiles, so that its file is small.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "CommandLine"))
from shared_tiles import write_shared_tiles


def measure(program, words):
    """CPU seconds and peak MiB of a process."""
    process = subprocess.Popen([program, *map(str, words), "--quiet"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, words
    return {"cpu_s": round(usage.ru_utime + usage.ru_stime, 1), "peak_mib": round(usage.ru_maxrss / 1024)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="gigapixel")
    parser.add_argument("--channels", type=int, default=40)
    parser.add_argument("--side", type=int, default=40000)
    parser.add_argument("--flat", action="store_true", help="without smaller levels: windows are found on the finest one")
    parser.add_argument("--write", action="store_true", help="write all channels, in place of using two of them")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = [f"M{number}" for number in range(options.channels)]
        slide = write_shared_tiles(folder / "slide.ome.tif", names, options.side, () if options.flat else (4, 16))
        if options.write:
            write = ["convert", slide, folder / "all.ome.tif", "--threads", options.threads]
            print(json.dumps({"write": measure(options.program, write)}))
            return
        common = ["--channel", "M1", "--channel", f"M{options.channels - 1}", "--threads", options.threads]
        label = ["label", slide, "-o", folder / "mask.tif", "--preset", "fluorescence", *common]
        convert = ["convert", slide, folder / "picture.tif", "--window", "auto", *common]
        side = min(4096, options.side)
        region = ["convert", slide, folder / "region.tif", "--region", f"0,0,{side},{side}", "--threads", options.threads]
        commands = {"label": label, "convert": convert, "all channels of a region": region}
        print(json.dumps({name: measure(options.program, words) for name, words in commands.items()}))


if __name__ == "__main__":
    main()
