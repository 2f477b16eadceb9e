# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""--device cuda beside the CPU; skipped where there is no GPU of NVIDIA's, or no module or LibTorch that uses it."""

import numpy
import pytest
import tifffile

from conftest import fails, run, weights
from labeled_slides import WORDS, arrays, read, write_slide, write_table

CHAIN = ["--network", "remedios2023", "--tile-size", 256]
GRAPH = ["--network", "unet:base=8,depth=2", "--tile-size", 256]


@pytest.fixture(scope="module", autouse=True)
def gpu(network):
    found = run("doctor", "--json").json["network"]["gpu"]
    if found.startswith("none"):
        pytest.skip(found)
    return found


def train(cohort, folder, *words, epochs=3, rate=0.01):
    options = ["--epochs", epochs, "--learning-rate", rate, "--json", "-o", folder, *words]
    return run("train", "--cohort", cohort, *options).json


@pytest.fixture(scope="module")
def runs(cohort, tmp_path_factory):
    """Of each kind of network a run on the CPU and one on the GPU: folders."""
    folder = tmp_path_factory.mktemp("runs")
    for kind, words in (("chain", CHAIN), ("graph", GRAPH)):
        train(cohort, folder / f"{kind}-cpu", *words)
        train(cohort, folder / f"{kind}-cuda", *words, "--device", "cuda")
    return folder


def get_change(folder, start):
    return arrays(folder / "last.safetensors") - start


@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_a_step_is_that_of_the_cpu(kind, cohort, tmp_path):
    """Of one step by plain gradient descent the change is the gradient: 1e-3 of its norm is what float sums differ by."""
    words = [*(CHAIN if kind == "chain" else GRAPH), "--optimizer", "sgd", "--momentum", 0]
    for device in ("cpu", "cuda"):
        train(cohort, tmp_path / device, *words, "--device", device, epochs=1)
    train(cohort, tmp_path / "start", *words, epochs=1, rate=1e-9)
    start = arrays(tmp_path / "start" / "last.safetensors")
    wanted, found = (get_change(tmp_path / device, start) for device in ("cpu", "cuda"))
    assert 0 < numpy.linalg.norm(wanted)
    assert numpy.linalg.norm(found - wanted) <= 1e-3 * numpy.linalg.norm(wanted)


@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_the_same_bits_come_again(kind, runs, cohort, tmp_path):
    words = [*(CHAIN if kind == "chain" else GRAPH), "--device", "cuda"]
    train(cohort, tmp_path / "again", *words, "--threads", 1)
    assert weights(tmp_path / "again") == weights(runs / f"{kind}-cuda")
    train(cohort, tmp_path / "parts", *words, epochs=1)
    train(cohort, tmp_path / "parts", *words, "--resume")
    assert weights(tmp_path / "parts") == weights(runs / f"{kind}-cuda")


def test_shared_memory_changes_no_bit(runs, cohort, tmp_path):
    train(cohort, tmp_path / "shared", *CHAIN, "--device", "cuda", "--shared-memory")
    assert weights(tmp_path / "shared") == weights(runs / "chain-cuda")
    for name, words in (("copied", []), ("shared", ["--shared-memory"])):
        words = ["--model", runs / "chain-cpu", "--device", "cuda", *words]
        run("segment", cohort.parent / "b.tif", *words, "-o", tmp_path / f"{name}.tif")
    assert (tmp_path / "copied.tif").read_bytes() == (tmp_path / "shared.tif").read_bytes()


@pytest.mark.parametrize("kind", ["chain", "graph"])
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "fp16"])
def test_masks_are_those_of_the_cpu(kind, precision, runs, cohort, tmp_path):
    slide, model = cohort.parent / "b.tif", ["--model", runs / f"{kind}-cpu"]
    options = [*model, "-o", tmp_path / "cuda.tif", "--device", "cuda", "--precision", precision]
    if kind == "graph" and precision == "fp16":
        assert fails("segment", slide, *options).code == "E-PRECISION"
        return
    run("segment", slide, *options)
    run("segment", slide, *model, "-o", tmp_path / "cpu.tif")
    wanted, found = (tifffile.imread(tmp_path / f"{device}.tif") for device in ("cpu", "cuda"))
    assert 0 < (wanted > 0).mean() < 1
    assert (wanted != found).mean() <= (1e-4 if precision == "fp32" else 2e-2)


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp16"])
def test_precisions_learn_alike(precision, runs, cohort, tmp_path):
    for kind, words in (("chain", CHAIN), ("graph", GRAPH)):
        if kind == "graph" and precision == "fp16":
            continue
        told = train(cohort, tmp_path / kind, *words, "--device", "cuda", "--precision", precision)
        wanted = train(cohort, runs / f"{kind}-cuda", *words, "--device", "cuda", "--resume")
        assert told["validationLoss"] == pytest.approx(wanted["validationLoss"], rel=0.1)


@pytest.mark.parametrize("pool", ["max", "attention"])
def test_slides_with_one_label(pool, tmp_path):
    for i in range(4):
        write_slide(tmp_path / f"{i}.tif", i, i % 2)
    table = write_table(tmp_path / "c.csv", [f"{i}.tif,{'spots' if i % 2 else 'none'},p{i},{'validation' if i > 1 else 'train'}" for i in range(4)], "slide,label,patient,split")
    words = ["--network", f"resnet18:width=8,pool={pool}", *WORDS[2:]]
    for device in ("cpu", "cuda"):
        train(table, tmp_path / device, *words, "--device", device, epochs=1)
    wanted, found = (arrays(tmp_path / device / "last.safetensors") for device in ("cpu", "cuda"))
    assert numpy.abs(wanted - found).mean() < 1e-4
    for device in ("cpu", "cuda"):
        more = ["--device", device, "--maps", tmp_path / f"maps-{device}"]
        run("classify", tmp_path / "1.tif", "--model", tmp_path / "cpu", "-o", tmp_path / f"{device}.csv", *more)
        run("features", tmp_path / "1.tif", "--model", tmp_path / "cpu", "-o", tmp_path / f"{device}.h5", "--device", device)
    wanted, found = (read(tmp_path / f"{device}.csv")[0] for device in ("cpu", "cuda"))
    assert float(found["p_spots"]) == pytest.approx(float(wanted["p_spots"]), abs=1e-5)
    wanted, found = (tifffile.imread(tmp_path / f"maps-{device}" / "1.pyramid.tif") for device in ("cpu", "cuda"))
    assert numpy.abs(wanted - found).max() <= 1e-4 * numpy.abs(wanted).max()
    h5py = pytest.importorskip("h5py")
    wanted, found = (h5py.File(tmp_path / f"{device}.h5")["features"][()] for device in ("cpu", "cuda"))
    assert numpy.abs(wanted - found).max() <= 1e-4 * numpy.abs(wanted).max()


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_the_memory_of_the_gpu_is_planned(precision, cohort, tmp_path):
    words = ["--precision", precision, "--device", "cuda"]
    told = train(cohort, tmp_path / "run", "--network", "unet:base=16,depth=3", "--tile-size", 256, *words, epochs=1)
    segmented = run("segment", cohort.parent / "b.tif", "--model", tmp_path / "run", "-o", tmp_path / "m.tif", *words, "--json").json
    for result in (told, segmented):
        # A plan of small tiles leaves up to 0.6 of it as room.
        assert 0.4 * result["plan"]["deviceBytes"] <= result["gpuBytes"] <= result["estimatedGpuBytes"]
        assert result["peakBytes"] <= 1.1 * result["estimatedPeakBytes"]
