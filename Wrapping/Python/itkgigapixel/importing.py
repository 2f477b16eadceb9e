# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks of PyTorch that are taken over, and given back."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import math
import operator
import pathlib
import struct
from typing import TYPE_CHECKING, Any, Optional, Sequence, Unpack

import itk
import numpy as np

from itkgigapixel.engine import bytes_of_model
from itkgigapixel.errors import MESSAGES, error_of, in_a_sentence, names_arguments, warn
from itkgigapixel.files import file_name
from itkgigapixel.option_table import ImportNetworkOptions
from itkgigapixel.options import complete, takes_options
from itkgigapixel.slide_content import Path
from itkgigapixel.temporary import temporary_folder

if TYPE_CHECKING:
    import torch

#: An imported network is refused where it gives other probabilities than the module by more than this: float's rounding
#: over a deep network stays below, a wrong operation does not.
_TOLERANCE = 1e-4
#: Of probabilities of classes of an image that are less than this, differences count as shares of it.
_LEAST_SHARE = 1e-3
#: Of the proof, so that an image of two or three axes has several.
_SMALLEST_TILE = {2: 64, 3: 24}
#: Side of the tiles' cores of a model, by the number of axes.
_TILE = {2: 1024, 3: 64}
#: Channels of an image, by the number of axes.
_CHANNELS = {2: 3, 3: 1}


@names_arguments
@in_a_sentence()
@takes_options
def import_network(
    module: "torch.nn.Module",
    path: Optional[Path] = None,
    *,
    example: Sequence[int] = (256, 320),
    channels: Optional[int] = None,
    output: Optional[int] = None,
    class_names: Sequence[str] = (),
    normalization: Optional[dict[str, Any] | Sequence[dict[str, Any]]] = None,
    crop: str = "none",
    spacing: Sequence[float] = (),
    patches: Optional[dict[str, Any]] = None,
    provenance: Optional[dict[str, Any]] = None,
    **options: Unpack[ImportNetworkOptions],
) -> itk.GigapixelModel:
    """Takes over a network of PyTorch, with its weights, to train and run it on whole slides, or one for volumes.

    The module is exported by ``torch.export`` in evaluation mode at *example* and at a second, odd size, so that what depends on
    the size of the image is known from what does not. Of a module that takes multiples of 2, 4, 8 ... 256 alone the second size
    is one of the least of these, and the network begins by padding the image to one with its last pixels, and ends by cutting that
    off. Then both compute the same random image of odd size, ours in tiles: what they differ by is printed, and kept in the model.

    Buffers, and parameters whose ``requires_grad`` is False, are not trained here either. Batch norms keep their statistics, in training
    too (PyTorch's ``eval()``); instance and group norms, batch norms that keep none (``track_running_stats=False``), squeeze and excitation
    and pyramids of means and maxima take those of the whole slide, exactly, in passes over it; dropout (``nn.Dropout``, ``nn.Dropout2d``) is kept, for
    training. A sigmoid, softmax or log_softmax over classes at the end is taken off, also where its pixels are cropped: losses and
    probabilities are taken from logits here. Behind other probabilities, as means of sigmoids, their logits are computed: the
    model's probabilities are the module's own output, divided by its upper bound where that is another than 1, as 100 or 255. Values of
    other bounds, as those of tanh, count as logits: the label is 1 where they are above 0. Where they all have one sign, there is a
    warning (W-MODEL).

    What ends in an argmax or a threshold is taken over from ONNX alone: ``torch.onnx.export`` it, and see :func:`import_onnx`.

    A module that labels images, one that ends in the mean or maximum of its maps over all pixels and what is made of that, as ResNets do,
    becomes a network that labels whole slides: ``gigapixel classify``, and training on a cohort with labels.

    A module of ``Conv3d`` and its like is one for volumes: *example* has three sides, and the proof a random volume of floats.

    Parameters
    ----------
    module : torch.nn.Module
        A module of one input (1, channels, height, width), or (1, channels, depth, height, width). It gives a map of logits
        of the same size, or logits (1, classes) of the image: one for object and background, else one for each class.
    path : path-like, optional
        The model file to write (``*.safetensors``). None: none is.
    example : (int, int) or (int, int, int), default (256, 320)
        The size (height, width), or of volumes (depth, height, width), of the first export, in pixels. The module may need
        them to be multiples of something.
    channels : int, optional
        Channels of the image: 1 gray, 3 RGB, or as many as the images have. Networks that label images take 1 or 3, those
        of volumes any number of modalities. None: 3, of volumes 1.
    output : int, optional
        Which of several outputs, counted one by one where they lie in lists or dictionaries of the module's output. None:
        the first, with a warning where there are several.
    class_names : sequence of str, default ()
        Names of the classes in the order of the logits, none twice. One logit has two: without and with the object. ():
        classes have numbers.
    normalization : dict or sequence of dict, optional
        What values of slides or volumes become before *mean* and *deviation*, as in a network's JSON, such as ``{"type":
        "z-score"}``. It is one for all channels, or one for each. Slides are then read as they are stored, of 8 or 16 bit
        or floats. None: nothing.
    crop : {"none", "non-zero"}, default "none"
        What volumes were cut to in training. "non-zero" is the box around the voxels that are not 0, which
        :func:`segment_volume` takes.
    spacing : (float, float, float), default ()
        Spacing of the volumes that the module was trained on, along depth, height and width, in mm. :func:`segment_volume`
        brings volumes to it, and labels back. (): volumes stay as they are.
    patches : dict, optional
        Patches of volumes that the module was trained on, as in a network's JSON, such as ``{"size": [96, 160, 160]}``.
        :func:`segment_volume` takes them with ``sliding_window=True``. None: not known.
    provenance : dict, optional
        What else the model keeps about where it comes from, as JSON has it. None: nothing.
    **options
        What the network is called, and how its images and volumes are.

    Returns
    -------
    itk.GigapixelModel
        The model: for :func:`segment`, to go on with by ``train(network=path)``, for :func:`to_torch`.

    Raises
    ------
    TypeError
        A *module* that is none, such as a ``state_dict``.
    ValueError
        An argument that cannot be.
    NotImplementedError
        With the complete list of operations that are missing, or that see the whole image and are not computed yet, or what
        else cannot be taken over.
    RuntimeError
        The network gives other numbers here than in PyTorch.

    Examples
    --------
    >>> model = gp.import_network(module, "model.safetensors", mpp=0.5, class_names=["normal", "tumor"])
    >>> mask = gp.segment("slide.svs", model)
    """
    import torch

    from itkgigapixel.torch_graph import Unsupported
    from itkgigapixel.torch_plain import make_plain
    from itkgigapixel.torch_sizes import make_graph

    how = complete("import_network", options)
    mean, deviation = how.mean, how.deviation
    if how.norms not in ("frozen", "image"):
        raise error_of(ValueError, "E-OPTION-VALUE", f'norms are "frozen" or "image", not {how.norms!r}', option="norms", value=how.norms)
    if not isinstance(module, torch.nn.Module):
        why = f"a network is an nn.Module, not {type(module).__name__}"
        raise error_of(TypeError, "E-OPTION-VALUE", why, "make the module, and give it its weights (load_state_dict)", option="module")
    example, given = _read_sides(example), example
    axes = len(example)
    if axes not in (2, 3) or min(example) < 1:
        why = f"example is (height, width) in pixels, or of volumes (depth, height, width), not {given!r}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="example", value=given)
    channels = _CHANNELS[axes] if channels is None else channels
    if channels < 1:
        raise error_of(ValueError, "E-OPTION-VALUE", f"channels are 1 or more, not {channels}", option="channels", value=channels)
    if axes == 2 and not normalization and max([*mean, *deviation], default=0) > 1:
        why = f"mean and deviation of pixels are shares of 255, not {list(mean)} and {list(deviation)}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, "divide them by 255", option="mean")
    module, left_out = make_plain(module)
    module = _forget_statistics(copy.deepcopy(module)) if how.norms == "image" else module
    modes = {part: part.training for part in module.modules()}  # parts may be frozen below one in training
    with contextlib.suppress(NotImplementedError):  # of what torch.export has made, which is in that mode or asks nothing of it
        module.eval()
    try:
        with torch.no_grad():
            graph, multiple = make_graph(module, channels, example, output or 0)
            if output is None and graph.outputs > 1:
                why = f"the module has {graph.outputs} outputs, and the first one is taken"
                warn({"code": "W-MODEL-OUTPUT", "option": "output", "value": "0", "why": why, "do": "name another one by output= if it has the result"})
            graph.dropped.update(left_out)
            activated = graph.strip()
            graph.end_behind_pool()
            if graph.of_image and axes == 3:
                raise Unsupported("The module labels whole volumes: only networks that label each voxel are taken over.")
            if graph.of_image and channels not in (1, 3):  # ITK's Python has no other images to prove it by
                raise Unsupported(f"The module labels whole images of {channels} channels: only those of 1 (gray) or 3 (RGB) are taken over.")
            if graph.of_image and normalization:  # as they are proven by images of 8 bit
                raise Unsupported("The module labels whole images: normalization is of those that label each pixel or voxel.")
            if multiple > 1 and graph.of_image:
                raise Unsupported(
                    f"The module labels images whose sides are multiples of {multiple} alone: of others the pixels that they would be padded with would count in the mean."
                )
            if multiple > 1:
                graph.pad_to(multiple)
            network = _describe(graph, how.name or type(module).__name__, channels, mean, deviation, class_names)
            network["input"].update({"normalization": normalization} if normalization else {})
            network["input"].update({"crop": crop} if crop != "none" else {})
            network["input"].update({"spacing": list(spacing)} if len(spacing) else {})
            network["input"].update({"orientation": how.orientation} if how.orientation else {})
            network["input"].update({"axis order": how.axis_order} if how.axis_order != "zyx" else {})
            network.update({"patches": patches} if patches else {})
            network["provenance"] = {
                **(provenance or {}),
                "made by": f"torch.export of {type(module).__module__}.{type(module).__qualname__} with PyTorch {torch.__version__}",
                **({"shapes": graph.shapes} if graph.shapes else {}),
                **({"left out": sorted(graph.dropped)} if graph.dropped else {}),
            }
            arrays = {key: tensor.to(torch.float32).contiguous().numpy() for key, tensor in graph.arrays.items()}
            # What the library makes of a graph that ends in probabilities has their logits at its end.
            settled, _ = _parse_model(bytes_of_model(_make_model(network, arrays, how.mpp, _round_up(how.tile_size or _TILE[axes], network))))
            greatest = _find_greatest(network, settled)
            compute = functools.partial(_compute, network=network, classes=graph.classes, size=_choose_size(network, example), output=output or 0, multiple=multiple,
                                        greatest=1.0 if activated else greatest, activation="sigmoid" if graph.classes == 1 or settled.get("probabilities") == "sigmoid" else "softmax")
            expected, pixels, has_one_sign = compute(module)
            prove = _prove_classes if graph.of_image else _prove
            proof = prove(network, arrays, expected, pixels, lambda: compute(copy.deepcopy(module).double(), kind=np.float64)[0])
            network["provenance"]["proof"] = proof
            if has_one_sign and not activated and greatest is None:
                why = "all that the module returns has the same sign, as probabilities have, and is taken for logits"
                warn({"code": "W-MODEL", "why": why, "do": "let the module return logits where it is probabilities"})
            count, proof = sum(a.size for a in arrays.values()), network["provenance"]["proof"]
            MESSAGES.info("%s: %d operations, %d numbers. %s", network["name"], len(network["operations"]), count, proof)
            return _make_model(network, arrays, how.mpp, _round_up(how.tile_size or _TILE[axes], network), path)
    finally:
        for part, mode in modes.items():
            part.training = mode


def _forget_statistics(module):
    """Batch norms take those of the image then, as ones that keep none do."""
    import torch

    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.track_running_stats, part.running_mean, part.running_var = False, None, None
    return module


@names_arguments
@in_a_sentence()
def to_torch(model: Path | itk.GigapixelModel) -> "torch.nn.Module":
    """A network as a module of PyTorch, with the weights that it has, under the names that they had there.

    ``module.load_state_dict(to_torch(model).state_dict(), strict=False)`` gives an imported module what was learned here.

    Parameters
    ----------
    model : itk.GigapixelModel or path-like
        What :func:`import_network` or :func:`train` returned, a model file, or the folder of a run.

    Returns
    -------
    torch.nn.Module
        An ``nn.Module`` that takes (1, channels, height, width), or (1, channels, depth, height, width), as the imported
        module did and returns logits, of networks that label images as (1, classes), in evaluation mode.

    Raises
    ------
    ValueError
        A network of layers, as the preset "remedios2023": it is not a graph of operations.
    RuntimeError
        What cannot be read.

    Examples
    --------
    >>> module = gp.to_torch("run")
    >>> module.load_state_dict(gp.to_torch("other-run").state_dict())
    <All keys matched successfully>
    """
    import torch

    from itkgigapixel.torch_module import GraphModule

    if not isinstance(model, itk.GigapixelModel):
        model = itk.GigapixelModel.Load(file_name(model))
    network, arrays = _parse_model(bytes_of_model(model))
    if "operations" not in network:
        raise error_of(ValueError, "E-MODEL-FORMAT", f'"{network["name"]}" is a chain of layers, which has no module of PyTorch here', option="model")
    shapes = network.get("provenance", {}).get("shapes", {})
    tensors = {key: torch.from_numpy(array.reshape(shapes.get(key, array.shape)).copy()) for key, array in arrays.items()}
    return GraphModule(network["operations"], network["output"], tensors, model.LabelsImages(), network.get("constants", ())).eval()


def _describe(graph, name, channels, mean, deviation, class_names):
    if len(mean) != len(deviation) or len(mean) not in (0, channels):
        why = f"mean and deviation are numbers for each of {channels} channels, not {len(mean)} and {len(deviation)}"
        raise error_of(ValueError, "E-OPTION-VALUE", why, option="mean")
    pixels = {"mean": list(mean), "deviation": list(deviation)} if len(mean) else {"invert": False}
    return {
        "name": name,
        "input": {"channels": channels, **pixels},
        "operations": graph.operations,
        "output": graph.output,
        **({"constants": graph.list_constants()} if graph.list_constants() else {}),
        "loss": {"type": "binary cross-entropy" if graph.classes == 1 else "softmax cross-entropy"},
        **({"class names": list(class_names)} if len(class_names) else {}),
    }


def _make_model(network, arrays, mpp, tile_size, path=None):
    """The model as the library reads it, which checks it; written to *path* if there is one."""
    with temporary_folder() as folder, in_a_sentence():
        file = pathlib.Path(folder) / "model.safetensors"
        file.write_bytes(_write_model(network, arrays, mpp, tile_size))
        model = itk.GigapixelModel.Load(str(file))
        if path is not None:
            model.Save(file_name(path))
    return model


def _write_model(network, arrays, mpp, tile_size) -> bytes:
    """A model file: https://github.com/huggingface/safetensors#format, with the texts of gigapixel::Model."""
    header = {"__metadata__": {"gigapixel": "2", "network": json.dumps(network), "microns_per_pixel": repr(float(mpp)), "tile_size": str(tile_size)}}
    begin = 0
    for key, array in arrays.items():
        header[key] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, begin + array.nbytes]}
        begin += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *(array.tobytes() for array in arrays.values())])


def _parse_model(content: bytes):
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    network = json.loads(header.pop("__metadata__")["network"])
    arrays = {}
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[key] = np.frombuffer(content[8 + length + begin : 8 + length + end], np.float32).reshape(entry["shape"])
    return network, arrays


def _read_sides(example):
    """As whole numbers; (): they are none."""
    try:
        return tuple(operator.index(side) for side in example)
    except TypeError:
        return ()


def _choose_size(network, example):
    """Of the image of the proof: of a volume three tiles along each axis, the last of which is cut by its end."""
    if len(example) == 2:
        return example[0] // 2 + 29, example[1] // 2 + 51
    tile = _round_up(_SMALLEST_TILE[3], network)
    return 2 * tile + 7, 2 * tile + 11, 2 * tile + 5


def _find_greatest(network, settled):
    """What the module returns for a probability of 1, from the operations that the library put behind its own; None: it returns logits."""
    own = {operation["name"] for operation in network["operations"]}
    added = [operation for operation in settled.get("operations", ()) if operation["name"] not in own]
    if not any(operation["type"] in ("log", "logit") for operation in added) and len(settled.get("operations", network["operations"])) >= len(network["operations"]):
        return None
    return math.prod(1 / operation["other"] for operation in added if operation["type"] == "mul")


def _compute(module, network, classes, size, output, multiple, greatest, activation, kind=np.float32):
    """What the module makes of a random image.

    :param greatest: what the module returns for a probability of 1; None: it returns logits
    :param activation: that makes probabilities of logits, "sigmoid" or "softmax"
    :param kind: of the numbers that it computes with
    :param multiple: that the module wants sizes to be of
    :returns: probabilities in double, (classes, height, width), or (classes,) of the image; and the image (height, width,
        channels) of bytes, or of a volume (depth, height, width, channels), and of normalized values, of floats; and whether all that it gives lies
        between 0 and 1, or of one class has the same sign
    """
    import torch

    channels = network["input"]["channels"]
    mean, deviation = (np.array(network["input"].get(key, default), np.float64) for key, default in (("mean", 0.0), ("deviation", 1.0)))
    random = np.random.default_rng(1)
    if len(size) == 2 and "normalization" not in network["input"]:
        pixels = random.integers(0, 256, (*size, channels), np.uint8)
        normalized = (pixels / 255.0 - mean) / deviation
    else:
        pixels = (mean + deviation * random.standard_normal((*size, channels))).astype(np.float32)
        normalized = (pixels - mean) / deviation
    maps = torch.from_numpy(np.moveaxis(normalized.astype(kind), -1, 0))[None]
    sides = [side for length in reversed(size) for side in (0, -length % multiple)]  # PyTorch begins with the last axis
    logits = module(torch.nn.functional.pad(maps, sides, "replicate"))
    logits = torch.utils._pytree.tree_flatten(logits)[0][output]  # as torch.export counts them
    of_image = logits.dim() == 2 or all(side == 1 for side in logits.shape[2:])
    logits = logits.reshape(1, classes) if of_image else logits[(slice(None), slice(None), *map(slice, size))]
    expected = logits / greatest if greatest is not None else torch.sigmoid(logits) if activation == "sigmoid" else torch.softmax(logits, 1)
    return expected[0].double().numpy(), pixels, bool((logits.min() >= 0 and (logits.max() <= 1 or classes == 1)) or (logits.max() <= 0 and classes == 1))


def _prove(network, arrays, expected, pixels, compute_exactly) -> str:
    """Compares with the probabilities of all classes of each pixel, or voxel.

    :param compute_exactly: see :func:`_compare`
    :returns: the sentence for the model
    """
    size, unit = pixels.shape[:-1], "pixels" if pixels.ndim == 3 else "voxels"
    given, tile = _in_smallest_tiles(network, arrays, lambda file, tile: _predict(itk.GigapixelModel.Load(file), pixels, tile))
    differ, are_same = _compare(given, expected, compute_exactly)
    classes = "probabilities" if len(expected) == 1 else f"probabilities of all {len(expected)} classes"
    # Where they hardly vary, the weights leave little of the image, and that they agree says little of the network.
    varied = float(np.ptp(expected.reshape(len(expected), -1), axis=1).max())
    return _conclude(are_same, f"On {' x '.join(map(str, size))} random {unit} in tiles of {tile}, {classes}, which vary by {varied:.1e}, {differ}.")


def _compare(given, expected, compute_exactly, get_unit=lambda _: 1.0):
    """How far probabilities are from those that PyTorch's floats give, or, where that is far, both from PyTorch's double.

    Where logits are large, floats are far from what is right, whoever computes them: ours may be as far as four times PyTorch's,
    as in the tests of the engine's operations, since their sums have another order.

    :param compute_exactly: gives what is expected in double
    :param get_unit: of which number a difference is a share, of those that are right
    :returns: the words that say it, and whether they are the same
    """
    difference = float((np.abs(given - expected) / get_unit(expected)).max())
    if difference <= _TOLERANCE:
        return f"differ from PyTorch's by at most {difference:.1e}", True
    exact = compute_exactly()
    difference, own = (float((np.abs(each - exact) / get_unit(exact)).max()) for each in (given, expected))
    return f"differ from PyTorch's in double by at most {difference:.1e}, as its floats do by {own:.1e}", difference <= max(_TOLERANCE, 4 * own)


def _conclude(are_same, sentence) -> str:
    if not are_same:
        raise error_of(RuntimeError, "E-NETWORK-OPERATION", "the network is not the same here. " + sentence)
    return sentence


def _predict(model, pixels, tile):
    """Probabilities in tiles of this side, (classes, height, width), of volumes (classes, depth, height, width)."""
    size = pixels.shape[:-1]
    depth = (1,) if len(size) == 2 else ()
    given = model.PredictImage(pixels, *size, tile) if pixels.dtype == np.uint8 else model.PredictVolume(pixels, *depth, *size, tile)
    return np.moveaxis(np.frombuffer(given, np.float32).reshape(*size, -1), -1, 0)


def _prove_classes(network, arrays, expected, pixels, compute_exactly) -> str:
    """The same of probabilities of the image: of many classes each is small, so that differences are shares of them."""
    given, tile = _in_smallest_tiles(network, arrays, lambda file, tile: itk.GigapixelModel.Load(file).Classify(_make_image(pixels), tile))
    given = np.array(given[-len(expected):])  # of one logit both classes are given
    differ, are_same = _compare(given, expected, compute_exactly, lambda reference: np.maximum(reference, _LEAST_SHARE))
    return _conclude(
        are_same,
        f"On {pixels.shape[0]} x {pixels.shape[1]} random pixels in tiles of {tile}, probabilities of the {max(2, len(expected))} classes of the image "
        f"{differ} of themselves, or of {_LEAST_SHARE} where they are less.",
    )


def _make_image(pixels):
    gray = pixels.shape[2] == 1
    return itk.image_from_array(pixels[..., 0] if gray else pixels, ttype=itk.Image[itk.UC if gray else itk.RGBPixel[itk.UC], 2])


def _in_smallest_tiles(network, arrays, compute):
    """What *compute* makes of a model file and the side of the tiles, which are small; and that side."""
    tile = _round_up(_SMALLEST_TILE[_count_axes(network)], network)
    with temporary_folder() as folder, in_a_sentence():
        file = pathlib.Path(folder) / "model.safetensors"
        file.write_bytes(_write_model(network, arrays, 0.0, tile))
        return compute(str(file), tile), tile


def _count_axes(network) -> int:
    return network["operations"][0].get("axes", 2)


def _round_up(side, network):
    """The next multiple of the network's stride."""
    with in_a_sentence():
        stride = itk.GigapixelModel.GetStride(json.dumps(network))
    return -(-side // stride) * stride
