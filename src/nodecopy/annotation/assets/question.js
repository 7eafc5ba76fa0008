// The node in question: what is known of it, and what can be answered.

const ACTIONS = [
  ["n", "New class", () => openNaming()],
  ["s", "Skip", () => putAside("skip")],
  ["c", "Cannot tell", () => putAside("cannot tell")],
  ["u", "Undo", () => undo()],
  ["y", "Confirm", () => confirmLabel()],
  ["/", "Search", () => openSearch()],
];
const current = { id: null, why: "", view: null };
const LONG = 30; // letters of a value from which it gets a line of its own
let drawingLater = 0;

function showQuestion() {
  const { id, why, view } = current;
  byId("why").textContent = why;
  byId("node").firstElementChild.textContent = id === null ? "" : shown(id);
  document.title = id === null ? "Label nodes" : `Label ${shortened(id, 60)}`;
  byId("known").replaceChildren(...knownWords(view));
  showChoices(view);
  for (const button of byId("actions").children) button.disabled = !possible(button.dataset.key);
  byId("columns").replaceChildren(...columnParts(view));
  byId("nearest").replaceChildren(...nearestParts(view));
  // The answer needs only what is above; the drawing may come a moment later.
  clearTimeout(drawingLater);
  drawingLater = setTimeout(showNeighbours, 0, view);
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
  return ["Its label is ", className(k), ". Press a number to change it, y to confirm it."];
}

function showChoices(view) {
  const rows = state.classes.map((_, k) => {
    const p = view?.probabilities?.[k];
    const style = `width: ${100 * (p ?? 0)}%; background: var(--edge-${colourOf(k)})`;
    const button = make(
      "button",
      { type: "button", "aria-pressed": String(view?.label === state.classes[k]) },
      k < 9 ? make("kbd", {}, String(k + 1)) : make("span", {}),
      className(k),
      make("span", { class: "track", "aria-hidden": "true" }, make("i", { style })),
      make("span", { class: "number" }, p === undefined ? "" : percent(p)),
    );
    button.disabled = view === null;
    button.addEventListener("click", () => choose(k));
    return make("li", {}, button);
  });
  byId("choices").replaceChildren(...rows);
}

function showActions() {
  const buttons = ACTIONS.map(([key, name, act]) => {
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
  const cells = view.columns.map(([name, value]) =>
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

function nearestParts(view) {
  if (view === null || view.nearest.length === 0) return [];
  const telling = tellingIn(view.nearest.map(([id]) => id));
  const rows = view.nearest.map(([id, k, alike], i) => {
    const button = make(
      "button",
      { type: "button" },
      oneLine(id, telling[i]),
      make("small", {}, `similarity ${alike.toFixed(2)}`),
      className(k),
    );
    button.addEventListener("click", () => ask(id, "You chose this node."));
    return make("li", {}, button);
  });
  return [make("h3", {}, "Labelled nodes most like it"), make("ul", { class: "list" }, ...rows)];
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
  host.replaceChildren(make("h3", {}, "Neighbourhood"), inner);
  fillNeighbourhood(inner, 0);
}

function choose(k) {
  const { id, view } = current;
  if (view === null || k >= state.classes.length) return;
  const label = state.classes[k];
  send("answer", { do: "label", id, label, seen: view.label }, `${shortened(id, 40)}: ${label}`);
}

function putAside(what) {
  if (current.view === null) return;
  send("answer", { do: what, id: current.id }, `${shortened(current.id, 40)}: ${what}`);
}

function confirmLabel() {
  if (current.view?.label != null) putAside("confirm");
}

function undo() {
  send("undo", {}, "The last answer is taken back.");
}
