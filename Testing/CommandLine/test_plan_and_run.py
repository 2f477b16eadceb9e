# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What plan says of a budget is what train and segment do with it."""

import re
import subprocess
import sys

import numpy
import pytest
import tifffile

from conftest import CHAIN, PROGRAM, TRAIN, UNSANITIZED, fails, run, write_png, write_slide

pytestmark = [pytest.mark.usefixtures("network"), UNSANITIZED]

FACTORS = {"M": 1024**2, "G": 1024**3}


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """A slide of three channels, its mask and the table of both."""
    folder = tmp_path_factory.mktemp("cohort")
    run("synthesize", folder / "a.tif", "--size", "1024x1024", "--seed", 1, "--truth", folder / "m.tif")
    (folder / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    return folder / "c.csv"


def find(rows, purpose, options=""):
    return next(row for row in rows if (row["purpose"], row["options"]) == (purpose, options))


def check_same(row, told):
    assert told == {key: row[key] for key in told}


@pytest.mark.parametrize(
    "preset, options",
    [
        ("remedios2023", ["--memory", "60M"]),
        ("remedios2023", ["--memory", "1G", "--tile-size", 256]),
        ("unet:base=4,depth=3", ["--memory", "300M"]),
        ("unet:base=4,depth=3", ["--memory", "2G", "--loss", "dice"]),
        ("unet:base=4,depth=5", ["--memory", "340M"]),
        ("unet:base=4,depth=5", ["--memory", "2G", "--freeze", "enc.0", "--threads", 2]),
    ],
)
def test_plan_is_what_train_does(cohort, preset, options, tmp_path):
    given = options[options.index("--tile-size") :] if "--tile-size" in options else []
    words = ["--network", preset, *options]
    rows = run("plan", "--size", "1024x1024", *words, "--json").json["plans"]
    slide = run("plan", cohort.parent / "a.tif", *words, "--json").json["plans"]
    told = run("train", "--cohort", cohort, "-o", tmp_path / "run", *words, "--epochs", 1, "--json").json["plan"]
    name = " ".join(str(word) for word in given)
    check_same(find(rows, "training", name), told)
    check_same(find(slide, "training", name), told)


@pytest.mark.parametrize("preset, memory", [("remedios2023", "60M"), ("unet:base=4,depth=3", "1G"), ("unet:base=32,depth=5", "2G")])
def test_plan_is_what_segment_does(preset, memory, tmp_path):
    """Weights are counted once, though segment has loaded them when it plans: 31 MB of the last network."""
    run("synthesize", tmp_path / "a.tif", "--size", "320x300", "--seed", 1, "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    model = tmp_path / "run"
    run("train", "--cohort", tmp_path / "c.csv", "-o", model, "--network", preset, "--epochs", 1, "--tile-size", 288)
    common = ["--threads", 1, "--memory", memory]
    for options in ([], ["--tile-size", 256], ["--sliding-window", "--patch", 128]):
        name = " ".join(str(word) for word in options) + (" --overlap 0.25" if "--patch" in options else "")
        rows = run("plan", "--size", "320x300", "--network", model, *options, *common, "--json").json["plans"]
        segment = ["segment", tmp_path / "a.tif", "--model", model, "-o", tmp_path / "o.tif", "--overwrite", *options, *common]
        told = run(*segment, "--json").json["plan"]
        check_same(find(rows, "inference", name), told)
        assert options or told["tileSize"] == 288


def test_plan_of_a_region_is_that_of_the_slide(tmp_path):
    """Whose tiles are as large as any; but for how many there are, and what is read of the slide."""
    run("synthesize", tmp_path / "a.tif", "--size", "1500x1100", "--seed", 1, "--truth", tmp_path / "m.tif")
    words = ["segment", tmp_path / "a.tif", "--model", "tissue", "-o", tmp_path / "o.tif", "--overwrite", "--threads", 1, "--json"]
    for options, tiles in ((["--tile-size", 256], (30, 4)), (["--sliding-window", "--patch", 128, "--overlap", 0.5], (23 * 17, 7 * 4))):
        whole, part = (run(*words, *options, *region).json["plan"] for region in ([], ["--region", "300,200,300,130"]))
        assert (whole.pop("tiles"), part.pop("tiles")) == tiles
        assert part.pop("peakBytes") <= whole.pop("peakBytes")
        assert part == whole


@pytest.mark.parametrize("preset", ["remedios2023", "unet:base=8", "resnet18-unet"])
def test_least_memory_that_a_refusal_names_is_enough(preset):
    """Also by the numbers of the text: what is said to be needed is given."""
    words = ["plan", "--size", "3000x2000", "--network", preset, "--tile-size", 512, "--json", "--memory"]
    refused = [row for row in run(*words, "8M").json["plans"]]
    for number, row in enumerate(refused):
        assert row["error"]["code"] == "E-MEMORY-BUDGET" and (row["error"]["option"], row["error"]["value"]) == ("--memory", "8M")
        least = re.search(r"at least (\d+)([MG]) are needed", row["error"]["why"])
        assert run(*words, f"{least[1]}{least[2]}").json["plans"][number]["fits"], row
        less = run(*words, f"{int(least[1]) - 1}{least[2]}").json["plans"][number]
        assert not less["fits"] and f" {least[1]}{least[2]} " in less["error"]["why"]


def measure_peak(*words):
    """Of a process that a small one begins: a process counts what it was before, too."""
    begin = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
    tell = "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    words = [sys.executable, "-I", "-S", "-c", begin + tell, PROGRAM, *[str(word) for word in words]]
    return 1024 * int(subprocess.run(words, check=True, capture_output=True, text=True, timeout=300).stdout)


def test_plan_itself_stays_within_its_memory():
    for network, memory in (("remedios2023", "60M"), ("unet:base=8", "260M"), ("resnet18-unet", "900M")):
        words = ["plan", "--size", "2000x1500", "--network", network, "--memory", memory, "--json"]
        assert measure_peak(*words) <= int(memory[:-1]) * FACTORS[memory[-1]], network


@pytest.mark.parametrize("preset, size", [("remedios2023", "1600x1200"), ("unet:base=8,depth=3", "1600x1200"), ("unet:base=8,depth=3", "3000x2000")])
def test_least_limit_is_the_peak_of_the_process(preset, size, tmp_path):
    """The operating system's count must not be above the least limit that a refusal names. Of the larger slide the reader keeps more."""
    run("synthesize", tmp_path / "a.tif", "--size", size, "--seed", 1, "--truth", tmp_path / "m.tif")
    (tmp_path / "c.csv").write_text("slide,mask,split\na.tif,m.tif,train\n")
    train = ["train", "--cohort", tmp_path / "c.csv", "--network", preset, "--epochs", 1, "-o", tmp_path / "run"]
    segment = ["segment", tmp_path / "a.tif", "--model", tmp_path / "run" / "best.safetensors", "-o", tmp_path / "s.tif"]
    for words in (train, segment):
        refused = fails(*words, "--memory", "8M")
        assert (refused.code, refused.option) == ("E-MEMORY-BUDGET", "--memory")
        least = re.search(r"at least (\d+)M are needed", refused)[1]
        assert measure_peak(*words, "--memory", f"{least}M") <= int(least) * FACTORS["M"], words[0]


def test_plan_says_whose_memory_is_too_little(tmp_path):
    given = run("plan", "--size", "9x9", *CHAIN, "--memory", "1.5M").out
    assert "the memory limit of 1.5M is too small" in given
    free = run("plan", "--size", "1000000000x1000000000", *CHAIN, "--tile-size", "image").out
    assert "the memory that is free on this machine (" in free and "memory limit of" not in free


@pytest.mark.parametrize("precision", ["fp16", "tf32"])
def test_plan_refuses_what_the_engine_refuses(precision):
    for words in (["--network", "unet"], CHAIN):
        refused = fails("plan", "--size", "900x900", *words, "--precision", precision)
        assert (refused.code, refused.value) == ("E-PRECISION", precision)


def test_parameters_are_counted_alike():
    for network in ("remedios2023", "unet", "resnet18-unet"):
        one, other = run("networks", network, "--json").json, run("plan", "--size", "99x99", "--network", network, "--json").json
        assert [other[key] for key in ("parameters", "keptParameters")] == [one[key] for key in ("parameters", "keptParameters")]
    count = re.compile(r"\d+ parameters that are trained and \d+ that are not \(frozen\)")
    words = ["--network", "resnet18-unet"]
    assert count.search(run("networks", "resnet18-unet").out)[0] == count.search(run("plan", "--size", "99x99", *words).out)[0]
    frozen = run("plan", "--size", "99x99", *words, "--freeze", "layer4", "--json").json
    assert frozen["parameters"] + frozen["keptParameters"] == other["parameters"] + other["keptParameters"]
    assert frozen["parameters"] < other["parameters"]


@pytest.mark.parametrize("layout, slides", [("tile", 1), ("strips", 1), ("strips", 3), ("PNG", 2)])
def test_what_is_decoded_as_a_whole_is_planned(layout, slides, tmp_path):
    """Masks of 12 MiB: in one tile, or in files of which the reader takes no part, and which stay in memory."""
    mask = numpy.zeros((3072, 4096), numpy.uint8)
    mask[512:2048, 1024:3072] = 255
    rows = ["slide,mask,split"]
    for i in range(slides):
        write_slide(tmp_path / f"{i}.tif", numpy.stack([255 - mask // 2] * 3, -1))
        resolution = {"resolution": (2e4, 2e4), "resolutionunit": "CENTIMETER", "compression": "zlib"}
        name = f"m{i}.png" if layout == "PNG" else f"m{i}.tif"
        if layout == "PNG":
            write_png(tmp_path / name, mask)
        else:
            pieces = {"tile": mask.shape} if layout == "tile" else {"rowsperstrip": 256}
            tifffile.imwrite(tmp_path / name, mask, **pieces, **resolution)
        rows.append(f"{i}.tif,{name},train")
    (tmp_path / "c.csv").write_text("\n".join(rows) + "\n")
    train = [*TRAIN, "--cohort", tmp_path / "c.csv", "--epochs", 1, "--threads", 1, "--memory"]
    refusal = fails(*train, "24M", "-o", tmp_path / "no")
    assert refusal.code == "E-MEMORY-BUDGET" and (refusal.option, refusal.value) == ("--memory", "24M")
    least = int(re.search(r"at least (\d+)M are needed", refusal)[1])
    assert least > 20 + 12 * slides, "the network, and the masks"
    for memory in (least, least + 20):
        result = run(*train, f"{memory}M", "-o", tmp_path / f"run-{memory}", "--json").json
        assert result["estimatedPeakBytes"] <= memory * FACTORS["M"]
        assert result["peakBytes"] <= memory * FACTORS["M"]


def test_slides_that_are_decoded_as_a_whole_are_planned(tmp_path):
    pixels = numpy.full((1024, 2048, 3), 200, numpy.uint8)
    write_slide(tmp_path / "tiles.tif", pixels)
    options = {"resolution": (2e4, 2e4), "resolutionunit": "CENTIMETER", "photometric": "rgb", "compression": "zlib"}
    tifffile.imwrite(tmp_path / "tile.tif", pixels, tile=pixels.shape[:2], **options)
    words = ["--network", "remedios2023", "--tile-size", 256, "--threads", 1, "--memory", "100M", "--json"]
    ordinary, whole = (run("plan", tmp_path / name, *words).json["plans"] for name in ("tiles.tif", "tile.tif"))
    for purpose in ("training", "inference"):
        more = find(whole, purpose, "--tile-size 256")["peakBytes"] - find(ordinary, purpose, "--tile-size 256")["peakBytes"]
        assert more >= 2 * 3 * 2**21 + 2**21, "samples of two threads, and the tile in gray"


@pytest.mark.parametrize("budget", [[], ["--memory", "400M"]])
def test_the_sharpest_pixels_of_focal_planes_are_planned(cohort, tmp_path, budget):
    """Each tile needs those beside it, of each plane: the reader keeps as many as it may."""
    run("train", "--network", "unet:base=4,depth=2", "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 1)
    plane = numpy.random.default_rng(0).integers(0, 256, (2048, 3072, 3), numpy.uint8)
    metadata = {"axes": "ZYXS", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    planes = numpy.stack([plane, plane.T.reshape(plane.shape), 255 - plane])
    tifffile.imwrite(tmp_path / "s.ome.tif", planes, ome=True, photometric="rgb", tile=(256, 256), metadata=metadata)
    words = ["--model", tmp_path / "run", "-o", tmp_path / "m.tif", "--plane", "focus", "--threads", 2, "--level", 0, "--json", *budget]
    told = run("segment", tmp_path / "s.ome.tif", *words).json
    assert told["peakBytes"] <= told["estimatedPeakBytes"]


def test_tiles_do_not_depend_on_threads_where_files_have_large_tiles(tmp_path):
    """Each thread decodes a tile of 12 MiB: with little memory there are fewer threads, and the same tiles."""
    pixels = numpy.random.default_rng(1).integers(0, 256, (4096, 6144, 3)).astype(numpy.uint8)
    options = {"resolution": (2e4, 2e4), "resolutionunit": "CENTIMETER", "photometric": "rgb", "compression": "zlib"}
    tifffile.imwrite(tmp_path / "s.tif", pixels, tile=(2048, 2048), **options)
    words = ["plan", tmp_path / "s.tif", "--network", "unet:base=4,depth=2", "--json", "--memory"]
    for memory in ("400M", "700M"):
        few, many = (run(*words, memory, "--threads", threads).json["plans"] for threads in (1, 16))
        for one, other in zip(few, many):
            assert one["fits"] == other["fits"] and one.get("tileSize") == other.get("tileSize"), (memory, one, other)
            assert one.get("segments") == other.get("segments")
    rows = {row["purpose"]: row["tilesInFlight"] for row in many if row["fits"] and not row["options"]}
    assert set(rows) == {"training", "inference"} and all(1 <= number < 16 for number in rows.values()), rows
