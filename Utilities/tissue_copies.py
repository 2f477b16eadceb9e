# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Pictures as the tissue network sees them, and changed copies of them to train it on: other stains, glass, pens, bubbles."""

import cv2
import numpy
from tissue_pictures import ARTIFACT, GLASS, NOT_JUDGED, PEN, TISSUE

# The network's grid in µm, as in the program.
GRID = 8.0
# Largest side of a copy.
SIDE = 384
# What ink absorbs (natural density of red, green and blue): blue, green, red, black, orange, purple.
INKS = [
    (1.6, 0.5, 0.7),
    (0.6, 0.15, 0.3),
    (1.3, 0.9, 0.2),
    (1.9, 1.4, 0.5),
    (1.6, 0.6, 1.2),
    (0.1, 1.5, 1.3),
    (0.15, 0.9, 0.8),
    (2.2, 2.2, 2.2),
    (3.5, 3.5, 3.5),
    (0.1, 0.4, 1.3),
    (0.6, 1.2, 0.4),
]


# As the program does it -------------------------------------------------------------------------------------------------


def is_dark(pixels):
    """The program's rule for fluorescence, which the network does not look at: a dark ground and hardly any glass."""
    largest = find_extremes(pixels)[0]
    return 2 * (largest < 60).mean() > 1 and 20 * find_possible_glass(pixels).mean() < 1


def find_extremes(pixels):
    """The largest and the least of the three channels, without numpy's slow reduction of a short axis."""
    red, green, blue = (pixels[..., channel] for channel in range(3))
    return numpy.maximum(numpy.maximum(red, green), blue), numpy.minimum(numpy.minimum(red, green), blue)


def find_possible_glass(pixels):
    largest, least = find_extremes(pixels)
    return (largest >= 180) & (largest - least <= 16) & (least < 255)


def measure_spread(counts):
    """How far 95 % of what begins with the commonest value lie from it."""
    mode = counts.argmax()
    return int((20 * counts[mode:].cumsum() <= 19 * counts[mode:].sum()).sum())


def find_glass(pixels):
    """The glass of this slide and the least color of a stain on it: MakeTissueRule() of gigapixelTissueRule.h."""
    possible = find_possible_glass(pixels)
    if 4 * (find_extremes(pixels)[1] == 255).mean() > 1 and 25 * possible.mean() < 1:
        return numpy.array([255, 255, 255]), 6
    if possible.sum() == 0 or possible.sum() < possible.size // 1000:
        return numpy.array([243, 243, 243]), 6
    glass = pixels[possible].astype(int)
    casts = [numpy.bincount(glass[:, channel] - glass[:, 1] + 16, minlength=33)[::-1] for channel in (0, 2)]
    level = [numpy.bincount(glass[:, channel], minlength=256).argmax() for channel in range(3)]
    return numpy.array(level), 3 + max(1, *(measure_spread(cast) for cast in casts))


def apply_rule(pixels, glass, stain, is_brown):
    """Where the rule says tissue: ApplyTissueRule() of gigapixelTissueRule.h."""
    red, green, blue = (numpy.int32(glass[k]) - pixels[..., k].astype(numpy.int32) for k in range(3))
    color = green - numpy.minimum(red, blue)
    stained = (color >= stain) & (12 * color >= green) & (2 * green >= stain)
    yellow = blue > 2 * green + 2 if is_brown else (blue > green + 20) | (8 * (blue - green) > green + 16)
    red_pen = (1400 * blue > green * (930 + green)) & (3 * red < green) & (green >= 100)
    return stained & (4 * red <= 5 * green) & ~yellow & ~red_pen


def clear_spread_color(pixels, glass, tissue):
    """ClearSpreadColor() of gigapixelSpreadColor.h."""
    weights = numpy.array([77, 150, 29])
    dark = (numpy.maximum(0, weights @ glass + 128 - pixels.astype(int) @ weights) >> 8).astype(numpy.uint8)
    five, three = numpy.ones((5, 5), numpy.uint8), numpy.ones((3, 3), numpy.uint8)
    darkest, lightest = cv2.dilate(dark, five), cv2.erode(dark, five)
    is_spread = (cv2.erode(dark, three) <= 3) & (darkest >= 32) & (5 * dark.astype(int) < darkest)
    is_haze = (dark <= 40) & (darkest - lightest <= 8)
    return tissue & ~is_spread & ~is_haze


def shrink_by(pixels, factor):
    """Block means, rounded; the last blocks of what there is."""
    if factor == 1:
        return pixels
    height, width = (-(-length // factor) for length in pixels.shape[:2])
    pad = [(0, height * factor - pixels.shape[0]), (0, width * factor - pixels.shape[1]), (0, 0)]
    padded = numpy.pad(pixels.astype(numpy.int32), pad, mode="edge")
    blocks = sum(padded[y::factor, x::factor] for y in range(factor) for x in range(factor))
    return ((blocks + factor * factor // 2) // (factor * factor)).astype(numpy.uint8)


def get_factor(label_mpp):
    """Pixels of the label grid along a side of one of the network's grid."""
    return max(1, int(GRID / label_mpp + 0.5))


def find_stained(pixels):
    """This slide's glass, and where the rule that suits it says tissue."""
    glass, stain = find_glass(pixels)
    brown, pink = (apply_rule(pixels, glass, stain, is_brown) for is_brown in (True, False))
    return glass, clear_spread_color(pixels, glass, brown if 4 * brown.sum() > 5 * pink.sum() else pink)


def make_input(pixels, factor):
    """What the network sees: red, green and blue over this slide's glass, green's lower half taken by the rule."""
    glass, rule = find_stained(pixels)
    values = numpy.arange(256)
    tables = [numpy.minimum(255, (255 * values + level // 2) // level).astype(numpy.uint8) for level in glass]
    even = numpy.stack([table[pixels[..., channel]] for channel, table in enumerate(tables)], axis=2)
    even[..., 1] = (even[..., 1].astype(numpy.int32) + numpy.where(rule, 0, 255) + 1) // 2
    return shrink_by(even, factor)


# Copies -----------------------------------------------------------------------------------------------------------------


def draw_field(rng, shape, cells):
    """Smooth random values over a picture, normal at `cells` x `cells` places."""
    values = rng.standard_normal((cells, cells)).astype(numpy.float32)
    return cv2.resize(values, shape[::-1], interpolation=cv2.INTER_CUBIC)


def change_stain(rng, density):
    """Another stain: the channels mixed a little, or a lot."""
    if rng.random() < 0.93:
        mix = numpy.diag(rng.uniform(0.75, 1.3, 3)) + rng.normal(0, 0.08, (3, 3))
    else:
        own = rng.uniform(0.2, 0.9)
        mix = own * numpy.eye(3) + (1 - own) * rng.dirichlet([0.7] * 3, 3).T * rng.uniform(0.7, 1.4, 3)[None]
    return numpy.maximum(density @ mix.astype(numpy.float32), -0.05) * numpy.exp(rng.uniform(-0.75, 0.45))


def change_glass(rng, density):
    """Light that is uneven or colored, and stain that stayed on the glass."""
    shape = density.shape[:2]
    density = density + rng.uniform(0, 0.1) + rng.uniform(0, 0.04, 3).astype(numpy.float32) * (rng.random() < 0.5)
    if rng.random() < 0.4:
        density = density + (draw_field(rng, shape, 3) * rng.uniform(0.005, 0.03))[..., None]
    if rng.random() < 0.3:
        haze = numpy.maximum(draw_field(rng, shape, int(rng.integers(2, 5))), 0)
        pink = rng.uniform(0.02, 0.1) * numpy.array([0.25, 1.0, 0.35]) + rng.uniform(-0.005, 0.02, 3)
        density = density + haze[..., None] * pink.astype(numpy.float32)
    return density


def trace_outline(rng, classes, share):
    """Part of the outline of a piece of tissue, as points; none where there is no piece of some size."""
    pieces = cv2.findContours((classes == TISSUE).astype(numpy.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    pieces = [outline[:, 0] for outline in pieces if len(outline) > 40]
    if not pieces:
        return None
    outline = pieces[rng.integers(len(pieces))]
    length = int(len(outline) * rng.uniform(*share))
    return outline[(rng.integers(len(outline)) + numpy.arange(length)) % len(outline)]


def smooth_curve(points):
    window = numpy.hanning(13) / numpy.hanning(13).sum()
    return numpy.stack([numpy.convolve(numpy.pad(points[:, k], 6, mode="edge"), window, "valid") for k in (0, 1)], 1)


def draw_curve(rng, classes, resolution):
    """Where a pen goes: across the picture, or around tissue as far from it as a hand keeps."""
    height, width = classes.shape
    outline = trace_outline(rng, classes, (0.1, 0.9)) if rng.random() < 0.4 else None
    if outline is not None:
        away = rng.uniform(0, 500) / resolution
        far = cv2.distanceTransform((classes != TISSUE).astype(numpy.uint8), cv2.DIST_L2, 3)
        slope = numpy.stack([cv2.Sobel(far, cv2.CV_32F, 1, 0), cv2.Sobel(far, cv2.CV_32F, 0, 1)], 2)
        steps = slope[outline[:, 1], outline[:, 0]]
        steps /= numpy.maximum(numpy.hypot(steps[:, :1], steps[:, 1:]), 1e-3)
        points = outline + away * steps
        every = max(1, int(rng.uniform(40, 200) / resolution))
        return smooth_curve(points[::every] + rng.normal(0, 60 / resolution, (len(points[::every]), 2)))
    n = int(rng.integers(3, 7))
    points = rng.uniform([-0.1 * width, -0.1 * height], [1.1 * width, 1.1 * height], (n, 2))
    if rng.random() < 0.5:
        points = points[0] + numpy.cumsum(rng.normal(0, 0.15 * max(height, width), (n, 2)), axis=0)
    places = numpy.linspace(0, n - 1, 60)
    return smooth_curve(numpy.stack([numpy.interp(places, range(n), points[:, k]) for k in (0, 1)], axis=1))


def choose_ink(rng):
    """What ink absorbs. Red ink lets nearly all red through, eosin a little less; of blue it takes more than half of what
    it takes of green."""
    if rng.random() < 0.5:
        red = numpy.array([rng.uniform(0.03, 0.16), 1, rng.uniform(0.5, 1.1)])
        return red * numpy.exp(rng.uniform(numpy.log(0.4), numpy.log(2.5)))
    return numpy.array(INKS[rng.integers(len(INKS))]) * rng.uniform(0.5, 1.2) * rng.uniform(0.85, 1.15, 3)


def draw_pen(rng, density, classes, resolution):
    """A curve of ink, whose borders and whose crossings with tissue are not judged."""
    curve = draw_curve(rng, classes, resolution).round().astype(numpy.int32)
    ink = numpy.zeros(classes.shape, numpy.float32)
    thickness = int(numpy.clip(rng.uniform(250, 1100) / resolution, 2, 90))
    cv2.polylines(ink, [curve], False, 1.0, thickness)
    ink = cv2.GaussianBlur(ink, (0, 0), rng.uniform(0.5, 2.0))
    strength = ink * numpy.clip(1 + 0.25 * draw_field(rng, classes.shape, 8), 0.4, 1.6)
    drawn = classes.copy()
    drawn[(ink > 0.5) & (classes == GLASS)] = PEN
    drawn[(ink > 0.5) & (classes != GLASS) & (classes != PEN)] = NOT_JUDGED
    drawn[(ink > 0.1) & (ink <= 0.5)] = NOT_JUDGED
    return density + strength[..., None] * choose_ink(rng).astype(numpy.float32), drawn


def draw_soft_ink(rng, density, classes, resolution):
    """Blue, black or green ink that runs out softly, mostly along the border of a piece of tissue. Pen is what is seen of it
    on glass; its faint rim, and what lies on tissue, are not judged."""
    outline = trace_outline(rng, classes, (0.1, 0.6)) if rng.random() < 0.7 else None
    if outline is not None:
        points = outline + rng.normal(0, 300 / resolution, 2)
    else:
        points = rng.uniform(0, 1, 2) * classes.shape[::-1] + numpy.cumsum(rng.normal(0, 600 / resolution, (4, 2)), axis=0)
    ink = numpy.zeros(classes.shape, numpy.float32)
    thickness = int(numpy.clip(rng.uniform(250, 1300) / resolution, 2, 120))
    cv2.polylines(ink, [points.round().astype(numpy.int32)], False, 1.0, thickness)
    ink = cv2.GaussianBlur(ink, (0, 0), min(40.0, numpy.exp(rng.uniform(numpy.log(20), numpy.log(250))) / resolution))
    ink *= numpy.clip(1 + 0.25 * draw_field(rng, classes.shape, int(rng.integers(4, 40))), 0.4, 1.6)
    blue, green = (1, rng.uniform(0.3, 0.9), rng.uniform(0, 0.6)), (1, rng.uniform(0.3, 0.6), rng.uniform(0.6, 1))
    color = numpy.array([blue, blue, green, (1, 1, 1)][rng.integers(4)]) * rng.uniform(0.9, 1.1, 3)
    added = ink[..., None] * (color * numpy.exp(rng.uniform(numpy.log(0.3), numpy.log(1.6)))).astype(numpy.float32)
    seen = added.max(axis=2)
    drawn = classes.copy()
    drawn[(seen > 0.1) & (classes == GLASS)] = PEN
    drawn[(seen > 0.1) & (classes != GLASS) & (classes != PEN)] = NOT_JUDGED
    drawn[(seen > 0.03) & (seen <= 0.1) & (classes != PEN)] = NOT_JUDGED
    return density + added, drawn


def draw_bubble(rng, density, classes, resolution):
    """A gray ring, or a filled spot of dust."""
    height, width = classes.shape
    radius = numpy.exp(rng.uniform(numpy.log(40), numpy.log(900))) / resolution
    axes = (max(2, int(radius)), max(2, int(radius * rng.uniform(0.7, 1))))
    center = (int(rng.uniform(0, width)), int(rng.uniform(0, height)))
    is_filled = rng.random() < 0.3
    thickness = -1 if is_filled else max(1, int(rng.uniform(15, 60) / resolution))
    ring = numpy.zeros(classes.shape, numpy.float32)
    cv2.ellipse(ring, center, axes, rng.uniform(0, 180), 0, 360, 1.0, thickness)
    ring = cv2.GaussianBlur(ring, (0, 0), rng.uniform(0.5, 1 + radius / 6 if is_filled else 1.5))
    drawn = classes.copy()
    drawn[(ring > 0.4) & (classes == GLASS)] = ARTIFACT
    return density + (rng.uniform(0.15, 1.2) * ring)[..., None], drawn


def draw_shadow(rng, density, classes, resolution):
    """Gray that is out of focus: printed marks, dust on the other side of the glass, glue."""
    height, width = classes.shape
    size = numpy.exp(rng.uniform(numpy.log(60), numpy.log(1500), 2)) / resolution
    center = rng.uniform(0, 1, 2) * (width, height)
    angle = rng.uniform(0, 180) if rng.random() < 0.5 else 0.0
    box = cv2.boxPoints((tuple(map(float, center)), tuple(map(float, size)), float(angle)))
    shade = numpy.zeros(classes.shape, numpy.float32)
    cv2.fillPoly(shade, [box.round().astype(numpy.int32)], 1.0)
    shade = cv2.GaussianBlur(shade, (0, 0), float(numpy.clip(rng.uniform(0.03, 0.4) * min(size), 0.5, 40)))
    shade *= numpy.clip(1 + 0.3 * draw_field(rng, classes.shape, 12), 0.3, 1.7)
    drawn = classes.copy()
    drawn[(shade > 0.35) & (classes == GLASS)] = ARTIFACT
    return density + (numpy.exp(rng.uniform(numpy.log(0.08), numpy.log(1.2))) * shade)[..., None], drawn


def draw_specks(rng, density, classes):
    """Dust and threads: dark dots and short lines of a few pixels."""
    height, width = classes.shape
    specks = numpy.zeros(classes.shape, numpy.float32)
    for _ in range(int(rng.integers(10, 150))):
        x, y = int(rng.integers(width)), int(rng.integers(height))
        dx, dy = (int(d) for d in rng.integers(-3, 4, 2))
        cv2.line(specks, (x, y), (x + dx, y + dy), float(rng.uniform(0.2, 1.5)), int(rng.integers(1, 3)))
    drawn = classes.copy()
    drawn[(specks > 0) & (classes == GLASS)] = ARTIFACT
    return density + specks[..., None] * rng.uniform(0.7, 1.3, 3).astype(numpy.float32), drawn


def draw_frame(rng, density, classes):
    """A strip along one side that was not scanned (white), or is covered (black or gray)."""
    side = int(rng.integers(4))
    depth = int(rng.uniform(0.02, 0.2) * classes.shape[side // 2]) + 1
    part = [numpy.s_[:depth], numpy.s_[-depth:], numpy.s_[:, :depth], numpy.s_[:, -depth:]][side]
    kind = rng.random()
    density, drawn = density.copy(), classes.copy()
    density[part] = -0.2 if kind < 0.5 else rng.uniform(1.8, 4) if kind < 0.75 else rng.uniform(0.2, 1.2)
    covered = GLASS if kind < 0.5 else ARTIFACT
    drawn[part] = numpy.where(drawn[part] == NOT_JUDGED, NOT_JUDGED, covered) if kind < 0.5 else covered
    return density, drawn


def choose_corner(rng, classes, side):
    """Half of the crops lie anywhere, half about a pixel of tissue, pen or an artifact."""
    corner = [int(rng.integers(0, max(1, length - side + 1))) for length in classes.shape]
    if rng.random() < 0.5:
        wanted = [PEN, ARTIFACT] if rng.random() < 0.5 and numpy.isin(classes, [PEN, ARTIFACT]).any() else [TISSUE]
        places = numpy.argwhere(numpy.isin(classes, wanted))
        if len(places):
            place = places[rng.integers(len(places))] - side // 2 + rng.integers(-side // 2, side // 2, 2)
            corner = [int(numpy.clip(p, 0, max(0, length - side))) for p, length in zip(place, classes.shape)]
    return corner


def make_copy(picture, rng, has_soft_ink):
    """The network's input and the classes of a changed picture, cut to at most SIDE."""
    classes, mpp = picture["classes"], picture["mpp"]
    label_mpp = max(4.0, mpp) * numpy.exp(rng.uniform(numpy.log(0.5), numpy.log(1.9)))
    factor = get_factor(label_mpp)
    share = min(2.0, max(mpp / label_mpp, min(1.0, 160 * factor / min(classes.shape))))
    size = [round(length * share) for length in classes.shape[::-1]]
    pixels = cv2.resize(picture["pixels"], size, interpolation=cv2.INTER_AREA if share < 1 else cv2.INTER_LINEAR)
    classes = cv2.resize(classes, size, interpolation=cv2.INTER_NEAREST)
    if rng.random() < 0.15:
        pixels = cv2.GaussianBlur(pixels, (0, 0), rng.uniform(0.4, 1.0))
    glass = find_glass(pixels)[0]
    density = -numpy.log((pixels.astype(numpy.float32) + 1) / (glass + 1).astype(numpy.float32))
    density = change_glass(rng, change_stain(rng, density))
    for chance, draw in ((0.3, draw_bubble), (0.25, draw_shadow), (0.6, draw_pen)):
        if rng.random() < chance:
            for _ in range(int(rng.integers(1, 4))):
                density, classes = draw(rng, density, classes, mpp / share)
    if has_soft_ink:
        density, classes = draw_soft_ink(rng, density, classes, mpp / share)
    if rng.random() < 0.2:
        density, classes = draw_specks(rng, density, classes)
    if rng.random() < 0.15:
        density, classes = draw_frame(rng, density, classes)
    noise = rng.normal(0, rng.uniform(0, 2.5), (*classes.shape, 1)) + rng.normal(0, rng.uniform(0, 1.2), density.shape)
    pixels = numpy.clip(numpy.exp(-density) * 250 + noise, 0, 255).round().astype(numpy.uint8)
    if rng.random() < 0.4:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(50, 95))]
        pixels = cv2.imdecode(cv2.imencode(".jpg", pixels[..., ::-1], quality)[1], cv2.IMREAD_COLOR)[..., ::-1]
    pixels = make_input(pixels, factor)
    height, width = pixels.shape[:2]
    classes = cv2.resize(classes, (width, height), interpolation=cv2.INTER_NEAREST) if factor > 1 else classes
    y, x = choose_corner(rng, classes, SIDE)
    return pixels[y : y + SIDE, x : x + SIDE].copy(), classes[y : y + SIDE, x : x + SIDE].copy()
