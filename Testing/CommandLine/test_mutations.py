# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Small files of every format, damaged at random and given to the commands that read them: no signal, one sentence where
they are refused, nothing left behind, and outputs that open where they are not."""

import gzip
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess

import numpy
import pytest
import tifffile
from PIL import Image

from conftest import NETWORKS, PROGRAM, TRAIN, blobs, find_codes, run, segment, write_nrrd, write_png, write_slide
from test_dicom_series import SHAPE, encode_runs, to_pictures, to_pieces, write_series
from volumes import write_metaimage, write_nifti, write_nrrd_volume

MUTATIONS = int(os.environ.get("GIGAPIXEL_MUTATIONS", 12))  # of each format
SEED = int(os.environ.get("GIGAPIXEL_MUTATION_SEED", 1))
MOST_BYTES = 3 << 30
MOST_SECONDS = 120
CORPUS = pathlib.Path(__file__).parents[1] / "Fuzz/corpus"
WEIGHTS = NETWORKS.parent / "weights.npz"

SLIDES = {
    "jpeg": ["--compression", "jpeg"],
    "deflate": ["--compression", "deflate"],
    "webp": ["--compression", "webp"],
}
READING_SLIDES = [
    ["info", "IN", "--check"],
    ["convert", "IN", "out/copy.tif", "--compression", "jpeg"],  # else tiles are copied as they are, damaged ones too
    ["label", "IN", "-o", "out/mask.tif", "--full-resolution"],
    ["segment", "IN", "--model", "tissue", "-o", "out/mask.tif"],
]
READING_MASKS = [
    ["evaluate", "IN", "truth.tif"],
    ["overlay", "slide.tif", "IN", "-o", "out/picture.png"],
    ["outline", "IN", "--like", "slide.tif", "-o", "out/outlines.geojson"],
]


def mutate(content, draw):
    """Changes a few places: one, mostly, since of many the first one ends the reading."""
    content = bytearray(content)
    for _ in range(1 + draw.randrange(3) * draw.randrange(2)):
        place = draw.randrange(len(content) + 1)
        # Headers are small, and decide over most.
        place = place if draw.randrange(4) else min(place, draw.choice([16, 64, 512]), len(content))
        length = 1 + draw.randrange(200 if draw.randrange(8) == 0 else 8)
        kind = draw.choice((0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6))  # in place, mostly: positions in files stay right
        if kind == 0 and place < len(content):
            content[place] ^= 1 << draw.randrange(8)
        elif kind == 1:
            content[place : place + length] = draw.randbytes(length)
        elif kind == 2:
            del content[place : place + length]
        elif kind == 3:
            content[place:place] = content[:length]
        elif kind == 4:
            content[place : place + length] = b"\xff" * length
        elif kind == 5:
            content[place : place + length] = bytes(length)
        else:
            del content[place:]
    return bytes(content)


def limit():
    if "GIGAPIXEL_SANITIZED" not in os.environ:  # sanitizers take more than there is
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def check_output(path):
    """That it opens, by a reader of its kind."""
    if path.suffix == ".tif":
        run("info", path, "--check")
    elif path.suffix == ".safetensors":
        run("info", path)
    elif path.suffix == ".geojson":
        json.loads(path.read_text())
    elif path.suffix == ".png":
        Image.open(path).load()


def check(words, inputs, folder, name, content):
    """\\return the exit code"""
    given, out = folder / name, folder / "out"
    shutil.rmtree(folder, ignore_errors=True)
    out.mkdir(parents=True)
    given.write_bytes(content)
    words = [str(given) if word == "IN" else str(folder / word) if word.startswith("out/") else word for word in words]
    before = sorted(os.listdir(inputs))
    finished = subprocess.run(
        [PROGRAM, *words, "--quiet"], capture_output=True, text=True, errors="replace", cwd=inputs, timeout=MOST_SECONDS, preexec_fn=limit
    )
    case = f"{words}\nexit code {finished.returncode}\n{finished.stdout[:2000]}\n{finished.stderr[:2000]}"
    assert finished.returncode in (0, 1, 2), case
    left = [path for path in folder.rglob("*") if path.is_file() and path != given]
    if finished.returncode == 0:
        for path in left:
            assert not path.name.startswith("."), case
            check_output(path)
    else:
        last = finished.stderr.splitlines()[-1]
        assert last.startswith("gigapixel: ") and find_codes(last)[0].startswith("E-"), case
        assert left == [], case
    assert given.read_bytes() == content and sorted(os.listdir(inputs)) == before, case
    return finished.returncode


@pytest.fixture(scope="module")
def counts():
    counts = {}
    yield counts
    print(f"\n{'format':22} {'read':>6} {'refused':>8}")
    for name, codes in counts.items():
        print(f"{name:22} {codes.count(0):6} {len(codes) - codes.count(0):8}")


def damage(counts, title, commands, inputs, folder, name, content, pack=bytes):
    """Damages a file many times; each command reads some of them. A whole file is read by all. \\param pack what is
    done to the damaged content"""
    draw = random.Random(f"{SEED} {title}")
    for words in commands:
        assert check(words, inputs, folder, name, pack(content)) == 0, f"{words} of the whole file"
    codes = [check(commands[i % len(commands)], inputs, folder, name, pack(mutate(content, draw))) for i in range(MUTATIONS)]
    counts.setdefault(title, []).extend(codes)
    assert 1 in codes or MUTATIONS < 10  # else the damage is none


def without_network(commands):
    installed = run("doctor", "--json").json["network"]["installed"]
    return [words for words in commands if installed or words[0] != "segment"]


@pytest.mark.parametrize("compression", SLIDES)
def test_pyramids(compression, inputs, counts, tmp_path):
    run("synthesize", tmp_path / "slide.tif", "--size", "300x280")
    run("convert", tmp_path / "slide.tif", tmp_path / "pyramid.tif", *SLIDES[compression])
    content = (tmp_path / "pyramid.tif").read_bytes()
    damage(counts, f"pyramid, {compression}", without_network(READING_SLIDES), inputs, tmp_path / "case", "slide.tif", content)


@pytest.mark.parametrize("kind", ["BigTIFF", "big endian", "16 bits", "floats", "strips", "OME", "Aperio"])
def test_foreign_tiffs(kind, inputs, counts, tmp_path):
    pixels = numpy.random.default_rng(1).integers(100, 255, (150, 170, 3), numpy.uint8)
    more = {
        "BigTIFF": {"bigtiff": True},
        "big endian": {"byteorder": ">"},
        "16 bits": {},
        "floats": {},
        "strips": {"tile": None},
        "OME": {"ome": True},
        "Aperio": {"description": "Aperio Image Library v10\n170x150 [0,0 170x150] (256x256) J2K|AppMag = 20|MPP = 0.5"},
    }[kind]
    if kind in ("16 bits", "floats"):
        pixels = pixels[..., 0].astype(numpy.uint16 if kind == "16 bits" else numpy.float32)
    if kind == "strips":
        tifffile.imwrite(tmp_path / "slide.tif", pixels, rowsperstrip=16, photometric="rgb", resolution=(2e4, 2e4), resolutionunit="CENTIMETER")
    else:
        write_slide(tmp_path / "slide.tif", pixels, **more)
    content = (tmp_path / "slide.tif").read_bytes()
    commands = READING_SLIDES[:1] if kind in ("16 bits", "floats") else without_network(READING_SLIDES)
    damage(counts, f"TIFF, {kind}", commands, inputs, tmp_path / "case", "slide.tif", content)


def test_masks(inputs, counts, tmp_path):
    pixels = blobs(700, 900)
    Image.fromarray(pixels // 255).save(tmp_path / "mask.jpg")
    for name, path in {
        "JPEG": tmp_path / "mask.jpg",
        "PNG": write_png(tmp_path / "mask.png", pixels),
        "NRRD": write_nrrd(tmp_path / "mask.nrrd", pixels // 255),
        "segmentation": write_nrrd(tmp_path / "mask.seg.nrrd", pixels // 255, **segment(0, "Tissue", 1)),
        "TIFF mask": write_slide(tmp_path / "mask.tif", pixels),
    }.items():
        damage(counts, name, READING_MASKS, inputs, tmp_path / "case", path.name, path.read_bytes())


def test_volumes(inputs, counts, tmp_path):
    """Of few voxels, so that most of what is damaged are headers."""
    voxels = numpy.random.default_rng(1).integers(0, 3, (3, 4, 5))
    for name, path, pack in (
        ("NIfTI", write_nifti(tmp_path / "v.nii", voxels.astype("<i2")), bytes),
        ("NIfTI, gzip", write_nifti(tmp_path / "v.nii", voxels.astype("<i2")), gzip.compress),
        ("NRRD volume", write_nrrd_volume(tmp_path / "v.nrrd", voxels.astype("<i2")), bytes),
        ("MetaImage", write_metaimage(tmp_path / "v.mha", voxels), bytes),
    ):
        given = path.name + (".gz" if pack is gzip.compress else "")
        damage(counts, name, [["info", "IN", "--check"], ["evaluate", "IN", "IN"]], inputs, tmp_path / "case", given, path.read_bytes(), pack)


def test_dicom_series(inputs, counts, tmp_path):
    """The folder of a slice, whose pixels are compressed in some way."""
    if "GIGAPIXEL_HAS_DICOM" not in os.environ:
        pytest.skip("the program is built without DICOM")
    stored = numpy.random.default_rng(1).integers(0, 200, (1, *SHAPE[1:]))
    for title, pack in (
        ("DICOM slice", lambda series: series),
        ("DICOM slice, RLE", lambda series: to_pieces(series, "1.2.840.10008.1.2.5", encode_runs)),
        ("DICOM slice, JPEG", lambda series: to_pictures(series, "1.2.840.10008.1.2.4.50", "JPEG")),
        ("DICOM slice, JPEG 2000", lambda series: to_pictures(series, "1.2.840.10008.1.2.4.90", "JPEG2000", no_jp2=True)),
    ):
        series = pack(write_series(tmp_path / title, stored))
        content = next(series.glob("*.dcm")).read_bytes()
        case = tmp_path / "case"
        damage(counts, title, [["info", str(case), "--check"]], inputs, case, "one.dcm", content)


def test_outlines(inputs, counts, tmp_path):
    content = (inputs / "outlines.geojson").read_bytes()
    damage(counts, "GeoJSON", [["rasterize", "IN", "--like", "slide.tif", "-o", "out/mask.tif"]], inputs, tmp_path / "case", "outlines.geojson", content)


@pytest.mark.usefixtures("network")
def test_networks(inputs, counts, tmp_path):
    case = tmp_path / "case"
    network = (pathlib.Path(__file__).parents[2] / "Modules/Network/networks/remedios2023.json").read_bytes()
    damage(counts, "network JSON", [["plan", "--size", "2000x2000", "--network", "IN"]], inputs, case, "network.json", network)
    onnx = numpy.load(NETWORKS)["Relu/onnx"].tobytes()
    damage(counts, "ONNX", [["import", "IN", "-o", "out/model.safetensors"]], inputs, case, "network.onnx", onnx)


def import_small(folder):
    """A model of a few hundred numbers."""
    (folder / "small.onnx").write_bytes(numpy.load(NETWORKS)["Relu/onnx"].tobytes())
    run("import", folder / "small.onnx", "-o", folder / "small.safetensors")
    return folder / "small.safetensors"


@pytest.mark.usefixtures("network")
def test_models(inputs, counts, tmp_path):
    commands = [["info", "IN"], ["plan", "--size", "2000x2000", "--network", "IN"]]
    damage(counts, "model", commands, inputs, tmp_path / "case", "model.safetensors", import_small(tmp_path).read_bytes())


@pytest.mark.parametrize("kind", ["zip", "legacy", "checkpoint"])
@pytest.mark.usefixtures("network")
def test_weights(kind, inputs, counts, tmp_path):
    network = tmp_path / "network.json"
    network.write_bytes((NETWORKS.parent / "small.json").read_bytes())
    commands = [["import", str(network), "--weights", "IN", "-o", "out/model.safetensors"]]
    content = numpy.load(WEIGHTS)[f"{kind}/file"].tobytes()
    damage(counts, f"PyTorch, {kind}", commands, inputs, tmp_path / "case", "weights.pth", content)


@pytest.mark.usefixtures("network")
def test_cohorts(inputs, counts, tmp_path):
    """Beside the slides, whose paths are relative to the table."""
    content = (inputs / "cohort.csv").read_bytes()
    for name in ("a.tif", "b.tif", "a.m.tif", "b.m.tif"):
        content = content.replace(name.encode(), str(inputs / name).encode())
    words = [*TRAIN, "--cohort", "IN", "-o", "out/run", "--epochs", "1"]
    damage(counts, "cohort", [words], inputs, tmp_path / "case", "cohort.csv", content)


@pytest.mark.usefixtures("network")
def test_checkpoints(inputs, counts, tmp_path):
    """A run goes on from its damaged checkpoint, or is as it was."""
    begun, case = tmp_path / "begun", tmp_path / "case"
    words = [*TRAIN, "--cohort", "cohort.csv", "--epochs", "1", "--quiet", "-o"]
    run(*words, begun, cwd=inputs)
    run(*words, begun, "--resume", cwd=inputs)
    content = (begun / "last.safetensors").read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    draw = random.Random(f"{SEED} checkpoint")
    codes = []
    for number in range(MUTATIONS):
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(begun, case)
        # Most of the file are numbers, which may be any: every other damage is in the text before them.
        damaged = mutate(content[:header], draw) + content[header:] if number % 2 else mutate(content, draw)
        (case / "last.safetensors").write_bytes(damaged)
        before = {path.name: path.read_bytes() for path in case.iterdir()}
        resumed = [PROGRAM, *words, str(case), "--resume"]
        finished = subprocess.run(resumed, capture_output=True, text=True, errors="replace", cwd=inputs, timeout=MOST_SECONDS, preexec_fn=limit)
        message = f"{finished.returncode}\n{finished.stderr}"
        assert finished.returncode in (0, 1), message
        codes.append(finished.returncode)
        if finished.returncode == 1:
            assert finished.stderr.startswith("gigapixel: ") and len(finished.stderr.splitlines()) == 1, message
            assert len(find_codes(finished.stderr)) == 1, message
            assert {path.name: path.read_bytes() for path in case.iterdir()} == before, message
        else:
            assert not [path for path in case.iterdir() if path.name.startswith(".")], message
            run("info", case / "last.safetensors")
    counts["checkpoint"] = codes


@pytest.mark.parametrize("seed", sorted(path.name for path in (CORPUS / "DICOM").glob("dicom-*")))
def test_dicom(seed, inputs, counts, tmp_path):
    damage(counts, "DICOM", READING_SLIDES[:2], inputs, tmp_path / "case", "slide.dcm", (CORPUS / "DICOM" / seed).read_bytes())
