# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What a network makes of a slide: one of PyTorch of its patches, a model of ours of all of it."""

from __future__ import annotations

import collections
import concurrent.futures
import importlib.util
import itertools
import operator
import os
import pathlib
from typing import TYPE_CHECKING, Iterator, Optional, Sequence

import itk
import numpy as np

from itkgigapixel.commands import run
from itkgigapixel.engine import file_of_model
from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.files import check_mask_array, check_output, refusal_of, write_mask
from itkgigapixel.folders import call_in_folder, is_folder, run_in_folder
from itkgigapixel.progress import bar
from itkgigapixel.slide import Slide
from itkgigapixel.slide_content import Path, check_mpp, file_name, whole
from itkgigapixel.temporary import temporary_folder
from itkgigapixel.tissue import label

if TYPE_CHECKING:
    import torch

#: of ImageNet's pictures, as torchvision, timm and most pathology encoders take them
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


@names_arguments
@in_a_sentence()
def features(
    slide: Path | Slide,
    module: "torch.nn.Module | Path",
    output: Optional[Path] = None,
    *,
    patch: Optional[int] = None,
    mpp: float = 0.5,
    overlap: float = 0.0,
    tissue: Path | np.ndarray = "",
    preset: Optional[str] = None,
    least_tissue: float = 0.25,
    batch: int = 32,
    device: Optional[str] = None,
    mean: Optional[Sequence[float]] = None,
    deviation: Optional[Sequence[float]] = None,
    workers: int = 2,
    progress: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Computes feature vectors of a slide, by a module of PyTorch or by a model.

    A module makes (batch, d) of patches (batch, 3, *patch*, *patch*). A model that labels whole slides gives all positions
    of the map that it pools, each seeing exactly what the slide shows it.

    Patches lie in rows and columns from the slide's first pixel on, as far as whole ones fit. They are read at exactly *mpp*, as
    :class:`Slide` says it, batch by batch. A level on which the side of a patch differs by less than half a pixel is read as it is
    stored. Memory does not grow with the slide, but for what is returned. The features are the same for any number of *workers*.

    With a model the program ``gigapixel features`` does it, at the model's resolution, and needs h5py; of what follows, *output*
    (``.h5``), *tissue* and *device* are for it.

    Parameters
    ----------
    slide : path-like or Slide
        RGB or gray pixels, of 8 bits; or a folder of slides, as the program takes it.
    module : torch.nn.Module, itk.GigapixelModel or path-like
        A module of PyTorch, which is computed without gradients, as if ``eval()`` had been called; a folder with an encoder
        of timm (``config.json`` and weights, as Hugging Face has them); or what :func:`train` returned of slides with
        labels, a model file, or the folder of a run.
    output : path-like, optional
        The folder for the results of a folder, ``NAME.h5``; or a file to write, in place of what stands there: ``.h5`` (needs h5py) with the datasets ``features`` and ``coords``,
        as TRIDENT and CLAM have them, or ``.npz`` with arrays of these names.
    patch : int, optional
        Side of a patch in pixels of *mpp*. None: what an encoder of timm takes, else 224, as most encoders of pathology do.
    mpp : float, default 0.5
        Micrometers per pixel that the module was trained at; 0.5 is 20x, and what most encoders of pathology take.
    overlap : float, default 0.0
        What neighboring patches share of a side, 0 to below 1.
    tissue : path-like or array of shape (y, x), default ""
        Where there is tissue: a mask of the slide, at any resolution, or the folder that holds it as ``NAME.pyramid.tif``,
        or an array of bool or uint8 that covers the slide. "": everywhere.
    preset : str, optional
        A preset of :func:`presets` to find the tissue with, in place of a mask.
    least_tissue : float, default 0.25
        Patches with less than this share of tissue, 0 to 1, are left out.
    batch : int, default 32
        Patches that the module gets at a time.
    device : str, optional
        Where the module is moved to, "cpu", "cuda", .... None: where it is.
    mean : (float, float, float), optional
        Means of the three channels, as shares of 255, which are subtracted. None: those of an encoder of timm, else those
        of ImageNet, (0.485, 0.456, 0.406), as torchvision and most encoders of pathology take them.
    deviation : (float, float, float), optional
        Standard deviations of the three channels: the module's input is (pixel / 255 - mean) / deviation. None: those of an
        encoder of timm, else (0.229, 0.224, 0.225).
    workers : int, default 2
        Threads that read patches.
    progress : bool, default False
        Show a tqdm bar with the time left.

    Returns
    -------
    (array of shape (n, d), array of shape (n, 2))
        Features, (n, d) of float32, and coordinates, (n, 2): x and y of the patches' first pixels at level 0. Of a folder a
        list of dicts: what ``gigapixel features --json`` says of each slide, with an "error" where it failed.

    Raises
    ------
    GigapixelError
        What cannot be read or written.
    ValueError
        A slide without a resolution, or of other pixels than RGB or gray of 8 bits; one without a patch, or without tissue;
        an argument out of its range.
    TypeError
        A module that gives something else than one row of features for each patch.
    ImportError
        h5py or timm is not installed.

    Examples
    --------
    >>> rows, places = gp.features("slide.svs", encoder, tissue="slide.pyramid.tif")
    >>> rows.shape, places.shape
    ((412, 1024), (412, 2))
    """
    if is_folder(slide):
        how = {name: value for name, value in locals().items() if name not in ("slide", "module", "output")}
        return _of_folder(slide, module, output, how)  # type: ignore[return-value]
    slide = slide if isinstance(slide, Slide) else Slide(slide)
    if isinstance(module, (str, bytes, os.PathLike)) and os.path.isfile(os.path.join(os.fsdecode(module), "config.json")):
        module = _open_encoder(os.fsdecode(module))
    if isinstance(module, (str, bytes, os.PathLike, itk.GigapixelModel)):
        return _of_model(slide, module, output, tissue, device, progress)
    stated = getattr(module, "pretrained_cfg", None) or {}  # timm's
    patch = stated.get("input_size", (3, 224, 224))[-1] if patch is None else patch
    mean = stated.get("mean", MEAN) if mean is None else mean
    deviation = stated.get("std", DEVIATION) if deviation is None else deviation
    _check(patch, mpp, overlap, least_tissue, batch, workers)
    if isinstance(module, type) or not callable(getattr(module, "parameters", None)):
        why = f"a module is one of PyTorch, a model, a file or a folder, not {module if isinstance(module, type) else type(module)}"
        raise error_of(TypeError, "E-OPTION-VALUE", why, option="module")
    is_masked = isinstance(tissue, np.ndarray) or bool(tissue)
    if is_masked and preset is not None:
        why = "a mask of the tissue and a preset to find it with are given"
        raise error_of(ValueError, "E-OPTION-CONFLICT", why, "give one of them", option="preset", value=preset)
    target = None if output is None else _check_file(output, slide.path)
    places = _Places(slide, patch, mpp, overlap)
    coordinates = places.list()
    if is_masked or preset is not None:
        shares = _Tissue(slide, tissue, preset, places.side).shares(coordinates, places.side)
        coordinates = coordinates[shares >= least_tissue]
        if len(coordinates) == 0:
            why = f"it has no patch with {least_tissue:g} of tissue"
            raise error_of(ValueError, "E-MASK-GRID", why, "look at the mask", file=slide.path, option="least_tissue", value=least_tissue)
    result = _compute(places, module, coordinates, operator.index(batch), device, (mean, deviation), workers, progress)
    if target is not None:
        _write(target, result, coordinates, places)
    return result, coordinates


def _open_encoder(folder: str) -> "torch.nn.Module":
    """One of timm, with its weights and without a layer of classes.

    :raises ImportError: timm is not installed
    :raises ValueError: timm does not know it, or its weights do not fit"""
    try:
        import timm
    except ImportError:
        do = "install it (pip install timm)"
        raise error_of(ImportError, "E-INSTALLATION", "it holds an encoder of timm, which is not installed", do, file=folder) from None
    try:
        return timm.create_model(f"local-dir:{folder}", pretrained=True, num_classes=0)
    except (KeyError, RuntimeError, ValueError, OSError) as error:
        why = f"timm cannot make an encoder of it ({str(error).strip().splitlines()[0]})"
        raise error_of(ValueError, "E-MODEL-FORMAT", why, file=folder, option="module") from None


def _of_folder(slides: Path, module, output: Optional[Path], how: dict) -> list[dict]:
    """:param how: the other arguments of features()"""
    is_file = isinstance(module, (str, bytes, os.PathLike)) and not os.path.isfile(os.path.join(os.fsdecode(module), "config.json"))
    if is_file or isinstance(module, itk.GigapixelModel):
        with temporary_folder() as folder:
            options = {"model": file_of_model(module, folder), "tissue": file_name(how["tissue"]), "device": how["device"]}
            return run_in_folder("features", slides, output, options, how["progress"])
    if isinstance(module, (str, bytes, os.PathLike)):
        module = _open_encoder(os.fsdecode(module))

    def compute(slide: str, target: str) -> dict:
        rows, _ = features(slide, module, target, **how)
        return {"slide": slide, "features": target, "positions": len(rows), "channels": rows.shape[1]}

    return call_in_folder(compute, slides, output, ".h5")


def _of_model(slide: Slide, model, output: Optional[Path], tissue: Path | np.ndarray, device: Optional[str], progress: bool):
    with temporary_folder() as folder:
        target = _check_file(pathlib.Path(folder, "features.h5") if output is None else output, slide.path)
        if target.suffix != ".h5":
            why = "it is to hold features of a model"
            raise error_of(ValueError, "E-OUTPUT-ENDING", why, "end its name in .h5", file=target, option="output")
        import h5py

        if isinstance(tissue, np.ndarray):
            tissue = write_mask(tissue, folder, "tissue")
        options = {
            "model": file_of_model(model, folder),
            "output": target,
            "tissue": file_name(tissue),
            "device": device or "cpu",
            "slide-mpp": slide._mpp or "",
            **slide._content.options(),
            "strict": slide.strict or "",
            "overwrite": True,
        }
        run("features", options, [slide.path], progress)
        with h5py.File(target) as file:
            return file["features"][:], file["coords"][:]


def _check(patch, mpp, overlap, least_tissue, batch, workers) -> None:
    for name, number in (("patch", patch), ("batch", batch), ("workers", workers)):
        if whole(number, name) < 1:
            raise error_of(ValueError, "E-OPTION-VALUE", f"{name} is at least 1, not {number}", option=name, value=number)
    check_mpp(mpp)
    if not 0 <= overlap < 1:
        why = f"neighboring patches share 0 to below 1 of a side, not {overlap}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="overlap", value=overlap)
    if not 0 <= least_tissue <= 1:
        why = f"a share of tissue is 0 to 1, not {least_tissue}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="least_tissue", value=least_tissue)


class _Places:
    """Where the patches of a slide lie, and how they are read."""

    def __init__(self, slide: Slide, patch: int, mpp: Optional[float], overlap: float, stored: Optional[int] = None):
        """:param mpp: None: pixels are those of the level *stored*"""
        if not slide._is_picture():
            raise error_of(ValueError, "E-SLIDE-CHANNELS", "it has no RGB or gray pixels of 8 bits, which features are of", file=slide.path)
        self.slide = slide
        self.patch = operator.index(patch)
        if mpp is None:
            self.grid = slide._grid(stored, None)
            self.mpp = self.grid.mpp
            self.scale = self.grid.downsample
        else:
            self.mpp = float(mpp)
            self.grid = slide._grid(None, self.mpp)
            self.scale = self.mpp / slide.mpp_x, self.mpp / slide.mpp_y  # pixels of level 0 in one of mpp
            level = slide._grid(self.grid.level, None)
            if all(abs(d / of_level - 1) * self.patch < 0.5 for d, of_level in zip(self.grid.downsample, level.downsample)):
                self.grid = level
        self.side = self.patch * self.scale[0], self.patch * self.scale[1]
        stride = max(1, int(self.patch * (1 - overlap)))
        self.step = stride * self.scale[0], stride * self.scale[1]
        self.shared = self.patch - stride

    def list(self) -> np.ndarray:
        """The first pixels of all that fit, row by row."""
        lengths = self.slide.levels[0][:2]
        if any(length < side - 0.5 for length, side in zip(lengths, self.side)):
            where = f" at {self.mpp:g} um per pixel" if self.mpp else ""
            why = f"it is smaller than a patch of {self.patch} pixels{where}"
            raise error_of(ValueError, "E-NETWORK-IMAGE-SIZE", why, file=self.slide.path, option="patch", value=self.patch)
        # A patch that reaches half a pixel too far by rounding fits.
        x, y = (
            np.rint(np.arange(int((length - side + 0.5) / step) + 1) * step) for length, side, step in zip(lengths, self.side, self.step)
        )
        return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.int64)

    def read(self, coordinates: np.ndarray) -> np.ndarray:
        """(n, y, x, 3), pixels of *mpp*."""
        pixels = np.empty((len(coordinates), self.patch, self.patch, 3), np.uint8)
        for one, place in zip(pixels, coordinates):
            self.read_into(one, place)
        return pixels

    def read_into(self, pixels: np.ndarray, place: Sequence[int]) -> None:
        """(y, x, 3), pixels of *mpp*."""
        x, y, width, height = rectangle = self.rectangle(place)
        if width == height == self.patch:
            self.slide._read(self.grid, rectangle, False, pixels)
        else:
            read = self.slide._read(self.grid, rectangle, False)
            pixels[:] = np.pad(read, ((0, self.patch - height), (0, self.patch - width), (0, 0)), "edge")

    def rectangle(self, place: Sequence[int]) -> tuple[int, int, int, int]:
        """A patch in pixels of the grid, as far as it lies inside."""
        lengths = self.grid.width, self.grid.height
        sides = [min(self.patch, length) for length in lengths]
        x, y = (min(round(float(v) / d), n - side) for v, d, n, side in zip(place, self.grid.downsample, lengths, sides))
        return x, y, sides[0], sides[1]


class _Tissue:
    """Sums of a mask, from which the share of any rectangle follows."""

    def __init__(self, slide: Slide, tissue: Path | np.ndarray, preset: Optional[str], sides: tuple[float, float]):
        if preset is not None:
            mask = label(slide, preset=preset)
        elif isinstance(tissue, np.ndarray):
            mask = itk.image_view_from_array(check_mask_array(tissue, "tissue"))
        else:
            mask = _open_mask(find_mask(tissue, slide.path), slide, min(sides))
        values = squeeze(itk.array_view_from_image(mask))
        if values.ndim != 2:
            raise error_of(ValueError, "E-MASK-FORMAT", "it has more than one channel or slice", file=file_name(tissue), option="tissue")
        self.sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1), np.uint32)
        np.cumsum(np.cumsum((values == 1) | (values == 255), axis=0, dtype=np.uint32), axis=1, out=self.sums[1:, 1:])
        self.pixel, self.origin = place_mask(slide, values.shape[::-1], mask.GetSpacing(), mask.GetOrigin())

    def shares(self, coordinates: np.ndarray, sides: tuple[float, float]) -> np.ndarray:
        """Of rectangles at level 0; what the mask does not cover is no tissue."""
        ends = []
        for axis in range(2):
            length = max(1, round(sides[axis] / self.pixel[axis]))
            center = (coordinates[:, axis] + sides[axis] / 2 - self.origin[axis]) / self.pixel[axis]
            begin = np.floor(center - length / 2 + 0.5).astype(np.int64)  # of a pixel that is larger than the patch: the one at its center
            ends.append([np.clip(v, 0, self.sums.shape[1 - axis] - 1) for v in (begin, begin + length)] + [length])
        (left, right, width), (top, bottom, height) = ends
        corners = (self.sums[y, x].astype(np.int64) for y, x in ((bottom, right), (top, right), (bottom, left), (top, left)))
        lower_right, upper_right, lower_left, upper_left = corners
        return (lower_right - upper_right - lower_left + upper_left) / (width * height)


def squeeze(values: np.ndarray) -> np.ndarray:
    """A mask of one slice or channel without that axis. One of a single row or column stays as it is."""
    return np.squeeze(values) if values.ndim > 2 else values


def place_mask(slide: Slide, size: Sequence[int], spacing: Sequence[float], origin: Sequence[float]) -> tuple[list[float], list[float]]:
    """Where a mask lies on a slide, from its size, spacing and origin along x and y.

    :returns: the side of one of its pixels, and the corner of the first one, in pixels of level 0
    """
    sides = [float(side) for side in spacing][:2]
    if sides == [1, 1] or not slide.mpp:  # where one of the two tells no resolution, the mask covers the slide
        return [length / count for length, count in zip(slide.levels[0][:2], size)], [0.0, 0.0]
    mm = slide.mpp_x / 1000, slide.mpp_y / 1000
    return [s / m for s, m in zip(sides, mm)], [(float(o) - s / 2) / m + 0.5 for o, s, m in zip(origin, sides, mm)]


def find_mask(tissue: Path, slide: str) -> str:
    """The mask itself, or that of the slide in a folder, as label names it."""
    name = file_name(tissue)
    if not os.path.isdir(name):
        return name
    slide_name = os.path.basename(slide)
    stem = slide_name.removesuffix(".pyramid.tif") if slide_name.endswith(".pyramid.tif") else pathlib.Path(slide_name).stem
    found = os.path.join(name, stem + ".pyramid.tif")
    if not os.path.isfile(found):
        why = f"it has no {stem}.pyramid.tif, the mask of {slide}"
        raise error_of(RuntimeError, "E-FILE-MISSING", why, "make it, or name the mask itself", file=name, option="tissue")
    return found


def _open_mask(name: str, slide: Slide, side: float):
    """Labels, never the colors that a palette shows them in. Of a pyramid the coarsest level that still has 16 pixels along a patch."""
    if not name.lower().endswith((".tif", ".tiff")):
        io = itk.ImageIOFactory.CreateImageIO(name, itk.CommonEnums.IOFileMode_ReadMode)
        if io is not None:
            io.SetExpandRGBPalette(False)
        return itk.imread(name, imageio=io)
    io = itk.WholeSlideImageIO.New()
    io.SetFileName(name)
    io.StoredValuesOn()
    io.ReadImageInformation()
    finest = slide.levels[0].width / io.GetLevelSize(0)[0]
    fine = [k for k in range(io.GetNumberOfLevels()) if io.GetLevelDownsample(k) * finest * 16 <= side]
    io.SetLevel(fine[-1] if fine else 0)
    kind = io.GetComponentTypeAsString(io.GetComponentType())
    if kind in ("char", "long_long", "unsigned_long_long"):
        # ITK has no images of these types in Python. Floats tell 1 and 255 from all other values.
        reader = itk.ImageFileReader[itk.Image[itk.F, 2]].New(FileName=name, ImageIO=io)
        reader.Update()
        mask = reader.GetOutput()
    else:
        mask = itk.imread(name, imageio=io)
    if not io.GetMicronsPerPixel():
        mask.SetSpacing([1, 1])  # of a coarser level it is the downsample
    return mask


def _batches(places: _Places, coordinates: np.ndarray, batch: int, workers: int) -> Iterator[np.ndarray]:
    """Read by other threads, a few batches ahead, in the order of the coordinates."""
    parts = (coordinates[i : i + batch] for i in range(0, len(coordinates), batch))
    with concurrent.futures.ThreadPoolExecutor(workers) as readers:
        waiting = collections.deque(readers.submit(places.read, part) for part in itertools.islice(parts, workers + 1))
        try:
            while waiting:
                pixels = waiting.popleft().result()
                waiting.extend(readers.submit(places.read, part) for part in itertools.islice(parts, 1))
                yield pixels
        finally:
            readers.shutdown(cancel_futures=True)


def _compute(places: _Places, module, coordinates: np.ndarray, batch: int, device, standard, workers: int, progress: bool) -> np.ndarray:
    import torch

    if device is not None:
        module.to(device)
    kept = next(itertools.chain(module.parameters(), module.buffers()), torch.empty(0))
    for name, values in zip(("mean", "deviation"), standard):
        given = np.asarray(values)
        is_number = given.dtype.kind in "iuf" and np.isfinite(given).all()
        if given.shape != (3,) or not is_number or (name == "deviation" and not (given > 0).all()):
            why = f"{name} is three numbers{', above 0,' if name == 'deviation' else ''} of red, green and blue, not {values!r}"
            raise error_of(ValueError, "E-OPTION-VALUE", why, option=name)
    mean, deviation = (torch.tensor(v, dtype=torch.float32, device=kept.device).reshape(1, -1, 1, 1) for v in standard)
    modes = {part: part.training for part in module.modules()}  # parts may be frozen below one in training
    module.eval()
    result, done = None, 0
    shown = bar("features", len(coordinates), "patch") if progress else None
    try:
        with torch.inference_mode():
            for pixels in _batches(places, coordinates, batch, workers):
                x = torch.from_numpy(pixels).to(kept.device).permute(0, 3, 1, 2).float() / 255
                x = ((x - mean) / deviation).to(kept.dtype if kept.is_floating_point() else torch.float32)
                rows = module(x)
                if not isinstance(rows, torch.Tensor) or rows.ndim != 2 or len(rows) != len(pixels):
                    what = tuple(rows.shape) if isinstance(rows, torch.Tensor) else type(rows).__name__
                    why = f"the module has to make one row of features of each of {len(pixels)} patches, not {what}"
                    raise error_of(TypeError, "E-OPTION-VALUE", why, option="module", value=what)
                if result is None:
                    result = np.empty((len(coordinates), rows.shape[1]), np.float32)
                result[done : done + len(rows)] = rows.float().cpu().numpy()
                done += len(rows)
                if shown is not None:
                    shown.update(len(rows))
    finally:
        for part, mode in modes.items():
            part.training = mode
        if shown is not None:
            shown.close()
    return result


def _check_file(output: Path, slide: str) -> pathlib.Path:
    """Before anything is computed."""
    target = pathlib.Path(check_output(output, slide))
    if target.suffix not in (".h5", ".npz"):
        raise error_of(ValueError, "E-OUTPUT-ENDING", "it is to hold features", "end its name in .h5 or .npz", file=target, option="output")
    if target.is_dir() or not target.parent.is_dir():
        raise error_of(RuntimeError, *refusal_of(target), file=target, option="output")
    if target.suffix == ".h5" and importlib.util.find_spec("h5py") is None:
        do = "install it (pip install h5py), or end the name in .npz"
        raise error_of(ImportError, "E-INSTALLATION", "it needs h5py, which is not installed", do, file=target)
    return target


def _write(target: pathlib.Path, rows: np.ndarray, coordinates: np.ndarray, places: _Places) -> None:
    """The file gets its name when all of it is there. Magnifications are as TRIDENT counts them, 10x at 1 um: it finds the size of
    patches by their ratio."""
    magnification = 10 / places.mpp
    facts = {
        "patch_size": places.patch,
        "patch_size_level0": round(places.side[0]),
        "level0_magnification": magnification * places.scale[0],
        "target_magnification": magnification,
        "overlap": places.shared,
        "mpp": places.mpp,
        "level0_width": places.slide.levels[0].width,
        "level0_height": places.slide.levels[0].height,
    }
    with temporary_folder(prefix=".", dir=target.parent) as folder:
        part = pathlib.Path(folder, target.name)
        if target.suffix == ".h5":
            import h5py

            with h5py.File(part, "w") as file:
                file["features"] = rows
                file["coords"] = coordinates
                file["coords"].attrs.update(facts)
        else:
            np.savez(part, features=rows, coords=coordinates, **facts)
        part.replace(target)
