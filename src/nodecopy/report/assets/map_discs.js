// How WebGL draws the nodes of the map: discs with an outline, and a mark around some of them.

const MARKS = { none: 0, known: 1, suspect: 2, next: 3, novel: 4 };

// A ring (known label), a ring with a cross (suspect label), a diamond (next label) or a square
// (none of the classes). Lengths are in pixels of the page.
const VERTEX = `
attribute vec4 a_color;
attribute vec4 a_outline;
attribute vec2 a_position;
attribute float a_size;
attribute float a_mark;
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_pixelRatio;
varying vec4 v_color;
varying vec4 v_outline;
varying float v_extent;
varying float v_radius;
varying float v_mark;
void main() {
  v_radius = a_size / u_sizeRatio;
  v_extent = a_mark > 0.5 ? 1.7 * v_radius + 5.0 : v_radius + 0.5;
  v_mark = a_mark;
  v_color = a_color;
  v_outline = a_outline;
  v_color.a = v_outline.a = 1.0;
  gl_Position = vec4((u_matrix * vec3(a_position, 1)).xy, 0, 1);
  gl_PointSize = 2.0 * v_extent * u_pixelRatio;
}`;
const FRAGMENT = `
precision mediump float;
varying vec4 v_color;
varying vec4 v_outline;
varying float v_extent;
varying float v_radius;
varying float v_mark;
uniform vec4 u_ink;
uniform vec4 u_alarm;
uniform vec4 u_ground;
float within(float edge, float at) { return clamp(edge + 0.5 - at, 0.0, 1.0); }
// The distance to the line of the mark.
float markAway(float at, vec2 side) {
  float ring = 1.3 * v_radius + 2.0;
  if (v_mark > 3.5) return abs(max(side.x, side.y) - 1.2 * v_radius - 1.6);
  if (v_mark > 2.5) return abs(side.x + side.y - 1.7 * v_radius - 2.6) / 1.4;
  float cross = at < ring && v_mark > 1.5 ? abs(side.x - side.y) / 1.4 : 9.0;
  return min(abs(at - ring), cross);
}
void main() {
  vec2 side = abs(gl_PointCoord - 0.5) * 2.0 * v_extent;
  float at = length(side);
  float width = clamp(0.3 * v_radius, 0.6, 1.6);
  vec4 color = mix(v_outline, v_color, within(v_radius - width, at)) * within(v_radius, at);
  if (v_mark > 0.5) {
    float away = markAway(at, side);
    vec4 ink = v_mark > 1.5 && v_mark < 2.5 ? u_alarm : u_ink;
    color = mix(mix(color, u_ground, within(1.8, away)), ink, within(0.8, away));
  }
  gl_FragColor = color;
}`;

// Of marks, of those of suspect labels, and behind them, in light or in dark.
const MARK_INKS = { u_ink: "--text", u_alarm: "--lower", u_ground: "--ground" };
const mapInk = { u_ink: [0, 0, 0], u_alarm: [0, 0, 0], u_ground: [0, 0, 0] };

function takeMarkInks() {
  for (const [name, variable] of Object.entries(MARK_INKS)) mapInk[name] = inParts(ink(variable));
}

const inParts = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);

function mixed(a, b, share) {
  const [from, to] = [inParts(a), inParts(b)];
  return `rgb(${from.map((part, i) => Math.round(part + share * (to[i] - part))).join(",")})`;
}

// Sigma would draw everything a second time to find what is pointed at, unless it has no place to.
const unpicked = (Program) =>
  class extends Program {
    constructor(gl, _, renderer) {
      super(gl, null, renderer);
    }
  };

function discProgram() {
  const { FLOAT, POINTS, UNSIGNED_BYTE } = WebGLRenderingContext;
  const number = { size: 1, type: FLOAT };
  const colour = { size: 4, type: UNSIGNED_BYTE, normalized: true };
  return class extends unpicked(sigma.NodeProgram) {
    getDefinition() {
      return {
        VERTICES: 1,
        VERTEX_SHADER_SOURCE: VERTEX,
        FRAGMENT_SHADER_SOURCE: FRAGMENT,
        METHOD: POINTS,
        UNIFORMS: ["u_sizeRatio", "u_pixelRatio", "u_matrix", ...Object.keys(MARK_INKS)],
        ATTRIBUTES: [
          { name: "a_position", size: 2, type: FLOAT },
          { name: "a_size", ...number },
          { name: "a_mark", ...number },
          { name: "a_color", ...colour },
          { name: "a_outline", ...colour },
        ],
      };
    }

    processVisibleItem(_, start, { x, y, size, mark, color, outline }) {
      const { array } = this;
      array[start] = x;
      array[start + 1] = y;
      array[start + 2] = size;
      array[start + 3] = mark;
      array[start + 4] = sigma.floatColor(color);
      array[start + 5] = sigma.floatColor(outline);
    }

    setUniforms({ sizeRatio, pixelRatio, matrix }, { gl, uniformLocations: at }) {
      gl.uniform1f(at.u_sizeRatio, sizeRatio);
      gl.uniform1f(at.u_pixelRatio, pixelRatio);
      gl.uniformMatrix3fv(at.u_matrix, false, matrix);
      for (const [name, parts] of Object.entries(mapInk)) {
        gl.uniform4fv(at[name], [...parts.map((part) => part / 255), 1]);
      }
    }
  };
}
