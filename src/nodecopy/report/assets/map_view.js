// A graph drawn by sigma.js: discs with marks, one node that is selected, mouse, fingers and keys.

const MARKS = { none: 0, known: 1, suspect: 2, next: 3, novel: 4 };
const MAX_EDGES = 100_000; // that are drawn
const HIDE_EDGES = 20_000; // from so many on they vanish while the map moves
const REACH = 12; // pixels from a node within which a click is meant for it
const FARTHEST = 1.6; // zoomed out, as a share of the whole map
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const hasWebGL = () => Boolean(document.createElement("canvas").getContext("webgl2"));

// Discs with an outline, and around them a ring (known label), a ring with a cross (suspect label),
// a diamond (next label) or a square (none of the classes). Lengths are in pixels.
const VERTEX = `
attribute vec4 a_id;
attribute vec4 a_color;
attribute vec4 a_outline;
attribute vec2 a_position;
attribute float a_size;
attribute float a_mark;
attribute float a_angle;
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
varying vec4 v_color;
varying vec4 v_outline;
varying vec2 v_offset;
varying float v_radius;
varying float v_mark;
void main() {
  v_radius = a_size / u_sizeRatio;
  v_mark = a_mark;
  float extent = a_mark > 0.5 ? 2.0 * v_radius + 4.0 : v_radius + 1.0;
  v_offset = 2.0 * extent * vec2(cos(a_angle), sin(a_angle));
  vec2 position = a_position + 2.0 * u_correctionRatio * v_offset;
  gl_Position = vec4((u_matrix * vec3(position, 1)).xy, 0, 1);
  v_outline = a_outline;
  #ifdef PICKING_MODE
  v_color = a_id;
  #else
  v_color = a_color;
  #endif
  v_color.a *= 255.0 / 254.0;
  v_outline.a *= 255.0 / 254.0;
}`;
const FRAGMENT = `
precision highp float;
varying vec4 v_color;
varying vec4 v_outline;
varying vec2 v_offset;
varying float v_radius;
varying float v_mark;
uniform vec4 u_ink;
uniform vec4 u_alarm;
float within(float edge, float at) { return 1.0 - smoothstep(edge - 0.5, edge + 0.5, at); }
float line(float place, float at) { return within(0.8, abs(at - place)); }
void main() {
  float at = length(v_offset);
  #ifdef PICKING_MODE
  gl_FragColor = at < v_radius + 1.0 ? v_color : vec4(0.0);
  #else
  vec2 side = abs(v_offset);
  float width = clamp(0.3 * v_radius, 0.6, 1.6);
  vec4 disc = mix(v_outline, v_color, within(v_radius - width, at)) * within(v_radius, at);
  float ring = 1.3 * v_radius + 2.0;
  float mark = 0.0;
  if (v_mark > 0.5) {
    if (v_mark < 1.5) mark = line(ring, at);
    else if (v_mark < 2.5) mark = max(line(ring, at), within(0.9, abs(side.x - side.y)) * within(ring, at));
    else if (v_mark < 3.5) mark = within(1.1, abs(side.x + side.y - 1.7 * v_radius - 2.6) / 1.2);
    else mark = line(1.2 * v_radius + 1.6, max(side.x, side.y));
  }
  vec4 ink = v_mark > 1.5 && v_mark < 2.5 ? u_alarm : u_ink;
  gl_FragColor = mix(disc, ink, mark);
  #endif
}`;

const mapInk = { text: [0, 0, 0], alarm: [0, 0, 0] }; // of the marks, in light or in dark

const inParts = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);

function mixed(a, b, share) {
  const [from, to] = [inParts(a), inParts(b)];
  return `rgb(${from.map((part, i) => Math.round(part + share * (to[i] - part))).join(",")})`;
}

function discProgram() {
  const { FLOAT, TRIANGLES, UNSIGNED_BYTE } = WebGLRenderingContext;
  const [number, colour] = [
    { size: 1, type: FLOAT },
    { size: 4, type: UNSIGNED_BYTE, normalized: true },
  ];
  return class extends sigma.NodeProgram {
    getDefinition() {
      return {
        VERTICES: 3,
        VERTEX_SHADER_SOURCE: VERTEX,
        FRAGMENT_SHADER_SOURCE: FRAGMENT,
        METHOD: TRIANGLES,
        UNIFORMS: ["u_sizeRatio", "u_correctionRatio", "u_matrix", "u_ink", "u_alarm"],
        ATTRIBUTES: [
          { name: "a_position", size: 2, type: FLOAT },
          { name: "a_size", ...number },
          { name: "a_mark", ...number },
          { name: "a_color", ...colour },
          { name: "a_outline", ...colour },
          { name: "a_id", ...colour },
        ],
        CONSTANT_ATTRIBUTES: [{ name: "a_angle", ...number }],
        CONSTANT_DATA: [[0], [(2 * Math.PI) / 3], [(4 * Math.PI) / 3]],
      };
    }

    processVisibleItem(id, start, { x, y, size, mark, color, outline }) {
      const [fill, edge] = [sigma.floatColor(color), sigma.floatColor(outline)];
      this.array.set([x, y, size, mark, fill, edge, id], start);
    }

    setUniforms({ sizeRatio, correctionRatio, matrix }, { gl, uniformLocations: at }) {
      gl.uniform1f(at.u_sizeRatio, sizeRatio);
      gl.uniform1f(at.u_correctionRatio, correctionRatio);
      gl.uniformMatrix3fv(at.u_matrix, false, matrix);
      const opaque = (parts) => [...parts.map((part) => part / 255), 1];
      gl.uniform4fv(at.u_ink, opaque(mapInk.text));
      gl.uniform4fv(at.u_alarm, opaque(mapInk.alarm));
    }
  };
}

class MapView {
  // source: x and y [n], links, name(i), words(i), open(i), and selected(i), called for a new one.
  constructor(host, source) {
    this.host = host;
    this.source = source;
    this.count = source.x.length;
    this.node = -1;
    this.suspects = new Set(); // edges that are drawn as such, see `addEdges` for their names
    this.graph = new sigma.UndirectedGraph();
    const room = Math.max(0.6, Math.min(1.2, Math.min(host.clientWidth, host.clientHeight) / 540));
    this.radius = Math.max(1.3, room * Math.min(7, 48 / this.count ** 0.36));
    for (let i = 0; i < this.count; i++) {
      const place = { x: source.x[i], y: source.y[i], size: this.radius };
      const look = { color: "#888", outline: "#888", mark: MARKS.none };
      this.graph.addNode(i, { ...place, ...look, label: shortened(source.name(i), 32) });
    }
    this.addEdges(source.links);
    this.renderer = new sigma.Sigma(this.graph, host, this.settings());
    this.camera = this.renderer.getCamera();
    this.listen();
  }

  addEdges({ offsets, targets }) {
    const every = Math.ceil(targets.length / 2 / MAX_EDGES);
    let seen = 0;
    for (let u = 0; u < this.count; u++) {
      for (let at = offsets[u]; at < offsets[u + 1]; at++) {
        if (targets[at] > u && seen++ % every === 0) this.graph.addEdgeWithKey(`${u}-${targets[at]}`, u, targets[at]);
      }
    }
    this.edges = seen;
  }

  settings() {
    const font = getComputedStyle(document.body).fontFamily;
    return {
      allowInvalidContainer: true,
      defaultDrawNodeHover: (...hover) => this.drawHover(...hover),
      defaultDrawNodeLabel: drawMapLabel,
      defaultNodeType: "disc",
      enableCameraRotation: false,
      hideEdgesOnMove: this.graph.size > HIDE_EDGES,
      inertiaDuration: calm() ? 0 : 200,
      labelFont: font,
      labelRenderedSizeThreshold: 6.5,
      labelSize: 12,
      maxCameraRatio: FARTHEST,
      minCameraRatio: 0.01,
      minEdgeThickness: 1,
      nodeProgramClasses: { disc: discProgram() },
      nodeHoverProgramClasses: { disc: discProgram() },
      stagePadding: 16,
      zIndex: true,
      zoomDuration: calm() ? 0 : 150,
      doubleClickZoomingDuration: calm() ? 0 : 200,
    };
  }

  // paint(i) returns colour, outline, mark and whether the node is in front.
  draw(paint) {
    mapInk.text = inParts(ink("--text"));
    mapInk.alarm = inParts(ink("--lower"));
    const { links, size = () => 1 } = this.source;
    this.graph.updateEachNodeAttributes((key, attributes) => {
      const i = Number(key);
      const { color, outline, mark, front } = paint(i);
      const least = mark ? Math.max(this.radius, 2.6) : this.radius;
      const zIndex = (front ? 2 : 0) + (mark ? 1 : 0);
      return Object.assign(attributes, { color, outline, mark, zIndex, size: least * size(i, links) });
    }, { attributes: ["color", "outline", "mark", "size", "zIndex"] });
    const strength = Math.max(0.06, Math.min(0.6, 22 / Math.sqrt(this.graph.size)));
    // Sigma expects colours that were multiplied by how opaque they are.
    const parts = inParts(ink("--quiet")).map((part) => Math.round(strength * part));
    this.edgeColour = `rgba(${parts.join(",")},${strength})`;
    this.graph.updateEachEdgeAttributes((edge, attributes) => Object.assign(attributes, this.edgeLook(edge, false)));
    this.markEdges(this.node, true);
    this.renderer.setSetting("labelColor", { color: ink("--text") });
    this.renderer.refresh();
  }

  edgeLook(edge, chosen) {
    if (chosen) return { color: ink("--text"), size: 1.5, zIndex: 2 };
    if (this.suspects.has(edge)) return { color: ink("--lower"), size: 1.5, zIndex: 1 };
    return { color: this.edgeColour, size: 1, zIndex: 0 };
  }

  markEdges(node, chosen) {
    if (node < 0) return;
    this.graph.forEachEdge(node, (edge) => this.graph.mergeEdgeAttributes(edge, this.edgeLook(edge, chosen)));
  }

  select(node, follow = false) {
    if (node !== this.node) {
      this.markEdges(this.node, false);
      if (this.node >= 0) this.graph.setNodeAttribute(this.node, "highlighted", false);
      this.node = node;
      this.markEdges(node, true);
      if (node >= 0) this.graph.setNodeAttribute(node, "highlighted", true);
    }
    if (follow && node >= 0) this.show(node);
  }

  // Moves there if the node is out of sight, or the map is seen from afar.
  show(node) {
    const { x, y } = this.renderer.getNodeDisplayData(node);
    const at = this.renderer.framedGraphToViewport({ x, y });
    const { width, height } = this.renderer.getDimensions();
    const margin = 40;
    const inside = at.x > margin && at.y > margin && at.x < width - margin && at.y < height - margin;
    if (!inside) this.move({ x, y });
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

  choose(node, follow = true) {
    if (node < 0) return;
    this.select(node, follow);
    this.source.selected?.(node);
  }

  // The node next to a point of the view, in the direction of a step if one is given.
  nearest(point, step = null, reach = Infinity) {
    let [best, least] = [-1, reach];
    for (let i = 0; i < this.count; i++) {
      if (i === this.node && step) continue;
      const at = this.renderer.graphToViewport({ x: this.source.x[i], y: this.source.y[i] });
      const [dx, dy] = [at.x - point.x, at.y - point.y];
      const along = step ? dx * step.x + dy * step.y : 0;
      const across = step ? Math.abs(dx * step.y - dy * step.x) : 0;
      if (step && along <= across) continue;
      const distance = Math.hypot(dx, dy) + 2 * across;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  listen() {
    const open = (node) => node >= 0 && this.source.open(node);
    this.renderer.on("clickNode", ({ node }) => open(Number(node)));
    this.renderer.on("clickStage", ({ event }) => open(this.nearest(event, null, REACH)));
    this.renderer.on("enterNode", () => this.host.classList.add("pointing"));
    this.renderer.on("leaveNode", () => this.host.classList.remove("pointing"));
    this.host.addEventListener("keydown", (event) => this.onKey(event));
    // The wheel and one finger scroll the page, until the map is chosen by a click or a key.
    const active = () => this.host.contains(document.activeElement);
    this.host.addEventListener("wheel", (event) => active() || event.ctrlKey || event.stopPropagation(), true);
    this.host.addEventListener("touchstart", (event) => event.touches.length > 1 || event.stopPropagation(), true);
    new ResizeObserver(() => this.renderer.scheduleRender()).observe(this.host);
  }

  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== this.host) return;
    const step = {
      ArrowLeft: { x: -1, y: 0 },
      ArrowRight: { x: 1, y: 0 },
      ArrowUp: { x: 0, y: -1 },
      ArrowDown: { x: 0, y: 1 },
    }[event.key];
    if (step) this.walk(step);
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
    if (this.node < 0) {
      this.choose(this.nearest({ x: width / 2, y: height / 2 }));
      return;
    }
    const [x, y] = [this.source.x[this.node], this.source.y[this.node]];
    this.choose(this.nearest(this.renderer.graphToViewport({ x, y }), step));
  }

  // The node under the pointer, and the selected one: a ring, its name, and what is predicted.
  drawHover(context, { key, x, y, size }, { labelFont, labelSize }) {
    const lines = [shortened(this.source.name(Number(key)), 32), ...this.source.words(Number(key))];
    context.beginPath();
    context.arc(x, y, size + 4, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.strokeStyle = ink("--text");
    context.stroke();
    const font = (line) => `${line ? "" : "600 "}${labelSize}px ${labelFont}`;
    const widths = lines.map((text, line) => {
      context.font = font(line);
      return context.measureText(text).width;
    });
    const [width, height, high] = [Math.max(...widths) + 16, 16 * lines.length + 10, y - size - 12];
    const left = Math.max(4, Math.min(this.host.clientWidth - width - 4, x - width / 2));
    const top = high > height ? high - height : y + size + 12;
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
  if (!label) return;
  context.font = `${labelSize}px ${labelFont}`;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = ink("--ground");
  context.strokeText(label, x + size + 3, y + labelSize / 3);
  context.fillStyle = labelColor.color;
  context.fillText(label, x + size + 3, y + labelSize / 3);
}
