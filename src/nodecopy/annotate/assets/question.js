// The node in question: what is known of it, and what can be answered.

const ACTIONS = [
  ["n", "New class", () => openNaming()],
  ["s", "Skip", () => putAside("skip")],
  ["c", "Cannot tell", () => putAside("cannot tell")],
  ["u", "Undo", () => undo()],
  ["y", "Confirm", () => confirmLabel()],
  ["/", "Search", () => openSearch()],
];
const KEYS = "123456789abdefghijklmopqrtvwxz"; // of the classes: letters that no action has
const current = { id: null, why: "", view: null };
const CHOICES_AT_FIRST = 12; // where there are more classes than keys
const LONG = 30; // letters of a value from which it gets a separate line
let drawingLater = 0;

// The graph around the node, under the names that the drawing of the report knows.
let classNames = [];
const classRanks = []; // none: a class keeps its colour while predictions change
let nodes = { ids: [], names: [], known: [], predicted: [], confidence: [], degree: [] };
let links = { offsets: [0], targets: [], relations: null };
let relationNames = [];
let otherTypes = []; // of nodes without a class; their numbers are -1, -2, …
const suspectLinks = new Set();
const opened = { hops: 1 };
const evidenceOf = (i) => (i === 0 ? (current.view?.why ?? null) : null);
const neighboursOf = (i) => links.targets.slice(links.offsets[i], links.offsets[i + 1]);
const linkKey = (u, v) => Math.min(u, v) * nodes.ids.length + Math.max(u, v);
const openNode = (i) => ask(nodes.ids[i], "You chose this node.");

// Nodes without a prediction get the first class beyond those there are that is drawn in grey.
const GREY = COLOURS - 1;
const NOTHING = "no prediction yet";

function takeClasses(names) {
  const nothing = names.length + ((GREY - (names.length % COLOURS) + COLOURS) % COLOURS);
  classNames = Array.from({ length: nothing + 1 }, (_, k) => names[k] ?? NOTHING);
}

// A class that another page added a moment ago is not known here yet: -1, as without a label.
function seenClasses(block) {
  const nothing = classNames.length - 1;
  const named = (k) => (k < state.classes.length ? k : -1);
  const known = block.known.map(named);
  const seen = (k, i) => (k < -1 ? k + 1 : named(k) >= 0 ? k : known[i] >= 0 ? known[i] : nothing);
  return { known, predicted: block.predicted.map(seen) };
}

function takeAround(around) {
  otherTypes = around.otherTypes;
  nodes = { ...around, ...seenClasses(around) };
  links = { offsets: around.offsets, targets: around.targets, relations: around.relations };
  relationNames = around.relationNames;
}

function showQuestion() {
  const { id, why, view } = current;
  byId("why").textContent = why;
  byId("node").firstElementChild.textContent = id === null ? "" : shown(view.name);
  document.title = id === null ? "Label nodes" : `Label ${shortened(view.name, 60)}`;
  byId("known").replaceChildren(...knownWords(view));
  showChoices(view);
  for (const button of byId("actions").children) button.disabled = !possible(button.dataset.key);
  byId("columns").replaceChildren(...columnParts(view));
  byId("evidence").replaceChildren(...(view?.why ? evidenceParts(view.why, view.name) : []));
  // The answer needs only what is above; the drawing may come a moment later.
  clearTimeout(drawingLater);
  drawingLater = setTimeout(showNeighbours, 0, view);
  selectOnMap();
}

function possible(key) {
  if (key === "u" || key === "/") return true;
  if (key === "y") return current.view?.label != null;
  return current.view !== null;
}

function knownWords(view) {
  if (view === null) return [];
  if (view.label === null) return ["It has no label."];
  if (state.target === "number") return [`Its number is ${shown(view.label)}. Press y to confirm it.`];
  const k = state.classes.indexOf(view.label);
  return ["Its label is ", className(k), ". Press the key of another class to change it, y to confirm it."];
}

// In one order for all nodes as long as each class has a key; of more, the most probable first, or
// those with most labels before anything is predicted.
function choicesFor(view) {
  const order = state.classes.map((_, k) => k);
  const p = view?.probabilities ?? state.counts;
  return order.length > KEYS.length ? order.sort((a, b) => p[b] - p[a] || a - b) : order;
}

// Of numbers: a field in the place of classes.
function showField(view) {
  const field = make("input", { id: "number", inputmode: "decimal", autocomplete: "off" });
  field.value = view?.label ?? "";
  field.disabled = view === null;
  const words = view?.predicted ? `Predicted ${view.predicted}.` : "";
  const button = make("button", { type: "submit" }, "Keep this number");
  button.disabled = view === null;
  const form = make("form", {}, make("label", {}, "Number", field), button, make("span", { class: "quiet" }, words));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) answer(field.value.trim());
  });
  byId("choices").replaceChildren(make("li", {}, form));
}

function showChoices(view) {
  if (state.target === "number") return showField(view);
  const rows = choicesFor(view).map((k, at) => {
    const p = view?.probabilities?.[k];
    const style = `width: ${100 * (p ?? 0)}%; background: var(--edge-${colourOf(k)})`;
    const button = make(
      "button",
      { type: "button", "aria-pressed": String(view?.label === state.classes[k]) },
      at < KEYS.length ? make("kbd", {}, KEYS[at]) : make("span", {}),
      className(k),
      make("span", { class: "track", "aria-hidden": "true" }, make("i", { style })),
      make("span", { class: "number" }, p === undefined ? "" : percent(p)),
    );
    button.disabled = view === null;
    button.addEventListener("click", () => choose(k));
    return make("li", {}, button);
  });
  byId("choices").className = rows.length > 9 ? "many" : "";
  const first = rows.length > KEYS.length ? CHOICES_AT_FIRST : rows.length;
  byId("choices").replaceChildren(...rows.slice(0, first));
  if (rows.length > first) {
    const others = make("ol", { class: "many" }, ...rows.slice(first));
    const title = `${rows.length - first} less likely classes`;
    byId("choices").append(make("li", { class: "more" }, make("details", {}, make("summary", {}, title), others)));
  }
}

function showActions() {
  const buttons = ACTIONS.filter(([key]) => key !== "n" || state.target !== "number").map(([key, name, act]) => {
    const button = make("button", { type: "button" }, make("kbd", {}, key), name);
    button.dataset.key = key;
    button.addEventListener("click", act);
    return button;
  });
  byId("actions").replaceChildren(...buttons);
}

function columnParts(view) {
  if (view === null || view.columns.length === 0) return [];
  // Of words that a node has or has not, the names say everything.
  const words = view.columns.length > 1 && view.columns.every(([, value]) => value === "1");
  const own = view.name === view.id ? view.columns : [["id", view.id], ...view.columns];
  const cells = own.map(([name, value]) =>
    make(
      "div",
      value.length > LONG ? { class: "long" } : {},
      make("dt", {}, oneLine(name)),
      ...(words ? [] : [make("dd", {}, make("bdi", { class: "wrapped" }, shown(value)))]),
    ),
  );
  const list = make("dl", { class: "cells" }, ...cells);
  const more = view.moreColumns
    ? [make("p", { class: "quiet" }, `${counted(view.moreColumns, "more column")} not shown.`)]
    : [];
  return [make("h3", {}, "Its own columns"), list, ...more];
}

function showNeighbours(view) {
  const host = byId("neighbours");
  const drawing = byId("neighbourhood");
  if (drawing) forget(drawing);
  if (view === null) {
    host.replaceChildren();
    return;
  }
  const inner = make("div", {});
  host.replaceChildren(make("h3", {}, "Its surroundings"), inner);
  fillNeighbourhood(inner, 0);
}

function choose(k) {
  const { id, view } = current;
  if (view === null || !(k < state.classes.length)) return;
  answer(state.classes[k]);
}

function answer(label) {
  const { id, view } = current;
  const words = view.label === null || view.label === label ? label : `${view.label} → ${label}`;
  send("answer", { do: "label", id, label, seen: view.label }, `${shortened(view.name, 40)}: ${words}`);
}

function putAside(what) {
  if (current.view === null) return;
  send("answer", { do: what, id: current.id }, `${shortened(current.view.name, 40)}: ${what}`);
}

function confirmLabel() {
  if (current.view?.label != null) putAside("confirm");
}

function undo() {
  send("undo", {}, "The last answer is taken back.");
}
