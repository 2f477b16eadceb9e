#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Does a classifier of whole slides find small lesions from random weights and one label for each slide?

    Testing/Benchmark/learn/learn_lesions.py WORK-FOLDER [--quick] [--seeds 1,2,3] [--parts main,colors,resolutions,patches] [--pictures FOLDER]

main         a thin ResNet-18, drawn by chance but for its norms, is trained by `gigapixel train` on labels of whole slides (`gigapixel synthesize --lesions`:
             every second one has foci of enlarged nuclei, the others decoys of them), once for each seed: first on
             biopsies, small slides of other specimens of which foci take a greater part, then from these weights on
             sections, of again others, in between, and from those on the large slides; judged by the area under the ROC of large slides that it has not seen (`gigapixel evaluate`:
             DeLong's interval), and by whether the greatest class activation of true positives lies in a lesion
colors       what no network is needed for: logistic regression on histograms of colors, tissue area, nucleus density; each
             slide of the cohort is judged by what is fitted to nine tenths of the others
resolutions  the same training at a half and a quarter of the resolution, of the first seed
patches      the same network on patches that have their slide's label, in eager PyTorch, of the same three cohorts,
             with as many seconds of either for each learning rate of the grid as one training took; the best rate and the
             way in which patches make a slide's score are chosen on the validation slides

With --pictures the slides are mosaics of real pictures with labeled nuclei (NAME.png, NAME_labels.png; see lesion_mosaics.py), and
foci are tissue at twice its size.

Seconds are the CPU's; with --device cuda, where the CPU mostly waits, the clock's.

The norms of the network keep their statistics in training: those of 16 biopsies, whatever their labels, which
`train --calibrate` takes before the first step (--calibrate 0: mean 0 and variance 1).

WORK-FOLDER/results.json gets what is done, and a run that was interrupted goes on when the same command is given again;
results.md is a table of it. --quick is for trying the script: all of
it, on a few small slides, in a minute; its figures mean nothing.

The program is $GIGAPIXEL_PROGRAM, else build/bin/gigapixel. Needs NumPy, tifffile, openslide-python, scikit-image,
scikit-learn, and PyTorch for patches.
"""

import argparse
import csv
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import tifffile

import lesion_mosaics
import lesion_patches

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", ROOT / "build/bin/gigapixel")
NETWORK = "resnet18:width=16,pool={pool}"
CELL = 32  # pixels of the slide from value to value of the activation


def execute(*words):
    """The program, with its result as JSON."""
    done = subprocess.run([str(word) for word in (PROGRAM, *words, "--json", "--quiet")], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed")
    return json.loads(done.stdout)


class Study:
    """The folder with all that is made, and what is known."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "results.json"
        self.results = json.loads(self.file.read_text()) if self.file.exists() else {}
        settings = {key: str(value) for key, value in vars(options).items() if key not in ("work", "seeds", "parts", "rates")}
        if self.results.setdefault("settings", settings) != settings:
            sys.exit(f"{self.file} is of other settings: {self.results['settings']}")

    def keep(self, **found):
        self.results.update(found)
        self.file.with_suffix(".part").write_text(json.dumps(self.results, indent=1))
        self.file.with_suffix(".part").rename(self.file)
        write_table(self)

    @property
    def slides(self):
        return self.cohorts[-1]

    @property
    def cohorts(self):
        """In the order in which they are learnt from."""
        return [Cohort(self.folder / name) for name in ("biopsies", "sections", "slides")]

    def evaluate(self, predictions, *split):
        found = execute("evaluate", predictions, "--cohort", self.slides.table, *split)
        return {key: found[key] for key in ("rocAUC", "rocAUCLower", "rocAUCUpper", "balancedAccuracy")}


class Cohort:
    """A folder that `gigapixel synthesize --lesions` has made."""

    def __init__(self, folder):
        self.table, self.tissue, self.outlines = folder / "cohort.csv", folder / "tissue", folder / "outlines"

    def rows(self, split):
        with open(self.table) as file:
            rows = [row for row in csv.DictReader(file) if row["split"] == split]
        return [{**row, "file": self.table.parent / row["slide"], "name": pathlib.Path(row["slide"]).stem} for row in rows]

    def make(self, pictures, side, mpp, lesions, slides, seed):
        if pictures:
            lesion_mosaics.make(self, pictures, side, mpp, lesions, [int(word) for word in slides.split(",")], seed)
            return
        words = ["--size", f"{side}x{side}", "--slide-mpp", mpp, "--lesions", lesions, "--slides", slides, "--seed", seed]
        made = execute("synthesize", self.table.parent, *words)
        print(f"{made['slides']} slides, {made['drawn']} of them drawn now", flush=True)


def make_cohorts(study):
    options = study.options
    biopsies, sections, slides = study.cohorts
    biopsies.make(options.pictures, options.biopsy_side, options.mpp, options.biopsy_lesions, options.biopsies, options.first_biopsy)
    sections.make(options.pictures, options.section_side, options.mpp, options.section_lesions, options.sections, options.first_section)
    slides.make(options.pictures, options.side, options.mpp, options.lesions, options.slides, options.first_slide)


def read_clock(device):
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime if device == "cpu" else time.monotonic()


def train_on(cohort, folder, seed, options, epochs, rate, *more):
    """Seconds of the whole training, interruptions included."""
    clock = folder.with_suffix(".seconds")
    spent = json.loads(clock.read_text()) if clock.exists() else 0
    before = read_clock(options.device)
    words = ["--network", NETWORK.format(pool=options.pool), "--seed", seed, "--epochs", epochs, "--learning-rate", rate]
    words += ["--precision", options.precision, "--clip-gradient", options.clip_gradient, "--device", options.device]
    words += ["--tile-size", options.tile_size] if options.tile_size else []
    try:
        execute("train", "--cohort", cohort.table, "--tissue", cohort.tissue, "-o", folder, *words, "--resume", *more)
    finally:
        spent += read_clock(options.device) - before
        clock.write_text(json.dumps(spent))
    return spent


def train(study, folder, seed, mpp):
    """Seconds of the three stages. The first one lasts as long as biopsies are few, the last one as long as slides are many."""
    options, (biopsies, sections, slides) = study.options, study.cohorts
    first, second = (folder.with_name(f"{folder.name}-{cohort}") for cohort in ("biopsies", "sections"))
    more = ["--mpp", mpp, "--warmup", options.warmup, "--images-per-step"]
    yield train_on(biopsies, first, seed, options, options.biopsy_epochs, options.biopsy_rate, *more, options.biopsies_per_step, "--calibrate", options.calibrate)
    more.append(options.images_per_step)
    yield train_on(sections, second, seed, options, options.section_epochs, options.section_rate, *more, "--weights", first)
    yield train_on(slides, folder, seed, options, options.epochs, options.rate, *more, "--weights", second, "--learning-rate-schedule", "cosine")


def classify(study, folder, split, maps=None):
    predictions = folder.with_name(f"{folder.name}-{split}.csv")
    words = ["--model", folder, "-o", predictions, "--tissue", study.slides.tissue, "--overwrite", "--device", study.options.device]
    words += ["--maps", maps] if maps else []
    execute("classify", *[row["file"] for row in study.slides.rows(split)], *words)
    return predictions


def read_probabilities(predictions):
    """By the names of slides."""
    with open(predictions) as file:
        return {pathlib.Path(row["slide"]).stem: float(row["p_lesion"]) for row in csv.DictReader(file)}


def get_distance(place, corners):
    """Pixels from a place to a polygon, whose last corner is its first again; 0 inside."""
    corners = corners[:-1]
    following = np.roll(corners, -1, 0)
    crossed = (corners[:, 1] > place[1]) != (following[:, 1] > place[1])
    edges = following - corners
    with np.errstate(divide="ignore", invalid="ignore"):
        x = corners[:, 0] + (place[1] - corners[:, 1]) / edges[:, 1] * edges[:, 0]
    if np.count_nonzero(crossed & (place[0] < x)) % 2:
        return 0.0
    part = np.clip(((place - corners) * edges).sum(1) / (edges**2).sum(1), 0, 1)
    return np.sqrt(((corners + part[:, None] * edges - place) ** 2).sum(1).min())


def count_hits(study, predictions, maps, downsample):
    """Of true positives those whose greatest activation lies in a lesion: a value of the map stands for the square of
    CELL pixels around its place, so that half of that is allowed."""
    probabilities, found, cell = read_probabilities(predictions), [], CELL * downsample
    for row in study.slides.rows("test"):
        if row["label"] != "lesion" or probabilities[row["name"]] < 0.5:
            continue
        with tifffile.TiffFile(maps / f"{row['name']}.pyramid.tif") as file:
            activation = file.pages[0].asarray()
        y, x = np.unravel_index(activation.argmax(), activation.shape)
        place = np.array([x, y]) * cell + downsample / 2  # in pixels of level 0, from the outer corner of the first
        outlines = json.loads((study.slides.outlines / f"{row['name']}.geojson").read_text())["features"]
        found.append(min(get_distance(place, np.array(one["geometry"]["coordinates"][0])) for one in outlines))
    found = np.array(found)
    return {
        "truePositives": len(found),
        "inLesion": int((found <= cell / 2).sum()),
        "centerInLesion": int((found == 0).sum()),
    }


def run_training(study, name, seed, downsample):
    if name in study.results:
        return
    folder, maps = study.folder / name, study.folder / f"{name}-maps"
    stages = list(train(study, folder, seed, study.options.mpp * downsample))
    predictions = classify(study, folder, "test", maps)
    hits = count_hits(study, predictions, maps, downsample)
    found = {**study.evaluate(predictions, "--split", "test"), **hits, "seconds": sum(stages), "stages": stages}
    study.keep(**{name: found})
    print(name, json.dumps(found), flush=True)


def tabulate_stains():
    """Of each color of 24 bits, as numbers: a slide has few of them, and logarithms take long."""
    from skimage import color

    colors = np.arange(1 << 24, dtype=np.uint32)
    parts = np.array_split(np.stack([colors >> 16, colors >> 8 & 255, colors & 255], -1).astype(np.uint8), 64)
    return np.concatenate([color.rgb2hed(part).astype(np.float32) for part in parts])


def describe_colors(study, row, table):
    """Shares of 16 levels of each channel and of each stain over tissue, its area, nuclei for each of its pixels."""
    from skimage import filters, measure

    pixels = lesion_patches.read_slide(row["file"])
    tissue = tifffile.imread(study.slides.tissue / f"{row['name']}.pyramid.tif") > 0
    stains = table[pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)]
    ranges = [(0, 256)] * 3 + [(-0.05, 0.4)] * 3
    values = [*pixels[tissue].T, *stains[tissue].T]
    shares = [np.histogram(value, 16, limits)[0] / tissue.sum() for value, limits in zip(values, ranges)]
    haematoxylin = filters.gaussian(stains[..., 0], 1)
    nuclei = (haematoxylin > filters.threshold_otsu(haematoxylin[tissue])) & tissue
    number = measure.label(nuclei).max()
    return np.concatenate([*shares, [tissue.mean(), number / tissue.sum(), nuclei.sum() / tissue.sum()]])


def run_colors(study):
    """All slides are judged, for a narrow interval. The strength of the regularization is chosen by cross-validation on those
    that are fitted to."""
    if "colors" in study.results:
        return
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = [row for split in ("train", "validation", "test") for row in study.slides.rows(split)]
    stains = tabulate_stains()
    table = np.array([describe_colors(study, row, stains) for row in rows])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    model = GridSearchCV(pipeline, {"logisticregression__C": np.logspace(-4, 2, 7)}, scoring="roc_auc")
    folds = StratifiedKFold(10 if len(rows) > 100 else 2, shuffle=True, random_state=1)
    judged = cross_val_predict(model, table, [row["label"] == "lesion" for row in rows], cv=folds, method="predict_proba")
    predictions = study.folder / "colors.csv"
    write_predictions(predictions, rows, judged[:, 1])
    study.keep(colors={**study.evaluate(predictions), "slides": len(rows)})
    print("colors", study.results["colors"], flush=True)


def write_predictions(file, rows, probabilities):
    lines = [f"{row['file']},{1 - p:.9g},{p:.9g}" for row, p in zip(rows, probabilities)]
    file.write_text("\n".join(["slide,p_healthy,p_lesion", *lines]) + "\n")


def run_patches(study):
    """Begins with the weights that the training of slides began with."""
    first = f"seed-{study.options.seeds[0]}"
    stages = list(zip(study.cohorts, study.results[first]["stages"]))
    for rate in study.options.rates:
        name = f"patches-{rate:g}"
        if name in study.results:
            continue
        found = lesion_patches.train(study, make_first_weights(study, study.options.seeds[0]), rate, stages)
        scores = {}
        for way in lesion_patches.WAYS:
            validation = lesion_patches.get_area([row["label"] == "lesion" for row in study.slides.rows("validation")], found["validation"][way])
            predictions = study.folder / f"{name}-{way}.csv"
            write_predictions(predictions, study.slides.rows("test"), found["test"][way])
            scores[way] = {"validationAUC": validation, **study.evaluate(predictions, "--split", "test")}
        study.keep(**{name: {"steps": found["steps"], "seconds": found["seconds"], "ways": scores}})
        print(name, json.dumps(study.results[name]), flush=True)
    ways = [{"rate": rate, "way": way, **found} for rate in study.options.rates for way, found in study.results[f"patches-{rate:g}"]["ways"].items()]
    study.keep(patches=max(ways, key=lambda found: found["validationAUC"]))


def make_first_weights(study, seed):
    """Those that a training begins with, by one step that changes nothing to speak of."""
    options, folder = study.options, study.folder / f"start-{seed}"
    words = ["--calibrate", options.calibrate, "--images-per-step", len(study.cohorts[0].rows("train")), "--mpp", options.mpp]
    train_on(study.cohorts[0], folder, seed, options, 1, 1e-9, *words)
    return folder / "last.safetensors"


def write_table(study):
    unit = "CPU s" if study.options.device == "cpu" else "s"
    lines = [f"| what | ROC-AUC | 95 % | lesion at the maximum | {unit} |", "| --- | --- | --- | --- | --- |"]
    for name, found in study.results.items():
        if isinstance(found, dict) and "rocAUC" in found:
            hits = f"{found['inLesion']} of {found['truePositives']}" if "inLesion" in found else ""
            seconds = f"{found['seconds']:.0f}" if "seconds" in found else ""
            limits = f"{found['rocAUCLower']:.3f} to {found['rocAUCUpper']:.3f}"
            lines.append(f"| {name} | {found['rocAUC']:.3f} | {limits} | {hits} | {seconds} |")
    (study.folder / "results.md").write_text("\n".join(lines) + "\n")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("work", type=pathlib.Path)
    add("--quick", action="store_true", help="a minute's check of the script on a few small slides")
    add("--seeds", default="1,2,3")
    add("--parts", default="main,colors,resolutions,patches")
    add("--pictures", type=pathlib.Path, help="of these, and not drawn ones, slides are made")
    add("--side", type=int, default=2048)
    add("--mpp", type=float, default=1.0)
    add("--lesions", type=float, default=0.3, help="%% of the area")
    add("--slides", default="400,60,100")
    add("--first-slide", type=int, default=1000, help="seed of the first slide")
    add("--pool", default="max")
    add("--biopsy-side", type=int, default=512)
    add("--biopsy-lesions", type=float, default=5, help="%% of the area")
    add("--biopsies", default="400,100,0")
    add("--first-biopsy", type=int, default=20000, help="seed of the first biopsy")
    add("--biopsy-epochs", type=int, default=8)
    add("--biopsy-rate", type=float, default=1e-3)
    add("--biopsies-per-step", type=int, default=8)
    add("--section-side", type=int, default=1024)
    add("--section-lesions", type=float, default=1.2, help="%% of the area")
    add("--sections", default="200,40,0")
    add("--first-section", type=int, default=40000, help="seed of the first section")
    add("--section-epochs", type=int, default=2)
    add("--section-rate", type=float, default=5e-4)
    add("--epochs", type=int, default=1)
    add("--rate", type=float, default=2e-4)
    add("--rates", default="3e-4,1e-3,3e-3", help="grid of patch sampling")
    add("--images-per-step", type=int, default=4)
    add("--warmup", type=int, default=10)
    add("--clip-gradient", type=float, default=0.0)
    add("--precision", default="fp32")
    add("--device", default="cpu", choices=["cpu", "cuda"])
    add("--tile-size", default="", help="of the training; the plan's by default")
    add("--calibrate", type=int, default=16, help="biopsies that the norms' statistics are taken of")
    options = parser.parse_args()
    if options.quick:
        options.side, options.lesions, options.slides, options.biopsy_side, options.biopsies = 512, 3, "8,4,8", 384, "8,4,0"
        options.section_side, options.sections = 448, "8,4,0"
        options.biopsy_epochs, options.warmup, options.seeds, options.rates = 2, 0, "1", "1e-3"
    options.seeds = [int(word) for word in options.seeds.split(",")]
    options.rates = [float(word) for word in options.rates.split(",")]
    options.parts = options.parts.split(",")
    return options


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    options = parse_options()
    study = Study(options.work, options)
    make_cohorts(study)
    if "colors" in options.parts:
        run_colors(study)
    if "main" in options.parts:
        for seed in options.seeds:
            run_training(study, f"seed-{seed}", seed, 1)
    if "resolutions" in options.parts:
        for downsample in (2, 4):
            run_training(study, f"resolution-{downsample}", options.seeds[0], downsample)
    if "patches" in options.parts:
        run_patches(study)
    print((study.folder / "results.md").read_text())


if __name__ == "__main__":
    main()
