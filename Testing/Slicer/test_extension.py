# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The repository that Utilities/slicer-extension writes keeps the rules by which Slicer's Extensions Index takes an extension in.

The rules are those of the Index's scripts/check_description_files.py, without the network: an address of an image is one of a
file in this repository. GIGAPIXEL_MODULES is the folder of the command-line modules."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = Path(os.environ["GIGAPIXEL_MODULES"])
# Categories that the Index accepts.
CATEGORIES = """Active Learning|Analysis|Auto3dgm|BigImage|Cardiac|Chest Imaging Platform|Conda|Converters|DICOM|DSCI|Developer Tools|
Diffusion|Examples|Exporter|FTV Segmentation|Filtering|Filtering.Morphology|Filtering.Vesselness|Holographic Display|
Image Synthesis|IGT|Informatics|Netstim|Neuroimaging|Nuclear Medicine|Orthodontics|Osteotomy Planning|Otolaryngology|
Photogrammetry|Pipelines|Planning|Printing|Quantification|Radiotherapy|Registration|Remote|Rendering|SPHARM|Segmentation|
Sequences|Shape Analysis|Shape Regression|Shape Visualization|Simulation|SlicerCMF|SlicerMorph|Spectral Imaging|Supervisely|
Surface Models|SurfaceLearner|Tomographic Reconstruction|Tracking|Tractography|Training|Ultrasound|Utilities|
Vascular Modeling Toolkit|Virtual Reality|VisSimTools|Web System Tools|Wizards""".replace("\n", "").split("|")
TYPES = {"$schema": str, "category": str, "scm_url": str, "scm_revision": str, "scm_type": str, "build_dependencies": list,
         "build_subdirectory": str, "enabled": bool, "tier": int}
LICENSES = ("LICENSE", "LICENCE", "License.txt", "license.txt", "LICENSE.txt", "COPYING", "COPYING.txt")
MAGIC = {".png": b"\x89PNG", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff", ".gif": b"GIF8"}


def is_image(address, entry, repository):
    """Whether the address is that of an image in the repository: raw content of its branch."""
    owner = urlsplit(entry["scm_url"]).path.removesuffix(".git")
    start = f"https://raw.githubusercontent.com{owner}/{entry['scm_revision']}/"
    file = repository / address.removeprefix(start)
    magic = MAGIC.get(file.suffix)
    return bool(address.startswith(start) and magic and file.is_file() and file.read_bytes().startswith(magic))


def find_faults(folder):
    """The names of the rules that FOLDER's entry and repository break."""
    repository = folder / "SlicerGigapixel"
    (file,) = folder.glob("*.json")
    content = file.read_bytes()
    try:
        entry = json.loads(content)
    except ValueError:
        return {"json"}
    faults = set()
    if b"\r" in content:
        faults.add("line endings")
    known = all(key in TYPES and type(value) is TYPES[key] for key, value in entry.items())
    if not known or not {"$schema", "category", "scm_url"} <= set(entry) or not 1 <= entry.get("tier", 1) <= 5:
        return faults | {"schema"}
    if not re.search(r"/slicer-extension-catalog-entry-schema-v1\.0\.[12]\.json#?$", entry["$schema"]):
        faults.add("schema")
    if entry["category"] not in CATEGORIES:
        faults.add("category")
    address = urlsplit(entry["scm_url"])
    if address.scheme not in ("git", "https") or not address.netloc:
        faults.add("scm_url")
    if file.stem.lower().startswith("slicer"):
        faults.add("extension name")
    if not Path(address.path).stem.startswith("Slicer"):
        faults.add("repository name")
    cmake = repository / "CMakeLists.txt"
    text = cmake.read_text() if cmake.is_file() else ""
    project = re.search(r"project\s*\(\s*([^\s)]+)", text, re.I)
    if not project or project[1].strip("\"'") != file.stem:
        faults.add("project")
    for name, pattern in (("icon", r'set\s*\(EXTENSION_ICONURL\s*"([^"]+)" *\)'), ("screenshots", r'set\s*\(EXTENSION_SCREENSHOTURLS\s*"([^"]+)"\)')):
        found = re.search(pattern, text, re.I)
        if not found or not all(is_image(each, entry, repository) for each in found[1].split()):
            faults.add(name)
    for name, value in (("CATEGORY", entry["category"]), ("HOMEPAGE", entry["scm_url"].removesuffix(".git"))):
        if f'set(EXTENSION_{name} "{value}")' not in text:
            faults.add("agreement")
    if not any((repository / name).is_file() for name in LICENSES):
        faults.add("license")
    if sum(each.stat().st_size for each in repository.rglob("*") if each.is_file()) > 100 * 2**20:
        faults.add("size")
    return faults


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extension")
    subprocess.run([sys.executable, "-B", ROOT / "Utilities/slicer-extension", folder, MODULES], check=True)
    return folder


def test_index_takes_it(written):
    assert find_faults(written) == set()


def replace(name, before, after):
    def plant(folder):
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_bytes(text.replace(before, after).encode())

    return plant


ENTRY, CMAKE = "Gigapixel.json", "SlicerGigapixel/CMakeLists.txt"


@pytest.mark.parametrize("fault, plant", [
    ("json", replace(ENTRY, "{", "")),
    ("line endings", replace(ENTRY, "\n", "\r\n")),
    ("schema", replace(ENTRY, '"tier": 1', '"tier": 6')),
    ("schema", replace(ENTRY, '"tier": 1', '"level": 1')),
    ("schema", replace(ENTRY, '"category": "BigImage",\n', "")),
    ("category", replace(ENTRY, "BigImage", "Pathology")),
    ("scm_url", replace(ENTRY, "https://github", "ssh://github")),
    ("repository name", replace(ENTRY, "SlicerGigapixel.git", "ITKGigapixel.git")),
    ("extension name", lambda folder: (folder / ENTRY).rename(folder / "SlicerGigapixel.json")),
    ("project", replace(CMAKE, "project(Gigapixel)", "project(ITKGigapixel)")),
    ("project", lambda folder: (folder / CMAKE).unlink()),
    ("icon", replace(CMAKE, "https://raw.githubusercontent.com/InsightSoftwareConsortium/SlicerGigapixel", "${EXTENSION_HOMEPAGE}")),
    ("icon", lambda folder: (folder / "SlicerGigapixel/GigapixelSlide/Resources/Icons/GigapixelSlide.png").write_text("<html>")),
    ("screenshots", lambda folder: (folder / "SlicerGigapixel/Screenshots/region.png").unlink()),
    ("agreement", replace(CMAKE, '"BigImage"', '"Pathology"')),
    ("license", lambda folder: (folder / "SlicerGigapixel/LICENSE.txt").unlink()),
    ("size", lambda folder: os.truncate(folder / "SlicerGigapixel/README.md", 101 * 2**20)),
])
def test_each_fault_is_found(written, tmp_path, fault, plant):
    shutil.copytree(written, tmp_path / "copy")
    plant(tmp_path / "copy")
    assert fault in find_faults(tmp_path / "copy")


def test_it_configures(written, tmp_path):
    """With a stand-in for Slicer's build, which knows the files that a scripted module has to name."""
    subprocess.run(["cmake", "-S", written / "SlicerGigapixel", "-B", tmp_path, f"-DSlicer_DIR={ROOT / 'Testing/Slicer/Extension'}", "-DBUILD_TESTING=ON"], check=True)


def test_pages(written):
    """The README names each module; links between the repository's files lead to files."""
    repository = written / "SlicerGigapixel"
    readme = (repository / "README.md").read_text()
    titles = [ElementTree.parse(file).findtext("title") for file in MODULES.glob("*.xml")]
    assert titles
    for title in [*titles, "Gigapixel Slide"]:
        assert re.search(rf"^- \*\*{title}\*\*: [A-Z].*\.$", readme, re.M), title
    for page in (readme, (repository / "tutorial.md").read_text()):
        targets = [target for target in re.findall(r"\]\(([^)#\s]+)", page) if "://" not in target]
        assert targets and all((repository / target).is_file() for target in targets)


def test_nothing_is_overwritten(written):
    again = subprocess.run([sys.executable, "-B", ROOT / "Utilities/slicer-extension", written, MODULES], capture_output=True)
    assert again.returncode == 1
