# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Pages on batches: what they say is what the results say, whatever a name holds, and nothing that nobody said."""

import base64
import csv
import fcntl
import json
import os
import shlex
import struct
import subprocess
import time

import numpy
import pytest
import tifffile

pytest.importorskip("PIL.Image", reason="python3-pil decodes the pictures of pages")

from conftest import PROGRAM, fails, run, write_slide
from report_pages import MPP, PREDICTIONS, Page, decode, draw, make_batch


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """(slides, results, page, result)"""
    folder = tmp_path_factory.mktemp("batch")
    slides, results = make_batch(folder)
    result = run("report", results, "--slides", slides, "-o", folder / "report.html", "--json").json
    return slides, results, Page(folder / "report.html"), result


def test_rows_are_the_results(batch):
    slides, results, page, result = batch
    told = {os.path.basename(each["slide"]).rpartition(".")[0]: each for each in json.loads((results / "label.json").read_text())}
    assert set(page.slides) == set(told) and result["slides"] == 5 and result["folder"] is None
    assert result["bytes"] == len(page.bytes)
    for name, each in told.items():
        row = page.slides[name]
        if "error" in each:
            assert row["error"] == {**each["error"], "file": row["slide"]} and os.path.samefile(row["slide"], each["slide"])
            assert "picture" not in row
            continue
        assert row["tissueMm2"] == pytest.approx(each["tissueMm2"], rel=1e-9)
        assert row["tissueFraction"] == pytest.approx(each["tissueFraction"], rel=1e-9)
        assert [d["code"] for d in row["doubts"]] == [d["code"] for d in each.get("doubts", [])]
    assert set(page.data["codes"]) >= {"E-SLIDE-FORMAT", "W-DOUBT-MASK-EMPTY"}


def test_rows_are_the_table(batch):
    page = batch[2]
    assert page.data["columns"] == ["patient", "case", "label", "fold"]
    for line in csv.DictReader(PREDICTIONS.splitlines()):
        row = page.slides[line["slide"][:-4]]
        assert row["columns"] == {name: line[name] for name in page.data["columns"]}
        assert row["probabilities"] == {"normal": float(line["p_normal"]), "tumor": float(line["p_tumor"])}


def test_several_tables_of_predictions_have_a_range(tmp_path):
    """Of each slide that several models have judged; one that one model has judged has none."""
    tables = []
    for n, shares in enumerate(({"a": 0.25, "b": 0.5}, {"a": 0.75}, {"a": 0.125})):
        tables.append(tmp_path / f"{n}.csv")
        tables[-1].write_text("slide,p_normal,p_tumor\n" + "".join(f"{name}.tif,{1 - p},{p}\n" for name, p in shares.items()))
    run("report", *tables, tables[0], "-o", tmp_path / "page.html")
    slides = Page(tmp_path / "page.html").slides
    assert slides["a"]["perTable"]["tumor"] == [0.25, 0.75, 0.125] and slides["a"]["probabilities"]["tumor"] == pytest.approx(0.375)
    assert slides["b"]["perTable"]["normal"] == [0.5] and slides["b"]["probabilities"] == {"normal": 0.5, "tumor": 0.5}


def test_figures_of_predictions(batch):
    (figures,) = batch[2].data["figures"]
    lines = list(csv.DictReader(PREDICTIONS.splitlines()))
    positive = [float(line["p_tumor"]) for line in lines if line["label"] == "tumor"]
    negative = [float(line["p_tumor"]) for line in lines if line["label"] == "normal"]
    pairs = [(p > n) + (p == n) / 2 for p in positive for n in negative]
    assert figures["rocAUC"] == pytest.approx(sum(pairs) / len(pairs))
    assert figures["confusion"] == [[1, 1], [0, 2]]  # 0.5 divides normal from tumor
    x, y = zip(*next(entry["roc"] for entry in figures["perClass"] if entry["class"] == "tumor"))
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    area = sum((b - a) * (top + bottom) / 2 for a, b, top, bottom in zip(x, x[1:], y, y[1:]))
    assert area == pytest.approx(figures["rocAUC"])


def test_pictures_show_slide_and_mask(batch):
    slides, results, page, _ = batch
    for name in ("a", "b", "glass", "c"):
        row = page.slides[name]
        original = tifffile.imread(slides / f"{name}.tif").astype(float)
        photograph = page.picture(row["picture"]).astype(float)
        assert photograph.shape == original.shape == (row["height"], row["width"], 3)
        assert abs(photograph - original).mean() < 6  # lossy
        mask = tifffile.imread(results / f"{name}.pyramid.tif", key=0)
        labels = page.picture(row["labels"])
        assert (labels[..., 0] == labels[..., 1]).all()
        rows, columns = (numpy.arange(n) // 8 for n in original.shape[:2])
        numpy.testing.assert_array_equal(labels[..., 0], mask[rows][:, columns])


def test_masks_alone_are_measured(batch, tmp_path):
    """Without what label said, areas come from the masks, and what is not known is missing."""
    slides, results, _, _ = batch
    for mask in results.glob("*.tif"):
        os.link(mask, tmp_path / mask.name)
    told = run("report", tmp_path, "-o", tmp_path / "page.html", "--json")
    assert told.codes == ["W-REPORT-MISSING"] and told.json["missing"] == 4
    page = Page(tmp_path / "page.html")
    for name, row in page.slides.items():
        mask = tifffile.imread(results / f"{name}.pyramid.tif", key=0)
        assert row["tissueMm2"] == pytest.approx((mask == 255).sum() * (8 * MPP / 1000) ** 2, rel=1e-6)
        assert row["tissueFraction"] == pytest.approx((mask == 255).mean())
        assert [each["code"] for each in row["missing"]] == ["E-FILE-MISSING"]
        assert "picture" not in row and "penFraction" not in row and "dice" not in row
        assert ((page.picture(row["labels"])[..., 0] == 255).mean() > 0) == (name != "glass")
    assert [d["code"] for d in page.slides["glass"]["doubts"]] == ["W-DOUBT-MASK-EMPTY"]


def test_dice_of_evaluate(batch, tmp_path):
    slides, results, _, _ = batch
    os.link(results / "a.pyramid.tif", tmp_path / "a.pyramid.tif")
    judged = run("evaluate", tmp_path / "a.pyramid.tif", results / "c.pyramid.tif", "--json")
    (tmp_path / "a.json").write_text(judged.out)
    run("report", tmp_path, "--slides", slides, "-o", tmp_path / "page.html")
    assert Page(tmp_path / "page.html").slides["a"]["dice"] == judged.json["dice"]


NAMES = [b"<script>alert(1)<!--", b"\"quotes\" & 'more'", "\u202egnp.\u05e9\u05dc\u05d5\u05dd".encode(), b"bad\xffutf", b"]]>{{data}}"]


def test_names_are_texts(tmp_path):
    """Whatever a name holds, it is neither HTML nor script, and the page is valid UTF-8."""
    (tmp_path / "slides").mkdir()
    plain = draw(tmp_path / "plain.tif", 0.3)
    for name in NAMES:
        os.link(plain, os.path.join(os.fsencode(tmp_path / "slides"), name + b".tif"))
    run("label", tmp_path / "slides", "-o", f"{tmp_path}/out/", "--preset", "remedios2023")
    table = 'slide,"note </script><b>",p_</script>,p_x\nplain.tif,"=</script><img src=x onerror=alert(1)>",0.5,0.5\n'
    (tmp_path / "out/table.csv").write_text(table)
    run("report", tmp_path / "out", "--slides", tmp_path / "slides", "-o", tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    plainPage = [tag for tag, attributes in page.tags if tag in ("script", "img", "b")]
    assert plainPage == ["script"] * (2 + 2)  # data, the program, and the picture and mask that all slides share
    shown = set(page.slides)
    assert {"<script>alert(1)<!--", "\"quotes\" & 'more'", "bad\\xffutf", "]]>{{data}}", "plain"} <= shown
    assert "\u202e" not in page.bytes.decode() and any("\u05e9\u05dc\u05d5\u05dd" in name for name in shown)
    assert page.data["columns"] == ["note </script><b>"]
    assert page.slides["plain"]["probabilities"] == {"</script>": 0.5, "x": 0.5}
    assert "=</script><img src=x onerror=alert(1)>" in page.slides["plain"]["columns"].values()


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("words", [[], ["--classes"], ["--mpp", 5.5]])
def test_pen_is_the_share_of_the_masks_pixels(tmp_path, words):
    """The page says what --json says, whether the mask shows pen or not: tissue that the rules draw over pen is none."""
    slide = tmp_path / "slide.tif"
    run("synthesize", slide, "--size", "3000x3000", "--seed", "213", "--artifacts")
    told = run("label", slide, "-o", tmp_path / "slide.pyramid.tif", "--preset", "model", *words, "--json").json
    run("label", slide, "-o", tmp_path / "classes.tif", "--preset", "model", *words, *([] if "--classes" in words else ["--classes"]))
    classes = tifffile.imread(tmp_path / "classes.tif", key=0)
    assert told["penFraction"] == (classes == 2).mean() > 0.005
    run("report", tmp_path / "slide.pyramid.tif", "-o", tmp_path / "page.html")
    (row,) = Page(tmp_path / "page.html").data["slides"]
    assert row["penFraction"] == told["penFraction"]
    assert [each["fraction"] for each in row["classes"] if each["name"] == "pen"] == pytest.approx([told["penFraction"]] if "--classes" in words else [])


@pytest.mark.parametrize("preset", ["robust", "model"])
def test_no_pen_is_said_only_where_it_was_looked_for(tmp_path, preset):
    run("synthesize", tmp_path / "slide.tif", "--size", "900x900", "--slide-mpp", 2)
    words = ["label", tmp_path / "slide.tif", "-o", tmp_path / "slide.pyramid.tif", "--preset", preset, "--classes", "--json"]
    told = run(*words).json["penFraction"]
    assert (told is None) == (preset == "robust")
    run("report", tmp_path / "slide.pyramid.tif", "-o", tmp_path / "page.html")
    assert (Page(tmp_path / "page.html").data["slides"][0].get("penFraction") is None) == (told is None)


def test_provenance_is_what_the_manifest_says(batch, tmp_path):
    """Slides that were made in one way are one line; the hashes of inputs are the slides'."""
    slides, results, page, _ = batch
    manifest = json.loads((results / "manifest.json").read_text())
    entries = {os.path.splitext(os.path.basename(entry["slide"]))[0]: entry for entry in manifest["slides"]}
    first = entries["a"]
    assert first["options"]["preset"] == "remedios2023"
    assert page.data["provenance"] == [{**{key: first[key] for key in ("version", "command", "options")}, "slides": 5}]
    made = {name: row["made"] for name, row in page.slides.items()}
    assert made == {name: [{"by": 0, "inputs": entry["inputs"]}] for name, entry in entries.items()}
    machine = dict(page.data["machine"])
    assert machine.pop("cores") >= 1 and machine == {"system": os.uname().sysname, "architecture": os.uname().machine}
    words = ["label", slides, "-o", f"{tmp_path}/out/", "--report", tmp_path / "page.html", "--preset"]
    run(*words, "remedios2023", code=1)
    assert {name: row["made"] for name, row in Page(tmp_path / "page.html").slides.items()} == made
    again = tmp_path / "out/manifest.json"
    again.write_text(again.read_text().replace(f'"{first["version"]}"', '"0.0.1"', 1))
    run("report", tmp_path / "out", "-o", tmp_path / "two.html")
    assert [(made["version"], made["slides"]) for made in Page(tmp_path / "two.html").data["provenance"]] == [("0.0.1", 1), (first["version"], 4)]


def test_anonymous(batch, tmp_path):
    slides, results, known, _ = batch
    run("report", results, "--slides", slides, "-o", tmp_path / "page.html", "--anonymous")
    page = Page(tmp_path / "page.html")
    text = page.bytes.decode()
    for secret in (str(slides), str(results), str(tmp_path), slides.name + "/", ".pyramid.tif", ".tif", "Jane", "broken", "glass", "bytes=", "hash="):
        assert secret not in page.scripts["data"], secret
    assert str(slides.parent.name) not in text and page.data["command"] is None
    assert [slide["name"] for slide in page.data["slides"]] == [f"Slide {n}" for n in range(1, 6)]
    assert page.data["columns"] == ["label", "fold"]
    assert page.data["provenance"] == known.data["provenance"]  # whose options are a choice and numbers
    for slide, original in zip(page.data["slides"], known.data["slides"]):
        assert slide.get("tissueMm2") == original.get("tissueMm2") and slide.get("probabilities") == original.get("probabilities")


def test_the_command_is_what_a_shell_reads(batch, tmp_path):
    for name in ("plain_1.2=x:y,z@%+-", "Jane's `date` $HOME", "~a{b}[c]#!\\", ""):
        place = tmp_path / name / "out"
        place.mkdir(parents=True, exist_ok=True)
        os.link(batch[1] / "predictions.csv", place / "predictions.csv")
        words = ["report", str(place), "-o", str(place / "page.html")]
        run(*words)
        shown = Page(place / "page.html").data["command"]
        assert shlex.split(shown) == ["gigapixel", "report", words[1], "--output", words[3]]
        assert ("'" in shown) == (name not in ("plain_1.2=x:y,z@%+-", ""))


def test_slides_of_one_name_in_several_folders(tmp_path):
    """Two folders are two slides, whether the files are there or not; the end of a path is enough for one that is not."""
    table = tmp_path / "table.csv"

    def find_rows(*slides):
        table.write_text("slide,n\n" + "".join(f"{slide},{n}\n" for n, slide in enumerate(slides)))
        run("report", table, "-o", tmp_path / "page.html", "--overwrite")
        return [slide["columns"]["n"] for slide in Page(tmp_path / "page.html").data["slides"]]

    assert find_rows("p1/scan.svs", "p2/scan.svs") == ["0", "1"]
    assert find_rows("p1/scan.svs", "/data/p1/scan.svs", "../p1/scan.svs", "../../data/p1/scan.svs") == ["3"]
    for place in (tmp_path / "scan.svs", tmp_path / "p1/scan.svs"):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"no slide")
    assert find_rows("scan.svs", "p1/scan.svs", f"{tmp_path}/p1/scan.svs") == ["0", "2"]


def test_a_table_of_components_is_none_of_slides(batch, tmp_path):
    slides, results, _, _ = batch
    os.link(results / "a.pyramid.tif", tmp_path / "a.pyramid.tif")
    run("measure", tmp_path, "--slide", slides, "-o", tmp_path / "table.csv")
    run("report", tmp_path, "--slides", slides, "-o", tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert set(page.slides) == {"a"} and page.data["columns"] == [] and page.data["missing"] == []
    refused = fails("report", tmp_path / "table.csv", "-o", tmp_path / "new.html")
    assert (refused.code, refused.file) == ("E-REPORT-INPUT", str(tmp_path / "table.csv"))


def test_files_of_a_folder_that_cannot_be_read(batch, tmp_path):
    """They are listed, and stop nothing; what is no file is left out."""
    os.link(batch[1] / "a.pyramid.tif", tmp_path / "a.pyramid.tif")
    for name in ("pipe.json", "pipe.csv", "pipe.tif"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "wide.csv").write_text("slide,n\na.tif,1\n", encoding="utf-16")
    (tmp_path / "cut.csv").write_text("slide,n\na.tif,1\nb.tif\n")
    (tmp_path / "cut.json").write_text('{"slide": ')
    with open(tmp_path / "huge.csv", "w") as file:
        file.truncate(65 << 20)
    run("report", tmp_path, "-o", tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert set(page.slides) == {"a"} and page.data["columns"] == []
    listed = {os.path.basename(each["file"]): each["code"] for each in page.data["missing"]}
    assert listed == {"wide.csv": "E-REPORT-INPUT", "cut.csv": "E-REPORT-INPUT", "cut.json": "E-REPORT-INPUT", "huge.csv": "E-FILE-LIMIT"}
    (tmp_path / "a.pyramid.tif").unlink()
    assert fails("report", tmp_path, "-o", tmp_path / "new.html").file == str(tmp_path / "cut.csv")


def test_a_batch_that_was_killed(tmp_path):
    """What `status` counts is what the page counts, and slides without a manifest have their results."""
    (tmp_path / "slides").mkdir()
    plain = draw(tmp_path / "plain.tif", 0.3)
    for n in range(30):
        os.link(plain, tmp_path / f"slides/{n:02}.tif")
    (tmp_path / "slides/00.tif").unlink()
    (tmp_path / "slides/00.tif").write_bytes(b"no slide")
    words = ["label", "slides", "-o", "out", "--preset", "remedios2023"]
    process = subprocess.Popen([PROGRAM, *words], cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None and len(list((tmp_path / "out/.gigapixel").glob("*.record.json"))) < 4:
        time.sleep(0.001)
    process.kill()
    assert process.wait() < 0 and not (tmp_path / "out/manifest.json").exists()
    told = run("status", "out", "--json", cwd=tmp_path).json
    assert told["left"] > 0 and told["failed"] == 1
    run("report", "out", "-o", "page.html", cwd=tmp_path)
    page = Page(tmp_path / "page.html")
    assert page.data["unfinished"] == [{"folder": "out", "slides": 30, "done": told["done"], "failed": 1}]
    assert sum("tissueMm2" in row for row in page.slides.values()) >= told["done"]
    assert page.slides["00"]["error"]["code"] == "E-SLIDE-FORMAT"
    assert all(row["preset"] == "remedios2023" for name, row in sorted(page.slides.items())[1:4])
    run("report", "out", "-o", "anonymous.html", "--anonymous", cwd=tmp_path)
    assert Page(tmp_path / "anonymous.html").data["unfinished"] == [{"slides": 30, "done": told["done"], "failed": 1}]
    run(*words, cwd=tmp_path, code=1)
    run("report", "out", "-o", "page.html", "--overwrite", cwd=tmp_path)
    assert Page(tmp_path / "page.html").data["unfinished"] == []


def write_run(folder):
    """A run as train writes it, with a model that holds but texts."""
    folder.mkdir(parents=True)
    rows = [(1, 0.9, 0.8, 0.5, 1e-3), (2, 0.5, 0.6, 0.75, 1e-3), (3, 0.25, 0.7, 0.625, 5e-4)]
    (folder / "history.csv").write_text("epoch,training_loss,validation_loss,validation_auc,learning_rate\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    texts = {"network": json.dumps({"name": "unet:base=4"}), "microns_per_pixel": "0.5", "training.settings": json.dumps({"seed": 7, "network": {}, "note": "/home/jane"})}
    header = json.dumps({"__metadata__": texts}).encode()
    for name in ("best", "last"):
        (folder / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return [list(map(float, row)) for row in rows], struct.pack("<Q", len(header)) + header


def fnv(content):
    """FNV-1a of 64 bit, http://www.isthe.com/chongo/tech/comp/fnv/"""
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:x}"


def test_runs(tmp_path):
    rows, model = write_run(tmp_path / "run")
    run("report", tmp_path / "run", "-o", tmp_path / "page.html")
    (shown,) = Page(tmp_path / "page.html").data["runs"]
    assert shown["history"]["columns"][:2] == ["epoch", "training_loss"] and shown["history"]["rows"] == rows
    assert shown["model"]["network"] == "unet:base=4" and shown["model"]["identity"] == f"bytes={len(model)} hash={fnv(model)}"
    assert shown["settings"] == {"seed": 7, "note": "/home/jane"} and shown["missing"] == []
    run("report", tmp_path / "run", "-o", tmp_path / "anonymous.html", "--anonymous")
    (shown,) = Page(tmp_path / "anonymous.html").data["runs"]
    assert shown["settings"] == {"seed": 7} and shown["history"]["rows"] == rows
    assert shown["model"] == {"file": "best.safetensors", "micronsPerPixel": "0.5"}


def test_folds_and_what_is_missing(tmp_path):
    for fold in (1, 2):
        rows, _ = write_run(tmp_path / f"study/fold-{fold}")
    (tmp_path / "study/fold-2/best.safetensors").write_bytes(b"\xff" * 20)
    (tmp_path / "study/fold-1/history.csv").unlink()
    run("report", tmp_path / "study", "-o", tmp_path / "page.html")
    (study,) = Page(tmp_path / "page.html").data["runs"]
    assert [[each["code"] for each in fold["missing"]] for fold in study["folds"]] == [["E-FILE-MISSING"], ["E-MODEL-FORMAT"]]
    assert study["folds"][1]["history"]["rows"] == rows


def test_refusals(batch, tmp_path):
    slides, results, _, _ = batch
    there = tmp_path / "there.html"
    there.write_text("mine")
    assert fails("report", results, "-o", there).code == "E-OUTPUT-EXISTS" and there.read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert fails("report", tmp_path / "empty", "-o", tmp_path / "new.html").code == "E-REPORT-INPUT"
    (tmp_path / "other.csv").write_text("name,value\na,1\n")
    refused = fails("report", tmp_path / "other.csv", "-o", tmp_path / "new.html")
    assert refused.code == "E-REPORT-INPUT" and refused.file == str(tmp_path / "other.csv")
    (tmp_path / "other.json").write_text("{")
    assert fails("report", tmp_path / "other.json", "-o", tmp_path / "new.html").code == "E-REPORT-INPUT"
    assert fails("report", tmp_path / "none", "-o", tmp_path / "new.html").code == "E-FILE-MISSING"
    assert fails("report", results, "-o", tmp_path / "new.pdf", code=2).code == "E-OUTPUT-ENDING"
    assert not (tmp_path / "new.html").exists()
    run("report", results, "--slides", slides, "-o", there, "--overwrite")
    assert len(Page(there).slides) == 5


def test_a_large_report_has_a_folder(tmp_path):
    """Above 40 MB the pictures lie beside the page, and the masks stay in it."""
    random = numpy.random.default_rng(1)
    (tmp_path / "slides").mkdir()
    for n in range(4):
        write_slide(tmp_path / f"slides/{n}.tif", random.integers(0, 255, (4096, 4096, 3), dtype=numpy.uint8), MPP, compressionargs={"level": 1})
    table, folder = tmp_path / "cohort.csv", tmp_path / "page-files"
    table.write_text("slide\n" + "".join(f"slides/{n}.tif\n" for n in range(4)))
    words = ["report", table, "-o", tmp_path / "page.html"]
    told = run(*words, "--picture-size", 4096, "--json")
    assert told.codes == ["W-REPORT-FOLDER"] and told.json["folder"] == str(folder)
    page = Page(tmp_path / "page.html")
    assert len(page.bytes) < 40e6 and dict(page.tags)["body"]["data-folder"] == "page-files"
    names = {row["picture"] for row in page.data["slides"]}
    assert {file.name for file in folder.iterdir()} == {f"{name}.webp" for name in names}
    assert len(names) == 4 and not any(f"picture-{name}" in page.scripts for name in names)
    assert decode((folder / f"{page.data['slides'][0]['picture']}.webp").read_bytes()).shape == (4096, 4096, 3)
    (tmp_path / "page.html").unlink()
    (folder / "mine.webp").write_text("mine")
    assert fails(*words).code == "E-OUTPUT-EXISTS"
    small = run(*words, "--overwrite", "--json").json  # pictures are as small as the page wants, and those of before go
    assert small["folder"] is None and small["bytes"] < 40e6
    assert [file.name for file in folder.iterdir()] == ["mine.webp"]


def test_masks_of_many_slides_fit_into_the_page(tmp_path):
    """Of ten thousand slides, a mask may have 2550 bytes: its picture shrinks, and keeps its classes."""
    random = numpy.random.default_rng(1)
    for name, cell in (("fine", 2), ("coarse", 256)):
        mask = numpy.kron(random.integers(1, 3, (1024 // cell, 1024 // cell)), numpy.ones((cell, cell), int)).astype(numpy.uint8)
        write_slide(tmp_path / f"{name}.tif", mask, MPP)
    masks = ["fine.tif", "coarse.tif"] + 9998 * [""]
    (tmp_path / "cohort.csv").write_text("slide,mask\n" + "".join(f"{n:04}.svs,{mask}\n" for n, mask in enumerate(masks)))
    run("report", tmp_path / "cohort.csv", "-o", tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    fine, coarse = (page.slides[name] for name in ("0000", "0001"))
    assert len(page.slides) == 10000 and len(base64.b64decode(page.pictures[f"picture-{fine['labels']}"])) <= 2550
    assert page.picture(fine["labels"]).shape[0] < page.picture(coarse["labels"]).shape[0] == 800 == fine["height"]
    for row in (fine, coarse):
        assert set(numpy.unique(page.picture(row["labels"]))) == {1, 2}


def test_report_of_label(tmp_path):
    (tmp_path / "slides").mkdir()
    for name, share in (("a", 0.4), ("glass", 0)):
        draw(tmp_path / "slides" / f"{name}.tif", share)
    words = ["label", tmp_path / "slides", "-o", f"{tmp_path}/out/", "--preset", "remedios2023", "--report", tmp_path / "page.html"]
    told = {os.path.basename(each["slide"])[:-4]: each for each in run(*words, "--json").json}
    rows = Page(tmp_path / "page.html").slides
    assert {name: row["tissueMm2"] for name, row in rows.items()} == pytest.approx({name: each["tissueMm2"] for name, each in told.items()})
    assert all("picture" in row and "labels" in row for row in rows.values())
    before = (tmp_path / "page.html").read_bytes()
    run(*words, "--json")  # a batch that goes on replaces its own report
    assert (tmp_path / "page.html").read_bytes() == before
    (tmp_path / "page.html").write_text("mine")
    assert fails(*words).code == "E-OUTPUT-EXISTS" and (tmp_path / "page.html").read_text() == "mine"
    refused = fails("label", tmp_path / "slides", "-o", f"{tmp_path}/more/", "--report", tmp_path / "none/page.html")
    assert refused.code == "E-FILE-MISSING" and not (tmp_path / "more").exists()  # before any work


@pytest.mark.parametrize("winner", ["this batch", "another command", "another machine"])
def test_two_processes_write_one_report(winner, tmp_path):
    """One waits for the other, and leaves the page of the same batch as it is."""
    (tmp_path / "slides").mkdir()
    draw(tmp_path / "slides/a.tif", 0.4)
    words = ["label", "slides", "-o", "out", "--preset", "remedios2023", "--report", "page.html"]
    run(*words, cwd=tmp_path)
    page, state = tmp_path / "page.html", tmp_path / ".gigapixel"
    own = page.read_bytes()
    assert b"--report page.html" in own and not state.exists()
    state.mkdir()
    with open(state / "page.html.1.lock", "w") as lock:  # as another process has it
        fcntl.flock(lock, fcntl.LOCK_EX)
        json.dump({"machine": winner if winner == "another machine" else open("/proc/sys/kernel/random/boot_id").read().strip()}, lock)
        lock.flush()
        process = subprocess.Popen([PROGRAM, *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert any("page.html" in line for line in process.stderr)  # it waits
        written = own.replace(b"</html>", b"<!-- of the other process --></html>")
        page.write_bytes(written.replace(b"--report page.html", b"--report x.html") if winner == "another command" else written)
        os.unlink(lock.name)
    process.stderr.close()
    assert process.wait() == 0 and page.read_bytes() == (own if winner == "another command" else written) and not state.exists()


ROWS_OF_MASKS = ("name", "mask", "madeBy", "tissueMm2", "tissueFraction", "penFraction", "artifactFraction", "expectedIou", "classes", "picture", "labels", "mpp")


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("words", [["label"], ["segment", "--model", "tissue"]])
def test_report_of_a_batch_is_that_of_its_masks(words, tmp_path):
    (tmp_path / "slides").mkdir()
    shares = {"a": 0.4, "b": 0.2} | ({"glass": 0} if words[0] == "label" else {})
    for name, share in shares.items():
        draw(tmp_path / "slides" / f"{name}.tif", share, mpp=0.5)
    words = [*words, tmp_path / "slides", "-o", f"{tmp_path}/out/", "--report", tmp_path / "out/page.html", "--json"]
    run(*words)
    made = Page(tmp_path / "out/page.html")
    run("report", tmp_path / "out", "--slides", tmp_path / "slides", "-o", tmp_path / "page.html")
    later = Page(tmp_path / "page.html").slides
    assert set(made.slides) == set(later) == set(shares) and made.pictures == Page(tmp_path / "page.html").pictures
    for name, row in made.slides.items():
        assert {key: row.get(key) for key in ROWS_OF_MASKS} == {key: later[name].get(key) for key in ROWS_OF_MASKS}
        assert "picture" in row and "labels" in row and (words[0] == "segment" or row["penFraction"] is not None)
        codes = [[doubt["code"] for doubt in each["doubts"]] for each in (row, later[name])]
        assert words[0] == "segment" or codes[0] == codes[1]
    run("report", tmp_path / "out", "-o", tmp_path / "anonymous.html", "--anonymous")
    assert "hash=" in made.scripts["data"] and "hash=" not in Page(tmp_path / "anonymous.html").scripts["data"]
    (tmp_path / "out/a.pyramid.tif").unlink()  # the batch was killed before
    run(*words)
    again = Page(tmp_path / "out/page.html").slides
    assert {name: strip(row) for name, row in again.items()} == {name: strip(row) for name, row in made.slides.items()}


def test_report_of_a_batch_goes_into_the_current_folder(tmp_path):
    draw(tmp_path / "a.tif", 0.4, mpp=0.5)
    run("label", "a.tif", "-o", "out/", "--report", "page.html", cwd=tmp_path)
    assert set(Page(tmp_path / "page.html").slides) == {"a"}


def strip(row):
    """Without what the machine and the hour decide."""
    return {key: value for key, value in row.items() if key not in ("seconds", "cpuSeconds", "peakBytes")}
