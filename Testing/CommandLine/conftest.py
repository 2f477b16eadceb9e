# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What the tests of the program share: the program itself, and small slides that it or tifffile makes."""

import ctypes
import gzip
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import zlib

import numpy
import pytest
import tifffile

# Environment variable GIGAPIXEL_PROGRAM: The program under test. The default is `gigapixel`.
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", "gigapixel")
NETWORKS = pathlib.Path(__file__).parents[1] / "Import/networks.npz"
# Most tests of training are about all but the network: this one takes a second where the default takes minutes.
CHAIN = ["--network", "remedios2023"]
TRAIN = ["train", *CHAIN]

# A script's shell ignores SIGINT for what it starts in the background, nohup SIGHUP, and all below inherits that.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Of tests that compare memory: what sanitizers keep is in it.
UNSANITIZED = pytest.mark.skipif("GIGAPIXEL_SANITIZED" in os.environ, reason="the sanitizer's memory would be compared as well")


class Result:
    def __init__(self, finished):
        self.code = finished.returncode
        self.out = finished.stdout
        self.err = finished.stderr

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def codes(self):
        return find_codes(self.err)


def find_codes(messages):
    """The codes at the ends of lines on stderr, in their order."""
    return re.findall(r"\[([EW]-[A-Z0-9-]+)\]$", messages, re.M)


def run(*arguments, code=0, cwd=None, env=None, preexec_fn=None):
    """Runs the program, checks its exit code, and that what it says for people is no dump of a class."""
    words = [PROGRAM, *[str(argument) for argument in arguments]]
    finished = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=env, timeout=300, preexec_fn=preexec_fn)
    result = Result(finished)
    assert result.code == code, f"{words}\nexit code {result.code}\n{result.out}\n{result.err}"
    for trace in ("ITK ERROR", "itk::ERROR", "(0x", "terminate", "what()"):
        assert trace not in result.err, result.err
    return result


def obey_permissions():
    """As everybody has to: root reads and writes what it likes by CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which are dropped."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def find_memory_of_segments(*options):
    """MiB in which the training of 1200 x 1000 pixels is planned in segments: tiles take less where the CPU has no AVX-512."""
    if "GIGAPIXEL_SANITIZED" in os.environ:
        pytest.skip("the sanitizer's memory is planned for as well")
    words = ["plan", "--size", "1200x1000", "--json", *options, "--memory"]
    return next(m for m in range(360, 260, -20) if run(*words, f"{m}M").json["plans"][0].get("segments"))


class Refused(str):
    """The message of an error, with the fields of --json: code, file, option, value, why, do (None where there is none)."""

    def __new__(cls, message, fields):
        self = super().__new__(cls, message)
        self.code, self.file, self.option, self.value, self.why, self.do = (fields[name] for name in ("code", "file", "option", "value", "why", "do"))
        return self


def fails(*arguments, code=1, **options):
    """Runs what has to fail: one line on stderr, and with --json the same error in fields. Returns both as a Refused."""
    result = run(*arguments, "--quiet", "--json", code=code, **options)
    told = result.json if isinstance(result.json, list) else [result.json]
    errors = [each["error"] for each in told if "error" in each]
    assert len(errors) == 1, result.out
    lines = result.err.strip().splitlines()
    assert len(lines) == 1, result.err
    assert lines[0].startswith("gigapixel: ") and lines[0].endswith(f"[{errors[0]['code']}]"), (lines, errors)
    return Refused(lines[0], errors[0])


def write_slide(path, pixels, mpp=0.5, **options):
    """A tiled deflate TIFF as other programs write it."""
    resolution = {"resolution": (1e4 / mpp, 1e4 / mpp), "resolutionunit": "CENTIMETER"} if mpp else {}
    photometric = "rgb" if pixels.ndim == 3 else "minisblack"
    tifffile.imwrite(
        path, pixels, tile=(256, 256), compression="zlib", photometric=photometric, **resolution, **options
    )
    return path


def write_png(path, pixels):
    """A gray PNG of 8 bits."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )
    return path


def write_nrrd(path, pixels, mpp=0.5, flips=(1, 1), corner=(0.0, 0.0), encoding="gzip", space="left-posterior-superior", **more):
    """A mask as 3D Slicer saves it, https://teem.sourceforge.net/nrrd/format.html: one slice of a volume in mm, whose axes may
    run from either end of the slide (flips: -1), and one layer, or a list of them (pixels of three axes). \\param corner in mm
    \\param more key=value pairs"""
    height, width = pixels.shape[:2]
    mm = mpp / 1000
    first = [c + (mm * (n - 1) if flip < 0 else 0) for c, n, flip in zip(corner, (width, height), flips)]
    sign = -1 if space == "right-anterior-superior" else 1  # x and y point the other way there
    axes = [f"({sign * flips[0] * mm},0,0)", f"(0,{sign * flips[1] * mm},0)", "(0,0,1)"]
    layers = pixels.shape[2:]
    header = [
        "NRRD0004",
        "type: " + {"uint8": "unsigned char"}.get(pixels.dtype.name, pixels.dtype.name),
        f"dimension: {3 + len(layers)}",
        f"space: {space}",
        "sizes: " + " ".join(str(n) for n in (*layers, width, height, 1)),
        "space directions: " + " ".join(["none"] * len(layers) + axes),
        "kinds: " + " ".join(["list"] * len(layers) + ["domain"] * 3),
        "endian: little",
        f"encoding: {encoding}",
        f"space origin: ({sign * first[0]},{sign * first[1]},0)",
        *(f"{key}:={value}" for key, value in more.items()),
    ]
    data = pixels[:: flips[1], :: flips[0]].tobytes()
    data = gzip.compress(data) if encoding == "gzip" else data
    path.write_bytes("\n".join(header).encode() + b"\n\n" + data)
    return path


def segment(number, name, value, layer=0):
    """What 3D Slicer says of a segment in its .seg.nrrd."""
    said = {"ID": f"Segment_{number + 1}", "Name": name, "LabelValue": value, "Layer": layer, "Color": "0.5 0.7 0.5"}
    return {f"Segment{number}_{key}": value for key, value in said.items()}


def blobs(height, width, seed=1):
    """A 0/255 mask of a few discs."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[:height, :width]
    mask = numpy.zeros((height, width), bool)
    for _ in range(6):
        cy, cx, r = random.uniform(0, height), random.uniform(0, width), random.uniform(0.05, 0.2) * width
        mask |= (y - cy) ** 2 + (x - cx) ** 2 < r**2
    return mask.astype(numpy.uint8) * 255


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory):
    """A synthesized slide of 1300 x 1100 pixels with its truth: (slide, truth)."""
    folder = tmp_path_factory.mktemp("synthetic")
    slide, truth = folder / "slide.tif", folder / "truth.tif"
    run("synthesize", slide, "--size", "1300x1100", "--seed", 3, "--truth", truth)
    return slide, truth


@pytest.fixture(scope="session")
def cohort(tmp_path_factory):
    """Two synthetic slides with their truth, one to train on and one to validate with."""
    folder = tmp_path_factory.mktemp("cohort")
    for name, seed in (("a", 1), ("b", 2)):
        run("synthesize", folder / f"{name}.tif", "--size", "800x700", "--seed", seed, "--truth", folder / f"{name}.truth.tif")
    table = folder / "cohort.csv"
    table.write_text("slide,mask,split\na.tif,a.truth.tif,train\nb.tif,b.truth.tif,validation\n")
    return table


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    """A folder with what the commands of writing_commands.py read; they are run in it."""
    folder = tmp_path_factory.mktemp("inputs")
    run("synthesize", "slide.tif", "--size", "900x700", "--seed", 3, "--truth", "truth.tif", cwd=folder)
    run("outline", "truth.tif", "--like", "slide.tif", "-o", "outlines.geojson", cwd=folder)
    for name, seed in (("a", 1), ("b", 2)):
        run("synthesize", f"{name}.tif", "--size", "160x128", "--seed", seed, "--truth", f"{name}.m.tif", cwd=folder)
    (folder / "cohort.csv").write_text("slide,mask,split\na.tif,a.m.tif,train\nb.tif,b.m.tif,validation\n")
    predictions = ["slide,label,p_one,p_two", "a.tif,one,0.7,0.3", "b.tif,two,0.2,0.8", "c.tif,one,0.1,0.9", "d.tif,two,0.3,0.7"]
    (folder / "predictions.csv").write_text("\n".join(predictions) + "\n")
    (folder / "network.onnx").write_bytes(numpy.load(NETWORKS)["unet/onnx"].tobytes())
    if run("doctor", "--json").json["network"]["installed"]:
        (folder / "labels.csv").write_text("slide,label,split\na.tif,one,train\nb.tif,two,train\n")
        words = ["--network", "resnet18:width=2", "--epochs", 1, "--tile-size", 64]
        run("train", "--cohort", "labels.csv", "-o", "labels-run", *words, cwd=folder)
    return folder


def settings(folder):
    """What a run was begun with, in its checkpoint."""
    data = (folder / "last.safetensors").read_bytes()
    return json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["training.settings"])


def weights(folder):
    """The tensors' bytes; the text before them may hold times and names."""
    data = (folder / "last.safetensors").read_bytes()
    return data[8 + int.from_bytes(data[:8], "little") :]


@pytest.fixture(scope="session")
def network():
    """Skips where the program was built without LibTorch."""
    if not run("doctor", "--json").json["network"]["installed"]:
        pytest.skip("the engine was not built")


@pytest.fixture(scope="module")
def trained(cohort, tmp_path_factory):
    """A run of a few epochs: (folder, result)."""
    folder = tmp_path_factory.mktemp("run") / "run"
    result = run(*TRAIN, "--cohort", cohort, "-o", folder, "--epochs", 3, "--learning-rate", 0.01, "--json")
    return folder, result


def write_tissue_model(path, change):
    """The ready model of label with other weights: `change` gets its arrays, flat, by name."""
    data = (pathlib.Path(__file__).parents[2] / "Modules/Network/models/tissue-classes.safetensors").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    values = numpy.frombuffer(data[begin:], "<f4").copy()
    tensors = {name: entry["data_offsets"] for name, entry in json.loads(data[8:begin]).items() if name != "__metadata__"}
    change({name: values[first // 4 : last // 4] for name, (first, last) in tensors.items()})
    path.write_bytes(data[:begin] + values.tobytes())
    return path
