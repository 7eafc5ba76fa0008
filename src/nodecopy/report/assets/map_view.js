// A graph drawn by sigma.js: its camera, the node that is selected, mouse, fingers and keys.

const MAX_EDGES = 100_000; // that are drawn
const HIDE_EDGES = 20_000; // from so many on they vanish while the map moves
const REACH = 10; // pixels from a node within which the mouse means it
const FARTHEST = 1.6; // zoomed out, as a share of the whole map
const NEAREST = 0.02;
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const hasWebGL = () => Boolean(document.createElement("canvas").getContext("webgl2"));

class MapView {
  // source: x and y [n], links, name(i), words(i), open(i), and selected(i), called for a new one.
  constructor(host, source) {
    this.host = host;
    this.source = source;
    this.count = source.x.length;
    this.node = -1; // that is selected
    this.hovered = -1;
    this.suspects = []; // pairs whose edges are drawn as such
    const room = Math.max(0.6, Math.min(1.2, Math.min(host.clientWidth, host.clientHeight) / 540));
    this.radius = Math.max(1.3, room * Math.min(7, 48 / this.count ** 0.36));
    this.graph = new sigma.UndirectedGraph();
    this.addNodes();
    this.addEdges(source.links);
    this.renderer = new sigma.Sigma(this.graph, host, this.settings());
    this.camera = this.renderer.getCamera();
    this.renderer.createCanvasContext("chosen", { beforeLayer: "mouse" }).resize(true);
    this.context = this.renderer.getCanvases().chosen.getContext("2d");
    this.listen();
  }

  addNodes() {
    const look = { color: "#888", outline: "#888", mark: MARKS.none, size: this.radius };
    const { x, y, name } = this.source;
    for (let i = 0; i < this.count; i++) {
      this.graph.addNode(i, { x: x[i], y: y[i], label: name(i), ...look });
    }
  }

  addEdges({ offsets, targets }) {
    const every = Math.ceil(targets.length / 2 / MAX_EDGES);
    this.edges = 0;
    for (let u = 0; u < this.count; u++) {
      for (let at = offsets[u]; at < offsets[u + 1]; at++) {
        if (targets[at] > u && this.edges++ % every === 0) this.graph.addEdge(u, targets[at]);
      }
    }
  }

  settings() {
    const duration = (milliseconds) => (calm() ? 0 : milliseconds);
    return {
      allowInvalidContainer: true,
      defaultDrawNodeLabel: drawMapLabel,
      defaultEdgeType: "thin",
      defaultNodeType: "disc",
      doubleClickZoomingDuration: duration(200),
      edgeProgramClasses: { thin: unpicked(sigma.EdgeLineProgram) },
      enableCameraRotation: false,
      hideEdgesOnMove: this.graph.size > HIDE_EDGES,
      inertiaDuration: duration(200),
      labelFont: getComputedStyle(document.body).fontFamily,
      labelRenderedSizeThreshold: 6.5,
      labelSize: 12,
      maxCameraRatio: FARTHEST,
      minCameraRatio: NEAREST,
      nodeProgramClasses: { disc: discProgram() },
      stagePadding: 16,
      zIndex: true,
      zoomDuration: duration(150),
    };
  }

  // paint(i) returns the colour of a node, that of its outline, its mark, and whether it is in front.
  draw(paint) {
    this.takeColours();
    this.graph.updateEachNodeAttributes((key, attributes) => {
      const { color, outline, mark, front } = paint(Number(key));
      const size = mark ? Math.max(this.radius, 2.6) : this.radius;
      return Object.assign(attributes, { color, outline, mark, size, zIndex: 2 * front + (mark > 0) });
    });
  }

  takeColours() {
    takeMarkInks();
    const strength = Math.max(0.06, Math.min(0.35, 16 / Math.sqrt(this.graph.size)));
    // Sigma expects colours that were multiplied by how opaque they are.
    const parts = inParts(ink("--quiet")).map((part) => Math.round(strength * part));
    const defaultEdgeColor = `rgba(${parts.join(",")},${strength})`;
    if (this.renderer.getSetting("defaultEdgeColor") === defaultEdgeColor) return;
    this.renderer.setSettings({ defaultEdgeColor, labelColor: { color: ink("--text") } });
  }

  select(node, follow = false) {
    this.node = node;
    if (follow && node >= 0) this.show(node);
    this.drawChosen();
  }

  // By keys: selects it, moves there and says so.
  choose(node) {
    if (node < 0) return;
    this.select(node, true);
    this.source.selected?.(node);
  }

  placeOf(node) {
    return this.renderer.graphToViewport({ x: this.source.x[node], y: this.source.y[node] });
  }

  // Moves there if the node is out of sight.
  show(node, ratio = this.camera.getState().ratio) {
    const [at, margin] = [this.placeOf(node), 8];
    const { width, height } = this.renderer.getDimensions();
    const inside = at.x > margin && at.y > margin && at.x < width - margin && at.y < height - margin;
    const { x, y } = this.renderer.viewportToFramedGraph(at);
    if (!inside || ratio !== this.camera.getState().ratio) this.move({ x, y, ratio });
  }

  move(state) {
    if (calm()) this.camera.setState(state);
    else this.camera.animate(state, { duration: 250 });
  }

  zoom(factor) {
    this.move({ ratio: this.camera.getBoundedRatio(this.camera.getState().ratio / factor) });
  }

  reset() {
    this.move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
  }

  // The node next to a point of the graph, in the direction of a step if there is one.
  nearest(point, reach = Infinity, step = null) {
    const { x, y } = this.source;
    let [best, least] = [-1, reach];
    for (let i = 0; i < this.count; i++) {
      const [dx, dy] = [x[i] - point.x, y[i] - point.y];
      const across = step ? Math.abs(dx * step[1] - dy * step[0]) : 0;
      if (step && (i === this.node || dx * step[0] + dy * step[1] <= across)) continue;
      const distance = Math.hypot(dx, dy) + 2 * across;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  under({ x, y }) {
    const unit = this.renderer.getGraphToViewportRatio();
    return this.nearest(this.renderer.viewportToGraph({ x, y }), (REACH + this.radius) / unit);
  }

  listen() {
    const { host, renderer } = this;
    const hover = (node) => {
      if (node === this.hovered) return;
      this.hovered = node;
      host.classList.toggle("pointing", node >= 0);
      this.drawChosen();
    };
    renderer.on("clickStage", ({ event }) => {
      const node = this.under(event);
      if (node >= 0) this.source.open(node);
    });
    host.addEventListener("mousemove", ({ offsetX, offsetY, buttons }) =>
      hover(buttons ? -1 : this.under({ x: offsetX, y: offsetY })),
    );
    host.addEventListener("mouseleave", () => hover(-1));
    renderer.on("afterRender", () => this.drawChosen());
    host.addEventListener("keydown", (event) => this.onKey(event));
    // The wheel and one finger scroll the page; the wheel zooms once the map has the focus.
    const zooms = (event) => event.ctrlKey || host.contains(document.activeElement);
    host.addEventListener("wheel", (event) => zooms(event) || event.stopPropagation(), true);
    const several = (event) => event.touches.length > 1;
    host.addEventListener("touchstart", (event) => several(event) || event.stopPropagation(), true);
    this.resized = new ResizeObserver(() => renderer.scheduleRender());
    this.resized.observe(host);
  }

  remove() {
    this.resized.disconnect();
    this.renderer.kill();
  }

  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== this.host) return;
    if (STEPS[event.key]) this.walk(STEPS[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.reset();
    else if (event.key === "Enter" && this.node >= 0) this.source.open(this.node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  walk(step) {
    const { width, height } = this.renderer.getDimensions();
    const middle = this.renderer.viewportToGraph({ x: width / 2, y: height / 2 });
    const { x, y } = this.source;
    if (this.node < 0) this.choose(this.nearest(middle));
    else this.choose(this.nearest({ x: x[this.node], y: y[this.node] }, Infinity, step));
  }

  // Above the graph: suspect edges, edges of the selected node, and names.
  drawChosen() {
    const { context, node } = this;
    const { width, height } = this.renderer.getDimensions();
    context.clearRect(0, 0, width, height);
    this.drawLines(this.suspects, ink("--lower"));
    if (node >= 0) {
      const { offsets, targets } = this.source.links;
      const ends = targets.slice(offsets[node], offsets[node + 1]);
      this.drawLines(Array.from(ends, (end) => [node, end]), ink("--text"));
      this.drawNamed(node);
    }
    if (this.hovered >= 0 && this.hovered !== node) this.drawNamed(this.hovered);
  }

  drawLines(pairs, colour) {
    const { context } = this;
    context.beginPath();
    for (const [u, v] of pairs) {
      const [from, to] = [this.placeOf(u), this.placeOf(v)];
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
    }
    context.lineWidth = 1.2;
    context.strokeStyle = colour;
    context.stroke();
  }

  // A ring, the name, and what is predicted.
  drawNamed(node) {
    const { context, source } = this;
    const { x, y } = this.placeOf(node);
    const size = this.renderer.scaleSize(this.renderer.getNodeDisplayData(node).size);
    context.beginPath();
    context.arc(x, y, size + 3, 0, 2 * Math.PI);
    context.lineWidth = 2.5;
    context.strokeStyle = ink("--text");
    context.stroke();
    const lines = [shortened(source.name(node), 32), ...source.words(node)];
    const family = getComputedStyle(document.body).fontFamily;
    const font = (line) => `${line ? "" : "600 "}12px ${family}`;
    const widths = lines.map((text, line) => {
      context.font = font(line);
      return context.measureText(text).width;
    });
    const [width, height] = [Math.max(...widths) + 16, 16 * lines.length + 10];
    const left = Math.max(4, Math.min(this.host.clientWidth - width - 4, x - width / 2));
    const top = y - size - 12 > height ? y - size - 12 - height : y + size + 12;
    context.beginPath();
    context.roundRect(left, top, width, height, 6);
    context.fillStyle = ink("--ground");
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = ink("--line");
    context.stroke();
    lines.forEach((text, line) => {
      context.font = font(line);
      context.fillStyle = ink(line ? "--quiet" : "--text");
      context.fillText(text, left + 8, top + 17 + 16 * line);
    });
  }
}

// A name beside its node, legible on whatever lies below.
function drawMapLabel(context, { label, size, x, y }, { labelFont, labelSize, labelColor }) {
  const text = shortened(label, 32);
  context.font = `${labelSize}px ${labelFont}`;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = ink("--ground");
  context.strokeText(text, x + size + 3, y + labelSize / 3);
  context.fillStyle = labelColor.color;
  context.fillText(text, x + size + 3, y + labelSize / 3);
}
