# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What lies on a slide and is no tissue: pens, bubbles, shadows, specks, printed dots, letters, frames, drawn into optical
density and classes."""

import cv2
import numpy
from images import ARTIFACT, GLASS, NOT_JUDGED, PEN, TISSUE, find_extremes

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


def draw_field(rng, shape, cells):
    """Smooth random values over a picture, normal at `cells` x `cells` places."""
    values = rng.standard_normal((cells, cells)).astype(numpy.float32)
    return cv2.resize(values, shape[::-1], interpolation=cv2.INTER_CUBIC)


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


def draw_ring(rng, classes, resolution):
    """Around a place in the tissue, if there is any, nearly closed or a little more."""
    places = numpy.argwhere(classes == TISSUE)
    if len(places) and rng.random() < 0.7:
        center = places[rng.integers(len(places)), ::-1]
    else:
        center = rng.uniform(0, 1, 2) * classes.shape[::-1]
    angles = rng.uniform(0, 2 * numpy.pi) + numpy.linspace(0, 2 * numpy.pi * rng.uniform(0.75, 1.15), 60)
    radii = numpy.exp(rng.uniform(numpy.log(200), numpy.log(6000))) / resolution * rng.uniform(0.6, 1, 2)
    waves = 1 + sum(rng.normal(0, 0.08 / k) * numpy.sin(k * angles + rng.uniform(0, 7)) for k in (1, 2, 3))
    return center + radii * waves[:, None] * numpy.stack([numpy.cos(angles), numpy.sin(angles)], axis=1)


def draw_writing(rng, shape, thickness):
    """Letters by hand, as curves, one behind the other."""
    height = thickness * rng.uniform(4, 12)
    angle = rng.uniform(0, 2 * numpy.pi)
    turn = numpy.array([[numpy.cos(angle), numpy.sin(angle)], [-numpy.sin(angle), numpy.cos(angle)]])
    begin = rng.uniform(-0.1, 1.1, 2) * shape[::-1]
    curves = []
    for k in range(int(rng.integers(1, 7))):
        for _ in range(int(rng.integers(1, 4))):
            n = int(rng.integers(2, 5))
            points = rng.uniform((0, 0), (0.6, 1), (n, 2)) + (0.8 * k, 0)
            places = numpy.linspace(0, n - 1, 25)
            points = numpy.stack([numpy.interp(places, range(n), points[:, axis]) for axis in (0, 1)], axis=1)
            curves.append(begin + height * (smooth_curve(points) if rng.random() < 0.6 else points) @ turn)
    return curves


def draw_beside(rng, shape, thickness):
    """Strokes along a side of the picture, which it cuts lengthwise, or that come in from there."""
    height, width = shape
    curves = []
    is_across, is_far = rng.random() < 0.5, rng.random() < 0.5
    for _ in range(int(rng.integers(1, 4))):
        along = rng.uniform(0, 1) + numpy.array([0, rng.uniform(0.05, 0.6)])
        if is_across:
            along = along[:1] + rng.normal(0, 0.03, 2)
            away = numpy.array([-0.1, rng.uniform(0.02, 0.3)]) * max(shape)
        else:
            away = rng.uniform(-0.6, 0.8) * thickness + rng.normal(0, 0.1 * thickness, 2)
        curves.append(numpy.stack([along * width, height - away if is_far else away], axis=1))
    return [curve[:, ::-1] * (width / height, height / width) for curve in curves] if rng.random() < 0.5 else curves


def draw_curves(rng, classes, resolution, thickness):
    """What a hand draws with a pen that is so many pixels thick."""
    kind = rng.choice(6, p=[0.45, 0.15, 0.1, 0.1, 0.1, 0.1])
    if kind == 0:
        return [draw_curve(rng, classes, resolution)]
    if kind == 1:
        return [draw_ring(rng, classes, resolution) for _ in range(int(rng.choice([1, 1, 1, 2, 5])))]
    if kind == 2:
        return draw_writing(rng, classes.shape, thickness)
    if kind == 3:
        return draw_beside(rng, classes.shape, thickness)
    place = rng.uniform(0, 1, 2) * classes.shape[::-1]
    if kind == 4:
        # Dots, and short strokes.
        places = place + numpy.cumsum(rng.normal(0, 3 * thickness, (int(rng.integers(1, 8)), 1, 2)), axis=0)
        return list(places + rng.normal(0, rng.uniform(0.1, 1.5) * thickness, (len(places), 2, 2)))
    # Straight lines, or hatching.
    line = place + rng.normal(0, 0.35 * max(classes.shape), (2, 2))
    step = (line[1] - line[0])[::-1] * (1, -1) / max(1.0, numpy.hypot(*(line[1] - line[0])))
    step *= thickness * rng.uniform(1.2, 4)
    return [line + k * step + rng.normal(0, 0.3 * thickness, (2, 2)) for k in range(int(rng.choice([1, 1, 1, 2, 4])))]


def choose_ink(rng):
    """What ink absorbs. Red ink lets nearly all red through, eosin a little less; of blue it takes more than half of what
    it takes of green. Others have any color but that of eosin, or are gray."""
    kind = rng.random()
    if kind < 0.35:
        red = numpy.array([rng.uniform(0.03, 0.16), 1, rng.uniform(0.5, 1.1)])
        return red * numpy.exp(rng.uniform(numpy.log(0.4), numpy.log(2.5)))
    if kind < 0.68:
        return numpy.array(INKS[rng.integers(len(INKS))]) * rng.uniform(0.3, 1.2) * rng.uniform(0.85, 1.15, 3)
    if kind < 0.92:
        least = rng.uniform(0.03, 0.5)
        color = rng.permutation([least, rng.uniform(least, 1), 1])
        if color[1] == 1:
            color[2] = max(color[2], rng.uniform(0.5, 1))
        return color * numpy.exp(rng.uniform(numpy.log(0.3), numpy.log(3)))
    return rng.uniform(0.85, 1.15, 3) * numpy.exp(rng.uniform(numpy.log(0.3), numpy.log(4)))


def draw_stroke(rng, shape, curve, thickness):
    """How much ink a stroke leaves at each pixel, about 1: its border is often darker than its middle or paler, it has
    streaks along it, and ends where the pen rested."""
    points = curve.round().astype(numpy.int32)
    stroke = numpy.zeros(shape, numpy.uint8)
    cv2.polylines(stroke, [points], False, 1, thickness)
    ink = stroke.astype(numpy.float32)
    if thickness > 3:
        depth = numpy.minimum(cv2.distanceTransform(stroke, cv2.DIST_L2, 3) * (2 / thickness), 1)
        kind = rng.random()
        if kind < 0.4:
            ink *= 1 + rng.uniform(0.2, 2) * numpy.exp(-((depth / rng.uniform(0.1, 0.4)) ** 2))
        elif kind < 0.6:
            ink *= rng.uniform(0.2, 0.8) + 0.6 * depth ** rng.uniform(0.5, 2)
        if rng.random() < 0.4:
            n = int(rng.integers(4, 10))
            ink *= numpy.interp(depth, numpy.linspace(0, 1, n), numpy.exp(rng.normal(0, 0.3, n))).astype(numpy.float32)
    for end in (points[0], points[-1]):
        if rng.random() < 0.35:
            blot = numpy.zeros(shape, numpy.float32)
            cv2.circle(blot, end.tolist(), max(1, int(thickness * rng.uniform(0.35, 0.75))), 1.0, -1)
            ink += blot * rng.uniform(0.2, 1.5)
    if rng.random() < 0.15:
        # A dry pen leaves gaps.
        gaps = draw_field(rng, shape, int(rng.integers(20, 100))) > rng.uniform(0.5, 2)
        ink = numpy.where(gaps, ink * rng.uniform(0, 0.5), ink).astype(numpy.float32)
    return ink


def mark_ink(density, classes, added):
    """Ink laid over density. Pen is what one sees of it on glass, and what is strong on tissue; its faint rim is not judged,
    nor is the rest."""
    seen = find_extremes(added)[0]
    drawn = classes.copy()
    drawn[(seen > 0.08) & (classes == GLASS)] = PEN
    drawn[(seen > 0.08) & (classes != GLASS) & (classes != PEN)] = NOT_JUDGED
    drawn[(seen > 0.5) & (classes == TISSUE)] = PEN
    drawn[(seen > 0.03) & (seen <= 0.08) & (classes != PEN)] = NOT_JUDGED
    return density + added.astype(numpy.float32), drawn


def draw_pen(rng, density, classes, resolution):
    """Strokes of one ink, which are darker where they cross."""
    shape = classes.shape
    thickness = int(numpy.clip(numpy.exp(rng.uniform(numpy.log(200), numpy.log(2500))) / resolution, 2, 150))
    ink = numpy.zeros(shape, numpy.float32)
    for curve in draw_curves(rng, classes, resolution, thickness):
        stroke = draw_stroke(rng, shape, curve, thickness)
        ink = ink + stroke if rng.random() < 0.7 else numpy.maximum(ink, stroke)
    ink = cv2.GaussianBlur(ink, (0, 0), rng.uniform(0.4, 1.5))
    ink *= numpy.clip(1 + rng.uniform(0, 0.5) * draw_field(rng, shape, int(rng.integers(4, 30))), 0.3, 1.7)
    return mark_ink(density, classes, ink[..., None] * choose_ink(rng))


def draw_margin_ink(rng, density, classes, resolution):
    """Ink in crumbs along the border of a piece of tissue, mostly black."""
    outline = trace_outline(rng, classes, (0.03, 0.4))
    if outline is None:
        return density, classes
    ink = numpy.zeros(classes.shape, numpy.float32)
    thickness = int(numpy.clip(rng.uniform(50, 700) / resolution, 1, 40))
    cv2.polylines(ink, [outline.astype(numpy.int32)], False, 1.0, thickness)
    ink = cv2.GaussianBlur(ink, (0, 0), 0.5 + 0.3 * thickness)
    crumbs = rng.standard_normal(classes.shape, numpy.float32)
    crumbs = cv2.GaussianBlur(crumbs, (0, 0), rng.uniform(0.6, 2))
    crumbs += draw_field(rng, classes.shape, 30) * crumbs.std()
    ink = cv2.GaussianBlur((ink > 0.35 + 0.2 * crumbs / crumbs.std()).astype(numpy.float32), (0, 0), 0.5)
    color = numpy.ones(3) if rng.random() < 0.6 else choose_ink(rng)
    color = color / color.max() * numpy.exp(rng.uniform(0, numpy.log(4)))
    return mark_ink(density, classes, ink[..., None] * color)


def draw_soft_ink(rng, density, classes, resolution):
    """Blue, black or green ink that runs out softly, mostly along the border of a piece of tissue."""
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
    return mark_ink(density, classes, added)


def draw_bubble(rng, density, classes, resolution):
    """A ring, gray to black, around glass and tissue that look a little otherwise; or a filled spot of dust."""
    height, width = classes.shape
    radius = numpy.exp(rng.uniform(numpy.log(40), numpy.log(2500))) / resolution
    axes = (max(2, int(radius)), max(2, int(radius * rng.uniform(0.7, 1))))
    center = (int(rng.uniform(0, width)), int(rng.uniform(0, height)))
    is_filled = rng.random() < 0.3 and radius < 100
    thickness = -1 if is_filled else max(1, int(rng.uniform(15, 60) / resolution))
    turned = (center, axes, rng.uniform(0, 180), 0, 360, 1.0)
    ring, inside = (numpy.zeros(classes.shape, numpy.float32) for _ in range(2))
    cv2.ellipse(ring, *turned, thickness)
    ring = cv2.GaussianBlur(ring, (0, 0), rng.uniform(0.5, 1 + radius / 6 if is_filled else 1.5))
    cv2.ellipse(inside, *turned, -1)
    drawn = classes.copy()
    drawn[(ring > 0.4) & (classes == GLASS)] = ARTIFACT
    added = ring[..., None] * numpy.exp(rng.uniform(numpy.log(0.15), numpy.log(2.5))) * rng.uniform(0.8, 1.2, 3)
    return density + (added + inside[..., None] * rng.normal(0.02, 0.04, 3)).astype(numpy.float32), drawn


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


def draw_dots(rng, density, classes):
    """Printed rings and dots, mostly in some staggered rows along the sides of a rectangle, as around the fields of slides for
    spatial transcriptomics; seldom all over it. They lie on tissue, too, which stays tissue."""
    pitch = numpy.exp(rng.uniform(numpy.log(4.5), numpy.log(16)))
    half = numpy.exp(rng.uniform(numpy.log(50), numpy.log(350), 2))
    steps = (half / (pitch * numpy.array([1, 0.87]))).astype(int) + 2
    column, row = (index.ravel() for index in numpy.meshgrid(*(numpy.arange(2 * n + 1) for n in steps)))
    rows, gap = int(rng.integers(2, 6)), rng.uniform(0.5, 3)
    # How many dots lie between one and the nearer end of its row, and of its column.
    across = numpy.minimum(column, 2 * steps[0] - column), numpy.minimum(row, 2 * steps[1] - row)
    in_rows = (across[0] < rows) | (across[1] < rows)
    in_gaps = sum((rows <= places) & (places < rows + gap) for places in across) > 0
    chosen = in_rows & ~in_gaps if rng.random() < 0.85 else across[0] >= 0
    chosen &= rng.random(len(row)) < rng.choice([1, 0.97, 0.7])
    places = numpy.stack([column + row % 2 / 2 - steps[0], 0.87 * (row - steps[1])], 1)[chosen] * pitch
    angle = rng.normal(0, 0.02) if rng.random() < 0.7 else rng.uniform(0, numpy.pi)
    places = places @ numpy.array([[numpy.cos(angle), numpy.sin(angle)], [-numpy.sin(angle), numpy.cos(angle)]])
    places += rng.uniform(0, 1, 2) * classes.shape[::-1] + half * rng.uniform(-1, 1, 2)
    radius = pitch * rng.uniform(0.22, 0.42)
    within = ((places > -radius) & (places < numpy.array(classes.shape[::-1]) + radius)).all(axis=1)
    # At four times the size, because a dot is a few pixels.
    large = numpy.zeros([4 * length for length in classes.shape], numpy.uint8)
    center = int(255 * rng.choice([0, 1, rng.uniform(0.2, 0.9)], p=[0.1, 0.25, 0.65]))
    thickness = max(1, int(4 * radius * rng.uniform(0.15, 0.4)))
    for place in (4 * places[within]).astype(int):
        cv2.circle(large, place.tolist(), int(4 * radius), center, -1)
        cv2.circle(large, place.tolist(), int(4 * radius), 255, thickness)
    dots = cv2.resize(large, classes.shape[::-1], interpolation=cv2.INTER_AREA).astype(numpy.float32) / 255
    dots = cv2.GaussianBlur(dots, (0, 0), rng.uniform(0.3, 1.2))
    strength = numpy.exp(rng.uniform(numpy.log(0.06), numpy.log(1.3)))
    drawn = classes.copy()
    drawn[(dots * strength > 0.1) & (classes == GLASS)] = ARTIFACT
    color = 1 + rng.normal(0, 0.25 if rng.random() < 0.4 else 0.06, 3)
    return density + dots[..., None] * (strength * color).astype(numpy.float32), drawn


def draw_letters(rng, shape):
    """Where letters and lines of a label or a figure are, 0 to 1."""
    letters = numpy.zeros(shape, numpy.uint8)
    for _ in range(int(rng.integers(1, 4))):
        place = [int(rng.uniform(-0.2, 0.8) * shape[1]), int(rng.uniform(0.1, 1) * shape[0])]
        text = "".join(rng.choice(list("ABCDEGHKMRSTaeilnorst 0123456789"), int(rng.integers(2, 14))))
        thickness = int(rng.integers(1, 4))
        cv2.putText(letters, text, place, int(rng.integers(0, 5)), rng.uniform(0.3, 1.6), 255, thickness, cv2.LINE_AA)
        if rng.random() < 0.4:
            end = [int(place[0] + rng.uniform(20, 300)), place[1]]
            cv2.line(letters, place, end if rng.random() < 0.7 else end[::-1], 255, thickness)
    return letters.astype(numpy.float32) / 255


def draw_print(rng, density, classes):
    letters = draw_letters(rng, classes.shape)
    drawn = classes.copy()
    drawn[(letters > 0.4) & (classes == GLASS)] = ARTIFACT
    ink = 1 + rng.normal(0, 0.3, 3)
    return density + letters[..., None] * (ink * numpy.exp(rng.uniform(numpy.log(0.3), numpy.log(3)))), drawn


def find_border(rng, shape):
    """A strip along one side or more, whose inner corners are round where sides meet."""
    depth = numpy.where(rng.random(4) < rng.choice([0.25, 0.6, 1]), rng.uniform(0.02, 0.2, 4), 0)
    if not depth.any():
        depth[rng.integers(4)] = rng.uniform(0.02, 0.2)
    top, bottom, left, right = (depth * numpy.array([shape[0], shape[0], shape[1], shape[1]])).astype(int)
    radius = int(rng.uniform(1, 50)) if rng.random() < 0.5 else 1
    # The sides that have no strip lie far outside, with their corners.
    top, bottom, left, right = (side + radius if side else -2 * radius for side in (top, bottom, left, right))
    inside = numpy.zeros(shape, numpy.uint8)
    cv2.rectangle(inside, (left, top), (shape[1] - 1 - right, shape[0] - 1 - bottom), 1, -1)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    padded = cv2.copyMakeBorder(inside, *[2 * radius] * 4, cv2.BORDER_REPLICATE)
    return cv2.dilate(padded, disc)[2 * radius : -2 * radius, 2 * radius : -2 * radius] == 0


def draw_frame(rng, density, classes):
    """Strips along the sides that were not scanned (white), or are covered (black or gray)."""
    border, kind = find_border(rng, classes.shape), rng.random()
    density, drawn = density.copy(), classes.copy()
    density[border] = -0.2 if kind < 0.4 else rng.uniform(1.8, 4) if kind < 0.75 else rng.uniform(0.2, 1.2)
    if kind >= 0.4 and rng.random() < 0.5:
        density[border] += rng.normal(0, 0.2, (int(border.sum()), 1))
    drawn[border] = numpy.where(drawn[border] == NOT_JUDGED, NOT_JUDGED, GLASS) if kind < 0.4 else ARTIFACT
    return density, drawn
