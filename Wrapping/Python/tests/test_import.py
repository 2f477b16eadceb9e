# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The package adds to itk, costs little, and breaks nobody."""

import ast
import importlib.metadata
import importlib.util
import pathlib
import pydoc
import shutil
import subprocess
import sys

import itk
import numpy as np
import pytest
import tifffile
from itkgigapixel.built import TORCH, VERSION
from packaging.requirements import Requirement


def python(code: str, *arguments: str, **environment: str) -> str:
    """What a fresh interpreter prints; fails with its error."""
    import os

    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# Stands in for a machine without the named packages: neither their metadata nor their folders are found.
WITHOUT = """
import importlib.metadata, importlib.util, sys
hidden = sys.argv[1].split(",")
def without(before):
    def function(name):
        if name in hidden: raise importlib.metadata.PackageNotFoundError(name)
        return before(name)
    return function
def find_spec(name, *more, before=importlib.util.find_spec):
    return None if name in hidden else before(name, *more)
importlib.metadata.version, importlib.metadata.metadata = map(without, (importlib.metadata.version, importlib.metadata.metadata))
importlib.util.find_spec = find_spec
"""


def test_members_of_itk():
    for name in (
        "WholeSlideImageIO",
        "PyramidTIFFImageIO",
        "TissueLabelImageFilter",
        "BlockMeanImageFilter",
        "BinaryMajorityImageFilter",
        "BinaryDiscErodeImageFilter",
        "BinaryDiscDilateImageFilter",
        "BinaryHoleFillImageFilter",
        "BinaryAreaOpeningImageFilter",
        "NearestUpsampleImageFilter",
        "TissueThresholdImageFilter",
        "SyntheticSlideImageSource",
        "AnnotationImageSource",
        "GigapixelUNetImageFilter",
        "GigapixelUNetTrainer",
        "GigapixelClassifier",
        "GigapixelModel",
        "tissue_label_image_filter",
        "gigapixel_u_net_image_filter",
    ):
        assert name in dir(itk), name


@pytest.fixture
def png(tmp_path):
    name = str(tmp_path / "image.png")
    itk.imwrite(itk.image_from_array(np.arange(35, dtype=np.uint8).reshape(5, 7)), name)
    return name


@pytest.mark.parametrize("hidden", ["torch", "openslide_bin", "torch,openslide_bin,dask,xarray,tqdm"])
def test_png_without_optional_libraries(png, hidden):
    code = WITHOUT + "import itk; print(itk.array_from_image(itk.imread(sys.argv[2])).sum())"
    assert python(code, hidden, png, GIGAPIXEL_OPENSLIDE="/nowhere/libopenslide.so") == f"{sum(range(35))}\n"


def test_reading_and_labelling_load_no_torch(png, drawn):
    """Where ITK does not do so itself: it imports PyTorch, to take its tensors, if there is metadata of it."""
    code = WITHOUT + """
import sys, itk
reader = itk.ImageFileReader[itk.Image[itk.UC, 2]].New(FileName=sys.argv[2]); reader.Update()
slide = itk.ImageFileReader[itk.Image[itk.RGBPixel[itk.UC], 2]].New(FileName=sys.argv[3])
tissue = itk.TissueLabelImageFilter.New(slide.GetOutput()); tissue.Update()
print('libtorch' in open('/proc/self/maps').read(), 'torch' in sys.modules)
"""
    assert python(code, "torch", png, drawn[0]) == "False False\n"


def test_opening_and_labelling_import_no_torch(drawn):
    """Not even where it is installed, nor what else takes seconds to import."""
    code = """
import sys, itkgigapixel as gp
imported = lambda: {'torch', 'xarray', 'pandas', 'dask', 'tqdm', 'h5py'} & sys.modules.keys()
before = imported(), {name for name in sys.modules if name.startswith('itk._')}
gp.Slide(sys.argv[1]).read(level=2)
gp.label(sys.argv[1])
print(*before, imported())
"""
    assert python(code, drawn[0]) == "set() set() set()\n"


def test_reading_loads_none_of_itks_wrapped_libraries(drawn):
    """They take 260 MB and seconds. Associated images, channels, a bar of nothing and tables come without them, too."""
    code = """
import sys, itkgigapixel as gp
slide = gp.Slide(sys.argv[1])
pixels = slide.read(mpp=4.0), slide.thumbnail(), slide.associated, slide.channel_entries, slide.properties, repr(slide), gp.presets()
resident = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmRSS')) / 1024
print({name for name in sys.modules if name.startswith('itk._')}, resident < 120)
"""
    assert python(code, drawn[0]) == "set() True\n"


def test_itk_and_the_reader_count_modifications_together(drawn):
    """Whichever comes first: a pipeline of objects with two counters would miss changes."""
    for before, after in (("", "read()"), ("read()", "")):
        code = f"""
import sys, itk, itkgigapixel as gp
read = lambda: [gp.Slide(sys.argv[1]).read(level=2) for _ in range(50)]
{before}
times = [make().GetMTime() for make in 3 * [itk.Image[itk.UC, 2].New, itk.SlideTissueImageSource.New]]
{after}
times += [make().GetMTime() for make in 3 * [itk.SlideTissueImageSource.New, itk.Image[itk.UC, 2].New]]
print(all(a < b for a, b in zip(times, times[1:])))
"""
        assert python(code, drawn[0]) == "True\n"


def test_functions_of_itk_take_tensors_and_xarrays():
    """The function is of ITKCommon, which is loaded in any case: those of other modules load up to half a gigabyte of libraries."""
    code = """
import itkgigapixel, itk, numpy, torch, xarray
values = numpy.arange(35, dtype=numpy.uint8).reshape(1, 5, 7)
part = itk.ImageRegion[3]((4, 2, 0), (3, 2, 1))
for kind in (torch.from_numpy, lambda array: xarray.DataArray(array, dims=("z", "y", "x"))):
    image = kind(values)
    cut = itk.extract_image_filter(image, extraction_region=part, ttype=[itk.Image[itk.UC, 3]] * 2)
    print(type(cut) is type(image), numpy.array_equal(cut, values[:, 2:4, 4:7]))
"""
    assert python(code) == "True True\nTrue True\n"


def test_tissue_without_torch(drawn):
    code = WITHOUT + "import itkgigapixel as gp; print(max(gp.label(sys.argv[2]).GetLargestPossibleRegion().GetSize()))"
    assert python(code, "torch", drawn[0]) == "375\n"


def test_networks_without_torch(drawn, tmp_path):
    """Chains of layers need nothing of PyTorch: training and segmentation are the same without it."""
    code = WITHOUT + """
import itk, itkgigapixel as gp
model = gp.train([sys.argv[2:4]], sys.argv[4], network="remedios2023", epochs=1)
print(tuple(gp.segment(sys.argv[2], model).GetLargestPossibleRegion().GetSize()), 'libtorch' in open('/proc/self/maps').read())
"""
    assert python(code, "torch", *drawn, str(tmp_path / "run")) == "(3000, 2000) False\n"


def test_default_network_without_torch(drawn, tmp_path):
    """Nobody named it: beside the installation there is the name of a network that does without."""
    code = WITHOUT + """
import itkgigapixel as gp
try:
    gp.train([sys.argv[2:4]], sys.argv[4], epochs=1)
except ImportError as error:
    print(error.code, "pip install" in error.do and "remedios2023" in error.do)
"""
    assert python(code, "torch", *drawn, str(tmp_path / "run")) == "E-INSTALLATION True\n"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "package, found, why",
    [("torch", "", f"{TORCH[-1]}, which is not installed"),
     ("torch", "1.13.1", f"{TORCH[-1]}, but 1.13.1 is installed"),
     ("torch", "2.1.0", f"{TORCH[-1]}, but 2.1.0 is installed"),
     ("itk-gigapixel-torch", "", f"itk-gigapixel-torch {VERSION}, which is not installed"),
     ("itk-gigapixel-torch", "0.0.1", f"itk-gigapixel-torch {VERSION}, but 0.0.1 is installed")],
)
def test_graphs_without_what_they_need(package, found, why):
    other = f"""
def other(name, before=importlib.metadata.version):
    if name == {package!r}:
        if not {found!r}:
            raise importlib.metadata.PackageNotFoundError(name)
        return {found!r}
    return before(name)
importlib.metadata.version = other
import itk
trainer = itk.GigapixelUNetTrainer.New(Network="unet:base=8")
try:
    trainer.Update()
except ImportError as error:
    print(error)
itk.WholeSlideImageIO.New(); itk.TissueLabelImageFilter
"""
    sentence = python(WITHOUT + other, "").strip()
    assert sentence.endswith(f"{why}; install it (pip install 'itk-gigapixel[torch]=={VERSION}'). [E-INSTALLATION]")
    assert package != "torch" or all(version in sentence for version in TORCH)


def test_modules_of_another_version_do_not_load():
    """The engine's modules name the library that they were linked with, and its version."""
    modules = [f.locate() for f in importlib.metadata.files("itk-gigapixel-torch") if f.suffix == ".so"]
    names = [subprocess.run(["readelf", "-d", f], capture_output=True, text=True, check=True).stdout for f in modules]
    assert len(names) >= len(TORCH) and all(f"[libGigapixel-{VERSION}.so]" in each for each in names)


def test_cost_of_importing_itk():
    """Our part of ``import itk`` is to read lists of names: no library, no other module."""
    code = """
import sys, itk
mapped = {line.rpartition('/')[2].strip() for line in open('/proc/self/maps')}  # not the folders they lie in
print({m.rpartition('.')[0] for m in sys.modules if 'igapixel' in m}, {file for file in mapped if 'igapixel' in file})
"""
    assert python(code) == "{'itk.Configuration'} set()\n"


def test_wheels_have_nothing_of_torch_or_openslide():
    files, engine = ([str(f) for f in importlib.metadata.files(package)] for package in ("itk-gigapixel", "itk-gigapixel-torch"))
    assert any("_GigapixelNetworkPython" in f for f in files)
    assert not [f for f in [*files, *engine] if any(name in f for name in ("libtorch", "libc10", "libopenslide"))]
    assert not [f for f in files if "Torch" in f or "Cuda" in f]
    modules = [pathlib.Path(f).stem for f in engine if "libGigapixelTorchPasses" in f]
    assert sorted(modules) == sorted(f"libGigapixelTorchPasses-{version}" for version in TORCH)
    assert not set(files) & set(engine)


def test_licenses_of_all_that_is_bundled():
    engine = [str(f) for f in importlib.metadata.files("itk-gigapixel-torch")]
    texts = {pathlib.Path(f).stem for f in engine if f.startswith("itkgigapixel/licenses/torch/")}
    assert {"LICENSE", "libstdc++"} <= texts
    assert ("CUDA" in texts) == any("libGigapixelCuda" in f for f in engine)
    files = [str(f) for f in importlib.metadata.files("itk-gigapixel")]
    licenses = {pathlib.Path(f).stem for f in files if f.startswith("itkgigapixel/licenses/")}
    assert {"ITKGigapixel", "ITK"} <= licenses
    # ITK's libraries of others, which the program and the reader of DICOM are linked with.
    for library in ("DoubleConversion", "Eigen3", "Expat", "GDCM", "JPEG", "KWSys", "MetaIO", "NIFTI", "NrrdIO", "PNG", "TIFF", "VNL", "ZLIB"):
        assert any(each.startswith(f"{library}-") for each in licenses), library
    # Linked from static libraries: none lies beside the modules.
    assert {"highway", "lcms2", "libdeflate", "libjpeg-turbo", "libstdc++", "libwebp", "libzstd", "nlohmann-json3", "openjpeg2"} <= licenses
    assert not [f for f in files if f.startswith("itk_gigapixel.libs/")]


def test_metadata():
    """PyTorch is asked for by extras alone, up to the newest that the engine was built for; types are known to checkers."""
    import itkgigapixel

    requirements = importlib.metadata.requires("itk-gigapixel")
    assert not [each for each in requirements if each.startswith("torch") and "extra" not in each]
    (torch,) = (each for each in map(Requirement, requirements) if each.name == "torch" and 'extra == "torch"' in str(each.marker))
    assert any(each.startswith("itk-gigapixel-torch;") for each in requirements)
    assert importlib.metadata.requires("itk-gigapixel-torch") == [f"itk-gigapixel=={VERSION}"]
    major, minor = TORCH[-1].split(".")
    assert all(torch.specifier.contains(f"{version}.0") for version in TORCH) and not torch.specifier.contains(f"{major}.{int(minor) + 1}.0")
    metadata = importlib.metadata.metadata("itk-gigapixel")
    assert metadata["Version"] == itkgigapixel.__version__ == VERSION
    assert "Typing :: Typed" in metadata.get_all("Classifier")


def test_openslide_can_be_replaced(tmp_path):
    """The library that GIGAPIXEL_OPENSLIDE names is the one that is used, by the process that OpenSlide runs in."""
    mapped = """
import itk, os, sys
io = itk.WholeSlideImageIO.New()
io.SetFileName(sys.argv[1])
io.ReadImageInformation()
(reader,) = open(f"/proc/self/task/{os.getpid()}/children").read().split()
print("mine/lib" in open(f"/proc/{reader}/maps").read(), "libopenslide" in open("/proc/self/maps").read())
"""
    folder = tmp_path / "mine"
    folder.mkdir()
    ours = pathlib.Path(importlib.util.find_spec("openslide_bin").origin).parent / "libopenslide.so.1"
    library = shutil.copy(ours, folder / "libopenslide.so")
    file = tmp_path / "trestle.tif"
    tifffile.imwrite(file, np.zeros((256, 256, 3), np.uint8), tile=(128, 128), photometric="rgb", software="MedScan", description="Objective Power=20", metadata=None)
    assert python(mapped, str(file), GIGAPIXEL_OPENSLIDE=str(library)) == "True False\n"
    assert python(mapped, str(file)) == "False False\n"


def test_types_and_help():
    """Each class has a stub with its methods, and help() says what the header says."""
    for cls, method, words in (
        (itk.WholeSlideImageIO, "SetLevelZeroMicronsPerPixel", "micrometers per pixel"),
        (itk.GigapixelUNetTrainer, "SetMemoryLimit", "Peak resident bytes"),
        (itk.GigapixelUNetTrainer, "SetEpochs", "Each takes every training sample once"),
        (itk.GigapixelClassifier, "GetProbabilities", "are 1 together"),
        (itk.TissueLabelImageFilter.values()[0], "SetPreset", "preset"),
    ):
        module = pathlib.Path(sys.modules[cls.__module__].__file__)
        stub = module.parents[1] / "itk-stubs" / f"{module.stem}.pyi"
        (node,) = (n for n in ast.parse(stub.read_text()).body if isinstance(n, ast.ClassDef) and n.name == cls.__name__)
        assert method in {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        assert words in pydoc.render_doc(getattr(cls, method)) and len(cls.__doc__) > 200
