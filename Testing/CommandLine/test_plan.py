# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""plan, networks and doctor: what the engine says before it computes; skipped where there is none."""

import json
import os
import pathlib
import re

import pytest

from conftest import CHAIN, fails, run
from test_terminal import read_until, start_on_terminal

pytestmark = pytest.mark.usefixtures("network")


def test_doctor_finds_the_module():
    report = run("doctor", "--json").json
    assert report["healthy"] and report["network"]["installed"] and re.match(r"\d+\.\d+", report["network"]["torch"])
    assert report["writeTest"]["passed"] and report["itk"] and report["openslide"] and "JPEG 2000" in report["codecs"]
    assert "All is well" in run("doctor").out


def test_doctor_misses_the_folder_for_temporary_files(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path / "none")}
    report = run("doctor", "--json", env=environment, code=1).json
    assert report["writeTest"]["folder"] == environment["TMPDIR"] and report["healthy"] is False and report["itk"]
    assert report["writeTest"]["problem"] == (
        f"nothing can be written into {tmp_path}/none (No such file or directory); name another folder for temporary files in TMPDIR."
    )
    assert f"failed: {report['writeTest']['problem']}\n" in run("doctor", env=environment, code=1).out


def test_plan():
    plan = run("plan", "--size", "16000x64000", *CHAIN, "--memory", "2G", "--measure", "--json").json
    assert plan["parameters"] == 4492 and plan["stride"] == 32 and plan["halo"] == 64
    rows = {(row["purpose"], row["options"]): row for row in plan["plans"]}
    assert len(rows) == 6
    streamed = rows["training", ""]
    assert streamed["fits"] and streamed["peakBytes"] <= 2 * 1024**3
    assert rows["inference", ""]["seconds"] > 0 and streamed["seconds"] > 0  # measured apart, so which is more is chance
    side = streamed["tileSize"]
    assert streamed["tiles"] == -(-16000 // side) * -(-64000 // side)
    whole = rows["training", "--tile-size image"]
    assert not whole["fits"] and "without --tile-size image" in whole["reason"]
    assert "training" in run("plan", "--size", "16000x64000", *CHAIN).out
    unmeasured = run("plan", "--size", "16000x64000", *CHAIN, "--memory", "2G", "--json").json["plans"]
    assert [set(row) for row in unmeasured] == [set(row) - {"seconds", "networkSeconds"} for row in plan["plans"]]
    small = run("plan", "--size", "2000x2000", *CHAIN, "--precision", "bf16", "--json").json["plans"]
    rows = {(row["purpose"], row["options"]): row for row in small}
    extra = rows["training", "--shared-memory"]["peakBytes"] - rows["training", ""]["peakBytes"]
    assert extra == pytest.approx(2 * 2000 * 2000 - 2048 * 2048, abs=1e6)  # the reader keeps no tiles
    assert 2 * 2000 * 2000 < rows["training", ""]["deviceBytes"] < streamed["deviceBytes"]
    rows = run("plan", "--size", "2000x1500", *CHAIN, "--tile-size", "image", "--json").json["plans"]
    assert [row["options"] for row in rows[:2]] == ["--tile-size image", "--tile-size image --shared-memory"]
    assert {(row["tileSize"], row["tiles"]) for row in rows} == {(2016, 1)}
    assert '8 to 65536 px' in run("plan", "--size", "9x9", "--tile-size", "4", code=2).err
    small = run("plan", "--size", "9x9", *CHAIN, "--memory", "1").out
    assert "the memory limit of 1 byte is too small" in small and "0 bytes" not in small
    assert "less than 0.1 s" in run("plan", "--size", "9x9", *CHAIN, "--measure").out
    slow = run("plan", "--size", "400000x200000", "--network", "unet:base=64", "--memory", "64G", "--measure").out
    assert re.search(r"about \d+ days \d\d h ", slow)
    assert 'a whole number or image, not "whole"' in run("plan", "--size", "9x9", "--tile-size", "whole", code=2).err
    assert "--size" in run("plan", code=2).err


@pytest.mark.parametrize("name", ["remedios2023", "resnet18-unet"])
def test_plan_of_images_that_nobody_has(name):
    plan = run("plan", "--size", "1000000000x1000000000", "--network", name, "--memory", "8G", "--json").json
    for row in plan["plans"]:
        assert row["peakBytes"] > 0 if row["fits"] else re.search(r"limit of 8G is too small: at least \d+G are needed", row["reason"])


def test_plan_of_patches():
    arguments = ["plan", "--size", "16000x64000", *CHAIN, "--sliding-window", "--memory"]
    inference = [row for row in run(*arguments, "2G", "--patch", 1024, "--overlap", 0.5, "--json").json["plans"] if row["purpose"] == "inference"]
    assert [row["options"] for row in inference] == ["--sliding-window --patch 1024 --overlap 0.5"]
    row = inference[0]
    assert row["fits"] and row["tileSize"] == 1024 and row["tiles"] == 31 * 124  # ceil((16000 - 1024) / 512) + 1 ...
    sums = 16000 * 1024 * 2 * 4
    assert sums < row["peakBytes"] < 2 * 1024**3
    text = run(*arguments, "2G", "--mirror").out
    assert "--sliding-window --patch 512 --overlap 0.25 --mirror" in text and "patches of 512 px" in text
    refused = [row for row in run(*arguments, "1G", "--patch", 8192, "--json").json["plans"] if "reason" in row]
    assert any("smaller patches (--patch) need less" in row["reason"] for row in refused)


def test_plan_tells_segments_and_where_their_maps_lie(tmp_path):
    arguments = ["plan", "--size", "32768x32768", "--network", "resnet18-unet", "--memory", "3G"]
    row = run(*arguments, "--scratch", tmp_path, "--json").json["plans"][0]
    assert row["fits"] and row["keptInFiles"] and row["keptBytes"] > 3 * 1024**3 > row["peakBytes"]
    assert 2 <= len(row["segments"]) <= 5 and row["segments"][-1]["passes"] == 2
    text = run(*arguments, "--scratch", tmp_path).out
    assert f"segment up to {row['segments'][0]['map']}: 3 passes" in text and "in the scratch folder" in text
    inMemory = run(*arguments, "--json").json["plans"][0]
    assert inMemory["fits"] and not inMemory["keptInFiles"] and inMemory["keptBytes"] < inMemory["peakBytes"]
    assert "with a scratch folder that has" in inMemory["remark"] and "scratch" not in row["remark"]
    refused = run(*arguments[:-1], "900M", "--json").json["plans"][0]
    assert not refused["fits"]


def test_networks_that_label_slides_keep_maps_in_a_scratch_folder(tmp_path):
    """Where the weights take most of the memory, small tiles at once would compute their halos again and again."""
    arguments = ["plan", "--size", "8192x8192", "--network", "resnet34:pool=attention", "--memory", "2150M", "--threads", "1", "--measure", "--json"]
    atOnce, inSegments = (run(*arguments, *more).json["plans"][0] for more in ([], ["--scratch", tmp_path]))
    assert atOnce["segments"] == [] and atOnce["keptBytes"] == 0
    maps = [segment["map"] for segment in inSegments["segments"]]
    assert len(maps) > 2 and maps[-2:] == ["globalpool", "fc"] and inSegments["keptBytes"] > 1 << 30
    assert inSegments["networkSeconds"] < 0.2 * atOnce["networkSeconds"] and inSegments["peakBytes"] <= 2150 << 20


def test_more_threads_than_cores_are_no_faster(tmp_path):
    cores = len(os.sched_getaffinity(0))
    words = ["plan", "--size", "16000x16000", *CHAIN, "--memory", "2G", "--measure", "--threads"]
    many, all_of_them = run(*words, 16 * cores, "--json"), run(*words, cores, "--json")
    assert f"--threads {16 * cores}" in many.err and "--threads" not in all_of_them.err
    for there, here in zip(many.json["plans"], all_of_them.json["plans"]):
        assert there["tilesInFlight"] > here["tilesInFlight"] == cores or there["tiles"] == 1
        decoding = [row["seconds"] - row["networkSeconds"] for row in (there, here)]  # the rest is measured, each time anew
        assert decoding[0] == pytest.approx(decoding[1])


def test_ready_model_is_a_network_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare = run("networks", "tissue", "--json").json
    (tmp_path / "tissue").mkdir()
    hidden = run("networks", "tissue", "--json")
    assert hidden.json == bare and "./tissue" in hidden.err
    assert (fails("networks", "tissues").code, fails("networks", "tissues").value) == ("E-NETWORK-FORMAT", "tissues")


def test_networks_lists_presets_and_describes_one(tmp_path):
    presets = {network["name"]: network for network in run("networks", "--json").json}
    assert list(presets)[:2] == ["remedios2023", "unet"] and "resnet18-unet" in presets
    assert {option["name"]: option["default"] for option in presets["unet"]["options"]}["base"] == "16"
    assert (presets["remedios2023"]["parameters"], presets["remedios2023"]["halo"]) == (4492, 64)
    text = run("networks").out
    assert "base=16 (1 to 512)" in text and "halo 94 px" in text and "learning rate 0.0001\n" in text
    assert [presets[name]["learningRate"] for name in ("remedios2023", "resnet18-unet")] == [0.003, 0.0001]
    one = run("networks", "unet:base=32,classes=3", "--json").json
    assert (one["name"], one["classes"], one["halo"]) == ("unet:base=32,classes=3", 3, 94)
    assert [tile["side"] for tile in one["tiles"]] == [512, 1024, 2048]
    # Twice the channels: four times the products of all convolutions but the first and the last.
    assert 3.5 < one["multiplyAddsPerPixel"] / presets["unet"]["multiplyAddsPerPixel"] < 4
    operations = [{"name": "x", "type": "input", "channels": 1}]
    operations += [{"name": "y", "type": "conv2d", "inputs": ["x"], "out_channels": 1, "kernel_size": 3, "padding": 1}]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"name": "mine", "operations": operations, "output": "y"}))
    mine = run("networks", file, "--json").json
    assert (mine["parameters"], mine["multiplyAddsPerPixel"], mine["halo"]) == (10, 9, 1)
    assert mine["learningRate"] == 0.003  # it says what a chain of layers says
    operations.insert(1, {"name": "s", "type": "sigmoid", "inputs": ["x"]})
    operations[2]["inputs"] = ["s"]
    named = {"name": "unet", "operations": operations, "output": "y"}
    file.write_text(json.dumps(named))  # a name alone does not make it the preset
    assert run("networks", file, "--json").json["learningRate"] == 0.0001
    file.write_text(json.dumps({**named, "learning rate": 0.02}))
    assert run("networks", file, "--json").json["learningRate"] == 0.02
    for rate in (0, -0.1, 1e30, 10.1, 1e-10, "fast", None, True, [0.1]):
        file.write_text(json.dumps({**named, "learning rate": rate}))
        assert (fails("networks", file).code, fails("networks", file).file) == ("E-NETWORK-FORMAT", str(file))
    for rate in ("NaN", "Infinity", "1e999"):
        file.write_text(json.dumps(named)[:-1] + f', "learning rate": {rate}}}')
        assert (fails("networks", file).code, fails("networks", file).file) == ("E-NETWORK-FORMAT", str(file))
    del operations[1]
    operations[1]["inputs"] = ["x"]
    operations[1]["padding"] = 0
    file.write_text(json.dumps({"name": "mine", "operations": operations, "output": "y"}))
    assert (fails("networks", file).code, fails("networks", file).file) == ("E-NETWORK-FORMAT", str(file))
    gray = run("networks", "resnet18-unet:channels=1", "--json").json
    assert presets["resnet18-unet"]["parameters"] - gray["parameters"] == 2 * 64 * 7 * 7
    assert [option["name"] for option in presets["resnet18-unet"]["options"]] == ["channels", "classes", "normalization"]
    assert (fails("networks", "unet:levels=3").code, fails("networks", "unet:levels=3").value) == ("E-OPTION-VALUE", "unet:levels=3")
    assert (fails("networks", "nosuch").code, fails("networks", "nosuch").value) == ("E-NETWORK-FORMAT", "nosuch")


def test_interpolation_by_no_factor(tmp_path):
    operations = [{"name": "x", "type": "input", "channels": 1}]
    operations += [{"name": "y", "type": "interpolate", "inputs": ["x"]}]
    operations += [{"name": "z", "type": "conv2d", "inputs": ["y"], "out_channels": 1, "kernel_size": 1}]
    file = tmp_path / "mine.json"
    for factor in (0, -1, [2, 0], [0, 2], 257):
        operations[1]["scale_factor"] = factor
        file.write_text(json.dumps({"name": "mine", "operations": operations, "output": "z"}))
        assert (fails("networks", file).code, fails("networks", file).value) == ("E-NETWORK-FORMAT", "y")


def test_plan_shows_that_it_goes_on():
    """Of a network whose plans take some seconds."""
    process, terminal = start_on_terminal(["plan", "--size", "30000x20000", "--network", "resnet18-unet"])
    shown = read_until(terminal, r"plan resnet18-unet: \d+ %")
    process.kill()
    process.wait()
    os.close(terminal)
    assert re.search(r"plan resnet18-unet: \d+ %", shown)


def test_plan_of_a_slide(cohort):
    plan = run("plan", cohort.parent / "a.tif", "--level", 1, "--json").json
    assert (plan["width"], plan["height"]) == (400, 350)


def test_plan_knows_the_precision_of_graphs():
    arguments = ["plan", "--size", "4096x4096", "--network", "unet", "--tile-size", 512, "--threads", 1, "--json", "--precision"]
    rows = [run(*arguments, precision).json["plans"][0] for precision in ("fp32", "bf16")]
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    if "avx512bw" not in cpu:
        assert rows[0]["fits"] and not rows[1]["fits"] and "choose --precision fp32" in rows[1]["reason"]
        return
    assert rows[1]["peakBytes"] < rows[0]["peakBytes"] - 100e6
    slow = "avx512_bf16" not in cpu
    assert [("no instructions for bf16" in row["remark"]) for row in rows] == [False, slow]


def test_sizes_that_no_machine_holds():
    assert "no machine holds" in run("plan", "--size", "2000000000x2000000000", "--network", "unet:base=4", code=2).err
