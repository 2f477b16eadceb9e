# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Bad input: one sentence that names the file, exit code 1, and nothing left behind."""

import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile

import numpy
import pytest

import vendor_slides
from conftest import PROGRAM, blobs, fails, find_codes, obey_permissions, run, write_nrrd, write_png, write_slide


@pytest.fixture
def good(tmp_path):
    random = numpy.random.default_rng(1)
    return write_slide(tmp_path / "good.tif", random.integers(235, 256, (900, 900, 3), numpy.uint8))


def truncated(good, path):
    """The directory is at the file's begin, the tiles are cut off."""
    run("synthesize", path, "--size", "900x900")
    import tifffile

    with tifffile.TiffFile(good) as file:
        pixels = file.asarray()
    write_slide(path, pixels)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def bad_slides(tmp_path, good):
    (tmp_path / "empty.svs").write_bytes(b"")
    (tmp_path / "text.tif").write_text("this is no slide" * 100)
    (tmp_path / "folder.svs").mkdir()
    truncated(good, tmp_path / "cut.tif")
    (tmp_path / "head.tif").write_bytes(good.read_bytes()[:100])
    return ["missing.svs", "empty.svs", "text.tif", "cut.tif", "head.tif"]


@pytest.mark.parametrize("command", ["label", "overlay"])
def test_bad_slides(tmp_path, good, command):
    write_slide(tmp_path / "mask.tif", blobs(900, 900))
    for name in bad_slides(tmp_path, good):
        output = tmp_path / "out" / ("o.tif" if command == "label" else "o.png")
        output.parent.mkdir(exist_ok=True)
        words = [tmp_path / name] if command == "label" else [tmp_path / name, tmp_path / "mask.tif"]
        refused = fails(command, *words, "-o", output)
        codes = {"missing.svs": "E-FILE-MISSING", "text.tif": "E-SLIDE-FORMAT", "cut.tif": "E-FILE-DAMAGED"}
        assert (refused.code, refused.file) == (codes.get(name, "E-FILE-DAMAGED"), str(tmp_path / name))
        assert list(output.parent.iterdir()) == [], name


def test_what_is_read_is_never_written(tmp_path, good):
    """Not even with --overwrite, nor under another name."""
    mask = write_slide(tmp_path / "mask.tif", blobs(900, 900))
    (tmp_path / "a.geojson").write_text('{"type": "FeatureCollection", "features": []}')
    for name in ("good.png", "mask.json"):
        (tmp_path / name).write_bytes((good if name == "good.png" else mask).read_bytes())
    (tmp_path / "link.png").symlink_to(good)
    before = good.read_bytes()
    for words, output in (
        (("rasterize", tmp_path / "a.geojson", "--like", good), good),
        (("overlay", tmp_path / "good.png", mask), tmp_path / "good.png"),
        (("overlay", good, mask), tmp_path / "link.png"),
        (("outline", tmp_path / "mask.json", "--like", good), tmp_path / "mask.json"),
        (("info", tmp_path / "good.png", "--associated", "label"), tmp_path / "good.png"),
    ):
        assert fails(*words, "-o", output, "--overwrite").code == "E-OUTPUT-INPUT"
    assert before == good.read_bytes() == (tmp_path / "good.png").read_bytes()
    assert mask.read_bytes() == (tmp_path / "mask.json").read_bytes()


@pytest.mark.usefixtures("network")
def test_masks_that_are_read_are_never_written(tmp_path):
    """Which have the names of outputs in the same folder."""
    run("synthesize", tmp_path / "a.tif", "--size", "500x400")
    run("label", tmp_path / "a.tif", "-o", f"{tmp_path}/masks/")
    mask = tmp_path / "masks/a.pyramid.tif"
    before = mask.read_bytes()
    words = ["segment", tmp_path / "a.tif", "--model", "tissue", "--overwrite", "--tissue"]
    for tissue, output in ((tmp_path / "masks", f"{tmp_path}/masks/"), (mask, mask)):
        assert fails(*words, tissue, "-o", output).code == "E-OUTPUT-INPUT"
        assert fails(*words, tissue, "-o", tmp_path / "b.tif", "--probability", mask).code == "E-OUTPUT-INPUT"
    assert mask.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0 or "GIGAPIXEL_SANITIZED" in os.environ, reason="another user is needed who has no other process")
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_too_few_threads(tmp_path, processes):
    """Fewer are used, or none can be: no library ends the program."""
    shared = pathlib.Path(tempfile.mkdtemp())

    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        os.setuid(54321)

    shared.chmod(0o777)
    words = [PROGRAM, "synthesize", shared / "a.tif", "--size", "900x900", "--threads", "8"]
    finished = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, timeout=300, cwd="/")
    assert (finished.returncode == 0) == (shared / "a.tif").exists(), finished
    if finished.returncode != 0:
        assert finished.returncode == 1 and find_codes(finished.stderr) == ["E-THREADS"], finished
        assert "ulimit -u" in finished.stderr, finished
    shutil.rmtree(shared)


def test_what_is_no_file_is_not_waited_for(tmp_path, good):
    """A pipe without a writer would never open."""
    os.mkfifo(tmp_path / "pipe.tif")
    (tmp_path / "loop.tif").symlink_to("loop.tif")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket.tif"))
    mask = write_slide(tmp_path / "mask.tif", blobs(900, 900))
    for name in ("pipe.tif", "loop.tif", "socket.tif", "/dev/zero"):
        odd = tmp_path / name  # an absolute name stays what it is
        picture, labels = tmp_path / "out.png", tmp_path / "out.tif"
        for words in (
            ["info", odd],
            ["label", odd, "-o", labels],
            ["overlay", odd, mask, "-o", picture],
            ["overlay", good, odd, "-o", picture],
            ["evaluate", odd, mask],
            ["evaluate", mask, odd],
        ):
            refused = fails(*words)
            assert refused.code == ("E-FILE-NAME" if name == "loop.tif" else "E-FILE-KIND") and refused.file == str(odd), words
        assert not picture.exists() and not labels.exists()
    listener.close()


def test_libraries_are_silent(tmp_path):
    """libtiff, which OpenSlide looks at files with, would speak of the tag."""
    pixels = numpy.zeros((512, 512, 3), numpy.uint8)
    trestle = write_slide(
        tmp_path / "good.tif", pixels, software="MedScan", description="a=b", metadata=None, datetime=True
    )
    data = bytearray(trestle.read_bytes())
    date = data.index(b"\x32\x01\x02\x00")  # tag 306 of type 2, and how many letters
    data[date + 4 : date + 8] = b"\xff\xff\xff\x7f"
    (tmp_path / "odd.tif").write_bytes(data)
    assert run("info", tmp_path / "odd.tif").err == ""


def test_texts_of_files_may_be_of_any_length(tmp_path):
    """A sentence repeats their beginning and their end."""
    pixels, length = blobs(300, 300), 400000
    ome = f'<?xml version="1.0"?><OME><BinaryOnly MetadataFile="{"f" * length}" UUID="urn:uuid:1"/></OME>'
    slide = write_slide(tmp_path / "ome.tif", pixels, description=ome, metadata=None)
    sentence = fails("info", slide)
    assert f"{slide}: " in sentence and "fff ... fff" in sentence and len(sentence) < 5000
    made_by = f"ITKGigapixel pyramid\norigin-mm = 0 0\ncontent = labels\nmade-by = bytes={'9' * length}"
    mask = write_slide(tmp_path / "mask.tif", pixels, description=made_by, metadata=None)
    assert run("evaluate", mask, mask, "--json").json["dice"] == 1
    header = tmp_path / "mask.mhd"
    for name in ("d" * length, "d" * length + "%d.raw 1 2 1", "%" + "d" * length, "d%0" + "9" * 100 + "d.raw"):
        header.write_text(f"NDims = 2\nDimSize = 300 300\nElementType = MET_UCHAR\nElementDataFile = {name}\n")
        for words in (["info", header], ["evaluate", header, mask]):
            sentence = fails(*words)
            assert str(header) in sentence and len(sentence) < 5000


def test_a_folder_with_odd_entries_gives_its_slides(tmp_path, good):
    os.mkfifo(tmp_path / "pipe.tif")
    assert [entry["slide"] for entry in run("info", tmp_path, "--json").json] == [str(good)]
    (tmp_path / "loop.tif").symlink_to("loop.tif")  # a link to nothing fails, so that no slide vanishes
    results = run("info", tmp_path, "--json", code=1).json
    assert [(entry["slide"], "error" in entry) for entry in results] == [(str(good), False), (str(tmp_path / "loop.tif"), True)]


def test_a_file_is_no_folder(tmp_path, good):
    (tmp_path / "keep.png").write_text("mine")
    refused = fails("label", good, "-o", tmp_path / "keep.png" / "x.tif")
    assert (refused.code, refused.file) == ("E-OUTPUT-WRITE", f"{tmp_path}/keep.png/x.tif")


def test_masks_that_are_cut_short(tmp_path):
    """Are told of with what is wrong and what to do."""
    good = write_slide(tmp_path / "good.tif", blobs(300, 300))
    random = numpy.random.default_rng(1).integers(0, 2, (300, 300), dtype=numpy.uint8)
    write_png(tmp_path / "cut.png", random)
    write_nrrd(tmp_path / "cut.nrrd", random, encoding="raw")
    for name in ("cut.png", "cut.nrrd"):
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: len(data) // 2])
        for words in (["evaluate", good, tmp_path / name], ["overlay", good, tmp_path / name, "-o", tmp_path / "o.png"]):
            refused = fails(*words)
            assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(tmp_path / name))
    assert not (tmp_path / "o.png").exists()


def test_headers_name_files_of_their_own_folder(tmp_path):
    """Whoever names a header has not named what lies elsewhere."""
    pixels = blobs(300, 300)
    mask = write_slide(tmp_path / "mask.tif", pixels)
    folder = tmp_path / "headers"
    (folder / "deeper").mkdir(parents=True)
    for place in (tmp_path, folder, folder / "deeper"):
        (place / "pixels.raw").write_bytes(pixels.tobytes())
    (folder / "link.raw").symlink_to(tmp_path / "pixels.raw")
    nrrd = "NRRD0004\ntype: unsigned char\ndimension: 2\nsizes: 300 300\nencoding: raw\ndata file: "
    meta = "NDims = 2\nDimSize = 300 300\nElementType = MET_UCHAR\nElementDataFile = "
    for name, start in (("mask.nhdr", nrrd), ("mask.mhd", meta)):
        header = folder / name
        for inside in ("pixels.raw", "./pixels.raw", "deeper/pixels.raw", "link.raw", folder / "pixels.raw"):
            header.write_text(f"{start}{inside}\n")
            assert run("evaluate", header, mask, "--json").json["dice"] == 1, inside
        for outside in (tmp_path / "pixels.raw", "../pixels.raw", "deeper/../../pixels.raw", "/etc/passwd", "LIST\n../pixels.raw", "../p%dxels.raw 1 1 1"):
            header.write_text(f"{start}{outside}\n")
            for words in (["evaluate", header, mask], ["info", header]):
                refused = fails(*words)
                assert (refused.code, refused.file) == ("E-FILE-NAME", str(header)), outside


def test_folder_without_slides(tmp_path):
    for words in (["label", tmp_path, "-o", tmp_path / "m.tif"], ["info", tmp_path]):
        refused = fails(*words)
        assert refused.code == "E-FOLDER-EMPTY" and refused.file == str(tmp_path)


@pytest.mark.parametrize("name", ["empty.tif", "text.tif", "text.png", "missing.tif"])
def test_bad_masks(tmp_path, name):
    good = write_slide(tmp_path / "good.tif", blobs(300, 300))
    (tmp_path / "empty.tif").write_bytes(b"")
    for text in ("text.tif", "text.png"):
        (tmp_path / text).write_text("no mask" * 50)
    code = {"missing.tif": "E-FILE-MISSING", "empty.tif": "E-FILE-DAMAGED"}.get(name, "E-FILE-KIND")
    for words in ([good, tmp_path / name], [tmp_path / name, good]):
        refused = fails("evaluate", *words)
        assert (refused.code, refused.file) == (code, str(tmp_path / name))


def test_folder_for_a_mask(tmp_path):
    good = write_slide(tmp_path / "good.tif", blobs(300, 300))
    refused = fails("evaluate", good, tmp_path)
    assert refused.code == "E-FILE-KIND" and refused.file == str(tmp_path)


def test_outputs_that_cannot_be(tmp_path, good):
    (tmp_path / "file").write_text("")
    assert fails("label", good, "-o", tmp_path / "nowhere" / "m.tif").code == "E-FILE-MISSING"
    assert fails("label", good, "-o", f"{tmp_path}/file/sub/").code == "E-OUTPUT-WRITE"
    assert fails("synthesize", tmp_path / "nowhere" / "s.tif", "--size", "300x300").code == "E-FILE-MISSING"
    # Not even root writes here.
    assert fails("label", good, "-o", "/proc/m.tif").code == "E-OUTPUT-WRITE"
    assert fails("synthesize", "/proc/s.tif", "--size", "300x300").code == "E-OUTPUT-WRITE"
    assert fails("overlay", good, good_mask(tmp_path), "-o", "/proc/o.png").code == "E-OUTPUT-WRITE"


def good_mask(tmp_path):
    return write_slide(tmp_path / "good-mask.tif", blobs(900, 900))


def test_failure_keeps_the_old_output(tmp_path, good):
    cut = truncated(good, tmp_path / "cut.tif")
    target = tmp_path / "m.tif"
    run("label", good, "-o", target)
    before = target.read_bytes()
    fails("label", cut, "-o", target, "--overwrite")
    assert target.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"good.tif", "cut.tif", "m.tif"}


@pytest.mark.parametrize("length", [16, 30])
def test_pictures_with_damaged_headers(tmp_path, good, length):
    """At which libpng would end the program."""
    mask = write_png(tmp_path / "mask.png", blobs(900, 900))
    mask.write_bytes(mask.read_bytes()[:length])
    refused = fails("outline", mask, "--like", good, "-o", tmp_path / "a.geojson")
    assert (refused.code, refused.file) == ("E-FILE-DAMAGED", str(mask))


def test_outputs_are_files_and_classes_are_named_once(synthetic, tmp_path):
    slide, truth = synthetic
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    for more in ([], ["--overwrite"]):
        assert fails("overlay", slide, truth, "-o", pipe, *more).code == "E-OUTPUT-KIND"
    assert pipe.is_fifo()
    deep = tmp_path / "deep.geojson"
    deep.write_text("[" * 40000 + "]" * 40000)
    assert fails("rasterize", deep, "--like", slide, "-o", tmp_path / "mask.tif").code == "E-ANNOTATION-FORMAT"
    run("outline", truth, "--like", slide, "-o", tmp_path / "a.geojson")
    twice = ["--class", "Tissue", "--class", "Tissue"]
    options = ["rasterize", tmp_path / "a.geojson", "--like", slide, "-o", tmp_path / "mask.tif"]
    assert fails(*options, *twice, code=2).code == "E-OPTION-REPEATED"
    assert not (tmp_path / "mask.tif").exists()


def test_names_that_can_be_none(tmp_path, good):
    long = tmp_path / ("a" * 300 + ".tif")
    circle = tmp_path / "circle.tif"
    circle.symlink_to("circle.tif")
    mask = write_slide(tmp_path / "mask.tif", blobs(900, 900))
    for name in (long, circle):
        for words in (["label", good, "-o", name], ["convert", good, name], ["info", name], ["evaluate", name, good]):
            refused = fails(*words)
            assert refused.code == "E-FILE-NAME" and refused.file == str(name), words
    picture = long.with_suffix(".png")
    refused = fails("overlay", good, mask, "-o", picture)
    assert refused.code == "E-FILE-NAME" and refused.file == str(picture)


def limit_file_size():
    """A disk that is full: what is written beyond this fails, as there."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))


def test_a_picture_on_a_full_disk(tmp_path):
    slide = write_slide(tmp_path / "slide.tif", numpy.random.default_rng(1).integers(0, 256, (600, 600, 3), numpy.uint8))
    mask = write_slide(tmp_path / "mask.tif", blobs(600, 600))
    before = sorted(os.listdir(tmp_path))
    words = [PROGRAM, "overlay", str(slide), str(mask), "-o", str(tmp_path / "o.png"), "--quiet"]
    finished = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit_file_size)
    assert finished.returncode == 1 and len(finished.stderr.splitlines()) == 1
    assert str(tmp_path / "o.png") in finished.stderr and find_codes(finished.stderr) == ["E-DISK-FULL"]
    assert sorted(os.listdir(tmp_path)) == before


def test_what_another_process_wrote_meanwhile_stays(tmp_path):
    """The mask is begun, which a hidden file shows, and somebody else finishes one of this name first."""
    slide = tmp_path / "slide.tif"
    run("synthesize", slide, "--size", "6000x6000")
    words = [PROGRAM, "label", str(slide), "-o", str(tmp_path / "m.tif"), "--full-resolution", "--quiet"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not any(name.endswith(".part") for name in os.listdir(tmp_path)):
        pass
    (tmp_path / "m.tif").write_text("somebody's")
    _, message = process.communicate()
    assert process.returncode == 1 and find_codes(message) == ["E-OUTPUT-EXISTS"]
    assert (tmp_path / "m.tif").read_text() == "somebody's"
    assert sorted(os.listdir(tmp_path)) == ["m.tif", "slide.tif"]


def test_a_pipe_that_closes_leaves_nothing_unfinished(synthetic, tmp_path):
    out = tmp_path / "out.tif"
    for words in (["info", synthetic[0]], ["convert", synthetic[0], out]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([PROGRAM, *map(str, words)], stdout=write, stderr=subprocess.PIPE, text=True)
        os.close(write)
        assert done.returncode == 1 and find_codes(done.stderr) == ["E-OUTPUT-WRITE"]
    assert [path.name for path in tmp_path.iterdir()] in ([], ["out.tif"])


def fails_under(limit, *words):
    """The one error, where the system refuses what *limit* sets before the program begins."""
    refused = fails(*words, preexec_fn=limit)
    assert refused.code != "E-FILE-DAMAGED", refused
    return refused


def test_what_may_not_be_read(tmp_path, good):
    """Is not damaged: who may read it is to be looked at."""
    mask = write_slide(tmp_path / "mask.tif", blobs(900, 900))
    folder, slide, labels, mirax = (tmp_path / name for name in ("closed", "slide.tif", "labels.tif", "mirax.mrxs"))
    folder.mkdir()
    for path, content in ((folder / "slide.tif", good), (slide, good), (labels, mask)):
        path.write_bytes(content.read_bytes())
    mirax.write_bytes(b"")
    mirax.with_suffix("").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    closed = (folder, slide, labels, mirax.with_suffix(""))
    for path in closed:
        path.chmod(0)
    for path, words in (
        (slide, ["info", slide]),
        (slide, ["label", slide, "-o", out / "m.tif"]),
        (folder, ["info", folder]),
        (folder / "slide.tif", ["convert", folder / "slide.tif", out / "c.tif"]),
        (labels, ["overlay", good, labels, "-o", out / "o.png"]),
        (labels, ["evaluate", mask, labels]),
        (mirax, ["info", mirax]),
    ):
        refused = fails_under(obey_permissions, *words)
        assert refused.code == "E-FILE-ACCESS" and refused.file == str(path) and "ls -ld" in refused.do
        assert path != mirax or str(mirax.with_suffix("") / "Slidedat.ini") in refused.why
    refused = fails_under(obey_permissions, "label", good, "-o", folder / "m.tif")
    assert (refused.code, refused.file) == ("E-FILE-ACCESS", str(folder / "m.tif")) and "ls -ld" in refused.do
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("kind, part", [("mirax", "Index.dat"), ("vms", ".jpg")])
def test_a_part_of_a_slide_may_not_be_read(tmp_path, kind, part):
    files = vendor_slides.WRITERS[kind]()
    slide = vendor_slides.write(files, tmp_path)
    closed = tmp_path / next(name for name in files if name.endswith(part))
    closed.chmod(0)
    refused = fails_under(obey_permissions, "info", slide)
    assert (refused.code, refused.file) == ("E-FILE-ACCESS", str(slide)) and str(closed) in refused.why


@pytest.mark.usefixtures("network")
def test_networks_that_may_not_be_read(tmp_path, good):
    network = tmp_path / "network.json"
    network.write_bytes(good.read_bytes())
    network.chmod(0)
    for words in (
        ["segment", good, "--model", network, "-o", tmp_path / "m.tif"],
        ["label", good, "--preset", "model", "--model", network, "-o", tmp_path / "m.tif"],
        ["plan", "--network", network, "--size", "1000x1000"],
        ["import", network, "-o", tmp_path / "m.safetensors"],
    ):
        refused = fails_under(obey_permissions, *words)
        assert (refused.code, refused.file) == ("E-FILE-ACCESS", str(network)) and "ls -ld" in refused.do
    assert sorted(os.listdir(tmp_path)) == ["good.tif", "network.json"]


@pytest.mark.parametrize("vendor", ["tiff", "mirax"])
@pytest.mark.parametrize("command", ["info", "label", "overlay", "convert"])
def test_too_few_files_may_be_open(tmp_path, good, command, vendor):
    """With ever more of them: the same advice until there are enough."""
    slide = good if vendor == "tiff" else vendor_slides.write(vendor_slides.mirax(), tmp_path)
    width, height = (run("info", slide, "--json").json[side] for side in ("width", "height"))
    mask = write_slide(tmp_path / "mask.tif", blobs(height, width), mpp=None)
    words = {
        "info": ["info", slide, "--check"],
        "label": ["label", slide, "-o", tmp_path / "o.tif"],
        "overlay": ["overlay", slide, mask, "-o", tmp_path / "o.png"],
        "convert": ["convert", slide, tmp_path / "o.tif"],
    }[command]
    refused = 0
    for files in range(4, 64):  # the loader needs one itself
        limits = (files, files)
        finished = subprocess.run(
            [PROGRAM, *map(str, words), "--quiet"],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
        )
        if finished.returncode == 0:
            break
        assert finished.returncode == 1 and "ulimit -n" in finished.stderr, (files, finished)
        assert len(codes := find_codes(finished.stderr)) == 1 and codes[0] in ("E-FILE-ACCESS", "E-OUTPUT-WRITE"), finished
        assert not list(tmp_path.glob("o.*"))
        refused += 1
    assert finished.returncode == 0 and refused > 0


def test_files_may_not_be_that_large(tmp_path, good):
    (tmp_path / "out").mkdir()
    out = tmp_path / "out/o.tif"
    noise = write_slide(tmp_path / "noise.tif", numpy.random.default_rng(1).integers(0, 256, (600, 600, 3), numpy.uint8))
    for words in (
        ["convert", noise, out],
        ["synthesize", out, "--size", "900x900"],
        ["overlay", noise, write_slide(tmp_path / "mask.tif", blobs(600, 600)), "-o", tmp_path / "out/o.png"],
    ):
        refused = fails_under(limit_file_size, *words)
        assert refused.code == "E-DISK-FULL" and "ulimit -f" in refused.do
        assert os.listdir(tmp_path / "out") == []
