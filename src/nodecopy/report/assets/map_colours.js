// What the colours of the map mean: classes, confidence, held-out labels or a column of numbers.

const OTHER = COLOURS - 1; // grey, for classes without a colour
const SHADES = 24; // of a colour, so that few are computed

// The commonest classes whose colours differ; with more classes than colours, the others are grey.
function colouredClasses(predicted) {
  if (classNames.length <= COLOURS) return new Set(classNames.keys());
  const counts = classCounts(predicted);
  const order = [...counts.keys()].filter((k) => k >= 0).sort((a, b) => counts.get(b) - counts.get(a) || a - b);
  const taken = new Map();
  for (const k of order) if (colourOf(k) !== OTHER && !taken.has(colourOf(k))) taken.set(colourOf(k), k);
  return new Set(taken.values());
}

function classCounts(predicted) {
  const counts = new Map();
  for (const k of predicted) counts.set(k, (counts.get(k) ?? 0) + 1);
  return counts;
}

// Shades between two colours, each computed once.
function scale(from, to) {
  const shades = Array.from({ length: SHADES + 1 }, (_, i) => mixed(from, to, i / SHADES));
  return (share) => shades[Math.round(SHADES * Math.max(0, Math.min(1, share)))];
}

// A mode is a title, paint() that returns a function from a node to its colours, and key(): elements.
function classMode(source, map) {
  return {
    title: kind ? "Predicted number" : isTagged() ? "Clearest predicted tag" : "Predicted class",
    paint: () => {
      const own = map.classes.size === 1 ? map.classes : colouredClasses(source.predicted);
      const colour = (k) => (own.has(k) ? colourOf(k) : OTHER);
      const ground = ink("--ground");
      const fills = Array.from({ length: COLOURS }, (_, c) => scale(ground, ink(`--fill-${c}`)));
      const outlines = Array.from({ length: COLOURS }, (_, c) => ink(`--edge-${c}`));
      return (i) => {
        const c = colour(source.predicted[i]);
        return { color: fills[c](fullness(source.confidence[i])), outline: outlines[c] };
      };
    },
    key: () => classKey(source, map),
  };
}

function classKey(source, map) {
  const [counts, own] = [classCounts(source.predicted), colouredClasses(source.predicted)];
  const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b);
  const others = order.filter((k) => !own.has(k));
  const entry = (label, members, count) => {
    const chosen = members.length && members.every((k) => map.classes.has(k)) && map.classes.size === members.length;
    const button = make(
      "button",
      { type: "button", "aria-pressed": String(Boolean(chosen)) },
      label,
      make("small", {}, whole(count)),
    );
    button.addEventListener("click", () => map.showClasses(chosen ? [] : members));
    return make("li", {}, button);
  };
  const one = (k) => entry(className(k), [k], counts.get(k));
  const entries = order.filter((k) => own.has(k)).map(one);
  if (others.length > 1) {
    const name = make("span", { class: "name" }, classMark(OTHER), `${whole(others.length)} others, in grey`);
    entries.push(entry(name, others, others.reduce((sum, k) => sum + counts.get(k), 0)));
  }
  entries.push(...others.map(one));
  const pale = `Pale nodes are unsure. Press a ${isTagged() ? "tag" : "class"} to see it alone.`;
  const words = kind ? "From dark, low, to bright, high. Press a range to see it alone." : pale;
  return [make("ul", { class: "map-classes" }, ...entries), make("p", { class: "quiet" }, words)];
}

const chance = () => 1 / Math.max(2, classNames.length);

function confidenceMode(source) {
  return {
    title: "Confidence",
    paint: () => {
      const shade = scale(ink("--fill-1"), ink("--line"));
      const outline = scale(ink("--edge-1"), ink("--link"));
      const share = (i) => (source.confidence[i] - chance()) / (1 - chance());
      return (i) => ({ color: shade(share(i)), outline: outline(share(i)) });
    },
    key: () => [ramp("--fill-1", "--line", [percent(chance()), "unsure to sure", percent(1)])],
  };
}

// Held-out labels: predicted (1), not (2), and nodes without one (0).
function heldOutMode(source) {
  const looks = [
    ["--line", "--line", MARKS.none, "not held out"],
    ["--fill-2", "--edge-2", MARKS.known, kind ? "held out, and within its interval" : "held out, and predicted"],
    ["--fill-1", "--edge-1", MARKS.suspect, kind ? "held out, and outside its interval" : isTagged() ? "held out, other tags predicted" : "held out, another class predicted"],
  ];
  return {
    title: "Mistakes of held-out labels",
    paint: () => {
      const inks = looks.map(([fill, edge, mark]) => ({ color: ink(fill), outline: ink(edge), mark }));
      return (i) => inks[source.heldOut[i]];
    },
    key: () => {
      const count = (outcome) => source.heldOut.reduce((sum, one) => sum + (one === outcome), 0);
      const item = ([fill, , mark, words], outcome) =>
        make("li", {}, markOnKey(mark, fill), `${words} (${whole(count(outcome))})`);
      return [make("ul", { class: "map-marks" }, ...looks.map(item).reverse())];
    },
  };
}

// A column of a table: of numbers by rank, so that a few large ones do not leave the others alike;
// of a category the commonest values have a colour.
const MISSING = 255;

function columnMode({ name, codes, ends, values }) {
  const title = shortened(name, 40);
  if (values) return valueMode(title, codes, values);
  return {
    title,
    paint: () => {
      const [shade, outline] = [scale(ink("--band"), ink("--fill-0")), scale(ink("--link"), ink("--edge-0"))];
      const missing = { color: ink("--ground"), outline: ink("--line") };
      const looks = Array.from({ length: MISSING }, (_, code) => ({
        color: shade(code / (MISSING - 1)),
        outline: outline(code / (MISSING - 1)),
      }));
      return (i) => looks[codes[i]] ?? missing;
    },
    key: () => {
      const [low, middle, high] = ends;
      return ends.length ? [ramp("--band", "--fill-0", [low, `median ${middle}`, high])] : [];
    },
  };
}

function valueMode(title, codes, values) {
  const colour = (code) => (code < values.length ? code : OTHER);
  return {
    title,
    paint: () => {
      const look = (fill, edge) => ({ color: ink(fill), outline: ink(edge) });
      const looks = Array.from({ length: COLOURS }, (_, c) => look(`--fill-${c}`, `--edge-${c}`));
      const missing = look("--ground", "--line");
      return (i) => (codes[i] === MISSING ? missing : looks[colour(codes[i])]);
    },
    key: () => {
      const counts = classCounts(codes);
      const rows = [...counts.keys()].sort((a, b) => a - b).map((code) => {
        const text = code === MISSING ? "missing" : values[code] ?? "other values";
        const fill = code === MISSING ? "--ground" : `--fill-${colour(code)}`;
        const words = make("bdi", {}, `${shortened(text, 40)} (${whole(counts.get(code))})`);
        return make("li", {}, markOnKey(MARKS.none, fill), words);
      });
      return [make("ul", { class: "map-marks" }, ...rows)];
    },
  };
}

// Numbers that the page holds, as a column with the ranks of its values.
function ranked(name, numbers, format) {
  const sorted = Float64Array.from(numbers).sort();
  const share = new Map();
  sorted.forEach((value, at) => share.set(value, [share.get(value)?.[0] ?? at, at]));
  const code = (value) => {
    const [first, last] = share.get(value);
    return Math.round((127 * (first + last)) / Math.max(1, sorted.length - 1));
  };
  const ends = [0, sorted.length >> 1, sorted.length - 1].map((at) => format(sorted[at]));
  return { name, codes: Uint8Array.from(numbers, code), ends };
}

function ramp(from, to, words) {
  const style = `background: linear-gradient(to right, var(${from}), var(${to}))`;
  const ends = make("div", { class: "map-ends" }, ...words.map((text) => make("span", {}, text)));
  return make("div", { class: "map-ramp" }, make("i", { style, "aria-hidden": "true" }), ends);
}

// The marks of the map, drawn for its key; a box of 16 by 16.
const MARK_PATHS = {
  [MARKS.known]: "M8 1a7 7 0 1 0 0 14a7 7 0 1 0 0-14z",
  [MARKS.suspect]: "M8 1a7 7 0 1 0 0 14a7 7 0 1 0 0-14z M3 3l10 10 M13 3l-10 10",
  [MARKS.next]: "M8 0l8 8l-8 8l-8-8z",
  [MARKS.novel]: "M1.5 1.5h13v13h-13z",
};

function markOnKey(mark, fill = "--band") {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "-1 -1 18 18");
  svg.setAttribute("class", "mark");
  svg.setAttribute("aria-hidden", "true");
  const part = (d, look) => {
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", d);
    Object.assign(path.style, look);
    svg.append(path);
  };
  part("M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8z", { fill: `var(${fill})`, stroke: "var(--link)" });
  const stroke = mark === MARKS.suspect ? "var(--lower)" : "var(--text)";
  if (mark) part(MARK_PATHS[mark], { fill: "none", stroke, strokeWidth: "1.6" });
  return svg;
}
