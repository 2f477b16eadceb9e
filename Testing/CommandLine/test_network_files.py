# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What is given for networks, models and weights: files of other kinds, names that files have, too, and what import writes."""

import json
import os
import pickle
import shutil
import struct
import subprocess
import zipfile

import numpy
import pytest
import tifffile

from conftest import PROGRAM, TRAIN, fails, find_codes, run, write_slide

pytestmark = pytest.mark.usefixtures("network")

CONVOLUTION = {"name": "y", "type": "conv2d", "inputs": ["x"], "kernel_size": 1}


def describe(outputs, channels=3, name="mine"):
    operations = [{"name": "x", "type": "input", "channels": channels}, {**CONVOLUTION, "out_channels": outputs}]
    loss = "binary cross-entropy" if outputs == 1 else "softmax cross-entropy"
    return {"name": name, "operations": operations, "output": "y", "loss": {"type": loss}}


def write_arrays(path, arrays, metadata=None, zeros=0):
    """A safetensors file of floats. \\param zeros so many more in an array behind the others, which take no room on the disk"""
    header, end = {"__metadata__": metadata} if metadata else {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [end, end + 4 * array.size]}
        end += 4 * array.size
    if zeros:
        header["zeros"] = {"dtype": "F32", "shape": [zeros], "data_offsets": [end, end + 4 * zeros]}
    text = json.dumps(header).encode()
    data = b"".join(array.astype("<f4").tobytes() for array in arrays.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    os.truncate(path, path.stat().st_size + 4 * zeros)
    return path


def make_weights(outputs, channels=3, seed=1):
    random = numpy.random.default_rng(seed)
    return {"y.bias": numpy.zeros(outputs), "y.weight": random.normal(0, 8, (outputs, channels, 1, 1))}


@pytest.fixture
def files(tmp_path):
    """One of each kind."""
    (tmp_path / "net.json").write_text(json.dumps(describe(1)))
    metadata = {"gigapixel": "2", "network": json.dumps(describe(1)), "tile_size": "64", "microns_per_pixel": "0.5"}
    write_arrays(tmp_path / "model.safetensors", make_weights(1), metadata)
    write_arrays(tmp_path / "weights.safetensors", make_weights(1))
    with zipfile.ZipFile(tmp_path / "weights.pth", "w") as archive:
        archive.writestr("weights/data.pkl", pickle.dumps({}, 2))
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08\x12\x07pytorch" + bytes(50))
    (tmp_path / "notes.txt").write_text("remember the milk")
    (tmp_path / "slide.tif").write_bytes(b"II*\0" + bytes(100))
    return tmp_path


def test_files_of_other_kinds(files, cohort):
    def check(words, name, code):
        refused = fails(*words)
        assert refused.code == code and name in (refused.file or refused.value), (refused, refused.code)
        assert "json.exception" not in refused
        assert not (files / "run").exists() and not (files / "new.safetensors").exists()

    train = ["train", "--cohort", cohort, "-o", files / "run", "--network"]
    plan = ["plan", "--size", "500x500", "--network"]
    for words in (train, plan, ["networks"]):
        check([*words, files / "net.onnx"], "net.onnx", "E-FILE-KIND")
        check([*words, files / "weights.pth"], "weights.pth", "E-FILE-KIND")
        check([*words, files / "weights.safetensors"], "weights.safetensors", "E-MODEL-FORMAT")
        check([*words, files / "notes.txt"], "notes.txt", "E-FILE-KIND")
        check([*words, files / "slide.tif"], "slide.tif", "E-NETWORK-FORMAT")
    segment = ["segment", cohort.parent / "a.tif", "-o", files / "m.tif", "--model"]
    check([*segment, files / "net.onnx"], "net.onnx", "E-FILE-KIND")
    check([*segment, files / "weights.pth"], "weights.pth", "E-FILE-KIND")
    check([*segment, files / "net.json"], "net.json", "E-FILE-KIND")
    weights = [*TRAIN, "--cohort", cohort, "-o", files / "run", "--weights"]
    check([*weights, files / "net.onnx"], "net.onnx", "E-FILE-KIND")
    check([*weights, files / "notes.txt"], "notes.txt", "E-FILE-KIND")
    make = ["import", "-o", files / "new.safetensors"]
    check([*make, "unet"], "unet", "E-OPTION-NEEDS")
    check([*make, "tissue"], "tissue", "E-FILE-KIND")
    check([*make, files / "model.safetensors"], "model.safetensors", "E-FILE-KIND")
    check([*make, files / "weights.pth"], "weights.pth", "E-FILE-KIND")
    check([*make, files / "net.json"], "net.json", "E-FILE-KIND")
    check([*make, files / "notes.txt"], "notes.txt", "E-FILE-KIND")
    check([*make, files / "slide.tif"], "slide.tif", "E-ONNX-FORMAT")
    check(["info", files / "net.json"], "net.json", "E-FILE-KIND")
    check(["info", files / "net.onnx"], "net.onnx", "E-FILE-KIND")
    check(["info", files / "weights.pth"], "weights.pth", "E-FILE-KIND")
    check([*make, files / "nowhere.onnx"], "nowhere.onnx", "E-FILE-MISSING")
    (files / "net.json").write_bytes(b"\xef\xbb\xbf" + (files / "net.json").read_bytes())
    run(*plan, files / "net.json")
    (files / "net.json").write_bytes(b" \n" * 100 + (files / "net.json").read_bytes().lstrip(b"\xef\xbb\xbf"))
    run(*plan, files / "net.json")
    check([*segment, files / "net.json"], "net.json", "E-FILE-KIND")
    (files / "notes.txt").write_text(" " * 100 + "remember the milk")
    check([*plan, files / "notes.txt"], "notes.txt", "E-FILE-KIND")
    (files / "list.json").write_text("[]")
    check([*plan, files / "list.json"], "list.json", "E-NETWORK-FORMAT")
    (files / "net.json").write_text('{"name": "mine",\n}')
    check([*plan, files / "net.json"], "net.json", "E-NETWORK-FORMAT")


def test_files_that_are_too_large(files):
    """Sparse ones, whose beginning is right."""
    with open(files / "net.onnx", "r+b") as file:
        file.truncate((1 << 31) + 1)
    refused = fails("import", files / "net.onnx", "-o", files / "new.safetensors")
    assert (refused.code, refused.file) == ("E-FILE-LIMIT", str(files / "net.onnx"))
    with open(files / "weights.pth", "r+b") as file:
        file.truncate(5 << 30)
    refused = fails("import", files / "net.json", "--weights", files / "weights.pth", "-o", files / "new.safetensors")
    assert (refused.code, refused.file) == ("E-FILE-LIMIT", str(files / "weights.pth"))
    assert not (files / "new.safetensors").exists()


def test_training_from_one_of_several_sets(files, tmp_path):
    """The choice is asked for, and is the run's: another set is not what it began with."""
    run("synthesize", tmp_path / "a.tif", "--size", "128x96", "--seed", 1, "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    both = {f"{prefix}.{name}": array for prefix, seed in (("model", 1), ("ema", 2)) for name, array in make_weights(1, seed=seed).items()}
    write_arrays(tmp_path / "both.safetensors", both)
    words = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", "--network", files / "net.json", "--epochs", 1, "--learning-rate", 0.001]
    given = [*words, "--weights", tmp_path / "both.safetensors"]
    refused = fails(*given)
    assert (refused.code, refused.file) == ("E-WEIGHTS-SET", str(tmp_path / "both.safetensors"))
    assert fails(*given, "--weights-set", "swa").option == "--weights-set"
    assert fails(*words, "--weights-set", "ema", code=2).code == "E-OPTION-NEEDS"
    run(*given, "--weights-set", "ema")
    again = [*given, "--epochs", 2, "--resume"]
    again.remove("--epochs"), again.remove(1)
    assert fails(*again, "--weights-set", "model").code == "E-RUN-CONFLICT"
    run(*again, "--weights-set", "ema")


def test_what_import_writes(files):
    words = ["import", files / "net.json", "--weights", files / "weights.safetensors", "-o"]
    for name in ("new.onnx", "new.pth", "new"):
        refused = fails(*words, files / name, code=2)
        assert refused.code == "E-OUTPUT-ENDING" and ".safetensors" in refused.do
    run(*words, files / "new.safetensors")
    before = (files / "new.safetensors").read_bytes()
    refused = fails(*words, files / "new.safetensors")
    assert refused.code == "E-OUTPUT-EXISTS" and refused.file == str(files / "new.safetensors")
    assert "--overwrite" in refused.do
    run(*words, files / "new.safetensors", "--overwrite", "--name", "other")
    assert before != (files / "new.safetensors").read_bytes()
    assert "interrupted batch" not in run("import", "--help-all").out
    assert fails(*words, files / "x.safetensors", "--mean", "0.5,0.5", "--deviation", "1,1").code == "E-OPTION-VALUE"
    chain = ["import", "remedios2023", "--weights", files / "weights.safetensors", "-o", files / "x.safetensors"]
    assert fails(*chain, "--mean", 0.5, "--deviation", 1).code == "E-OPTION-APPLIES"
    assert not (files / "x.safetensors").exists()


def test_what_another_process_imported_meanwhile_stays(files):
    """import has seen that there is no such file, and is reading weights when somebody writes it."""
    target = files / "new.safetensors"
    write_arrays(files / "large.safetensors", make_weights(1), zeros=100_000_000)  # takes a while to read
    words = ["import", files / "net.json", "--weights", files / "large.safetensors", "-o", target, "--quiet"]
    process = subprocess.Popen([PROGRAM, *map(str, words)], stderr=subprocess.PIPE, text=True)
    opened = False
    while process.poll() is None and not opened:
        try:
            links = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")]
        except OSError:
            continue
        opened = any(link.endswith("large.safetensors") for link in links)
    target.write_text("somebody's")
    _, message = process.communicate()
    assert opened and process.returncode == 1 and "[E-OUTPUT-EXISTS]" in message
    assert target.read_text() == "somebody's"


def get_processor_time(process):
    """In clock ticks, https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html."""
    fields = open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_what_another_process_segmented_meanwhile_stays(tmp_path):
    """With --fill-holes nothing is written before the whole mask is computed: not even then is a file replaced that came there."""
    random = numpy.random.default_rng(3)
    slide, target = write_slide(tmp_path / "slide.tif", random.integers(0, 256, (2000, 2000, 3), numpy.uint8)), tmp_path / "m.tif"
    network = describe(1)  # one that takes a second
    network["operations"][1:] = [
        {"name": "wide", "type": "conv2d", "inputs": ["x"], "kernel_size": 7, "padding": 3, "out_channels": 64},
        {**CONVOLUTION, "inputs": ["wide"], "out_channels": 1},
    ]
    arrays = {"wide.bias": numpy.zeros(64), "wide.weight": random.normal(0, 1, (64, 3, 7, 7)), **make_weights(1, 64)}
    metadata = {"gigapixel": "2", "network": json.dumps(network), "tile_size": "512", "microns_per_pixel": "0.5"}
    model = write_arrays(tmp_path / "model.safetensors", arrays, metadata)
    words = [PROGRAM, "segment", str(slide), "--model", str(model), "-o", str(target), "--fill-holes"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert "level 0" in process.stderr.readline()  # what the output is was looked at
    begin, ticks = get_processor_time(process), os.sysconf("SC_CLK_TCK")
    while process.poll() is None and get_processor_time(process) < begin + ticks // 4:
        pass
    assert process.poll() is None and all(part.stat().st_size == 0 for part in tmp_path.glob(".*"))
    target.write_text("somebody's")
    _, message = process.communicate()
    assert process.returncode == 1 and find_codes(message) == ["E-OUTPUT-EXISTS"]
    assert target.read_text() == "somebody's"


def test_images_that_are_too_small(files):
    """Three convolutions of 5 x 5 without a border, laid over the image again: each takes 4 pixels of what is left."""
    convolution = {"type": "conv2d", "kernel_size": 5, "out_channels": 1}
    operations = [{"name": "x", "type": "input", "channels": 1}]
    operations += [{**convolution, "name": f"c{i}", "inputs": [["x", "c0", "c1"][i]]} for i in range(3)]
    operations += [{"name": "y", "type": "pad", "inputs": ["c2"], "before": [6, 6], "after": [6, 6]}]
    (files / "small.json").write_text(json.dumps({"name": "small", "operations": operations, "output": "y"}))
    for width, height in ((12, 40), (40, 12)):
        slide = write_slide(files / "small.tif", numpy.zeros((height, width), numpy.uint8))
        (files / "c.csv").write_text(f"slide,mask,split\n{slide},{slide},train\n")
        refused = fails("train", "--cohort", files / "c.csv", "--network", files / "small.json", "-o", files / "run", "--epochs", 1)
        assert (refused.code, refused.file, refused.value) == ("E-NETWORK-IMAGE-SIZE", str(slide), f"{width} x {height}")
        assert "13 x 13" in refused.why
        assert not (files / "run").exists()
        arrays = {f"c{i}.{role}": numpy.ones(shape) for i in range(3) for role, shape in (("bias", 1), ("weight", (1, 1, 5, 5)))}
        write_arrays(files / "small.safetensors", arrays)
        model = files / "small.model.safetensors"
        run("import", files / "small.json", "--weights", files / "small.safetensors", "-o", model, "--mpp", 0.5, "--overwrite")
        refused = fails("segment", slide, "--model", model, "-o", files / "m.tif")
        assert (refused.code, refused.file, refused.value) == ("E-NETWORK-IMAGE-SIZE", str(slide), f"{width} x {height}")
        assert not (files / "m.tif").exists()


def test_names_that_files_have_too(files, monkeypatch):
    """A preset's name means the preset, and a ready model's name that."""
    monkeypatch.chdir(files)
    shutil.copy("net.json", "unet")
    said = run("networks", "unet", "--json")
    assert said.json["name"] == "unet" and said.json["parameters"] > 1000
    assert "./unet" in said.err
    assert run("plan", "--size", "300x300", "--network", "./unet", "--json").json["network"] == "mine"
    (files / "tissue").mkdir()
    shutil.copy("model.safetensors", "tissue/best.safetensors")
    run("synthesize", "s.tif", "--size", "300x300", "--truth", "t.tif")
    said = run("segment", "s.tif", "--model", "tissue", "-o", "m.tif")
    assert "./tissue" in said.err
    assert run("info", "tissue", "--json").json["name"] == "mine"  # what lies there
    (files / "named.json").write_text(json.dumps(describe(1, name="unet")))
    assert run("networks", "named.json", "--json").json["parameters"] == 4


def test_two_classes_with_an_output_each(files):
    """0 and 255, as with one output for both: the object is where the second output is the greater one."""
    pixels = numpy.random.default_rng(2).integers(0, 256, (300, 400, 3), numpy.uint8)
    slide, weights = write_slide(files / "noise.tif", pixels), make_weights(2)
    (files / "two.json").write_text(json.dumps(describe(2)))
    write_arrays(files / "two.safetensors", weights)
    model = files / "two.model.safetensors"
    run("import", files / "two.json", "--weights", files / "two.safetensors", "-o", model, "--mpp", 0.5)
    words = ["segment", slide, "--model", model, "-o"]
    run(*words, files / "m.tif")
    run(*words, files / "n.tif", "--probability", files / "p.tif")
    logits = (255 - pixels.astype(float)) / 255 @ weights["y.weight"][:, :, 0, 0].T
    difference = logits[..., 1] - logits[..., 0]
    mask, probability = tifffile.imread(files / "m.tif"), tifffile.imread(files / "p.tif")
    sure = abs(difference) > 1e-4
    assert 0.01 < numpy.mean(difference > 0) < 0.99 and numpy.mean(sure) > 0.9
    assert (mask == numpy.where(difference > 0, 255, 0))[sure].all()
    assert set(numpy.unique(mask)) == {0, 255} and (tifffile.imread(files / "n.tif") == mask)[sure].all()
    assert abs(probability - 255 / (1 + numpy.exp(-difference))).max() < 0.51
    run(*words, files / "f.tif", "--fill-holes")
    refused = fails(*words, files / "x.tif", "--threshold", 0.3)
    assert (refused.code, refused.file) == ("E-OPTION-APPLIES", str(model)) and "--threshold" in refused and not (files / "x.tif").exists()


def test_what_stands_behind_a_model_is_not_read(files, tmp_path):
    """More than there is memory for."""
    model = tmp_path / "model.safetensors"
    os.truncate(model, model.stat().st_size + (1 << 40))
    assert (fails("info", model).code, fails("info", model).file) == ("E-FILE-DAMAGED", str(model))
