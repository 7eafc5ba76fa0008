// The node in question: what is known of it, and what can be answered.

const ACTIONS = [
  ["n", "New name", () => openNaming()],
  ["s", "Skip", () => putAside("skip")],
  ["c", "Cannot tell", () => putAside("cannot tell")],
  ["u", "Undo", () => undo()],
  ["y", "Confirm", () => confirmLabel()],
  ["/", "Search", () => openSearch()],
];
const KEYS = "123456789abdefghijklmopqrtvwxz"; // of the classes: letters that no action has
// The number that was typed or the tags that were marked are a draft until they are kept.
const current = { id: null, why: "", view: null, draft: null };
const WORDS = {
  class: {
    needed: "two classes with a label",
    estimated: "Estimated accuracy",
    waits: "takes two labels of some class",
    fewest: "labels of nodes drawn at random, in classes with two labels",
    change: "press the key of another class to change it",
    noun: "class",
  },
  number: {
    needed: "two different numbers",
    estimated: "Estimated error",
    waits: "takes a few numbers",
    change: "keep another number",
  },
  tags: {
    needed: "three nodes with the same tag and three without it",
    estimated: "Estimated F1",
    waits: "takes a few labels",
    fewest: "labels of nodes drawn at random",
    change: "change its tags and press Enter",
    noun: "tag",
  },
};
const words = () => WORDS[state.target];
let tagged = false; // several labels for each node; the first of state.classes stands for none
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
const setOf = (i, places = nodes.sets) => places[i];
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
  const k = state.classes.indexOf(view.label);
  const own = tagged ? tagList(view.tags.length ? view.tags : [0]) : k < 0 ? shown(view.label) : className(k);
  return ["Its label is ", own, `. Press y to confirm it, or ${words().change}.`];
}

// Tags as people read them.
const labelText = (label) =>
  !tagged ? label : label === "[]" ? state.classes[0] : label.replace(/\\(.)|\|/g, (_, sign) => sign ?? ", ");

// In one order for all nodes as long as each class has a key; of more, tags that a node has, or
// that are guessed, then the most probable, or those with most labels before anything is predicted.
function choicesFor(view) {
  const order = namedPlaces();
  const first = view?.tags ?? view?.guesses ?? [];
  const p = (k) => (first.includes(k) ? Infinity : ((view?.probabilities ?? state.counts)[k] ?? 0));
  return order.length > KEYS.length ? order.sort((a, b) => p(b) - p(a) || a - b) : order;
}

const namedPlaces = () => state.classes.map((_, k) => k).slice(tagged ? 1 : 0);

// The tags that are marked: by hand, or those it has, or guesses.
const marked = () => current.draft ?? new Set(current.view?.tags ?? current.view?.guesses);
const isGuess = (k) => !current.view?.tags && marked().has(k) && current.view.guesses.includes(k);

// Of numbers: a field in the place of classes.
function showField(view) {
  const field = make("input", { id: "number", inputmode: "decimal", autocomplete: "off" });
  const typing = document.activeElement?.id === "number";
  field.value = current.draft ?? view?.label ?? "";
  field.addEventListener("input", () => (current.draft = field.value));
  field.disabled = view === null;
  const words = view?.predicted ? `Predicted ${view.predicted}.` : "";
  const button = make("button", { type: "submit" }, make("kbd", {}, "Enter"), "Keep this number");
  button.disabled = view === null;
  const form = make("form", {}, make("label", {}, "Number", field), button, make("span", { class: "quiet" }, words));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) answer(field.value.trim());
  });
  byId("choices").replaceChildren(make("li", {}, form));
  if (typing && current.draft !== null) field.focus();
}

function showChoices(view) {
  if (state.target === "number") return showField(view);
  const [host, focused] = [byId("choices"), document.activeElement?.dataset?.place];
  const open = host.querySelector("details")?.open ?? false;
  const rows = choicesFor(view).map((k, at) => make("li", {}, choiceButton(view, k, KEYS[at])));
  host.className = rows.length > 9 ? "many" : "";
  const first = rows.length > KEYS.length ? CHOICES_AT_FIRST : rows.length;
  host.replaceChildren(...rows.slice(0, first));
  if (rows.length > first) {
    const others = make("ol", { class: "many" }, ...rows.slice(first));
    const title = `${rows.length - first} less likely ${tagged ? "tags" : "classes"}`;
    const more = make("details", {}, make("summary", {}, title), others);
    more.open = tagged && open;
    host.append(make("li", { class: "more" }, more));
  }
  if (tagged) host.append(keepRow(view));
  if (focused) host.querySelector(`[data-place="${focused}"]`)?.focus();
}

function choiceButton(view, k, key) {
  const p = view?.probabilities?.[k];
  const style = `width: ${100 * (p ?? 0)}%; background: var(--edge-${colourOf(k)})`;
  const on = tagged ? marked().has(k) : view?.label === state.classes[k];
  const guess = tagged && isGuess(k);
  const button = make(
    "button",
    { type: "button", "aria-pressed": String(on), "data-place": k, class: guess ? "guess" : "" },
    key ? make("kbd", {}, key) : make("span", {}),
    className(k),
    make("span", { class: "track", "aria-hidden": "true" }, make("i", { style })),
    make("span", { class: "number" }, guess ? "guess " : "", p == null ? "" : percent(p)),
  );
  button.disabled = view === null;
  button.addEventListener("click", () => choose(k));
  return button;
}

// Keeps what is marked; guesses are marked beforehand.
function keepRow(view) {
  const some = marked();
  const title = some.size ? `Keep ${counted(some.size, "tag")}` : `Keep ${state.classes[0]}`;
  const rows = [["Enter", title, some], ["0", "None of these tags", new Set()]].map(([key, name, tags]) => {
    const button = make("button", { type: "button" }, make("kbd", {}, key), name);
    button.disabled = view === null || state.classes.length < 2;
    button.addEventListener("click", () => keepTags(tags));
    return button;
  });
  const guesses = [...some].some(isGuess);
  const hint = guesses ? "Dashed tags are guesses: check each of them." : "";
  const none = state.classes.length < 2 ? "No tag has a name yet: press n to name one." : hint;
  return make("li", { class: "keep" }, ...rows, make("span", { class: "quiet" }, none));
}

const actions = () => ACTIONS.filter(([key]) => key !== "n" || state.target !== "number");

function showActions() {
  const buttons = actions().map(([key, name, act]) => {
    const title = key === "n" ? `New ${words().noun}` : name;
    const button = make("button", { type: "button" }, make("kbd", {}, key), title);
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

// Label the node, or mark a tag or take the mark away.
function choose(k) {
  if (current.view === null || !(k < state.classes.length)) return;
  if (!tagged) return answer(state.classes[k]);
  current.draft = new Set(marked());
  if (!current.draft.delete(k)) current.draft.add(k);
  showChoices(current.view);
}

// Tags in one string, as labels.csv has them; the server puts them in order.
function keepTags(some) {
  if (current.view === null || state.classes.length < 2) return;
  const names = [...some].map((k) => state.classes[k].replace(/[\\|]/g, "\\$&"));
  answer(names.join("|") || "[]");
}

function answer(label) {
  const { id, view } = current;
  const before = view.label === null || view.label === label ? "" : `${labelText(view.label)} → `;
  const text = `${shortened(view.name, 40)}: ${before}${labelText(label)}`;
  send("answer", { do: "label", id, label, seen: view.label }, text);
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
