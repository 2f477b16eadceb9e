# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Headers of volumes that say where they lie, each with its affine (to the right, front and head, in mm) as the formats' definitions have it.

NIfTI: https://nifti.nimh.nih.gov/nifti-1, NRRD: https://teem.sourceforge.net/nrrd/format.html, MGH:
https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat. Headers are packed here, byte by byte. The program is compared with these affines, and the affines with nibabel and SimpleITK by Wrapping/Python/tests/test_volume_places.py."""

import gzip
import struct
from typing import NamedTuple, Optional, Sequence

import numpy

SIZE = (6, 7, 5)  # x, y, z
VALUES = numpy.random.default_rng(7).integers(0, 20, SIZE[::-1])  # z, y, x


def affine(*rows):
    return numpy.array([*rows, (0, 0, 0, 1)], float)


PLAIN = affine((-1.5, 0, 0, 40), (0, 1.2, 0, -30), (0, 0, 3, 10))
OTHER = affine((-1.5, 0, 0, 0), (0, 1.2, 0, 0), (0, 0, 3, 0))
OBLIQUE = affine((-1.39, -0.427, -0.366, 40), (-0.484, 1.102, -0.685, -30), (-0.29, 0.207, 2.898, 10))  # three digits
SHEARED = affine((-1.5, 0, 0.4, 40), (0, 1.2, 0, -30), (0, 0, 3, 10))


class NIfTI(NamedTuple):
    expected: numpy.ndarray
    sform: Optional[numpy.ndarray] = None
    sform_code: int = 1
    qform: Optional[Sequence[float]] = None  # b, c, d, and the origin
    qform_code: int = 1
    pixdim: Sequence[float] = (-1, 1.5, 1.2, 3)
    units: int = 2
    slope: float = 0
    intercept: float = 0
    order: str = "<"
    times: int = 0
    pair: bool = False
    warns: bool = False

    def write(self, folder, name="v"):
        header = bytearray(348)
        order, dims = self.order, [*SIZE, *([self.times] if self.times else [])]
        struct.pack_into(order + "i", header, 0, 348)
        struct.pack_into(f"{order}8h", header, 40, len(dims), *dims, *[1] * (7 - len(dims)))
        struct.pack_into(order + "hh", header, 70, 4, 16)
        struct.pack_into(order + "4f", header, 76, *self.pixdim)
        struct.pack_into(order + "fff", header, 108, 0 if self.pair else 352, self.slope, self.intercept)
        header[123] = self.units | 8  # seconds
        struct.pack_into(order + "hh", header, 252, self.qform_code if self.qform is not None else 0, self.sform_code if self.sform is not None else 0)
        struct.pack_into(order + "6f", header, 256, *(self.qform if self.qform is not None else [7] * 6))
        struct.pack_into(order + "12f", header, 280, *(self.sform[:3].ravel() if self.sform is not None else [7] * 12))
        header[344:348] = b"ni1\0" if self.pair else b"n+1\0"
        pixels = VALUES.astype(order + "i2").tobytes()
        if self.pair:
            (folder / f"{name}.hdr").write_bytes(header)
            (folder / f"{name}.img").write_bytes(pixels)
            return folder / f"{name}.hdr"
        (folder / f"{name}.nii.gz").write_bytes(gzip.compress(bytes(header) + bytes(4) + pixels))
        return folder / f"{name}.nii.gz"


HALF = numpy.sqrt(0.5)
NIFTI = {
    "sform": NIfTI(PLAIN, PLAIN),
    "qform with a left-handed third axis": NIfTI(PLAIN, qform=(0, 1, 0, 40, -30, 10)),
    "qform": NIfTI(affine((0, -1.2, 0, 40), (1.5, 0, 0, -30), (0, 0, 3, 10)), qform=(0, 0, HALF, 40, -30, 10), pixdim=(1, 1.5, 1.2, 3)),
    "a quaternion above 1": NIfTI(affine((-1.5, 0, 0, 40), (0, 1.2, 0, -30), (0, 0, -3, 10)), qform=(0, 1.0000001, 0, 40, -30, 10), pixdim=(1, 1.5, 1.2, 3)),
    "sform of a template, qform of the scanner": NIfTI(PLAIN, PLAIN, 4, (0, 1, 0, 0, 0, 0)),
    "sform of another volume": NIfTI(PLAIN, PLAIN, 2, (0, 1, 0, 0, 0, 0)),
    "sform and qform of the scanner": NIfTI(PLAIN, PLAIN, 1, (0, 1, 0, 0, 0, 0)),
    "sform with the code 0": NIfTI(OTHER, PLAIN, 0, (0, 1, 0, 0, 0, 0), 2),
    "qform with the code 0": NIfTI(PLAIN, PLAIN, 3, (0, 1, 0, 0, 0, 0), 0),
    "sform of three digits": NIfTI(OBLIQUE, OBLIQUE),
    "sheared sform": NIfTI(SHEARED, SHEARED),
    "sheared sform beside a qform": NIfTI(SHEARED, SHEARED, 1, (0, 1, 0, 40, -30, 10)),
    "spacing of 1 beside the sform": NIfTI(PLAIN, PLAIN, pixdim=(-1, 1, 1, 1)),
    "spacing of 0 beside the sform": NIfTI(PLAIN, PLAIN, pixdim=(0, 0, 0, 0)),
    "spacing below 0": NIfTI(PLAIN, qform=(0, 1, 0, 40, -30, 10), pixdim=(-1, -1.5, 1.2, 3), warns=True),
    "spacing of 0": NIfTI(affine((-1, 0, 0, 40), (0, 1.2, 0, -30), (0, 0, 3, 10)), qform=(0, 1, 0, 40, -30, 10), pixdim=(-1, 0, 1.2, 3), warns=True),
    "flat sform beside a qform": NIfTI(PLAIN, numpy.zeros((4, 4)), 1, (0, 1, 0, 40, -30, 10), warns=True),
    "micrometers": NIfTI(numpy.diag([1e-3, 1e-3, 1e-3, 1]) @ PLAIN, PLAIN, units=3),
    "micrometers of a qform": NIfTI(numpy.diag([1e-3, 1e-3, 1e-3, 1]) @ PLAIN, qform=(0, 1, 0, 40, -30, 10), units=3),
    "meters": NIfTI(numpy.diag([1e3, 1e3, 1e3, 1]) @ PLAIN, PLAIN, units=1),
    "no unit": NIfTI(PLAIN, PLAIN, units=0),
    "a unit that is none": NIfTI(PLAIN, PLAIN, units=5, warns=True),
    "slope of 0": NIfTI(PLAIN, PLAIN, slope=0, intercept=7),
    "slope that is no number": NIfTI(PLAIN, PLAIN, slope=numpy.nan, intercept=numpy.nan),
    "slope and intercept": NIfTI(PLAIN, PLAIN, slope=2, intercept=-3),
    "slope of 1 and an intercept": NIfTI(PLAIN, PLAIN, slope=1, intercept=5),
    "other order of bytes": NIfTI(PLAIN, PLAIN, order=">", slope=2),
    "one time": NIfTI(PLAIN, PLAIN, times=1),
    "header and pixels": NIfTI(PLAIN, PLAIN, pair=True),
}


class NRRD(NamedTuple):
    expected: numpy.ndarray
    lines: Sequence[str]
    shape: Sequence[int] = SIZE
    warns: bool = False
    units: Sequence[float] = (1, 1, 1)  # mm

    def write(self, folder, name="v"):
        head = ["NRRD0005", "type: short", f"dimension: {len(self.shape)}", *self.lines, f"sizes: {' '.join(map(str, self.shape))}", "endian: little", "encoding: raw"]
        number = int(numpy.prod(self.shape)) // VALUES.size
        (folder / f"{name}.nrrd").write_bytes("\n".join(head).encode() + b"\n\n" + VALUES.astype("<i2").tobytes() * number)
        return folder / f"{name}.nrrd"


STEPS = ["space directions: (1.5,0,0) (0,1.2,0) (0,0,3)", "space origin: (-40,30,10)"]
KINDS = ["kinds: domain domain domain"]
LAS = affine((-1.5, 0, 0, 40), (0, 1.2, 0, 30), (0, 0, 3, 10))
RAS = affine((1.5, 0, 0, -40), (0, 1.2, 0, 30), (0, 0, 3, 10))
LPS = affine((-1.5, 0, 0, 40), (0, -1.2, 0, -30), (0, 0, 3, 10))
TURNED = ["space directions: (0,1.2,0) (0.3,0,2.9) (1.5,0,0)", "space origin: (-40,30,10)"]
MIXED = affine((-1.5e-3, 0, 0, 40e-3), (0, -12, 0, -300), (0, 0, 3, 10))
NRRDS = {
    **{f"{name}": NRRD(expected, [f"space: {name}", *STEPS, *KINDS])
       for expected, names in ((LAS, ("left-anterior-superior", "LAS")), (RAS, ("right-anterior-superior", "RAS")), (LPS, ("left-posterior-superior", "LPS")))
       for name in names},
    **{f"{name} of two times": NRRD(expected, [f"space: {name}", "space directions: (1.5,0,0,0) (0,1.2,0,0) (0,0,3,0) (0,0,0,2)", "space origin: (-40,30,10,0)", "kinds: domain domain domain time"], (*SIZE, 2))
       for expected, names in ((LAS, ("left-anterior-superior-time", "LAST")), (RAS, ("right-anterior-superior-time",)), (LPS, ("LPST",)))
       for name in names},
    "LAS, axes in another order": NRRD(affine((0, -0.3, -1.5, 40), (1.2, 0, 0, 30), (0, 2.9, 0, 10)), ["space: left-anterior-superior", *TURNED]),
    "LAS without kinds": NRRD(LAS, ["space: left-anterior-superior", *STEPS]),
    "LAS, channels first": NRRD(LAS, ["space: left-anterior-superior", "space directions: none (1.5,0,0) (0,1.2,0) (0,0,3)", STEPS[1], "kinds: vector domain domain domain"], (2, *SIZE)),
    "LAS, channels last": NRRD(LAS, ["space: left-anterior-superior", "space directions: (1.5,0,0) (0,1.2,0) (0,0,3) none", STEPS[1], "kinds: domain domain domain list"], (*SIZE, 2)),
    "LAS in micrometers": NRRD(numpy.diag([1e-3, 1e-3, 1e-3, 1]) @ LAS, ["space: LAS", 'space units: "um" "um" "um"', *STEPS], units=[1e-3] * 3),
    **{f"LPS in {unit}": NRRD(numpy.diag([mm, mm, mm, 1]) @ LPS, ["space: left-posterior-superior", f'space units: "{unit}" "{unit}" "{unit}"', *STEPS], units=[mm] * 3)
       for unit, mm in (("mm", 1), ("millimeters", 1), ("µm", 1e-3), ("microns", 1e-3), ("micrometer", 1e-3), ("cm", 10), ("m", 1e3), ("", 1))},
    "LPS in units of each axis": NRRD(MIXED, ["space: left-posterior-superior", 'space units: "um" "cm" "mm"', *STEPS], units=(1e-3, 10, 1)),
    "LPS in a unit that is none": NRRD(LPS, ["space: left-posterior-superior", 'space units: "furlong" "furlong" "furlong"', *STEPS], warns=True),
    "spacings in micrometers": NRRD(affine((-1.5e-3, 0, 0, 0), (0, -1.2e-3, 0, 0), (0, 0, 3e-3, 0)), ["spacings: 1.5 1.2 3", 'units: "um" "um" "um"'], units=[1e-3] * 3),
    "no space": NRRD(affine((-1.5, 0, 0, 0), (0, -1.2, 0, 0), (0, 0, 3, 0)), ["spacings: 1.5 1.2 3"]),
    "three axes of space": NRRD(LPS, ["space dimension: 3", *STEPS]),
    "scanner-xyz": NRRD(LPS, ["space: scanner-xyz", *STEPS], warns=True),
    "3D-left-handed": NRRD(LPS, ["space: 3D-left-handed", *STEPS], warns=True),
}


class MGH(NamedTuple):
    expected: numpy.ndarray
    frames: int = 1
    kind: str = ">i2"
    has_place: bool = True
    ending: str = "mgz"
    warns: bool = False

    def write(self, folder, name="v"):
        header = bytearray(284)
        struct.pack_into(">7i", header, 0, 1, *SIZE, self.frames, {"u1": 0, ">i4": 1, ">f4": 3, ">i2": 4, ">u2": 10}[self.kind], 0)
        if self.has_place:
            steps = self.expected[:3, :3]
            spacing = numpy.linalg.norm(steps, axis=0)
            center = self.expected @ [*numpy.array(SIZE) / 2, 1]
            struct.pack_into(">h15f", header, 28, 1, *spacing, *(steps / spacing).T.ravel(), *center[:3])
        raw = bytes(header) + VALUES.astype(self.kind).tobytes() * self.frames + struct.pack(">5f", 2300, 0.1, 3, 900, 256)
        file = folder / f"{name}.{self.ending}"
        file.write_bytes(gzip.compress(raw) if self.ending == "mgz" else raw)
        return file


CORONAL = affine((-1, 0, 0, 3), (0, 0, 1, -2.5), (0, -1, 0, 3.5))  # of 6 x 7 x 5 voxels of 1 mm around 0
MGHS = {
    "mgz": MGH(PLAIN),
    "mgh": MGH(PLAIN, ending="mgh"),
    "oblique mgz of bytes": MGH(OBLIQUE, kind="u1"),
    "mgz of floats": MGH(LPS, kind=">f4"),
    "mgz of long integers": MGH(RAS, kind=">i4"),
    "mgz of unsigned integers": MGH(RAS, kind=">u2"),
    "mgz of two frames": MGH(LAS, frames=2),
    "mgz without a place": MGH(CORONAL, has_place=False, warns=True),
}
