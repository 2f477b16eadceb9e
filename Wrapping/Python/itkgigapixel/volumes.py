# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Labels of the voxels of whole volumes."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Optional, Sequence, Unpack

import itk

from itkgigapixel.commands import run
from itkgigapixel.engine import file_of_model
from itkgigapixel.errors import SLIDING_WINDOW, error_of, names_arguments, renamed
from itkgigapixel.files import check_mask
from itkgigapixel.option_table import SegmentVolumeOptions
from itkgigapixel.options import program_options, takes_options
from itkgigapixel.progress import interruptible
from itkgigapixel.slide_content import Path, file_name
from itkgigapixel.temporary import stand_in, temporary_folder


@renamed(semantics=SLIDING_WINDOW)
@names_arguments
@interruptible()
@takes_options
def segment_volume(
    volume: Path | Sequence[Path] | itk.Image,
    model: Path | itk.GigapixelModel,
    output: Optional[Path] = None,
    *,
    progress: bool = False,
    **options: Unpack[SegmentVolumeOptions],
) -> Any:
    """Segments a whole volume with a network for volumes, exactly, in the memory that you allow.

    It is the command ``gigapixel segment``. What the model wants the values to be normalized to is done there, by the volume itself.

    Parameters
    ----------
    volume : path-like, sequence of path-like, or itk.Image
        A file (NIfTI, NRRD, MetaImage, ...) or the folder of a DICOM series, a list of these, one for each modality in the
        network's order, or an ITK image of three axes, whose pixels may be vectors of modalities.
    model : itk.GigapixelModel or path-like
        What :func:`train` or :func:`import_network` returned of a network for volumes, a model file, or the folder of a run
        (its best model).
    output : path-like, optional
        A file to write (``.nii.gz``, ``.nrrd``, ...), in place of what stands there.
    progress : bool, default False
        Show a tqdm bar.
    **options
        What becomes of probabilities, whether the network sees patches, and how it is computed.

    Returns
    -------
    itk.Image or path-like
        The classes as an ITK image of bytes, in the volume's place in the patient, or *output* if that is given.

    Raises
    ------
    GigapixelError
        What cannot be read or written, or does not suit the other.
    TypeError
        A *volume* or *model* that is none.
    ValueError
        Several files, of which one has a comma in its name; an *output* with lossy compression (.jpg).

    Examples
    --------
    >>> labels = gp.segment_volume("t1.nii.gz", "brain-run", memory="2G")
    """
    if output is not None:
        check_mask(file_name(output))
    with temporary_folder() as folder:
        given = {
            "model": file_of_model(model, folder),
            "output": pathlib.Path(folder) / "labels.nrrd" if output is None else file_name(output),
            "overwrite": True,
            **program_options("segment_volume", options),
        }
        run("segment", given, [_name_of(volume, folder)], progress)
        return itk.imread(str(given["output"]), itk.UC) if output is None else output


def _name_of(volume: Path | Sequence[Path] | object, folder: str) -> str:
    """As the program takes it; an image is written into the folder."""
    if isinstance(volume, (str, bytes, os.PathLike)):
        return file_name(volume)
    if isinstance(volume, itk.ImageBase[3]):
        name = str(pathlib.Path(folder) / "volume.mha")
        itk.imwrite(volume, name)
        return stand_in(name, "volume")
    if isinstance(volume, Sequence) and volume and all(isinstance(each, (str, bytes, os.PathLike)) for each in volume):
        names = [file_name(each) for each in volume]
        if len(names) > 1 and any("," in name for name in names):
            why = f"a comma is in the name of a modality's file ({', '.join(names)}), which separates them"
            raise error_of(ValueError, "E-FILE-NAME", why, "give it another name", option="volume")
        return ",".join(names)
    why = f"a volume is a file, a list of files or an ITK image of three axes, not {type(volume).__name__}"
    raise error_of(TypeError, "E-OPTION-VALUE", why, option="volume")
