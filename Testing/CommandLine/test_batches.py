# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Batches into a folder: what its manifest says, that it decides what is done, killed ones, and several processes on one folder."""

import csv
import json
import os
import pathlib
import subprocess
import time
from urllib.parse import unquote_to_bytes

import numpy
import pytest
import tifffile

pytest.importorskip("PIL.Image", reason="python3-pil decodes the pictures of pages")

from conftest import PROGRAM, blobs, fails, obey_permissions, run, write_slide
from report_pages import Page

WORDS = ["--preset", "remedios2023"]
TIMES = ("seconds", "cpuSeconds", "peakBytes")


def fnv(data):
    """FNV-1a of 64 bit, http://www.isthe.com/chongo/tech/comp/fnv/."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:x}"


def make_slides(folder, number, size=64):
    folder.mkdir()
    for i in range(number):
        pixels = numpy.where(blobs(size, size, i)[..., None] > 0, numpy.array([200, 100, 150], numpy.uint8), numpy.uint8(245))
        write_slide(folder / f"{i:03}.tif", pixels)
    return folder


def read_manifest(out):
    return {entry["output"]: entry for entry in json.loads((out / "manifest.json").read_text())["slides"]}


def edit(out, name, change):
    manifest = json.loads((out / "manifest.json").read_text())
    change(next(entry for entry in manifest["slides"] if entry["output"] == name))
    (out / "manifest.json").write_text(json.dumps(manifest))


def read_all(folder):
    """But the times, which are others in every run."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "timings.jsonl"}


def read_page(path):
    """What a page shows and says, but for times."""
    page = Page(path)
    slides = [{key: value for key, value in slide.items() if key not in TIMES} for slide in page.data["slides"]]
    return {**page.data, "slides": slides}, page.pictures


@pytest.fixture
def batch(tmp_path):
    """Two slides and a damaged one, labeled: (slides, out, words, results)"""
    slides, out = make_slides(tmp_path / "slides", 2, 600), tmp_path / "out"
    (slides / "cut.tif").write_bytes((slides / "000.tif").read_bytes()[:2000])
    words = ["label", slides, "-o", out, *WORDS, "--json"]
    return slides, out, words, run(*words, code=1).json


def test_manifest_says_what_was_made_of_what(batch):
    slides, out, _, results = batch
    assert sorted(path.name for path in out.iterdir()) == ["000.pyramid.tif", "001.pyramid.tif", "failed.csv", "manifest.json", "timings.jsonl"]
    entries = read_manifest(out)
    assert list(entries) == ["000.pyramid.tif", "001.pyramid.tif", "cut.pyramid.tif"]
    version = run("--version").out.split()[1]
    for result, (name, entry) in zip(results, entries.items()):
        seen = os.path.relpath(result["slide"], out)
        assert (entry["slide"], entry["command"], entry["version"]) == (seen, "label", version)
        assert entry["options"] == {"preset": "remedios2023", "downsample": "8"}
        assert entry["result"] == {key: value for key, value in result.items() if key != "skipped"}
        if "error" in result:
            assert "outputs" not in entry
            continue
        data = (out / name).read_bytes()
        assert entry["outputs"] == [{"file": name, "content": f"bytes={len(data)} hash={fnv(data)}", "field": "mask"}]
        with tifffile.TiffFile(out / name) as file:
            assert entry["inputs"] == {"slide": entry["inputs"]["slide"]} and entry["inputs"]["slide"] in file.pages[0].description


def test_failures_are_a_table_and_tried_again_when_asked(batch):
    slides, out, words, results = batch
    error = results[2]["error"]
    (row,) = csv.DictReader((out / "failed.csv").read_text().splitlines())
    assert row == {"slide": "../slides/cut.tif", "file": "../slides/cut.tif", **{key: error[key] or "" for key in ("code", "why", "do")}}
    edit(out, "cut.pyramid.tif", lambda entry: entry["result"]["error"].update(code="E-OTHER"))
    assert run(*words, code=1).json[2]["error"]["code"] == "E-OTHER"  # as it is recorded
    again = run(*words, "--retry", code=1).json
    assert again[2]["error"] == error and all(result["skipped"] for result in again[:2])
    (slides / "cut.tif").write_bytes((slides / "000.tif").read_bytes())  # another file, which is tried without being asked
    assert [result["skipped"] for result in run(*words).json] == [True, True, False]
    assert not (out / "failed.csv").exists() and "error" not in read_manifest(out)["cut.pyramid.tif"]["result"]


def test_what_a_full_disk_stopped_is_to_do(batch, tmp_path):
    """The machine was to blame: the slide is left, not failed, and the same command does it."""
    slides, out, words, _ = batch
    (slides / "cut.tif").unlink()
    run("label", slides, "-o", out, *WORDS)
    mask = (out / "001.pyramid.tif").read_bytes()
    (out / "001.pyramid.tif").unlink()
    edit(out, "001.pyramid.tif", lambda entry: entry.update(result={"slide": entry["result"]["slide"], "error": {"code": "E-DISK-FULL", "why": "x"}}))
    edit(out, "cut.pyramid.tif", lambda entry: entry.update(output="x.pyramid.tif"))
    status = run("status", out, "--json").json
    assert [status[key] for key in ("slides", "done", "failed", "left")] == [3, 1, 1, 1] and status["codes"]["E-DISK-FULL"] == 1
    run("report", out, "-o", tmp_path / "page.html")
    assert Page(tmp_path / "page.html").data["unfinished"] == [{"folder": str(out), "slides": 3, "done": 1, "failed": 1}]
    assert [result["skipped"] for result in run(*words).json] == [True, False] and (out / "001.pyramid.tif").read_bytes() == mask


def test_errors_name_slides_where_they_are(batch, tmp_path):
    """Slides and folder were moved together: what a manifest, failed.csv, the page and the same command say of a failure."""
    _, out, words, results = batch
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("slides", "out"):
        (tmp_path / name).rename(moved / name)
    cut = moved / "slides/cut.tif"
    run("report", moved / "out", "-o", tmp_path / "page.html")
    row = Page(tmp_path / "page.html").slides["cut"]
    assert os.path.samefile(row["error"]["file"], cut) and row["error"]["code"] == results[2]["error"]["code"]
    (line,) = csv.DictReader((moved / "out/failed.csv").read_text().splitlines())
    assert os.path.samefile(moved / "out" / line["file"], cut)
    words[words.index(tmp_path / "slides")], words[words.index(out)] = moved / "slides", moved / "out"
    assert run(*words, code=1).json[2]["error"]["file"] == str(cut)


def test_what_each_slide_took_is_kept_beside_the_manifest(batch, tmp_path):
    """A line for each time that a slide was made; a page shows the last one. The manifest does not know."""
    _, out, words, results = batch
    lines = [json.loads(line) for line in (out / "timings.jsonl").read_text().splitlines()]
    assert [line["output"] for line in lines] == ["000.pyramid.tif", "001.pyramid.tif"]  # not the one that failed
    assert all(0 < line["cpuSeconds"] and 0 < line["seconds"] and line["peakBytes"] > 1e6 for line in lines)
    run(*words, code=1)
    assert (out / "timings.jsonl").read_text().count("\n") == 2  # nothing was made
    with open(out / "timings.jsonl", "a") as file:
        file.write('{"output": "000.pyramid.tif", "seconds": 7, "cpuSeconds": 11.5, "peakBytes": 5e6}\n{"output": "001.pyram')
    for command in (["report", out, "-o"], [*words[:-1], "--report"]):
        run(*command, tmp_path / "page.html", code=int(command[0] == "label"))
        slides = Page(tmp_path / "page.html").slides
        assert [slides["000"][key] for key in TIMES] == [7, 11.5, 5e6] and slides["001"]["cpuSeconds"] == lines[1]["cpuSeconds"]
        assert not any(key in slides["cut"] for key in TIMES)
        (tmp_path / "page.html").unlink()
    assert not any(key in entry["result"] for entry in read_manifest(out).values() for key in TIMES)


def test_failures_of_all_slides_are_kept(tmp_path):
    slides, out = make_slides(tmp_path / "slides", 2), tmp_path / "out"
    for slide in slides.iterdir():
        slide.write_bytes(b"no slide")
    words = ["label", slides, "-o", out, *WORDS, "--json"]
    codes = [result["error"]["code"] for result in run(*words, code=1).json]
    with open(out / "failed.csv") as file:
        assert [row["code"] for row in csv.DictReader(file)] == codes == ["E-SLIDE-FORMAT"] * 2
    assert sorted(path.name for path in out.iterdir()) == ["failed.csv", "manifest.json"]
    assert [run("status", out, "--json").json[key] for key in ("slides", "done", "failed", "left")] == [2, 0, 2, 0]


def test_overwrite_takes_the_place_of_a_link(tmp_path):
    """As mv does: what the link leads to may be someone else's."""
    slides, out = make_slides(tmp_path / "slides", 1), tmp_path / "out"
    out.mkdir()
    (tmp_path / "far.tif").write_bytes(b"mine")
    (out / "000.pyramid.tif").symlink_to(tmp_path / "far.tif")
    words = ["label", slides, "-o", out, *WORDS, "--json"]
    assert run(*words, code=1).json[0]["error"]["code"] == "E-OUTPUT-EXISTS"
    run(*words, "--overwrite")
    assert (tmp_path / "far.tif").read_bytes() == b"mine" and not (out / "000.pyramid.tif").is_symlink()
    lost = tmp_path / "lost.pyramid.tif"
    lost.symlink_to(tmp_path / "nowhere" / "x.tif")  # of a disk that is not there now
    assert fails("label", slides / "000.tif", "-o", lost, *WORDS).code == "E-OUTPUT-EXISTS" and lost.is_symlink()
    assert tifffile.imread(out / "000.pyramid.tif", key=0).shape == (8, 8)


def test_status_counts_what_the_records_say(batch, tmp_path):
    _, out, words, results = batch
    status = run("status", out, "--json").json
    assert status == {"folder": str(out), "slides": 3, "done": 2, "failed": 1, "codes": {results[2]["error"]["code"]: 1},
                      "versions": {read_manifest(out)["000.pyramid.tif"]["version"]: 2}, "running": [], "left": 0, "secondsLeft": 0}
    before = run("status", out).out
    edit(out, "001.pyramid.tif", lambda entry: entry.update(version="0.0.1"))
    assert run("status", out, "--json").json["versions"]["0.0.1"] == 1
    assert "0.0.1: 1" in run("status", out).out and "0.0.1" not in before
    assert [result.get("skipped") for result in run(*words, code=1).json] == [True, True, None]  # another version does nothing anew
    assert fails("status", tmp_path / "slides").code == "E-FOLDER-EMPTY"
    assert fails("status", tmp_path / "none").code == "E-FILE-MISSING"


def test_report_of_a_folder_is_what_its_manifest_says(batch, tmp_path):
    _, out, _, results = batch
    run("report", out, "-o", tmp_path / "page.html")
    slides = Page(tmp_path / "page.html").slides
    assert set(slides) == {"000", "001", "cut"} and slides["cut"]["error"] == {**results[2]["error"], "file": slides["cut"]["slide"]}
    assert [slides[name]["tissueMm2"] for name in ("000", "001")] == pytest.approx([result["tissueMm2"] for result in results[:2]], rel=1e-9)


def test_manifest_decides_what_is_done(batch):
    slides, out, words, results = batch
    before = read_all(out)
    assert [result.get("skipped") for result in run(*words, code=1).json] == [True, True, None]
    assert read_all(out) == before
    edit(out, "000.pyramid.tif", lambda entry: entry["result"].update(tissueFraction=0.125))
    assert run(*words, code=1).json[0]["tissueFraction"] == 0.125
    edit(out, "000.pyramid.tif", lambda entry: entry["inputs"].update(slide="bytes=1 hash=1"))  # then the mask itself does
    assert run(*words, code=1).json[0] == {**results[0], "skipped": True}
    assert read_all(out) == before


@pytest.mark.usefixtures("network")
def test_another_ready_network_is_noticed(tmp_path):
    """The manifest and the mask itself name it; a mask of another one is kept, and not taken for the same."""
    slides, out = make_slides(tmp_path / "slides", 1, 600), tmp_path / "out"
    words = ["label", slides, "-o", out, "--json"]
    run(*words)
    model = read_manifest(out)["000.pyramid.tif"]["inputs"]["model"]
    mask = out / "000.pyramid.tif"
    assert f" model={model} ".encode() in mask.read_bytes()
    former = model[: model.index("hash=")] + "hash=" + "0" * 16 + model[model.index(" method=") :]
    mask.write_bytes(mask.read_bytes().replace(model.encode(), former.encode()))
    data = mask.read_bytes()
    content = f"bytes={len(data)} hash={fnv(data)}"
    edit(out, mask.name, lambda entry: (entry["inputs"].update(model=former), entry["outputs"][0].update(content=content)))
    error = run(*words, code=1).json[0]["error"]
    assert (error["code"], mask.read_bytes()) == ("E-OUTPUT-EXISTS", data)


def test_folders_without_a_manifest_go_on(batch):
    slides, out, words, results = batch
    before = read_all(out)
    for name in ("manifest.json", "failed.csv"):
        (out / name).unlink()
    again = run(*words, code=1).json
    assert again == [{**result, "skipped": True} if "skipped" in result else result for result in results]
    assert read_all(out) == before


def test_changed_outputs_and_foreign_files_are_kept(batch):
    slides, out, words, _ = batch
    mask = out / "000.pyramid.tif"
    data = bytearray(mask.read_bytes())
    data[-1] ^= 1
    mask.write_bytes(data)
    error = run(*words, code=1).json[0]["error"]
    assert (error["code"], error["file"]) == ("E-OUTPUT-EXISTS", str(mask)) and mask.read_bytes() == data
    assert "error" not in run(*words, "--overwrite", code=1).json[0] and mask.read_bytes() != data
    for name in ("manifest.json", "failed.csv"):
        own = (out / name).read_bytes()
        (out / name).write_text("mine")
        refused = fails("label", slides, "-o", out, *WORDS)
        assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(out / name)) and (out / name).read_text() == "mine"
        (out / name).write_bytes(own)


@pytest.mark.usefixtures("network")
def test_doubts_of_what_is_done_are_kept(tmp_path):
    """A mask of segment does not say that it is empty; the record of it does."""
    (tmp_path / "slides").mkdir()
    for name in "ab":
        write_slide(tmp_path / f"slides/{name}.tif", numpy.full((300, 300, 3), 245, numpy.uint8))
    words = ["segment", tmp_path / "slides", "-o", tmp_path / "out", "--probability", tmp_path / "p", "--model", "tissue", "--json"]
    first, again = run(*words), run(*words)
    assert [doubt["code"] for result in first.json for doubt in result["doubts"]] == ["W-DOUBT-MASK-EMPTY"] * 2
    assert again.json == [{**result, "skipped": True} for result in first.json] and again.codes == first.codes
    (tmp_path / "p/a.pyramid.tif").unlink()
    assert [result["skipped"] for result in run(*words).json] == [False, True]


def start(words, cwd):
    return subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)


def count_records(out):
    return len(list(out.glob(".gigapixel/*.record.json")))


def test_killed_three_times(tmp_path):
    """What is made is, to the byte, what is made undisturbed: masks, manifest, failures and report."""
    slides = make_slides(tmp_path / "slides", 40)
    (slides / "005.tif").write_bytes((slides / "000.tif").read_bytes()[:300])
    words = ["label", "slides", "-o", "out", *WORDS, "--report", "report.html", "--quiet"]
    run(*words, cwd=tmp_path, code=1)
    whole, report = read_all(tmp_path / "out"), read_page(tmp_path / "report.html")
    (tmp_path / "out").rename(tmp_path / "whole")
    (tmp_path / "report.html").unlink()
    for number in (8, 16, 24):
        process = start(words, tmp_path)
        while process.poll() is None and count_records(tmp_path / "out") < number:
            time.sleep(0.001)
        process.kill()
        process.communicate()
        assert process.returncode < 0, "it was done before it could be killed"
        made = {name: data for name, data in read_all(tmp_path / "out").items() if not name.startswith(".")}
        assert number - 2 <= len(made) < 39 and made.items() <= whole.items()
    run(*words, cwd=tmp_path, code=1)
    assert read_all(tmp_path / "out") == whole and read_page(tmp_path / "report.html") == report


def test_two_processes_do_nothing_twice(tmp_path):
    make_slides(tmp_path / "slides", 40)
    words = ["label", "slides", "-o", "out", *WORDS, "--json", "--quiet"]
    run(*words, cwd=tmp_path)
    whole = read_all(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "whole")
    told = []
    for process in [start(words, tmp_path) for _ in range(2)]:
        out, err = process.communicate()
        assert process.returncode == 0, err
        told.append(json.loads(out))
    assert [len(results) for results in told] == [40, 40]
    for pair in zip(*told):
        assert sorted(result["skipped"] for result in pair) == [False, True]
    assert all(any(not result["skipped"] for result in results) for results in told)  # each has worked
    assert read_all(tmp_path / "out") == whole


def write_lock(out, name, number, machine, age):
    (out / ".gigapixel").mkdir(parents=True, exist_ok=True)
    lock = out / f".gigapixel/{fnv(name.encode())}.{number}.lock"
    lock.write_text(json.dumps({"host": "elsewhere", "machine": machine, "pid": 1, "about": {"slide": "a"}}))
    set_age(lock, age)
    return lock


def set_age(lock, age):
    now = time.time()
    os.utime(lock, (now - age, now - age))


@pytest.mark.parametrize("machine, age", [("gone", 3600), ("gone", 200), (None, 0)])
def test_locks_of_the_dead_hold_nobody_up(tmp_path, machine, age):
    """Of a machine that is gone, by its silence; of a process of this machine, as the system says, without waiting."""
    machine = machine or pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    slides, out = make_slides(tmp_path / "slides", 2), tmp_path / "out"
    for number in (1, 2):
        write_lock(out, "000.pyramid.tif", number, machine, age)
    run("label", slides, "-o", out, *WORDS)
    assert sorted(path.name for path in out.iterdir()) == ["000.pyramid.tif", "001.pyramid.tif", "manifest.json", "timings.jsonl"]


@pytest.mark.skipif("GIGAPIXEL_FAILING_DISK" not in os.environ, reason="GIGAPIXEL_FAILING_DISK is the library that fails")
def test_file_systems_without_locks(tmp_path):
    """A killed process of this machine is known by its silence there."""
    slides, out = make_slides(tmp_path / "slides", 2), tmp_path / "out"
    env = {**os.environ, "LD_PRELOAD": os.environ["GIGAPIXEL_FAILING_DISK"], "GIGAPIXEL_NO_FLOCK": "1"}
    write_lock(out, "000.pyramid.tif", 1, pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip(), 600)
    run("label", slides, "-o", out, *WORDS, env=env)
    assert sorted(path.name for path in out.iterdir()) == ["000.pyramid.tif", "001.pyramid.tif", "manifest.json", "timings.jsonl"]


def test_foreign_things_in_the_hidden_folder(tmp_path):
    """Pipes and folders that are named as locks are; one in the place of a slide's lock does not hinder the work."""
    slides, out = make_slides(tmp_path / "slides", 2), tmp_path / "out"
    (out / ".gigapixel/d.1.lock").mkdir(parents=True)
    os.mkfifo(out / ".gigapixel/f.1.lock")
    os.mkfifo(out / f".gigapixel/{fnv(b'000.pyramid.tif')}.1.lock")
    (out / ".gigapixel/x.1.lock").write_text('{"host": 1, "machine": [], "pid": "a"}')
    set_age(out / ".gigapixel/x.1.lock", 3600)
    run("label", slides, "-o", out, *WORDS)
    assert [run("status", out, "--json").json[key] for key in ("done", "left", "running")] == [2, 0, []]
    run("label", slides, "-o", out, *WORDS, "--overwrite", "--downsample", 4)
    assert (out / ".gigapixel/f.1.lock").is_fifo() and (out / ".gigapixel/d.1.lock").is_dir()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.touch(), lambda path: path.symlink_to("nowhere")])
def test_another_failed_csv_is_not_replaced(tmp_path, make):
    slides, out = make_slides(tmp_path / "slides", 1), tmp_path / "out"
    out.mkdir()
    make(out / "failed.csv")
    assert fails("label", slides, "-o", out, *WORDS).code == "E-OUTPUT-EXISTS"
    assert [path.name for path in out.iterdir()] == ["failed.csv"]


def test_links_to_slides_that_are_gone_fail(tmp_path):
    """As where an archive is not mounted: nothing vanishes."""
    slides, out = make_slides(tmp_path / "slides", 1), tmp_path / "out"
    for name in ("a.svs", "b.tif", "notes.txt", "c.csv"):
        (slides / name).symlink_to(f"/nowhere/{name}")
    results = run("label", slides, "-o", out, *WORDS, "--json", code=1).json
    codes = {os.path.basename(result["slide"]): result.get("error", {}).get("code") for result in results}
    assert codes == {"000.tif": None, "a.svs": "E-FILE-MISSING", "b.tif": "E-FILE-MISSING"}
    with open(out / "failed.csv") as file:
        assert [row["code"] for row in csv.DictReader(file)] == ["E-FILE-MISSING"] * 2


def test_status_of_a_manifest_that_may_not_be_read(tmp_path):
    slides, out = make_slides(tmp_path / "slides", 1), tmp_path / "out"
    run("label", slides, "-o", out, *WORDS)
    (out / "manifest.json").chmod(0)
    assert fails("status", out, preexec_fn=obey_permissions).code == "E-FILE-ACCESS"


def test_a_result_survives_the_record_of_a_failure(tmp_path):
    """What a record says that comes while another process gathers stays, for the next one that gathers."""
    slides, out = make_slides(tmp_path / "slides", 2), tmp_path / "out"
    run("label", slides, "-o", out, *WORDS)
    entry = read_manifest(out)["000.pyramid.tif"]
    (out / ".gigapixel").mkdir()
    record = out / f".gigapixel/{fnv(b'000.pyramid.tif')}.record.json"
    record.write_text(json.dumps({**entry, "version": "later"}))
    lock = write_lock(out, "000.pyramid.tif", 1, "other", 0)  # its process may be about to write once more
    run("label", slides / "001.tif", "-o", f"{out}/", *WORDS)
    assert record.exists() and read_manifest(out)["000.pyramid.tif"]["version"] == "later"
    lock.unlink()
    run("label", slides / "001.tif", "-o", f"{out}/", *WORDS)
    assert not (out / ".gigapixel").exists() and read_manifest(out)["000.pyramid.tif"]["version"] == "later"


def test_names_that_are_not_utf8(tmp_path):
    """Latin-1, as old shares have it: each slide is one, a batch knows what is done, and its manifest names the slides."""
    slides, out = make_slides(tmp_path / "slides", 3), tmp_path / "out"
    names = [b"\xe4.tif", b"\xf6.tif", b"bytes:%.tif"]
    for number, name in enumerate(names):
        os.rename(slides / f"{number:03}.tif", os.path.join(os.fsencode(slides), name))
    words = ["label", slides, "-o", out, *WORDS, "--json"]
    told = run(*words).json
    assert [result["skipped"] for result in told] == [False] * 3
    assert {os.path.basename(unquote_to_bytes(result["slide"].removeprefix("bytes:"))) for result in told} == set(names)
    manifest = (out / "manifest.json").read_bytes()
    assert [result["skipped"] for result in run(*words).json] == [True] * 3
    assert (out / "manifest.json").read_bytes() == manifest
    assert [run("status", out, "--json").json[key] for key in ("slides", "done", "left")] == [3, 3, 0]
    assert len(run("info", out / "manifest.json", "--json").json) == 3
    run("measure", out / "manifest.json", "--slide", out / "manifest.json", "-o", tmp_path / "table.csv")
    lines = (tmp_path / "table.csv").read_bytes().splitlines()
    assert all(any(name in line and name.replace(b".tif", b".pyramid.tif") in line for line in lines) for name in names)


def test_a_lock_of_a_living_machine_is_waited_for(tmp_path):
    slides, out = make_slides(tmp_path / "slides", 2), tmp_path / "out"
    lock = write_lock(out, "000.pyramid.tif", 1, "other", 0)
    process = start(["label", slides, "-o", out, *WORDS], tmp_path)
    while count_records(out) < 1:
        assert process.poll() is None
        time.sleep(0.01)
    assert (out / "001.pyramid.tif").exists() and process.poll() is None and lock.exists()
    assert not (out / "000.pyramid.tif").exists()
    status = run("status", out, "--json").json
    assert status["running"] == [{"slide": "a", "host": "elsewhere", "pid": 1}] and status["secondsLeft"] > 0
    assert [status[key] for key in ("slides", "done", "failed", "left")] == [2, 1, 0, 1]
    set_age(lock, 3600)
    assert process.communicate() and process.returncode == 0
    assert sorted(path.name for path in out.iterdir()) == ["000.pyramid.tif", "001.pyramid.tif", "manifest.json", "timings.jsonl"]
