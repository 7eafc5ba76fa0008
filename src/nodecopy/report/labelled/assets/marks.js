// How a class looks: a colour and a shape, so that neither is needed alone.

const COLOURS = 8;
// In a box of 16 by 16. Seven shapes and eight colours: 56 classes before a pair returns.
const SHAPES = [
  "M8 1a7 7 0 1 0 0 14a7 7 0 1 0 0-14z",
  "M2 2h12v12h-12z",
  "M8 1l7.5 13h-15z",
  "M8 0l8 8l-8 8l-8-8z",
  "M8 15l-7.5-13h15z",
  "M5.5 1h5v4.5h4.5v5h-4.5v4.5h-5v-4.5h-4.5v-5h4.5z",
  "M8 0.5l2.2 5l5.3 0.5l-4 3.6l1.2 5.4l-4.7-2.8l-4.7 2.8l1.2-5.4l-4-3.6l5.3-0.5z",
];

// Entropy as a share of what it is where all classes are equally probable.
const doubt = (entropy) => entropy / Math.log(Math.max(classNames.length, 2));

const colourOf = (k) => k % COLOURS;
const shapeOf = (k) => SHAPES[k % SHAPES.length];

// From chance, which is hollow, to certainty, which is full.
function fullness(confidence) {
  const chance = 1 / classNames.length;
  return 0.08 + 0.92 * Math.max(0, (confidence - chance) / (1 - chance));
}

function classMark(k) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "-1 -1 18 18");
  svg.setAttribute("class", "mark");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", shapeOf(k));
  path.style.fill = `var(--fill-${colourOf(k)})`;
  path.style.stroke = `var(--edge-${colourOf(k)})`;
  path.style.strokeWidth = "1.5";
  svg.append(path);
  return svg;
}

// Signs of a long name that are always shown, and how many of them stand before the telling one.
const KEPT = 8;
const BEFORE = 3;

// For each name, how many signs from its end it first differs from all others.
function tellingPlaces(names) {
  const turned = names.map((name, i) => [Array.from(shown(name)).reverse().join(""), i]);
  turned.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const places = new Uint32Array(names.length).fill(1);
  for (let at = 1; at < turned.length; at++) {
    const [[a, i], [b, j]] = [turned[at - 1], turned[at]];
    let same = 0;
    while (same < a.length && a[same] === b[same]) same++;
    places[i] = Math.max(places[i], same + 1);
    places[j] = Math.max(places[j], same + 1);
  }
  return places;
}

// Computed once for each list of names.
const toldApart = new WeakMap();

function tellingIn(names) {
  const held = toldApart.get(names);
  if (held?.length === names.length) return held;
  toldApart.set(names, tellingPlaces(names));
  return toldApart.get(names);
}

// A name on one line. Where there is no room it loses parts, never the signs in which it differs
// from others: names often begin alike, and often end alike. The title has it in full.
function oneLine(text, telling = KEPT) {
  const signs = Array.from(shown(text));
  const parts = signs.length > 2 * KEPT && telling ? cut(signs, telling) : [signs.join("")];
  const [first, kept, rest] = parts;
  const line = make("bdi", { class: "line" }, make("span", {}, first));
  if (kept) line.append(kept);
  if (rest) line.append(make("span", { class: "rest" }, rest));
  if (signs.length > 12) line.title = signs.join("");
  return line;
}

function cut(signs, telling) {
  const at = telling <= KEPT ? signs.length - KEPT : signs.length - telling - BEFORE;
  const start = at > BEFORE ? at : 0; // dots in the place of three signs would save nothing
  const end = Math.max(at, 0) + KEPT;
  return [signs.slice(0, start), signs.slice(start, end), signs.slice(end)].map((p) => p.join(""));
}

// The same for a drawing, where there is little room: just the signs in which it differs.
function abridged(text, telling) {
  const signs = Array.from(shown(text));
  if (signs.length <= KEPT + 2) return signs.join("");
  const [first, kept, rest] = cut(signs, telling);
  return `${first && "…"}${kept}${rest && "…"}`;
}

const idText = (i) => oneLine(nodes.ids[i], tellingIn(nodes.ids)[i]);

// The beginning of a class is what one looks for, if it is its own.
function className(k) {
  const start = classNames[k].slice(0, KEPT);
  const own = classNames.every((name, l) => l === k || !name.startsWith(start));
  const line = oneLine(classNames[k], own ? 0 : tellingIn(classNames)[k]);
  return make("span", { class: "name" }, classMark(k), line);
}

function nodeButton(i) {
  const button = make("button", { type: "button", class: "plain" }, idText(i));
  button.addEventListener("click", () => openNode(i));
  return button;
}

// The value a CSS variable has now, in light or in dark.
function ink(name) {
  const probe = make("i", { style: `color: var(${name})` });
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
