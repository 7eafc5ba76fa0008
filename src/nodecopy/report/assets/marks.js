// How a class looks: a colour and a shape, so that neither is needed alone.

const COLOURS = 8;
// What another kind of target than classes shows in their place, see number_page.js; a range of like
// numbers is then a class: it has a colour and a name.
let kind = null;
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

// Parts of a doubt that are smaller than this share of it are not shown.
const LEAST_PART = 0.01;
// Entropy as a share of what it is where all classes are equally probable.
const doubt = (entropy) => entropy / mostEntropy();

// With more classes than colours, those with most predicted nodes have different ones.
const lookOf = (k) => (classNames.length > COLOURS ? (classRanks[k] ?? k) : k);
// Other node types, which have no class, are grey squares, diamonds and so on.
const colourOf = (k) => (k < 0 ? COLOURS - 1 : lookOf(k) % COLOURS);
const shapeOf = (k) => SHAPES[(k < 0 ? 1 - 2 * (k + 1) : lookOf(k)) % SHAPES.length];
const mostEntropy = () =>
  isTagged() ? (classNames.length - 1) * Math.log(2) : Math.log(Math.max(classNames.length, 2));
const isTagged = () => typeof tagged !== "undefined" && tagged;
const nameOf = (k) => (k < 0 ? otherTypes[-k - 1] : classNames[k]);

const KEPT_AT_END = 8;

// From chance, which is hollow, to certainty, which is full.
function fullness(confidence) {
  const chance = isTagged() ? 0 : 1 / classNames.length;
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

// A name on one line. If it is too long, the style sheet cuts it before its last signs: long
// ids often begin alike. The title has it in full.
function oneLine(text) {
  const all = signs(text);
  const end = all.length > 2 * KEPT_AT_END ? all.splice(-KEPT_AT_END).join("") : "";
  const line = make("bdi", { class: "line" }, make("span", {}, all.join("")), end);
  if (end) line.title = shown(text);
  return line;
}

// The same for a drawing, where there is little room.
function abridged(text) {
  const all = signs(text);
  const end = all.slice(-KEPT_AT_END).join("");
  return all.length > KEPT_AT_END + 2 ? `…${end}` : all.join("");
}

// The name of a node, or its id where it has none; names differ where they begin, ids at their end.
const drawnName = (i) =>
  nodes.names[i] === nodes.ids[i] ? abridged(nodes.ids[i]) : shortened(nodes.names[i], 14);
const idText = (i) => oneLine(nodes.names[i]);

// Class names are shown whole, or cut at the end by the style sheet where a row has one height.
function className(k) {
  const name = shown(nameOf(k));
  const words = name.split(/(?<=[_/])/).flatMap((word) => [word, make("wbr", {})]);
  const text = make("bdi", { class: "line" }, make("span", {}, ...words));
  return make("span", { class: "name", title: name }, classMark(k), text);
}

// What is predicted for a node, and known of it: its class, its number or its tags.
const predictedCell = (i) => {
  if (isTagged() && nodes.predicted[i] >= 0) return tagList(setOf(i));
  return kind ? kind.predicted(i) : className(nodes.predicted[i]);
};
const knownName = (i) => {
  if (isTagged()) return tagList(setOf(i, nodes.knownTags));
  return kind ? kind.known(i) : className(nodes.known[i]);
};
const predictedWords = (i) => {
  if (isTagged()) return tagNames(setOf(i));
  return kind ? kind.words(i) : `${shortened(nameOf(nodes.predicted[i]), 80)}${sureness(i)}`;
};
const tagNames = (some) => shortened(some.map(nameOf).join(", ") || classNames.at(-1), 80);

function tagList(some) {
  if (some.length === 0) return className(classNames.length - 1);
  const title = some.map((k) => shown(nameOf(k))).join(", ");
  return make("span", { class: "tags", title }, ...some.map(className));
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
