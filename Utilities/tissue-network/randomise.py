# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Training crops that share the shapes of real tissue and little else: other stains, light, resolution, pens and artifacts.

Of an image, what is kept is where its tissue lies and how much of each of its two stains lies at a pixel (found as Macenko
et al., ISBI 2009, do it; of a dark image, how brightly it shines). A crop draws this with other colors, strengths and
lights, so that no source, stain or scanner can be told by its color."""

import cv2
import numpy
from images import ARTIFACT, GLASS, NOT_JUDGED, PEN, TISSUE, find_extremes, is_dark
from marks import draw_bubble, draw_dots, draw_field, draw_frame, draw_letters, draw_margin_ink, draw_pen, draw_print
from marks import draw_shadow, draw_soft_ink, draw_specks, find_border
from network import make_stretch, stretch

# The network's grid in µm, and the side of a crop in its pixels.
GRID = 8.0
SIDE = 256
# The part of the crops that keep the image's own colors: a slide's own light and statistics are seen nowhere else.
PLAIN = 0.3
# The median optical density of tissue that could be taken for a black pen.
DARK = 0.9
# What dyes and chromogens absorb of red, green and blue, mostly of Ruifrok and Johnston 2001. Each direction is changed
# a little or a lot whenever it is drawn.
DYES = {
    "hematoxylin": (0.65, 0.70, 0.29),
    "blue hematoxylin": (0.78, 0.55, 0.20),
    "eosin": (0.07, 0.99, 0.11),
    "orange eosin": (0.08, 0.80, 0.55),
    "diaminobenzidine": (0.27, 0.57, 0.78),
    "nickel, silver": (0.56, 0.58, 0.60),
    "brown silver": (0.42, 0.57, 0.70),
    "aminoethylcarbazole": (0.21, 0.85, 0.48),
    "fast blue": (0.75, 0.60, 0.27),
    "periodic acid-Schiff": (0.18, 0.88, 0.44),
    "aniline blue": (0.85, 0.50, 0.15),
    "light green": (0.80, 0.25, 0.55),
    "fuchsin": (0.10, 0.75, 0.60),
    "picric acid": (0.05, 0.30, 0.95),
    "azure": (0.83, 0.53, 0.15),
    "cresyl violet": (0.60, 0.76, 0.25),
    "alcian blue": (0.90, 0.40, 0.15),
    "dark blue": (0.70, 0.60, 0.35),
}


def log_uniform(rng, low, high):
    return float(numpy.exp(rng.uniform(numpy.log(low), numpy.log(high))))


# An image, ready to be cropped -----------------------------------------------------------------------------------------


def find_stains(density):
    """Directions of the two stains, 2 x 3: the extreme ones in the plane of the two largest components."""
    strong = density[density.sum(axis=1) > 0.15]
    if len(strong) < 100:
        return numpy.array([DYES["hematoxylin"], DYES["eosin"]], numpy.float32)
    plane = numpy.linalg.svd(strong.T @ strong)[0][:, :2]
    plane *= numpy.where(plane.sum(axis=0) < 0, -1, 1)
    angles = numpy.arctan2(*(strong @ plane).T[::-1])
    ends = numpy.percentile(angles, (2, 98))
    if ends[1] - ends[0] < 0.15:
        ends = ends + (-0.08, 0.08)
    stains = numpy.stack([numpy.cos(ends), numpy.sin(ends)], axis=1) @ plane.T
    return stains.astype(numpy.float32)


class Specimen:
    """An image with its glass and stains, at full size and smaller by halves."""

    def __init__(self, image):
        self.name, self.source, self.mpp = image["name"], image["source"], image["mpp"]
        pixels, classes = image["pixels"], image["classes"]
        self.dark = is_dark(pixels)
        self.counts = [numpy.bincount(pixels[..., k].ravel(), minlength=256) for k in range(3)]
        self.levels = [(pixels, classes)]
        while min(self.levels[-1][1].shape) >= 256:
            size = [length // 2 for length in self.levels[-1][1].shape[::-1]]
            smaller = cv2.resize(self.levels[-1][0], size, interpolation=cv2.INTER_AREA)
            self.levels.append((smaller, cv2.resize(self.levels[-1][1], size, interpolation=cv2.INTER_NEAREST)))
        self.has = {value: (classes == value).sum() >= 50 for value in (PEN, ARTIFACT)}
        self.places = {}
        for name, wanted in (("tissue", (TISSUE,)), ("other", (PEN, ARTIFACT))):
            places = numpy.argwhere(numpy.isin(classes, wanted))
            self.places[name] = places[:: max(1, len(places) // 5000)]
        rng = numpy.random.default_rng(0)
        ground, tissue = (pixels[classes == value] for value in (GLASS, TISSUE))
        ground, tissue = (
            values[rng.integers(0, len(values), 20000)].astype(numpy.float32) if len(values) else values
            for values in (ground, tissue)
        )
        if self.dark:
            self.ground = numpy.median(ground, axis=0) if len(ground) else numpy.zeros(3)
            return
        bright = ground[(ground.min(axis=1) > 150) & (ground.min(axis=1) < 255)]
        self.glass = numpy.median(bright, axis=0) if len(bright) > 100 else numpy.full(3, 243.0)
        self.table = -numpy.log((numpy.arange(256)[:, None] + 1) / (self.glass + 1)).astype(numpy.float32)
        density = -numpy.log((tissue + 1) / (self.glass + 1))
        self.stains = find_stains(density)
        self.unmix = numpy.linalg.pinv(self.stains).astype(numpy.float32)
        amounts = numpy.maximum(density @ self.unmix, 0) if len(density) else numpy.ones((1, 2))
        self.usual = numpy.maximum(numpy.percentile(amounts, 90, axis=0), 0.05).astype(numpy.float32)

    def get_density(self, pixels):
        return numpy.stack([self.table[:, k][pixels[..., k]] for k in range(3)], axis=2)

    def get_amounts(self, pixels):
        """How much of the two stains lies at each pixel; 1 is much."""
        if self.dark:
            light = numpy.maximum(pixels.astype(numpy.float32) - self.ground.astype(numpy.float32), 0)
            amounts = numpy.stack(find_extremes(light), axis=2)
            return amounts / max(20.0, float(numpy.percentile(amounts[..., 0], 98)))
        return numpy.maximum(self.get_density(pixels) @ self.unmix, 0) / self.usual

    def draw(self, amounts):
        """Pixels of these amounts in the image's own colors."""
        if self.dark:
            return numpy.clip(amounts[..., :1] * 200 + self.ground, 0, 255).astype(numpy.uint8)
        density = (amounts * self.usual) @ self.stains
        return numpy.clip(numpy.exp(-density) * (self.glass + 1) - 1, 0, 255).astype(numpy.uint8)


# Cropped ----------------------------------------------------------------------------------------------------------------


def crop(rng, specimen):
    """Pixels, classes and µm/px of a place that is turned, mirrored and of another resolution than the image says."""
    pixels, classes = specimen.levels[0]
    height, width = classes.shape
    if rng.random() < 0.3:
        # As where no resolution is known: the whole image on a few hundred to a thousand pixels.
        scale = max(height, width) / rng.uniform(256, 1000)
    else:
        wrong = log_uniform(rng, 0.25, 4) if rng.random() < 0.5 else numpy.exp(rng.normal(0, 0.3))
        scale = max(1.0, GRID / specimen.mpp) * wrong
    scale = float(numpy.clip(scale, 0.4, max(1.0, max(height, width) / 128)))
    resolution = specimen.mpp * scale
    places = specimen.places["other" if rng.random() < 0.35 else "tissue"]
    if len(places) and rng.random() < 0.6:
        center = places[rng.integers(len(places))] + rng.uniform(-0.5, 0.5, 2) * SIDE * scale
    else:
        center = rng.uniform(0, 1, 2) * (height, width)
    level = int(numpy.clip(numpy.log2(max(1.0, scale)) + 0.3, 0, len(specimen.levels) - 1))
    pixels, classes = specimen.levels[level]
    scale, center = scale / 2**level, center / 2**level
    angle = rng.uniform(0, 2 * numpy.pi) if rng.random() < 0.5 else rng.integers(4) * numpy.pi / 2
    stretch = numpy.exp(rng.normal(0, 0.1)) * (1 if rng.random() < 0.5 else -1)
    turn = scale * numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
    turn = turn @ numpy.diag([stretch, 1])
    matrix = numpy.column_stack([turn, center[::-1] - turn @ (SIDE / 2, SIDE / 2)])
    # Beyond the image lies more of the same, or what was not scanned.
    border = cv2.BORDER_REFLECT_101 if rng.random() < 0.5 else cv2.BORDER_CONSTANT
    beyond = (0, 0, 0) if specimen.dark else (255, 255, 255)
    warp = {"flags": cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, "borderMode": border, "borderValue": beyond}
    pixels = cv2.warpAffine(pixels, matrix, (SIDE, SIDE), **warp)
    warp |= {"flags": cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP, "borderValue": GLASS}
    return pixels, cv2.warpAffine(classes, matrix, (SIDE, SIDE), **warp), resolution


def punch_cores(rng, amounts, classes):
    """A tissue microarray: discs of what is there, each of its own strength."""
    pitch = rng.uniform(30, 130)
    radius = pitch * rng.uniform(0.28, 0.47)
    shift = rng.uniform(0, pitch, 2)
    keep = numpy.zeros(classes.shape, numpy.float32)
    for y in numpy.arange(shift[0] - pitch, SIDE + pitch, pitch):
        for x in numpy.arange(shift[1] - pitch, SIDE + pitch, pitch):
            if rng.random() < 0.88:
                axes = tuple(max(1, int(radius * rng.uniform(0.85, 1.05))) for _ in range(2))
                center = tuple(int(place + rng.normal(0, 0.03 * pitch)) for place in (x, y))
                cv2.ellipse(keep, center, axes, rng.uniform(0, 180), 0, 360, log_uniform(rng, 0.15, 1.5), -1)
    classes = classes.copy()
    classes[(keep == 0) & (classes != NOT_JUDGED)] = GLASS
    return amounts * cv2.GaussianBlur(keep, (0, 0), 0.7)[..., None], classes


# Light ------------------------------------------------------------------------------------------------------------------


def make_mosaic(rng):
    """The same shade in every tile of the scanner, and small steps between them."""
    period = int(rng.uniform(10, 130))
    places = (numpy.arange(SIDE) + rng.integers(period)) % period / period
    shade = rng.normal(0, 1) * (places[:, None] - 0.5) ** 2 + rng.normal(0, 1) * (places - 0.5)
    tiles = -(-SIDE // period) + 1
    steps = rng.normal(0, 0.3, (tiles, tiles)).repeat(period, 0).repeat(period, 1)[:SIDE, :SIDE]
    return (shade + steps).astype(numpy.float32)


def make_vignette(rng):
    y, x = numpy.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j].astype(numpy.float32)
    center = rng.uniform(-0.6, 0.6, 2)
    return (x - center[0]) ** 2 + (y - center[1]) ** 2


def choose_dye(rng):
    dye = numpy.array(list(DYES.values())[rng.integers(len(DYES))])
    dye = numpy.maximum(dye + rng.normal(0, 0.06 if rng.random() < 0.7 else 0.25, 3), 0.02)
    return dye / numpy.linalg.norm(dye)


def stain(rng, specimen, pixels, amounts, classes):
    """Optical density of the same tissue in other stains, or in its own one; from hardly visible to nearly black. And the
    classes: pen and artifacts in the colors of tissue are not judged."""
    strength = log_uniform(rng, 0.12, 2) if rng.random() < 0.6 else log_uniform(rng, 0.6, 1.3)
    if rng.random() < 0.22:
        # Silver, nickel and whole mounts let hardly any light through.
        strength = log_uniform(rng, 2, 8)
    if not specimen.dark and rng.random() < 0.4:
        mix = numpy.diag(rng.uniform(0.75, 1.3, 3)) + rng.normal(0, 0.06, (3, 3))
        return numpy.maximum(specimen.get_density(pixels) @ mix.astype(numpy.float32), -0.05) * strength, classes
    classes = numpy.where(numpy.isin(classes, (PEN, ARTIFACT)), NOT_JUDGED, classes).astype(numpy.uint8)
    if rng.random() < 0.15:
        # A whole mount: its thickness is seen, hardly its texture.
        tissue = cv2.GaussianBlur((classes == TISSUE).astype(numpy.float32), (0, 0), log_uniform(rng, 0.7, 8))
        thick = tissue * numpy.clip(1 + 0.5 * draw_field(rng, tissue.shape, int(rng.integers(2, 6))), 0.2, 2)
        amounts = rng.uniform(0, 0.5) * amounts + thick[..., None]
        strength = log_uniform(rng, 0.4, 5)
    amounts = amounts ** rng.uniform(0.6, 1.6)
    if rng.random() < 0.4:
        # A chromogen lies in nests, the counterstain everywhere.
        nests = numpy.clip(draw_field(rng, amounts.shape[:2], int(rng.integers(3, 25))) * 2 + rng.uniform(-2, 2), 0, 3)
        amounts = amounts * numpy.stack([nests, numpy.ones_like(nests)], axis=2)
    dyes = numpy.stack([choose_dye(rng) * log_uniform(rng, 0.25, 1.2) for _ in range(2)])
    if rng.random() < 0.5:
        amounts = amounts[..., ::-1]
    return (amounts @ dyes.astype(numpy.float32)) * (1.2 * strength), classes


def change_light(rng, density, classes):
    """Tinted or gray glass, uneven light, a scanner's tiles, and stain that stayed on the glass beside tissue."""
    shape = classes.shape
    density = density + rng.uniform(0, 0.12)
    if rng.random() < 0.5:
        most = 0.12 if rng.random() < 0.7 else 0.4
        density = density + rng.uniform(0, most, 3).astype(numpy.float32) * rng.random()
    if rng.random() < 0.15:
        density = density + rng.uniform(0.1, 1.1)
    if rng.random() < 0.35:
        density = density + (draw_field(rng, shape, 3) * rng.uniform(0.005, 0.05))[..., None]
    if rng.random() < 0.2:
        density = density + (make_vignette(rng) * rng.uniform(0.02, 0.35))[..., None]
    if rng.random() < 0.25:
        # Light that is not white, or a lens, makes the shade of tiles colored.
        color = rng.dirichlet([1, 1, 1]) * 3 if rng.random() < 0.6 else numpy.ones(3)
        density = density + make_mosaic(rng)[..., None] * (color * log_uniform(rng, 0.01, 0.15)).astype(numpy.float32)
    if rng.random() < 0.2:
        haze = cv2.GaussianBlur((classes == TISSUE).astype(numpy.float32), (0, 0), log_uniform(rng, 3, 30))
        haze *= numpy.clip(1 + 0.5 * draw_field(rng, shape, int(rng.integers(2, 8))), 0, 2)
        density = density + haze[..., None] * (choose_dye(rng) * log_uniform(rng, 0.02, 0.2)).astype(numpy.float32)
    if rng.random() < 0.1:
        smear = numpy.clip(draw_field(rng, shape, int(rng.integers(2, 6))), 0, 2)
        density = density + smear[..., None] * (choose_dye(rng) * log_uniform(rng, 0.02, 0.2)).astype(numpy.float32)
    return density


def lay_ink(rng, density, classes, resolution, tissue_density):
    # Nobody marks what is as dark as the pen, and what is nearly black is to be learned as tissue.
    share = 0.3 if tissue_density > DARK else 1.0
    for chance, draw in ((0.5, draw_pen), (0.12, draw_soft_ink), (0.08, draw_margin_ink)):
        if rng.random() < share * chance:
            for _ in range(int(rng.integers(1, 3))):
                density, classes = draw(rng, density, classes, resolution)
    return density, classes


def find_darkness(density, classes):
    """The median optical density of the tissue, 0 without tissue."""
    tissue = density[classes == TISSUE]
    return float(numpy.median(tissue.mean(axis=1))) if len(tissue) else 0.0


def shine_through(rng, specimen, pixels, amounts, classes, resolution):
    """A brightfield image."""
    density, classes = stain(rng, specimen, pixels, amounts, classes)
    density = change_light(rng, density, classes)
    for chance, draw in ((0.2, draw_bubble), (0.15, draw_shadow)):
        if rng.random() < chance:
            for _ in range(int(rng.integers(1, 3))):
                density, classes = draw(rng, density, classes, resolution)
    density, classes = lay_ink(rng, density, classes, resolution, find_darkness(density, classes))
    for chance, draw in ((0.15, draw_specks), (0.25, draw_dots), (0.05, draw_print), (0.15, draw_frame)):
        if rng.random() < chance:
            density, classes = draw(rng, density, classes)
    light = numpy.exp(-density) * 250
    if rng.random() < 0.12:
        # A ground that was cleaned: one value wherever no tissue is.
        light[classes == GLASS] = 255 if rng.random() < 0.7 else rng.uniform(200, 255, 3)
    return light, classes


def shine(rng, amounts, classes):
    """Fluorescence in one to four colors on a ground that is black or raised, with light that is out of focus."""
    shape = classes.shape
    light = numpy.zeros((*shape, 3), numpy.float32)
    amounts = numpy.minimum(amounts, 3)
    for _ in range(int(rng.choice([1, 1, 2, 3, 4]))):
        share = rng.dirichlet([0.7, 0.7]).astype(numpy.float32)
        shining = (amounts @ share) ** rng.uniform(0.5, 1.6)
        if rng.random() < 0.4:
            shining *= numpy.clip(draw_field(rng, shape, int(rng.integers(3, 30))) + rng.uniform(-0.5, 1.5), 0, 2)
        if rng.random() < 0.35:
            # One color is shown as gray.
            color = numpy.ones(3)
        else:
            color = rng.dirichlet([0.35] * 3)
            color /= color.max()
        light += shining[..., None] * (color * log_uniform(rng, 15, 350)).astype(numpy.float32)
    # Tissue that nobody sees teaches nothing.
    tissue = light[classes == TISSUE]
    seen = float(tissue.max(axis=1).mean()) if len(tissue) else 255.0
    light *= max(1.0, rng.uniform(8, 25) / max(seen, 1e-3))
    if rng.random() < 0.5:
        light += cv2.GaussianBlur(light, (0, 0), log_uniform(rng, 3, 40)) * rng.uniform(0, 0.7)
    drawn = classes.copy()
    drawn[drawn == PEN] = NOT_JUDGED
    for chance, is_hair in ((0.2, False), (0.15, True)):
        for _ in range(int(rng.integers(1, 5)) if rng.random() < chance else 0):
            thing = numpy.zeros(shape, numpy.float32)
            x, y = (int(place) for place in rng.integers(SIDE, size=2))
            if is_hair:
                points = (x, y) + numpy.cumsum(rng.normal(0, 20, (8, 2)), axis=0)
                cv2.polylines(thing, [points.astype(numpy.int32)], False, 1.0, int(rng.integers(1, 4)))
            else:
                radius = int(log_uniform(rng, 1, 40))
                cv2.circle(thing, (x, y), radius, 1.0, -1 if rng.random() < 0.6 else max(1, radius // 6))
            thing = cv2.GaussianBlur(thing, (0, 0), log_uniform(rng, 0.5, 6))
            drawn[(thing > 0.3) & (drawn == GLASS)] = ARTIFACT
            light += thing[..., None] * rng.uniform(0, 255, 3).astype(numpy.float32)
    if rng.random() < 0.08:
        letters = draw_letters(rng, shape)
        drawn[(letters > 0.4) & (drawn == GLASS)] = ARTIFACT
        light = light * (1 - letters[..., None]) + letters[..., None] * 255
    if rng.random() < 0.25:
        light = light * numpy.maximum(1 + make_mosaic(rng)[..., None] * rng.uniform(0.1, 1), 0)
    if rng.random() < 0.2:
        light = light * numpy.maximum(1 - make_vignette(rng)[..., None] * rng.uniform(0, 0.35), 0.2)
    if rng.random() < 0.65:
        raised = numpy.ones(3) if rng.random() < 0.4 else rng.uniform(0, 1, 3)
        light = light + (raised * log_uniform(rng, 3, 70)).astype(numpy.float32)
        if rng.random() < 0.3:
            light = light * (1 + make_mosaic(rng)[..., None] * rng.uniform(0.02, 0.2))
    if rng.random() < 0.1:
        # What was not scanned, and the paper of a figure.
        border = find_border(rng, shape)
        light[border] = 0 if rng.random() < 0.5 else 255 if rng.random() < 0.5 else rng.uniform(0, 255)
        drawn[border] = GLASS
    return light, drawn


def weigh(rng, changed, classes, shines):
    """How much each pixel of a crop, and some of the ground, counts when colors are stretched: a crop stands for a slide
    that has less or more of each class. Returns what stretch() takes, with rows of ground below the crop."""
    shares = numpy.exp(rng.normal(0, 1, 256)).astype(numpy.float32)
    weights = shares[classes]
    if (classes == GLASS).any() or rng.random() < 0.3:
        return changed, weights
    darkest = changed.reshape(-1, 3).min(axis=0)
    ground = rng.uniform(0, darkest + 1) if shines else rng.uniform(215, 255, 3)
    rows = numpy.clip(ground + rng.normal(0, 2, (8, SIDE, 3)), 0, 255).astype(numpy.uint8)
    more = numpy.full((8, SIDE), SIDE / 8 * numpy.exp(rng.normal(0, 1)), numpy.float32)
    return numpy.concatenate([changed, rows]), numpy.concatenate([weights, more])


def make_plain_crop(rng, specimen):
    """A crop in the image's own colors, hardly changed, stretched as the whole image is. Ink may lie on it, of which the
    whole image then has about as much more as its parts of this size."""
    pixels, classes, resolution = crop(rng, specimen)
    if rng.random() < 0.2:
        pixels = cv2.GaussianBlur(pixels, (0, 0), rng.uniform(0.3, 2))
    counts, before = specimen.counts, pixels
    if not specimen.dark:
        darkness = find_darkness(specimen.get_density(pixels), classes)
        density, classes = lay_ink(rng, numpy.zeros(pixels.shape, numpy.float32), classes, resolution, darkness)
        pixels = (pixels * numpy.exp(-density) + 0.5).astype(numpy.uint8)
        inked = density[..., 0] > 0
        share = specimen.counts[0].sum() / inked.size * rng.uniform(0, 1)
        counts = [
            numpy.maximum(specimen.counts[k] + share * count_changes(before[inked, k], pixels[inked, k]), 0) for k in range(3)
        ]
    seen, stretched = [], []
    for k in range(3):
        gain = numpy.exp(rng.normal(0, 0.04))
        changed = numpy.clip(numpy.arange(256) * gain + rng.normal(0, 2), 0, 255).astype(numpy.uint8)
        seen.append(changed[pixels[..., k]])
        stretched.append(make_stretch(numpy.bincount(changed, counts[k], 256))[seen[k]])
    return numpy.stack(seen + stretched, axis=2), classes


def count_changes(before, after):
    """How many more pixels have each value."""
    return numpy.bincount(after, minlength=256) - numpy.bincount(before, minlength=256)


def make_crop(rng, specimen):
    """What the network sees, SIDE x SIDE x 6, and the classes."""
    if rng.random() < PLAIN:
        return make_plain_crop(rng, specimen)
    pixels, classes, resolution = crop(rng, specimen)
    amounts = specimen.get_amounts(pixels)
    if (classes == TISSUE).mean() > 0.4 and rng.random() < 0.25:
        amounts, classes = punch_cores(rng, amounts, classes)
        pixels = specimen.draw(amounts)
    shines = rng.random() < (0.6 if specimen.dark else 0.3)
    if shines:
        light, classes = shine(rng, amounts, classes)
    else:
        light, classes = shine_through(rng, specimen, pixels, amounts, classes, resolution)
    if rng.random() < 0.3:
        light = cv2.GaussianBlur(light, (0, 0), rng.uniform(0.3, 2))
    if rng.random() < 0.5:
        noise = rng.standard_normal((SIDE, SIDE, 3), numpy.float32) * log_uniform(rng, 0.5, 9)
        light = light + (noise if rng.random() < 0.6 else noise[..., :1])
    if rng.random() < 0.04:
        light = light.mean(axis=2, keepdims=True).repeat(3, 2)
    changed = numpy.clip(light, 0, 255).astype(numpy.uint8)
    if rng.random() < 0.4:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(20, 95))]
        changed = cv2.imdecode(cv2.imencode(".jpg", changed, quality)[1], cv2.IMREAD_COLOR)
    return stretch(*weigh(rng, changed, classes, shines))[:SIDE], classes
