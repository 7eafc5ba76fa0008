// The map of the graph with its controls: what colours mean, search, classes, zoom, and words.

const MAP_HELP =
  "Nodes lie close to those they share edges with, and to those with similar probabilities. " +
  "Click a node to open it. Once the map was clicked, the wheel zooms; on a touch screen two fingers do. " +
  "Arrow keys go from node to node, Enter opens one, plus, minus and 0 zoom.";
const MARK_NAMES = {
  [MARKS.known]: "known label",
  [MARKS.suspect]: "known label, more likely wrong than right",
  [MARKS.next]: "to label next",
  [MARKS.novel]: "perhaps none of the classes",
};
const NAMED_AT_MOST = 10; // classes whose names stand on the map
const NO_WEBGL = "The map needs WebGL, which this browser does not offer. All else on this page works without it.";

class GraphMap {
  // source: what `MapView` takes, and predicted, confidence, known, mark(i), searched [n], heldOut
  // or null, columns (see `columnMode`) and suspectLinks: pairs.
  constructor(host, source) {
    this.source = source;
    this.classes = new Set(); // shown alone; all where empty
    this.matches = null; // of the search
    this.named = []; // names on the map
    this.host = make("div", {
      class: "map-view",
      role: "application",
      tabindex: "0",
      "aria-label": "Map of the graph",
      "aria-describedby": "map-help",
    });
    this.status = make("p", { id: "map-status", role: "status" });
    this.names = make("div", { class: "map-names", "aria-hidden": "true" });
    const frame = make("div", { class: "map-frame" }, this.host);
    host.replaceChildren(frame);
    this.view = new MapView(this.host, { ...source, selected: (node) => this.tell(node) });
    this.modes = [
      classMode(source, this),
      ...(kind ? [] : [confidenceMode(source)]),
      ...(source.heldOut ? [heldOutMode(source)] : []),
      ...source.columns.map(columnMode),
    ];
    this.mode = this.modes[0];
    this.key = make("div", { id: "map-key" });
    // Above the nodes, and below the one that is pointed at.
    this.view.renderer.getCanvases().chosen.before(this.names);
    frame.append(this.zoomButtons());
    host.append(
      make("div", { class: "map-side" }, ...this.controls(), this.key, this.status),
      make("p", { class: "quiet map-help", id: "map-help" }, MAP_HELP, ...this.limits()),
    );
    this.view.renderer.on("afterRender", () => this.placeNames());
    this.redraw();
  }

  limits() {
    const { graph, edges } = this.view;
    return graph.size < edges ? [` ${whole(graph.size)} of ${whole(edges)} edges are drawn.`] : [];
  }

  zoomButtons() {
    const button = (sign, label, act) => {
      const made = make("button", { type: "button", "aria-label": label, title: label }, sign);
      made.addEventListener("click", act);
      return made;
    };
    return make(
      "div",
      { class: "map-zoom" },
      button("+", "Zoom in", () => this.view.zoom(1.5)),
      button("−", "Zoom out", () => this.view.zoom(1 / 1.5)),
      button("⤢", "Show the whole map", () => this.view.reset()),
    );
  }

  controls() {
    const query = make("input", { type: "search", id: "map-query", autocomplete: "off", spellcheck: "false" });
    query.addEventListener("input", () => this.search(query.value));
    query.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.matches?.size) this.goTo([...this.matches][0]);
    });
    const options = this.modes.map(({ title }, at) => make("option", { value: at }, title));
    const select = make("select", { id: "map-colour" }, ...options);
    select.addEventListener("change", () => {
      this.mode = this.modes[Number(select.value)];
      this.redraw();
    });
    const parts = [
      make("label", {}, "Find on the map", query),
      make("label", {}, "Colour by", select),
    ];
    if (this.source.suspectLinks.length) parts.push(this.suspectSwitch());
    return parts;
  }

  suspectSwitch() {
    const box = make("input", { type: "checkbox", id: "map-suspects" });
    box.addEventListener("change", () => {
      this.view.suspects = box.checked ? this.source.suspectLinks : [];
      this.view.drawChosen();
    });
    return make("label", { class: "switch" }, box, "Show suspect edges");
  }

  search(text) {
    const sought = text.trim().toLowerCase();
    const found = this.source.searched.flatMap((one, i) => (one.includes(sought) ? [i] : []));
    this.matches = sought ? new Set(found) : null;
    this.status.textContent = sought ? `${counted(found.length, "node")} found${found.length ? "; Enter goes to the first." : "."}` : "";
    this.redraw();
  }

  goTo(node) {
    this.view.select(node);
    this.view.show(node, Math.min(this.view.camera.getState().ratio, 0.35));
    this.host.focus({ preventScroll: true });
    this.tell(node);
  }

  showClasses(classes) {
    this.classes = new Set(classes);
    this.redraw();
  }

  tell(node) {
    this.status.textContent = [shortened(this.source.name(node), 60), ...this.source.words(node)].join(", ");
  }

  isShown(i) {
    if (this.matches && !this.matches.has(i)) return false;
    return this.classes.size === 0 || this.classes.has(this.source.predicted[i]);
  }

  redraw() {
    const [paint, pale] = [this.mode.paint(), ink("--line")];
    this.view.draw((i) => {
      if (!this.isShown(i)) return { color: pale, outline: pale, mark: MARKS.none, front: false };
      return { mark: this.source.mark(i), front: true, ...paint(i) };
    });
    this.key.replaceChildren(...this.mode.key(), ...this.markKey());
    this.nameClasses();
  }

  markKey() {
    if (this.mode.title.startsWith("Mistakes")) return [];
    const counts = new Map();
    for (let i = 0; i < this.view.count; i++) {
      const mark = this.source.mark(i);
      if (mark) counts.set(mark, (counts.get(mark) ?? 0) + 1);
    }
    const item = (mark) => make("li", {}, markOnKey(mark), `${MARK_NAMES[mark]} (${whole(counts.get(mark))})`);
    return [make("ul", { class: "map-marks" }, ...[...counts.keys()].sort((a, b) => a - b).map(item))];
  }

  // The names of the largest classes, each in the middle of its nodes.
  nameClasses() {
    this.names.replaceChildren();
    this.named = [];
    const counts = classCounts(this.source.predicted);
    if (this.mode !== this.modes[0] || counts.size < 2) return;
    const order = [...counts.keys()].filter((k) => k >= 0).sort((a, b) => counts.get(b) - counts.get(a));
    for (const k of order.slice(0, NAMED_AT_MOST)) {
      const members = [...this.source.predicted.keys()].filter((i) => this.source.predicted[i] === k);
      const middle = (column) => members.map((i) => column[i]).sort((a, b) => a - b)[members.length >> 1];
      const name = make("span", {}, shortened(nameOf(k), 28));
      this.names.append(name);
      this.named.push({ name, k, x: middle(this.source.x), y: middle(this.source.y) });
    }
    this.placeNames();
  }

  // In the middle, or a line below or above it where another name is; none where there is no room.
  placeNames() {
    const near = this.view.camera.getState().ratio < 0.4;
    const taken = [];
    for (const { name, k, x, y } of this.named) {
      const middle = this.view.renderer.graphToViewport({ x, y });
      const half = 3.7 * name.textContent.length + 4; // of its width, in pixels
      const covered = (at) =>
        taken.some((other) => Math.abs(other.y - at.y) < 17 && Math.abs(other.x - at.x) < half + other.half);
      const places = [0, 18, -18].map((down) => ({ x: middle.x, y: middle.y + down, half }));
      const at = places.find((place) => !covered(place));
      const absent = this.classes.size > 0 && !this.classes.has(k);
      name.hidden = near || absent || this.matches !== null || at === undefined;
      if (name.hidden) continue;
      name.style.transform = `translate(${at.x}px, ${at.y}px) translate(-50%, -50%)`;
      taken.push(at);
    }
  }
}

// Without WebGL a sentence takes the place of the map, and null is returned.
function buildMap(host, source) {
  if (typeof sigma === "undefined" || !hasWebGL()) {
    host.replaceChildren(make("p", { class: "box" }, NO_WEBGL));
    return null;
  }
  return new GraphMap(host, source);
}

// Positions as they were packed; upwards is positive, as in a diagram.
function mapPlaces(packedPositions) {
  const flat = unpack(Uint16Array, packedPositions);
  const column = (at) => Float32Array.from({ length: flat.length / 2 }, (_, i) => flat[2 * i + at]);
  return { x: column(0), y: column(1) };
}
