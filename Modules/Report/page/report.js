// Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
// Makes the page from its data. Texts of users become text nodes, never HTML.
//
// data: version, command, anonymous, columns (names of further columns of tables), codes {CODE: {meaning, remedy}},
//   making [{madeBy, masks}], provenance [{version, command, options, slides}] (of results), machine {system, architecture, cores}
//   (that wrote the page), missing [{what, file, why, code}], unfinished [{folder, slides, done, failed}] (batches), runs and
//   figures (see below),
//   slides [{number, name, slide, mask, madeBy, preset, tissueMm2, tissueFraction, penFraction, artifactFraction, expectedIou,
//     classes [{label, name, color, fraction, mm2}], probabilities {CLASS: p}, perTable {CLASS: [p of each table]}, values, predicted, dice, iou, cpuSeconds, seconds,
//     peakBytes, damagedTiles, doubts [{code, value, limit}], warnings [{code, why, do}], error {code, why, do}, missing,
//     made [{by (place in provenance), inputs {NAME: hash}}],
//     columns {NAME: text}, channels [{name, color}] (added up in the picture), picture and labels (names of pictures), width and height of the picture, slideWidth, slideHeight,
//     mpp of level 0}]
// runs: [{folder, history {columns, rows}, model, settings, missing, folds [runs]}]
// figures: what `gigapixel evaluate --json` prints of a table, with "roc" [[false positive rate, true positive rate]] in perClass.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const slides = data.slides;
  const byId = (id) => document.getElementById(id);

  /** An element with attributes and children; a child that is no node becomes text. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "onclick") element.addEventListener("click", value);
      else if (value !== undefined && value !== null) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const digits = (value, count) => (isNumber(value) ? value.toFixed(count) : "");
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

  function formatArea(value) {
    return !isNumber(value) ? "" : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
  }

  function formatPercent(share) {
    return !isNumber(share) ? "" : share === 0 ? "0" : share < 0.001 ? (100 * share).toPrecision(1) : (100 * share).toFixed(share < 0.1 ? 2 : 1);
  }

  function formatAny(value) {
    if (value === null || value === undefined) return "";
    return typeof value === "object" ? JSON.stringify(value) : isNumber(value) && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
  }

  /** Whether a field of a table is written as a number is. */
  const isNumeric = (text) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);

  /** A field of a table. A fraction has six digits; whole numbers may be names of patients. */
  const formatField = (text) => (isNumeric(text) && text.length > 8 && text.includes(".") ? formatAny(Number(text)) : formatAny(text));

  // Codes

  const meaningOf = (code) => (data.codes[code] ? `${data.codes[code].meaning} ${data.codes[code].remedy}` : code);
  const codesOf = (list) => [...new Set((list || []).map((entry) => entry.code))];
  const shorten = (code) => code.replace(/^[EW]-(DOUBT-)?/, "").toLowerCase().replace(/-/g, " ");

  /** Warnings that are doubts as well stand with these. */
  function warningsOf(slide) {
    const doubts = codesOf(slide.doubts);
    return codesOf(slide.warnings).filter((code) => !doubts.includes(code));
  }

  function makeChips(codes, kind) {
    return codes.map((code) => make("span", { class: `chip ${kind}`, title: `${code}: ${meaningOf(code)}` }, shorten(code)));
  }

  // Pictures

  function getAddress(name) {
    const embedded = byId(`picture-${name}`);
    return embedded ? `data:image/webp;base64,${embedded.textContent}` : `${document.body.dataset.folder}/${name}.webp`;
  }

  /** The pictures stand behind this script, so that the table is there before they are read. */
  const isRead = new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));

  async function loadImage(name) {
    await isRead;
    return new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => resolve(image);
      image.onerror = () => reject(new Error("The picture cannot be read."));
      image.src = getAddress(name);
    });
  }

  const otherColors = ["#ffb000", "#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#e0c000"];
  const colorOf = (slide, place) => slide.classes[place].color || otherColors[place % otherColors.length];

  /** The labels of a slide's mask: {width, height, values}. */
  async function loadLabels(slide) {
    const image = await loadImage(slide.labels);
    const canvas = make("canvas", { width: image.width, height: image.height });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, image.width, image.height).data;
    const values = new Uint8Array(image.width * image.height);
    for (let i = 0; i < values.length; ++i) values[i] = pixels[4 * i];
    return { width: image.width, height: image.height, values };
  }

  /** A canvas with the classes that are on: tinted, with their borders in full color. */
  function paintLabels(slide, labels, isOn) {
    const { width, height, values } = labels;
    const canvas = make("canvas", { width, height });
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const colors = new Map();
    slide.classes.forEach((entry, place) => {
      const color = colorOf(slide, place);
      if (isOn(entry.label)) colors.set(entry.label, [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)));
    });
    const only = slide.classes.length === 1 ? slide.classes[0].label : null;
    for (let i = 0; i < values.length; ++i) {
      const value = values[i];
      const color = value === 0 ? undefined : colors.get(only === null ? value : only);
      if (!color) continue;
      const x = i % width;
      const isInner = (x === 0 || values[i - 1] === value) && (x === width - 1 || values[i + 1] === value) && (i < width || values[i - width] === value) && (i + width >= values.length || values[i + width] === value);
      image.data.set(color, 4 * i);
      image.data[4 * i + 3] = isInner ? 90 : 255;
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  async function drawThumb(place, slide, withLabels) {
    const scale = Math.min(1, 164 / slide.width, 124 / slide.height) * Math.min(2, window.devicePixelRatio || 1);
    const canvas = make("canvas", { width: Math.max(1, Math.round(slide.width * scale)), height: Math.max(1, Math.round(slide.height * scale)) });
    canvas.style.width = `${canvas.width / Math.min(2, window.devicePixelRatio || 1)}px`;
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    try {
      if (slide.picture) context.drawImage(await loadImage(slide.picture), 0, 0, canvas.width, canvas.height);
      if (withLabels) context.drawImage(paintLabels(slide, await loadLabels(slide), () => true), 0, 0, canvas.width, canvas.height);
      place.replaceChildren(canvas);
      place.dataset.state = "drawn";
    } catch (error) {
      place.textContent = error.message;
      place.dataset.state = "failed";
    }
  }

  const thumbs = new Map();
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        watcher.unobserve(entry.target);
        const [slide, withLabels] = thumbs.get(entry.target);
        drawThumb(entry.target, slide, withLabels);
      }
    },
    { rootMargin: "600px" },
  );

  function makeThumb(slide, withLabels) {
    const has = withLabels ? slide.labels : slide.picture;
    const place = make("div", { class: "thumb" }, has ? "" : withLabels ? "no mask" : "no picture");
    if (has) {
      thumbs.set(place, [slide, withLabels]);
      watcher.observe(place);
    }
    return place;
  }

  // Columns

  const withBar = (text, share) => [text, make("span", { class: "bar" }, Object.assign(make("i"), { style: `width:${Math.round(100 * Math.min(1, Math.max(0, share)))}%` }))];
  const inTable = (name, title, get, show, more = {}) => ({ name, title, get, show: show || ((slide) => formatAny(get(slide))), isNumber: true, ...more });
  const namesIn = (field) => [...new Set(slides.flatMap((slide) => Object.keys(slide[field] || {})))];
  const classNames = [...new Set(slides.flatMap((slide) => (slide.classes || []).map((entry) => entry.name)))].filter((name) => !["tissue", "pen", "artifact"].includes(name));
  const classOf = (slide, name) => (slide.classes || []).find((entry) => entry.name === name);
  const share = (name, title, field) => inTable(name, title, (slide) => slide[field], (slide) => formatPercent(slide[field]));
  const text = { isNumber: false };

  /** A probability, with the least and the greatest of several tables. */
  const spreadOf = (slide, name) => (slide.perTable?.[name]?.length > 1 ? [Math.min(...slide.perTable[name]), Math.max(...slide.perTable[name])] : null);
  const hasSpread = slides.some((slide) => Object.keys(slide.perTable || {}).some((name) => spreadOf(slide, name)));
  const showProbability = (slide, name) => digits(slide.probabilities[name], 3) + (spreadOf(slide, name) ? ` (${spreadOf(slide, name).map((value) => digits(value, 3)).join(" to ")})` : "");

  /** With two classes, the probability of the first is the rest of the other's. */
  const isOther = (name) => namesIn("probabilities").length === 2 && namesIn("probabilities")[0] === name;

  const versionsOf = (slide) => [...new Set(slide.made.map((made) => formatAny(data.provenance[made.by].version)))];
  const isOfOtherVersions = data.provenance.some((made) => formatAny(made.version) !== data.version);

  const columns = [
    { name: "slide-picture", title: "Slide", isPicture: true, show: (slide) => makeThumb(slide, false) },
    { name: "overlay", title: "Overlay", isPicture: true, show: (slide) => makeThumb(slide, true) },
    inTable("name", "Name", (slide) => slide.name, (slide) => [make("bdi", {}, slide.name), slide.error ? make("small", {}, make("span", { class: "chip error", title: meaningOf(slide.error.code) }, "failed: " + shorten(slide.error.code))) : null], text),
    inTable("doubts", "Doubts", (slide) => codesOf(slide.doubts).join(" "), (slide) => makeChips(codesOf(slide.doubts), "doubt"), { ...text, isWide: true }),
    inTable("tissueMm2", "Tissue mm²", (slide) => slide.tissueMm2, (slide) => formatArea(slide.tissueMm2)),
    inTable("tissueFraction", "Tissue %", (slide) => slide.tissueFraction, (slide) => isNumber(slide.tissueFraction) ? withBar(formatPercent(slide.tissueFraction), slide.tissueFraction) : ""),
    share("penFraction", "Pen %", "penFraction"),
    share("artifactFraction", "Artifacts %", "artifactFraction"),
    ...classNames.map((name) => inTable(`mm2:${name}`, `${name} mm²`, (slide) => classOf(slide, name)?.mm2, (slide) => formatArea(classOf(slide, name)?.mm2))),
    ...classNames.map((name) => inTable(`fraction:${name}`, `${name} %`, (slide) => classOf(slide, name)?.fraction, (slide) => formatPercent(classOf(slide, name)?.fraction), { isHidden: true })),
    inTable("expectedIou", "Expected IoU", (slide) => slide.expectedIou, (slide) => digits(slide.expectedIou, 2), { isHidden: true }),
    inTable("predicted", "Predicted", (slide) => (data.columns.includes("predicted") ? null : formatAny(slide.predicted) || null), null, text),
    ...namesIn("probabilities").map((name) => inTable(`p_${name}`, `p ${name}`, (slide) => slide.probabilities?.[name], (slide) => isNumber(slide.probabilities?.[name]) ? withBar(showProbability(slide, name), slide.probabilities[name]) : "", { isHidden: isOther(name) })),
    ...namesIn("perTable").flatMap((name) => ["least", "greatest"].map((end, place) => inTable(`p_${name} ${end}`, `p ${name}, ${end}`, (slide) => spreadOf(slide, name)?.[place], (slide) => digits(spreadOf(slide, name)?.[place], 3), { isHidden: true }))),
    ...namesIn("values").map((name) => inTable(`value:${name}`, name, (slide) => slide.values?.[name])),
    ...data.columns.map((name) => inTable(name, name, (slide) => slide.columns[name], (slide) => formatField(slide.columns[name]), { isNumber: slides.every((slide) => slide.columns[name] === undefined || isNumeric(slide.columns[name])) })),
    inTable("dice", "Dice", (slide) => slide.dice, (slide) => digits(slide.dice, 3)),
    inTable("iou", "IoU", (slide) => slide.iou, (slide) => digits(slide.iou, 3), { isHidden: true }),
    inTable("seconds", "Seconds", (slide) => slide.seconds, (slide) => digits(slide.seconds, 1), { isHidden: true }),
    inTable("cpuSeconds", "CPU s", (slide) => slide.cpuSeconds, (slide) => digits(slide.cpuSeconds, 1)),
    inTable("peakBytes", "Peak MiB", (slide) => slide.peakBytes, (slide) => (isNumber(slide.peakBytes) ? (slide.peakBytes / 1048576).toFixed(0) : "")),
    inTable("damagedTiles", "Damaged tiles", (slide) => slide.damagedTiles, null, { isHidden: slides.every((slide) => !slide.damagedTiles) }),
    inTable("warnings", "Warnings", (slide) => warningsOf(slide).join(" "), (slide) => makeChips(warningsOf(slide), ""), { ...text, isWide: true }),
    inTable("error", "Error", (slide) => slide.error?.code, null, { ...text, isHidden: true }),
    inTable("missing", "Missing", (slide) => slide.missing.map((entry) => entry.what).join("; "), null, { ...text, isHidden: true, isWide: true }),
    inTable("version", "Version", (slide) => versionsOf(slide).join(", "), null, { ...text, isHidden: !isOfOtherVersions }),
    inTable("preset", "Preset", (slide) => slide.preset, null, { ...text, isHidden: true }),
    inTable("slideWidth", "Width px", (slide) => slide.slideWidth, null, { isHidden: true }),
    inTable("slideHeight", "Height px", (slide) => slide.slideHeight, null, { isHidden: true }),
    inTable("mpp", "µm/px", (slide) => slide.mpp, null, { isHidden: true }),
    inTable("slide", "File", (slide) => slide.slide, null, { ...text, isHidden: true, isWide: true }),
    inTable("mask", "Mask", (slide) => slide.mask, null, { ...text, isHidden: true, isWide: true }),
  ];
  const isKnown = (value) => value !== null && value !== undefined && value !== "";
  const hasAny = (column) => (column.isPicture ? slides.some((slide) => (column.name === "overlay" ? slide.labels : slide.picture)) : slides.some((slide) => isKnown(column.get(slide))));
  for (const column of columns) column.hasAny = hasAny(column);
  const usable = columns.filter((column) => column.hasAny || column.name === "name");
  for (const column of usable) column.isShown = !column.isHidden;

  // The table

  const state = { sort: null, isDown: false, search: "", filter: "all", code: null, rows: slides };
  const filters = {
    all: ["All slides", () => true],
    look: ["To look at: doubtful or failed", (slide) => slide.doubts.length > 0 || slide.error],
    doubtful: ["Doubtful", (slide) => slide.doubts.length > 0],
    failed: ["Failed", (slide) => slide.error],
    warned: ["With warnings", (slide) => slide.warnings.length > 0],
    lacking: ["Something missing", (slide) => slide.missing.length > 0],
    good: ["Without doubt, error and warning", (slide) => !slide.error && slide.doubts.length + slide.warnings.length === 0],
  };
  const allCodes = (slide) => [...codesOf(slide.doubts), ...codesOf(slide.warnings), ...(slide.error ? [slide.error.code] : []), ...codesOf(slide.missing)];
  const searched = new Map(slides.map((slide) => [slide, [slide.name, slide.slide, slide.mask, slide.predicted, ...allCodes(slide), ...Object.values(slide.columns)].map(formatAny).join("\n").toLowerCase()]));
  const rowOf = new Map();

  function compare(a, b) {
    if (!isKnown(a) || !isKnown(b)) return isKnown(b) - isKnown(a); // what is not known is last, whichever way
    const byValue = isNumeric(String(a)) && isNumeric(String(b)) ? Number(a) - Number(b) : 0;
    const order = byValue || String(a).localeCompare(String(b), undefined, { numeric: true });
    return state.isDown ? -order : order;
  }

  function makeRow(slide) {
    const row = make("tr", { tabindex: "-1", "data-number": slide.number });
    for (const column of usable.filter((each) => each.isShown)) {
      const shown = column.show(slide);
      const isEmpty = !column.isPicture && (shown === "" || (Array.isArray(shown) && shown.length === 0));
      const kind = column.isPicture ? "picture" : column.name === "name" ? "name" : [column.isNumber ? "number" : "", column.isWide ? "wide" : "", isEmpty ? "empty" : ""].join(" ").trim();
      const cell = make("td", { class: kind || null, "data-title": column.isPicture || column.name === "name" || column.name === "doubts" ? null : column.title });
      cell.append(...[shown].flat().filter((child) => child !== null));
      row.append(cell);
    }
    row.addEventListener("click", () => openView(slide));
    return row;
  }

  function showRows() {
    const [, keeps] = filters[state.filter];
    const words = state.search.toLowerCase();
    state.rows = slides.filter((slide) => keeps(slide) && searched.get(slide).includes(words) && (!state.code || allCodes(slide).includes(state.code)));
    if (state.sort) state.rows.sort((a, b) => compare(state.sort.get(a), state.sort.get(b)));
    const body = document.querySelector("#table tbody");
    body.replaceChildren(
      ...state.rows.map((slide) => {
        if (!rowOf.has(slide)) rowOf.set(slide, makeRow(slide));
        rowOf.get(slide).tabIndex = -1;
        return rowOf.get(slide);
      }),
    );
    if (body.firstChild) body.firstChild.tabIndex = 0;
    const frame = byId("table-frame");
    frame.classList.remove("is-wide");
    frame.classList.toggle("is-wide", byId("table").offsetWidth > frame.clientWidth + 1);
    byId("count").textContent = state.rows.length === slides.length ? count(slides.length, "slide") : `${state.rows.length} of ${count(slides.length, "slide")}`;
    for (const button of document.querySelectorAll("#doubts button")) button.setAttribute("aria-pressed", String(button.dataset.code === state.code));
  }

  function sortBy(column, isDown) {
    state.isDown = isDown === undefined ? (state.sort === column ? !state.isDown : false) : isDown;
    state.sort = column;
    for (const cell of document.querySelectorAll("#table thead th")) {
      cell.removeAttribute("aria-sort");
      if (column && cell.dataset.column === column.name) cell.setAttribute("aria-sort", state.isDown ? "descending" : "ascending");
    }
    byId("sort").value = column ? `${column.name}${state.isDown ? " down" : ""}` : "";
    showRows();
  }

  function showHead() {
    document.querySelector("#table thead tr").replaceChildren(
      ...usable
        .filter((column) => column.isShown)
        .map((column) => {
          const cell = make("th", { scope: "col", class: column.isNumber ? "number" : null, "data-column": column.name });
          cell.append(column.isPicture ? make("button", { type: "button", disabled: "" }, column.title) : make("button", { type: "button", onclick: () => sortBy(column) }, column.title));
          if (state.sort === column) cell.setAttribute("aria-sort", state.isDown ? "descending" : "ascending");
          return cell;
        }),
    );
  }

  function showTools() {
    for (const [name, [title, keeps]] of Object.entries(filters)) {
      const found = slides.filter(keeps).length;
      if (found > 0 || name === "all") byId("filter").append(make("option", { value: name }, `${title} (${found})`));
    }
    byId("filter").addEventListener("change", (event) => {
      state.filter = event.target.value;
      showRows();
    });
    byId("search").addEventListener("input", (event) => {
      state.search = event.target.value;
      showRows();
    });
    byId("sort").append(make("option", { value: "" }, "order of the results"));
    for (const column of usable.filter((each) => !each.isPicture)) {
      byId("sort").append(make("option", { value: column.name }, column.title), make("option", { value: `${column.name} down` }, `${column.title}, falling`));
    }
    byId("sort").addEventListener("change", (event) => {
      const name = event.target.value.replace(/ down$/, "");
      sortBy(usable.find((column) => column.name === name) || null, event.target.value !== name);
    });
    for (const column of usable) {
      const box = make("input", { type: "checkbox" });
      box.checked = column.isShown;
      box.addEventListener("change", () => {
        column.isShown = box.checked;
        rowOf.clear();
        showHead();
        showRows();
      });
      byId("column-list").append(make("label", {}, box, ` ${column.title}`));
    }
    byId("export").addEventListener("click", saveTable);
  }

  /** RFC 4180, with all digits; every column that has a value, of the rows that are shown. */
  function makeTable() {
    const shown = usable.filter((column) => !column.isPicture);
    const toField = (value) => (/[",\r\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);
    const toText = (value) => (isKnown(value) ? (typeof value === "object" ? JSON.stringify(value) : String(value)) : "");
    const lines = [shown.map((column) => column.name), ...state.rows.map((slide) => shown.map((column) => toText(column.get(slide))))];
    return lines.map((line) => line.map(toField).join(",") + "\r\n").join("");
  }

  function saveTable() {
    const link = make("a", { href: URL.createObjectURL(new Blob([makeTable()], { type: "text/csv" })), download: "report.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  /** What to look at first: each code with its meaning and the number of slides. */
  function showDoubts() {
    const counts = new Map();
    for (const slide of slides) {
      for (const code of new Set(allCodes(slide))) counts.set(code, (counts.get(code) || 0) + 1);
    }
    const rank = (code) => (code.startsWith("E-") ? 0 : code.startsWith("W-DOUBT") ? 1 : 2);
    const kinds = ["error", "doubt", "warning"];
    for (const [code, found] of [...counts].sort((a, b) => rank(a[0]) - rank(b[0]) || b[1] - a[1])) {
      const known = data.codes[code];
      byId("doubts").append(
        make(
          "button",
          {
            type: "button",
            class: kinds[rank(code)],
            "data-code": code,
            "aria-pressed": "false",
            onclick: () => {
              state.code = state.code === code ? null : code;
              showRows();
            },
          },
          make("b", {}, `${found} × ${code}`),
          known ? make("span", {}, `${known.meaning} ${known.remedy}`) : null,
        ),
      );
    }
  }

  function showSummary() {
    const failed = slides.filter((slide) => slide.error).length;
    const doubtful = slides.filter((slide) => slide.doubts.length > 0).length;
    const areas = slides.map((slide) => slide.tissueMm2).filter(isNumber);
    const parts = [count(slides.length, "slide")];
    if (failed) parts.push(`${failed} failed`);
    if (doubtful) parts.push(`${doubtful} doubtful`);
    if (areas.length) parts.push(`${formatArea(areas.reduce((sum, area) => sum + area, 0))} mm² tissue${areas.length < slides.length ? ` on ${areas.length} slide${areas.length === 1 ? "" : "s"} with a known resolution` : ""}`);
    if (data.runs.length) parts.push(count(data.runs.length, "training"));
    for (const batch of data.unfinished) {
      const place = data.unfinished.length > 1 && batch.folder ? `${batch.folder}: ` : "";
      parts.push(`${place}${batch.done} of ${count(batch.slides, "slide")} are done${batch.failed ? `, ${batch.failed} failed` : ""}: the batch has not ended`);
    }
    byId("summary").textContent = parts.join(" · ");
  }

  // The view of one slide

  const view = { slide: null, image: null, labels: null, overlay: null, off: new Set(), scale: 1, x: 0, y: 0, opacity: 0.7, isOn: true };
  const dialog = byId("view");
  const stage = byId("view-stage");
  const canvas = stage.querySelector("canvas");

  function drawView() {
    const slide = view.slide;
    if (!slide) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(stage.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(stage.clientHeight * ratio));
    const context = canvas.getContext("2d");
    context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
    context.imageSmoothingQuality = "high";
    if (!slide.width) return;
    context.fillStyle = "#fff";
    context.fillRect(0, 0, slide.width, slide.height);
    if (view.image) context.drawImage(view.image, 0, 0, slide.width, slide.height);
    if (view.overlay && view.isOn) {
      context.globalAlpha = view.opacity;
      context.drawImage(view.overlay, 0, 0, slide.width, slide.height);
    }
    const millimeters = isNumber(slide.mpp) ? (slide.mpp * slide.slideWidth) / slide.width / view.scale / 1000 : 0;
    byId("view-scale").hidden = !millimeters;
    if (millimeters) {
      const power = 10 ** Math.floor(Math.log10(140 * millimeters));
      const length = [5, 2, 1].map((step) => step * power).find((each) => each <= 140 * millimeters) || power;
      byId("view-scale").style.width = `${length / millimeters}px`;
      byId("view-scale").textContent = length >= 1 ? `${length} mm` : `${Number((1000 * length).toPrecision(2))} µm`;
    }
    stage.dataset.scale = String(view.scale);
  }

  function fitView() {
    const { width, height } = view.slide;
    if (!width) return;
    view.scale = Math.min(stage.clientWidth / width, stage.clientHeight / height) * 0.96;
    view.x = (stage.clientWidth - view.scale * width) / 2;
    view.y = (stage.clientHeight - view.scale * height) / 2;
    drawView();
  }

  function zoomView(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const scale = Math.min(40, Math.max(0.02, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    drawView();
  }

  function moveView(x, y) {
    view.x += x;
    view.y += y;
    drawView();
  }

  function paintView() {
    view.overlay = view.labels ? paintLabels(view.slide, view.labels, (label) => !view.off.has(label)) : null;
    drawView();
  }

  function makeFacts(pairs) {
    const list = make("dl");
    for (const [name, value] of pairs.filter((pair) => isKnown(pair[1]))) list.append(make("dt", {}, name), make("dd", { dir: "auto" }, value));
    return list;
  }

  function describeCode(entry, kind) {
    const value = isNumber(entry.value) && isNumber(entry.limit) ? ` Value ${Number(entry.value.toPrecision(3))}, limit ${Number(entry.limit.toPrecision(3))}.` : "";
    return make("p", {}, make("span", { class: `chip ${kind}` }, entry.code), entry.why ? `${entry.why}. ` : "", meaningOf(entry.code), value);
  }

  function showFacts(slide) {
    const facts = byId("view-facts");
    facts.replaceChildren();
    const makeSwatch = (color) => {
      const swatch = make("i");
      swatch.style.background = color;
      return swatch;
    };
    for (const entry of slide.channels || []) facts.append(make("div", { class: "class" }, makeSwatch(entry.color), entry.name));
    (slide.classes || []).forEach((entry, place) => {
      const box = make("input", { type: "checkbox" });
      box.checked = !view.off.has(entry.label);
      box.addEventListener("change", () => {
        box.checked ? view.off.delete(entry.label) : view.off.add(entry.label);
        paintView();
      });
      facts.append(make("label", { class: "class" }, box, makeSwatch(colorOf(slide, place)), entry.name, make("span", {}, `${formatPercent(entry.fraction)} %${isNumber(entry.mm2) ? `, ${formatArea(entry.mm2)} mm²` : ""}`)));
    });
    facts.append(
      ...(slide.error ? [describeCode(slide.error, "error")] : []),
      ...slide.doubts.map((entry) => describeCode(entry, "doubt")),
      ...slide.warnings.filter((entry) => warningsOf(slide).includes(entry.code)).map((entry) => describeCode(entry, "")),
      ...slide.missing.map((entry) => make("p", { class: "none" }, `${entry.what}${entry.why ? `: ${entry.why}` : ""} [${entry.code}]`)),
    );
    const isFact = (column) => !column.isPicture && !["name", "doubts", "warnings", "error", "missing"].includes(column.name) && !/^(mm2|fraction):/.test(column.name);
    facts.append(makeFacts(usable.filter(isFact).map((column) => [column.title, column.isNumber && column.show ? [column.show(slide)].flat()[0] : formatAny(column.get(slide))])));
    if (slide.madeBy) facts.append(make("p", {}, make("code", {}, slide.madeBy)));
    for (const made of slide.made) facts.append(make("p", {}, describeMaking(data.provenance[made.by])), makeFacts(Object.entries(made.inputs || {}).map(([name, hash]) => [`Input: ${name}`, make("code", {}, formatAny(hash))])));
  }

  async function openView(slide) {
    Object.assign(view, { slide, image: null, labels: null, overlay: null });
    stage.dataset.state = "loading";
    byId("view-title").replaceChildren(make("bdi", {}, slide.name));
    showFacts(slide);
    if (!dialog.open) dialog.showModal();
    stage.focus();
    fitView();
    const [image, labels] = await Promise.all([slide.picture ? loadImage(slide.picture).catch(() => null) : null, slide.labels ? loadLabels(slide).catch(() => null) : null]);
    if (view.slide !== slide) return; // another one was opened meanwhile
    Object.assign(view, { image, labels });
    paintView();
    stage.dataset.state = "drawn";
  }

  function stepView(step) {
    const rows = state.rows.length ? state.rows : slides;
    const place = rows.indexOf(view.slide);
    openView(rows[(place + step + rows.length) % rows.length]);
  }

  function closeView() {
    dialog.close();
  }

  function showView() {
    byId("view-in").addEventListener("click", () => zoomView(1.4));
    byId("view-out").addEventListener("click", () => zoomView(1 / 1.4));
    byId("view-fit").addEventListener("click", fitView);
    byId("view-previous").addEventListener("click", () => stepView(-1));
    byId("view-next").addEventListener("click", () => stepView(1));
    byId("view-close").addEventListener("click", closeView);
    byId("view-opacity").addEventListener("input", (event) => {
      view.opacity = event.target.value / 100;
      view.isOn = true;
      drawView();
    });
    dialog.addEventListener("close", () => {
      const row = rowOf.get(view.slide);
      if (row && row.isConnected) focusRow(row);
    });
    new ResizeObserver(() => dialog.open && fitView()).observe(stage);
    stage.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const box = stage.getBoundingClientRect();
        zoomView(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
      },
      { passive: false },
    );
    const pointers = new Map();
    const spread = () => {
      const [a, b] = [...pointers.values()];
      return { size: Math.hypot(a[0] - b[0], a[1] - b[1]), x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 };
    };
    stage.addEventListener("pointerdown", (event) => {
      stage.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    stage.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const pinch = pointers.size === 2 ? spread() : null;
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      if (pinch) {
        const box = stage.getBoundingClientRect();
        const now = spread();
        zoomView(now.size / Math.max(1, pinch.size), now.x - box.left, now.y - box.top);
        moveView(now.x - pinch.x, now.y - pinch.y);
      } else moveView(event.clientX - before[0], event.clientY - before[1]);
    });
    for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, (event) => pointers.delete(event.pointerId));
    dialog.addEventListener("keydown", (event) => {
      const step = 60;
      const actions = { "+": () => zoomView(1.4), "=": () => zoomView(1.4), "-": () => zoomView(1 / 1.4), 0: fitView, n: () => stepView(1), p: () => stepView(-1) };
      actions.o = () => {
        view.isOn = !view.isOn;
        drawView();
      };
      if (event.target === stage) {
        Object.assign(actions, { ArrowLeft: () => moveView(step, 0), ArrowRight: () => moveView(-step, 0), ArrowUp: () => moveView(0, step), ArrowDown: () => moveView(0, -step) });
      }
      if (actions[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        actions[event.key]();
      }
    });
  }

  function focusRow(row) {
    for (const each of document.querySelectorAll('#table tbody tr[tabindex="0"]')) each.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }

  function showKeys() {
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !dialog.open && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
        event.preventDefault();
        byId("search").focus();
      }
    });
    document.querySelector("#table tbody").addEventListener("keydown", (event) => {
      const row = event.target.closest("tr");
      const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling, Home: row.parentElement.firstElementChild, End: row.parentElement.lastElementChild }[event.key];
      if (to) {
        event.preventDefault();
        focusRow(to);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        openView(slides[row.dataset.number - 1]);
      }
    });
  }

  // Curves and figures

  const lineColors = ["#1f5f8b", "#c2570c", "#2e7d4f", "#7a3e9d", "#8a6d00", "#a01f4c"];

  function makeSVG(tag, attributes, content) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (content !== undefined) element.textContent = content;
    return element;
  }

  function chooseTicks(low, high) {
    const step = [1, 2, 5, 10].map((each) => each * 10 ** Math.floor(Math.log10((high - low) / 4 || 1))).find((each) => (high - low) / each <= 5);
    const ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step) ticks.push(Number(tick.toPrecision(10)));
    return ticks;
  }

  const formatTick = (tick) => (tick !== 0 && Math.abs(tick) < 0.001 ? tick.toExponential() : String(tick));

  /** \param lines [{name, points [[x, y]], isDotted}] \param options title, x, y (names of axes), range [[x0, x1], [y0, y1]], hasDiagonal */
  function plot(lines, options) {
    const [width, height, left, right, top, bottom] = [380, 250, 48, 12, 10, 36];
    const all = lines.flatMap((line) => line.points);
    const find = (axis) => {
      const values = all.map((point) => point[axis]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return low < high ? [low, high] : low > 0 ? [0, 2 * low] : [low - 0.5, low + 0.5];
    };
    const [[x0, x1], [y0, y1]] = options.range || [find(0), find(1)];
    const toX = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
    const toY = (y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - top - bottom);
    const svg = makeSVG("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": options.title });
    for (const x of chooseTicks(x0, x1).filter((tick) => options.x !== "epoch" || Number.isInteger(tick))) svg.append(makeSVG("text", { x: toX(x), y: height - bottom + 14, "text-anchor": "middle" }, String(x)));
    for (const y of chooseTicks(y0, y1)) {
      svg.append(makeSVG("line", { x1: left, x2: width - right, y1: toY(y), y2: toY(y), stroke: "#e3e7ea" }), makeSVG("text", { x: left - 6, y: toY(y) + 4, "text-anchor": "end" }, formatTick(y)));
    }
    svg.append(makeSVG("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, fill: "none", stroke: "#8a949d" }));
    svg.append(makeSVG("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, options.x));
    if (options.y) svg.append(makeSVG("text", { transform: `translate(11 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, options.y));
    if (options.hasDiagonal) svg.append(makeSVG("line", { x1: toX(0), y1: toY(0), x2: toX(1), y2: toY(1), stroke: "#aab3bb", "stroke-dasharray": "4 4" }));
    lines.forEach((line, place) => {
      const color = lineColors[place % lineColors.length];
      const points = line.points.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`);
      svg.append(makeSVG("polyline", { points: points.join(" "), fill: "none", stroke: color, "stroke-width": 2, "stroke-dasharray": line.isDotted ? "5 4" : "none" }));
      if (line.points.length < 30) for (const point of points) svg.append(makeSVG("circle", { cx: point.split(",")[0], cy: point.split(",")[1], r: 2.5, fill: color }));
    });
    const names = lines.map((line, place) => {
      const swatch = make("span", { class: "chip" }, line.name);
      swatch.style.borderLeft = `10px solid ${lineColors[place % lineColors.length]}`;
      return swatch;
    });
    return make("figure", {}, make("figcaption", {}, options.title), svg, make("div", {}, ...names));
  }

  function showHistory(history, name) {
    const find = (column) => history.columns.indexOf(column);
    const lineOf = (column) => ({ name: column.replace(/_/g, " "), points: history.rows.filter((row) => isNumber(row[find(column)])).map((row) => [row[0], row[find(column)]]) });
    const groups = [["Loss", history.columns.filter((column) => /loss/.test(column))], ["Score", history.columns.slice(1).filter((column) => !/loss|learning_rate/.test(column))], ["Learning rate", history.columns.filter((column) => column === "learning_rate")]];
    return groups.map(([title, names]) => [title, names.map(lineOf).filter((line) => line.points.length > 0)]).filter(([, lines]) => lines.length > 0).map(([title, lines]) => plot(lines, { title: name ? `${title}, ${name}` : title, x: "epoch" }));
  }

  function describeModel(run) {
    const facts = makeFacts([["Network", run.model?.network], ["Model", [run.model?.file, run.model?.identity].filter(isKnown).join(", ")], ["Resolution", run.model?.micronsPerPixel ? `${formatAny(Number(run.model.micronsPerPixel))} µm/px` : null]]);
    facts.className = "facts";
    return facts;
  }

  function showRuns() {
    byId("trainings").hidden = data.runs.length === 0;
    for (const run of data.runs) {
      const box = make("div", { class: "run" }, make("h3", {}, make("bdi", {}, run.folder)));
      const parts = run.folds || [run];
      const plots = make("div", { class: "plots" });
      for (const part of parts) {
        const name = run.folds ? part.folder.split("/").pop() : "";
        if (part.history && part.history.rows.length) plots.append(...showHistory(part.history, name));
      }
      box.append(describeModel(run), plots);
      for (const [place, part] of parts.entries()) {
        const title = run.folds ? `Fold ${place + 1}: model and settings` : "Settings";
        if (part.settings) box.append(make("details", {}, make("summary", {}, title), run.folds ? describeModel(part) : null, make("code", {}, JSON.stringify(part.settings))));
      }
      byId("trainings").append(box);
    }
  }

  function makeGrid(kind, head, rows) {
    return make("div", { class: "scroll", tabindex: "0" }, make("table", { class: kind }, make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)))), make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))))));
  }

  function showFigures() {
    byId("figures").hidden = data.figures.length === 0;
    for (const figures of data.figures) {
      const box = make("div", { class: "run" }, make("h3", {}, make("bdi", {}, formatAny(figures.predictions))));
      const interval = (lower, upper) => (isNumber(lower) ? ` (95 % interval ${digits(lower, 3)} to ${digits(upper, 3)})` : "");
      const facts = makeFacts([
        ["Cases", formatAny(figures.cases)],
        ["Positive class", formatAny(figures.positive)],
        ["ROC-AUC", isNumber(figures.rocAUC) ? digits(figures.rocAUC, 4) + interval(figures.rocAUCLower, figures.rocAUCUpper) : ""],
        ["PR-AUC", digits(figures.prAUC, 4)],
        ["Balanced accuracy", digits(figures.balancedAccuracy, 4)],
        ["Calibration error", digits(figures.expectedCalibrationError, 4)],
        ["C-index", isNumber(figures.cIndex) ? digits(figures.cIndex, 4) + interval(figures.cIndexLower, figures.cIndexUpper) : ""],
        ["Log-rank test", isNumber(figures.logRankP) ? (figures.logRankP < 0.0001 ? "p below 0.0001" : `p ${digits(figures.logRankP, 4)}`) : ""],
        ["Objective", formatAny(figures.objective)],
      ]);
      facts.className = "facts";
      const plots = make("div", { class: "plots" });
      const perClass = figures.perClass || [];
      const curves = perClass.filter((entry) => entry.roc?.length && (!figures.positive || entry.class === figures.positive));
      const unit = [[0, 1], [0, 1]];
      if (curves.length) plots.append(plot(curves.map((entry) => ({ name: `${entry.class}: ${digits(entry.rocAUC, 3)}`, points: entry.roc })), { title: "ROC", x: "false positive rate", y: "true positive rate", range: unit, hasDiagonal: true }));
      const bins = (figures.reliability || []).filter((bin) => bin.cases > 0);
      if (bins.length) plots.append(plot([{ name: "share that came true", points: bins.map((bin) => [bin.meanProbability, bin.share]) }], { title: "Calibration", x: "mean probability", y: "share that came true", range: unit, hasDiagonal: true }));
      if (figures.confusion && figures.classes) plots.append(make("figure", {}, make("figcaption", {}, "Confusion: true class by row, predicted by column"), makeGrid("confusion", ["true class", ...figures.classes], figures.confusion.map((row, place) => [make("b", {}, figures.classes[place]), ...row.map(String)]))));
      box.append(facts, plots);
      if (perClass.length) {
        box.append(makeGrid("list", ["Class", "Cases", "Sensitivity", "Specificity", "Precision", "F1", "ROC-AUC", "95 % interval"], perClass.map((entry) => [entry.class, formatAny(entry.cases), digits(entry.sensitivity, 3), digits(entry.specificity, 3), digits(entry.precision, 3), digits(entry.f1, 3), digits(entry.rocAUC, 3), isNumber(entry.rocAUCLower) ? `${digits(entry.rocAUCLower, 3)} to ${digits(entry.rocAUCUpper, 3)}` : ""])));
      }
      if (figures.perFold) {
        const names = Object.keys(figures.perFold[0] || {});
        box.append(makeGrid("list", names, figures.perFold.map((fold) => names.map((name) => formatAny(fold[name])))));
      }
      byId("figures").append(box);
    }
    showExtremes();
  }

  function showExtremes() {
    const judged = [
      ["probability of the true class", (slide) => slide.probabilities?.[slide.columns.label]],
      ["Dice", (slide) => slide.dice],
    ];
    for (const [name, get] of judged) {
      const known = slides.filter((slide) => isNumber(get(slide))).sort((a, b) => get(a) - get(b));
      if (known.length < 2) continue;
      const most = Math.min(5, Math.floor(known.length / 2));
      const list = (title, some) => make("figure", {}, make("figcaption", {}, title), makeGrid("list", ["Slide", name], some.map((slide) => [make("button", { type: "button", onclick: () => openView(slide) }, make("bdi", {}, slide.name)), digits(get(slide), 3)])));
      byId("figures").hidden = false;
      byId("figures").append(make("div", { class: "plots" }, list(`Worst slides by ${name}`, known.slice(0, most)), list(`Best slides by ${name}`, known.slice(-most).reverse())));
    }
  }

  /** Version, command and options as one line. */
  function describeMaking(made) {
    const words = Object.entries(made.options || {}).flatMap(([name, value]) => [value].flat().map((each) => (each === "yes" ? `--${name}` : `--${name} ${formatAny(each)}`)));
    return make("code", {}, [`gigapixel ${formatAny(made.version)}:`, formatAny(made.command), ...words].join(" "));
  }

  function showProvenance() {
    const { system, architecture, cores } = data.machine;
    const facts = makeFacts([["Report", `gigapixel ${data.version}, written on ${system}, ${architecture}, ${count(cores, "core")}`], ["Command", data.command ? make("code", {}, data.command) : "left out (anonymous)"]]);
    facts.className = "facts";
    byId("provenance").append(facts);
    if (data.provenance.length) byId("provenance").append(makeGrid("list", ["Version, command and options of results", "Slides"], data.provenance.map((made) => [describeMaking(made), String(made.slides)])));
    if (data.making.length) byId("provenance").append(makeGrid("list", ["Command and options that masks state", "Masks"], data.making.map((entry) => [make("code", {}, entry.madeBy), String(entry.masks)])));
  }

  function showMissing() {
    const section = byId("missing");
    const absent = columns.filter((column) => !column.hasAny && ["slide-picture", "overlay", "tissueMm2", "penFraction", "artifactFraction", "dice", "cpuSeconds", "peakBytes"].includes(column.name)).map((column) => column.title);
    const lines = [];
    if (slides.length && absent.length) lines.push(`No result holds: ${absent.join(", ")}.`);
    if (namesIn("probabilities").length && !hasSpread) lines.push("Probabilities stand without an interval: results hold one number for each class and slide.");
    const unknown = slides.filter((slide) => slide.made.length === 0).length;
    if (unknown) lines.push(`${count(unknown, "slide")}: no manifest.json states the version and the options that made the result.`);
    if (slides.length) lines.push("Results do not state the machine that made them.");
    for (const entry of data.missing) lines.push(`${entry.file ? `${entry.file}: ` : ""}${entry.what}${entry.why ? `: ${entry.why}` : ""} [${entry.code}]`);
    for (const run of data.runs) for (const part of run.folds || [run]) for (const entry of part.missing) lines.push(`${part.folder}: ${entry.what} [${entry.code}]`);
    const groups = new Map();
    for (const slide of slides) for (const entry of slide.missing) groups.set(`${entry.what} [${entry.code}]`, (groups.get(`${entry.what} [${entry.code}]`) || 0) + 1);
    for (const [what, found] of groups) lines.push(`${count(found, "slide")}: ${what}`);
    section.hidden = lines.length === 0;
    section.append(make("ul", {}, ...lines.map((line) => make("li", { dir: "auto" }, line))));
  }

  showSummary();
  byId("slides").hidden = slides.length === 0;
  if (slides.length) {
    showDoubts();
    showTools();
    showHead();
    showRows();
    showView();
    showKeys();
  }
  showRuns();
  showFigures();
  showProvenance();
  showMissing();
  for (const section of document.querySelectorAll("main > section:not([hidden])")) {
    byId("sections").append(make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
  }
})();
