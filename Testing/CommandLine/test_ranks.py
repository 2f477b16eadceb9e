# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Commands by several processes, started with the variables that torchrun sets."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time

import pytest
import tifffile

from conftest import PROGRAM, TRAIN, fails, run


def free_port():
    """Below the ports that connections are given, so that none of them has it a moment later."""
    while True:
        port = random.randrange(20000, 32768)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def start_ranks(ranks, arguments, prefix=(), **variables):
    """One process for each number in `ranks`, of as many ranks as WORLD_SIZE says. `arguments`: of all, or a function of
    the number."""
    environment = {**os.environ, "MASTER_PORT": str(free_port()), **variables}
    return [
        subprocess.Popen(
            [*prefix, PROGRAM, *map(str, arguments(rank) if callable(arguments) else arguments)],
            env={"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": environment["WORLD_SIZE"], **environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ranks
    ]


def run_ranks(ranks, *arguments):
    """Results of all ranks; all have to succeed."""
    processes = start_ranks(range(ranks), arguments, WORLD_SIZE=str(ranks))
    outputs = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0] * ranks, outputs
    return [out for out, _ in outputs]


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """Three slides with their truth, the truth in a folder of its own."""
    folder = tmp_path_factory.mktemp("slides")
    (folder / "truth").mkdir()
    for seed in range(3):
        truth = folder / "truth" / f"{seed}.pyramid.tif"
        run("synthesize", folder / f"{seed}.tif", "--size", "700x600", "--seed", seed, "--truth", truth)
    return folder


def test_label_deals_slides_to_ranks(slides, tmp_path, network):
    for form in ("--json", "--quiet"):  # for programs, for people
        alone = run("label", slides, "-o", tmp_path / "alone/", form, "--overwrite").out
        outputs = run_ranks(2, "label", slides, "-o", tmp_path / "ranks/", form, "--overwrite")
        assert outputs == [alone.replace(str(tmp_path / "alone"), str(tmp_path / "ranks")), ""]
    names = sorted(path.name for path in (tmp_path / "alone").glob("*.tif"))
    assert len(names) == 3
    for name in names:
        assert (tmp_path / "ranks" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


@pytest.mark.parametrize("ranks", [2, 4])
def test_one_rank_writes_the_report(ranks, slides, tmp_path, network):
    """Also of fewer slides than ranks, which work on each of them together."""
    pages = pytest.importorskip("report_pages", reason="python3-pil decodes the pictures of pages")
    outputs = run_ranks(ranks, "label", slides, "-o", tmp_path / "masks/", "--report", tmp_path / "page.html", "--json")
    told = {result["slide"]: result["tissueFraction"] for result in json.loads(outputs[0])}
    shown = {row["slide"]: row["tissueFraction"] for row in pages.Page(tmp_path / "page.html").data["slides"]}
    assert shown == pytest.approx(told) and len(told) == 3


def test_measure_deals_masks_to_ranks(slides, tmp_path, network):
    """Also masks whose names are not UTF-8."""
    masks = tmp_path / "masks"
    masks.mkdir()
    for number, name in enumerate((b"0.pyramid.tif", b"1\xe4.pyramid.tif", b"2\xff.pyramid.tif")):
        shutil.copy(slides / f"truth/{number}.pyramid.tif", os.path.join(os.fsencode(masks), name))
    run("measure", masks, "-o", tmp_path / "alone.csv")
    run_ranks(2, "measure", masks, "-o", tmp_path / "ranks.csv")
    assert (tmp_path / "ranks.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert not list(tmp_path.glob(".*.unfinished"))


def test_segment_and_info_deal_slides_to_ranks(slides, tmp_path, network):
    arguments = ["segment", slides, "--model", "tissue", "--json", "-o"]
    alone = json.loads(run(*arguments, tmp_path / "alone/").out)
    outputs = run_ranks(3, *arguments, tmp_path / "ranks/")
    assert outputs[1:] == ["", ""]
    together = json.loads(outputs[0])
    for own, other in zip(alone, together):
        assert {key for key in own if own[key] != other[key]} <= {"mask", "plan", "estimatedPeakBytes", "peakBytes", "cpuSeconds"}
        assert open(own["mask"], "rb").read() == open(other["mask"], "rb").read()
    assert len(together) == len(alone) == 3
    assert run_ranks(2, "info", slides, "--json") == [run("info", slides, "--json").out, ""]


def test_a_dealt_slide_that_fails_stops_no_other(slides, tmp_path, network):
    """Of three ranks the second one fails. All say so by their exit code, rank 0 by a sentence and in the list."""
    damaged = tmp_path / "damaged.svs"
    damaged.write_bytes(b"no slide")
    files = [slides / "0.tif", damaged, slides / "2.tif"]
    processes = start_ranks(range(3), ["label", *files, "-o", tmp_path / "masks/", "--json"], WORLD_SIZE="3")
    outputs = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [1, 1, 1], outputs
    results = json.loads(outputs[0][0])
    assert [result["slide"] for result in results] == [str(file) for file in files]
    assert ["error" in result for result in results] == [False, True, False]
    assert str(damaged) in outputs[0][1] and "1 of 3 slides failed" in outputs[0][1]
    assert outputs[1:] == [("", "")] * 2
    assert sorted(path.name for path in (tmp_path / "masks").iterdir()) == ["0.pyramid.tif", "2.pyramid.tif", "failed.csv", "manifest.json", "timings.jsonl"]


def test_a_rank_that_dies_with_its_slides_is_named(tall_slide, tmp_path, network):
    folder, masks = tmp_path / "slides", tmp_path / "masks"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number:02}.tif").symlink_to(tall_slide)
    processes = start_ranks([0, 1], ["label", folder, "-o", f"{masks}/", "--quiet"], WORLD_SIZE="2")
    while not (masks / "01.pyramid.tif").exists():
        assert processes[1].poll() is None, processes[1].communicate()
        time.sleep(0.001)
    processes[1].kill()
    processes[1].communicate()
    (sentence,) = fail_in_ranks(processes[:1])
    assert f"rank 1 on {os.uname().nodename}" in sentence and "[E-RANK-LOST]" in sentence


@pytest.fixture(scope="module")
def tall_slide(tmp_path_factory):
    """Four bands of a label grid, four rows of tiles."""
    slide = tmp_path_factory.mktemp("tall") / "slide.tif"
    run("synthesize", slide, "--size", "2300x7000", "--seed", 5)
    return slide


@pytest.mark.parametrize(
    "ranks, options",
    [
        (2, []),
        (3, ["--preset", "robust", "--full-resolution"]),
        (4, ["--downsample", 5]),
    ],
    ids=["threshold", "counted colors", "odd grid"],
)
def test_label_of_one_slide_by_several_ranks_is_one_file(ranks, options, tall_slide, tmp_path, network):
    files = [tmp_path / "alone.tif", tmp_path / "ranks.tif"]
    run("label", tall_slide, "-o", files[0], *options)
    outputs = run_ranks(ranks, "label", tall_slide, "-o", files[1], *options, "--json")
    assert json.loads(outputs[0])["tissueFraction"] > 0
    assert outputs[1:] == [""] * (ranks - 1)
    assert files[1].read_bytes() == files[0].read_bytes()
    outputs = run_ranks(ranks, "label", tall_slide, "-o", files[1], *options, "--json")
    assert json.loads(outputs[0])["skipped"]


@pytest.fixture()
def damaged_slide(tall_slide, tmp_path):
    """The largest tile of the last row but one ends in the middle: rank 1 of two reads it, rank 0 does not."""
    slide = shutil.copy(tall_slide, tmp_path / "damaged.tif")
    with tifffile.TiffFile(slide) as file:
        page = file.pages[0]
        across = -(-page.imagewidth // page.tilewidth)
        row = slice(-2 * across, -across)
        size, offset = max(zip(page.databytecounts[row], page.dataoffsets[row]))
    with open(slide, "r+b") as file:
        file.seek(offset + size // 2)
        file.write(b"\xff\xd9")
    return slide


@pytest.mark.parametrize(
    "command",
    [
        ["label", "--full-resolution", "--downsample", 1],
        ["segment", "--model", "tissue"],
        ["segment", "--model", "tissue", "--fill-holes"],
        ["segment", "--model", "tissue", "--probability", "probability.tif"],
    ],
    ids=["label", "segment", "fill holes", "probability"],
)
def test_damage_that_any_rank_met_is_recorded(command, damaged_slide, tmp_path, network):
    mask = tmp_path / "mask.tif"
    options = [tmp_path / option if option == "probability.tif" else option for option in command]
    processes = start_ranks(range(2), [*options, damaged_slide, "-o", mask, "--json"], WORLD_SIZE="2")
    outputs = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert "is damaged" not in outputs[0][1]
    count = json.loads(outputs[0][0])["damagedTiles"]
    assert count >= 1
    for file in [mask, *tmp_path.glob("probability.tif")]:
        assert run("info", file, "--json").json["sourceDamagedTiles"] == count
    refused = fails(*options, damaged_slide, "-o", mask, "--strict")
    assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(mask))


def test_train_over_ranks_makes_the_files_of_one_process(slides, tmp_path, network):
    cohort = slides / "cohort.csv"
    rows = [f"{seed}.tif,truth/{seed}.pyramid.tif,{split}" for seed, split in enumerate(["train", "train", "validation"])]
    cohort.write_text("slide,mask,split\n" + "\n".join(rows) + "\n")
    options = ["--cohort", cohort, "--epochs", 2, "--images-per-step", 2, "--tile-size", 256]
    run(*TRAIN, *options, "-o", tmp_path / "alone")
    outputs = run_ranks(3, *TRAIN, *options, "-o", tmp_path / "ranks", "--json")
    assert json.loads(outputs[0])["epochs"] == 2
    assert outputs[1:] == ["", ""]
    for name in ("best.safetensors", "last.safetensors", "history.csv"):
        assert (tmp_path / "ranks" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_segment_of_one_slide_by_several_ranks_is_one_file(tall_slide, tmp_path, network):
    patches = ["--sliding-window", "--patch", "256", "--probability"]
    for name, options in (("mask", []), ("both", ["--region", "100,300,2000,5900", "--probability"]), ("patches", patches)):
        files = [tmp_path / f"{name}.alone.tif", tmp_path / f"{name}.ranks.tif"]
        probabilities = [tmp_path / f"{name}.p.alone.tif", tmp_path / f"{name}.p.ranks.tif"]
        arguments = [
            [tall_slide, "--model", "tissue", "-o", files[i], *options, *([probabilities[i]] if options else [])] for i in (0, 1)
        ]
        run("segment", *arguments[0])
        outputs = run_ranks(3, "segment", *arguments[1], "--json")
        assert json.loads(outputs[0])["mask"] == str(files[1])
        assert outputs[1:] == ["", ""]
        assert files[0].read_bytes() == files[1].read_bytes()
        if options:
            assert probabilities[0].read_bytes() == probabilities[1].read_bytes()


def fail_in_ranks(processes):
    """The one sentence of each rank; all have to fail."""
    outputs = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [1] * len(processes), outputs
    assert all(out == "" for out, _ in outputs)
    sentences = [err.strip().splitlines() for _, err in outputs]
    assert all(len(lines) == 1 and lines[0].startswith("gigapixel: ") for lines in sentences), outputs
    return [lines[0] for lines in sentences]


@pytest.mark.parametrize(
    "variables, option, value",
    [
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE", "two"),
        ({"WORLD_SIZE": "2x"}, "WORLD_SIZE", "2x"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE", "0"),
        ({"RANK": ""}, "RANK", None),
        ({"RANK": "2"}, "RANK", None),
        ({"LOCAL_WORLD_SIZE": "1"}, "MASTER_ADDR", None),
        ({"MASTER_ADDR": "node..0"}, "MASTER_ADDR", "node..0"),
        ({"MASTER_PORT": "99999"}, "MASTER_PORT", "99999"),
        ({"GIGAPIXEL_BINDING": "cores"}, "GIGAPIXEL_BINDING", "cores"),
        ({"GIGAPIXEL_RANK_TIMEOUT": "soon"}, "GIGAPIXEL_RANK_TIMEOUT", "soon"),
        ({"GIGAPIXEL_RANK_TIMEOUT": "0"}, "GIGAPIXEL_RANK_TIMEOUT", "0"),
    ],
)
def test_wrong_environment_is_refused(variables, option, value, tall_slide, tmp_path, network):
    environment = {**os.environ, "WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    environment["MASTER_PORT"] = str(free_port())
    refused = fails("label", tall_slide, "-o", tmp_path / "mask.tif", env={**environment, **variables})
    code = "E-OPTION-MISSING" if variables == {"LOCAL_WORLD_SIZE": "1"} else "E-OPTION-VALUE"
    assert (refused.code, refused.option, refused.value) == (code, option, value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "places",
    [
        [(0, 2), (1, 3)],
        [(0, 3), (1, 3), (1, 3)],
    ],
    ids=["other number", "same rank"],
)
def test_ranks_that_contradict_each_other_are_refused(places, tall_slide, tmp_path, network):
    port = str(free_port())
    processes = [
        start_ranks([rank], ["label", tall_slide, "-o", tmp_path / "mask.tif"], WORLD_SIZE=str(ranks), MASTER_PORT=port)[0]
        for rank, ranks in places
    ]
    try:
        finished = [processes[-1], processes[-2]]
        while all(process.poll() is None for process in finished):
            time.sleep(0.05)
        said = [process.communicate()[1] for process in finished if process.poll() is not None]
        assert any("[E-RANKS-DIFFER]" in each for each in said), said  # another one may have ended by that already
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "answer",
    [
        bytes(4096),
        pytest.param(b"", marks=pytest.mark.skipif(not os.environ.get("GIGAPIXEL_TEST_ALL"), reason="waits for a minute")),
    ],
    ids=["others' bytes", "silence"],
)
def test_another_program_in_place_of_rank_0_is_told(answer, tall_slide, tmp_path, network):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        arguments = ["label", tall_slide, "-o", tmp_path / "mask.tif"]
        (process,) = start_ranks([1], arguments, WORLD_SIZE="2", MASTER_PORT=port)
        connection, _ = server.accept()
        with connection:
            connection.sendall(answer)
            (sentence,) = fail_in_ranks([process])
    assert sentence.endswith("[E-RANK-LOST]") and "MASTER_PORT" in sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["label", "--downsample"], ["segment", "--model", "tissue", "--threshold"]])
def test_ranks_with_other_options_are_refused(command, tall_slide, tmp_path, network):
    values = ["4", "8"] if command[0] == "label" else ["0.4", "0.5"]
    arguments = [tall_slide, "-o", tmp_path / "mask.tif"]
    processes = start_ranks([0, 1], lambda rank: [*command, values[rank], *arguments], WORLD_SIZE="2")
    for sentence in fail_in_ranks(processes):
        assert "rank 1" in sentence and sentence.endswith("[E-RANKS-DIFFER]")
    assert list(tmp_path.iterdir()) == []


def test_dealt_slides_with_other_options_are_refused(slides, tmp_path, network):
    processes = start_ranks(
        range(2), lambda rank: ["label", slides, "-o", tmp_path / "masks/", "--downsample", 4 + rank], WORLD_SIZE="2"
    )
    for sentence in fail_in_ranks(processes):
        assert "rank 1" in sentence and sentence.endswith("[E-RANKS-DIFFER]")
    assert not (tmp_path / "masks").exists()


def test_a_slide_that_only_one_rank_can_read_is_named(tall_slide, tmp_path, network):
    folders = [tmp_path / "here", tmp_path / "there"]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "slide.tif").symlink_to(tall_slide)
    mask = tmp_path / "mask.tif"
    processes = start_ranks([0, 1], lambda rank: ["label", folders[rank] / "slide.tif", "-o", mask], WORLD_SIZE="2")
    for sentence in fail_in_ranks(processes):
        assert "there/slide.tif" in sentence
    assert sorted(tmp_path.iterdir()) == folders


def test_a_full_disk_leaves_nothing(tall_slide, tmp_path, network):
    """Files of this job end at 4 kB, which programs see as they see a full disk."""
    arguments = ["label", tall_slide, "-o", tmp_path / "mask.tif", "--full-resolution"]
    processes = start_ranks([0, 1], arguments, ["prlimit", "--fsize=4096"], WORLD_SIZE="2")
    for sentence in fail_in_ranks(processes):
        assert "mask.tif" in sentence
    assert list(tmp_path.iterdir()) == []


def test_rank_0_killed_while_it_writes(tall_slide, tmp_path, network):
    mask = tmp_path / "ranks" / "mask.tif"
    mask.parent.mkdir()
    arguments = ["label", tall_slide, "-o", mask, "--full-resolution"]
    processes = start_ranks([0, 1], arguments, WORLD_SIZE="2")
    while not any(path.name.endswith(".part") for path in mask.parent.iterdir()):
        assert processes[0].poll() is None, processes[0].communicate()
        time.sleep(0.001)
    processes[0].kill()
    processes[0].communicate()
    (sentence,) = fail_in_ranks(processes[1:])
    assert f"rank 0 on {os.uname().nodename}" in sentence and "[E-RANK-LOST]" in sentence
    assert not mask.exists()
    run_ranks(2, *arguments)
    run("label", tall_slide, "-o", tmp_path / "alone.tif", "--full-resolution")
    assert mask.read_bytes() == (tmp_path / "alone.tif").read_bytes()
    assert list(mask.parent.iterdir()) == [mask]


CORES = os.sched_getaffinity(0)


def get_cores_of_threads(process):
    """The cores that each thread of the process may use; none before there are several threads."""
    cores = []
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        with contextlib.suppress(ProcessLookupError):  # a thread that ended meanwhile
            cores.append(os.sched_getaffinity(int(thread)))
    return cores if len(cores) > 1 else []


def wait_for_cores(process):
    while not (cores := get_cores_of_threads(process)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return cores


@pytest.mark.skipif(len(CORES) < 2, reason="one core only")
@pytest.mark.parametrize(
    "prefix, variables, expected",
    [
        ([], {}, [len(CORES) // 2, len(CORES) - len(CORES) // 2]),
        ([], {"GIGAPIXEL_BINDING": "none"}, [len(CORES)] * 2),
        (["taskset", "--cpu-list", str(max(CORES))], {}, [1, 1]),
    ],
    ids=["shares", "left alone", "chosen by others"],
)
def test_threads_keep_to_the_cores_of_their_rank(prefix, variables, expected, tall_slide, tmp_path, network):
    """Two ranks of three, so that they wait for the last one and are looked at meanwhile."""
    arguments = ["label", tall_slide, "-o", tmp_path / "mask.tif"]
    job = {"WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    processes = start_ranks([0, 1], arguments, prefix, **job, **variables)
    try:
        cores = [wait_for_cores(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    for own, number in zip(cores, expected):
        assert all(thread == own[0] for thread in own)
        assert len(own[0]) == number
    if not prefix and not variables:
        assert cores[0][0] | cores[1][0] == CORES
    if prefix:
        assert cores[0][0] == cores[1][0] == {max(CORES)}


@pytest.mark.parametrize("command", [["label"], ["train", "--cohort", "none.csv"]], ids=["label", "train"])
def test_an_interruption_ends_waiting_for_the_others(command, tall_slide, tmp_path, network):
    port = free_port()
    slide = [tall_slide] if command == ["label"] else []
    arguments = [*command, *slide, "-o", tmp_path / "out.tif"]
    (process,) = start_ranks([0], arguments, WORLD_SIZE="2", MASTER_PORT=str(port))
    listens = False
    while not listens:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
        with socket.socket() as probe:
            listens = probe.connect_ex(("127.0.0.1", port)) == 0
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == ("", "gigapixel: Interrupted.\n")
    assert process.returncode == 130


@pytest.mark.parametrize("interrupted", [0, 1])
def test_an_interruption_of_one_rank_ends_the_training_of_all(interrupted, slides, tmp_path, network):
    cohort = tmp_path / "cohort.csv"
    cohort.write_text(f"slide,mask,split\n{slides}/0.tif,{slides}/truth/0.pyramid.tif,train\n")
    options = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run"]
    processes = start_ranks([0, 1], [*options, "--epochs", 100000], WORLD_SIZE="2")
    history = tmp_path / "run" / "history.csv"
    while not history.exists():
        assert processes[0].poll() is None, processes[0].communicate()
        time.sleep(0.01)
    processes[interrupted].send_signal(signal.SIGINT)
    outputs = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [130, 130], outputs
    done = len(history.read_text().splitlines()) - 1
    run_ranks(2, *options, "--epochs", done + 1, "--resume")
    run(*TRAIN, "--cohort", cohort, "-o", tmp_path / "alone", "--epochs", done + 1)
    assert (tmp_path / "run" / "best.safetensors").read_bytes() == (tmp_path / "alone" / "best.safetensors").read_bytes()
