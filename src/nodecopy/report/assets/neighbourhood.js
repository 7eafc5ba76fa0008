// The surroundings of a node: which nodes are drawn, where, and how.

const MAX_DRAWN = 60; // besides the node itself
const MAX_INNER = 40; // of these, where two steps are drawn
const MAX_NAMED = 20; // of more nodes, those that count most have a name
const ROUNDS = 250; // of the layout
const LINES = ["solid", "dashed", "dotted", [10, 3, 2, 3]]; // of relations, the first ones

function surroundings(centre, hops) {
  const adds = neighbourEvidence(evidenceOf(centre));
  const near = byInterest(neighboursOf(centre), (node) => [
    nodes.known[node] >= 0,
    suspectLinks.has(linkKey(centre, node)),
  ]).sort((a, b) => Math.abs(adds.get(b) ?? 0) - Math.abs(adds.get(a) ?? 0));
  const inner = near.slice(0, hops < 2 ? MAX_DRAWN : MAX_INNER);
  const beyond = hops < 2 ? [] : secondStep(centre, near, new Set(inner));
  const outer = beyond.slice(0, MAX_DRAWN - inner.length);
  return {
    centre,
    near,
    inner,
    outer,
    adds,
    missing: nodes.degree[centre] - inner.length,
    missingBeyond: beyond.length - outer.length,
  };
}

// Those first that are of most interest; the others as they come, so as not to favour any class.
function byInterest(members, reasons) {
  const interest = new Map(
    Array.from(members, (node) => [node, reasons(node).filter(Boolean).length]),
  );
  return [...interest.keys()].sort((a, b) => interest.get(b) - interest.get(a) || a - b);
}

function secondStep(centre, near, drawn) {
  const seen = new Set([centre, ...near]);
  const tied = new Map();
  for (const node of near) {
    for (const next of neighboursOf(node)) {
      if (!seen.has(next)) tied.set(next, tied.get(next) || drawn.has(node));
    }
  }
  // One whose link cannot be drawn would float.
  return byInterest(tied.keys(), (node) => [
    tied.get(node),
    tied.get(node) && nodes.known[node] >= 0,
  ]);
}

// Springs along edges, and all nodes push each other away (Fruchterman and Reingold 1991), with the
// node in the middle. Nothing is random: the same node is always drawn alike.
function places({ centre, inner, outer }) {
  const members = [centre, ...inner, ...outer];
  const ranks = new Map([...members].sort((a, b) => a - b).map((node, i) => [node, i]));
  const at = members.map((node, i) => {
    const radius = i > inner.length ? 2 : i > 0 ? 1 : 0;
    const angle = 2.4 * ranks.get(node); // the golden angle, whatever they add
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
  const number = new Map(members.map((node, i) => [node, i]));
  const pairs = [...linksAmong(number).values()].map(([u, v]) => [number.get(u), number.get(v)]);
  const tied = members.map((_, i) => pairs.filter((pair) => pair.includes(i)).length);
  for (let round = 0; round < ROUNDS; round++) {
    const force = at.map(() => ({ x: 0, y: 0 }));
    const push = (i, j, strength) => {
      const [x, y] = [at[i].x - at[j].x, at[i].y - at[j].y];
      const distance = Math.max(0.05, Math.hypot(x, y));
      const f = strength(distance) / distance;
      force[i].x += f * x;
      force[i].y += f * y;
      force[j].x -= f * x;
      force[j].y -= f * y;
    };
    for (let i = 0; i < at.length; i++) {
      for (let j = 0; j < i; j++) push(i, j, (d) => 0.3 / d);
    }
    for (const [i, j] of pairs) push(i, j, (d) => (-d * d) / Math.sqrt(Math.min(tied[i], tied[j])));
    const most = 0.15 * (1 - round / ROUNDS);
    for (let i = 1; i < at.length; i++) {
      const length = Math.hypot(force[i].x, force[i].y) || 1;
      const step = Math.min(most, 0.1 * length) / length;
      at[i].x += step * force[i].x;
      at[i].y += step * force[i].y;
    }
  }
  return new Map(members.map((node, i) => [node, at[i]]));
}

function linksAmong(place) {
  const drawn = new Map();
  for (const u of place.keys()) {
    for (const v of neighboursOf(u)) {
      if (place.has(v)) drawn.set(linkKey(u, v), [u, v]);
    }
  }
  return drawn;
}

// The number and name of the relation of an edge; no name where there is but one.
function relationOf(u, v) {
  if (!links.relations) return [0, ""];
  for (let i = links.offsets[u]; i < links.offsets[u + 1]; i++) {
    if (links.targets[i] === v) return [links.relations[i], relationNames[links.relations[i]]];
  }
  return [0, ""];
}

function neighbourhoodOption(around) {
  const place = places(around);
  const size = (node) =>
    node === around.centre ? 26 : place.size > 45 ? 10 : place.size > 25 ? 13 : 18;
  const known = [...place.keys()].filter((node) => nodes.known[node] >= 0);
  const most = Math.max(...[...around.adds.values()].map(Math.abs), 0.1);
  return (width) => ({
    grid: { left: 0, right: 0, top: 0, bottom: 0, outerBoundsMode: "none" },
    ...axesAround([...place.values()], width),
    tooltip: tooltip(({ data: { node, lines } }) => lines ?? (node === undefined ? [] : nodeLines(node))),
    series: [
      {
        type: "graph",
        coordinateSystem: "cartesian2d",
        data: [...place].map(([node, at], i) =>
          drawnNode(node, at, size(node), i === 0, i === 0 || place.size <= MAX_NAMED || (i <= MAX_NAMED / 2 && i <= around.inner.length)),
        ),
        links: [...linksAmong(place)].map(([key, [u, v]]) => drawnLink(around, u, v, suspectLinks.has(key), most)),
        labelLayout: { hideOverlap: true },
        emphasis: { scale: 1.2 },
        symbolKeepAspect: true,
      },
      {
        type: "scatter",
        silent: true,
        symbol: "circle",
        data: known.map((node) => ({
          value: [place.get(node).x, place.get(node).y],
          symbolSize: size(node) + (size(node) > 13 ? 10 : 7),
        })),
        itemStyle: { color: "transparent", borderColor: ink("--text"), borderWidth: 2, opacity: 1 },
        z: 1,
      },
    ],
  });
}

// Around what is drawn, with room for a mark and its name.
function axesAround(drawn, width) {
  const axis = (values, pixels, ends) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = (Math.max(high - low, 1) * ends) / Math.max(pixels - 2 * ends, 100);
    return { type: "value", show: false, min: low - room, max: high + room };
  };
  const [x, y] = [drawn.map((at) => at.x), drawn.map((at) => at.y)];
  return { xAxis: axis(x, width, 55), yAxis: axis(y, byId("neighbourhood").clientHeight, 35) };
}

function drawnNode(node, { x, y }, size, middle, named) {
  const k = nodes.predicted[node];
  return {
    name: String(node),
    node,
    value: [x, y],
    symbol: `path://${shapeOf(k)}`,
    symbolSize: size,
    itemStyle: {
      color: blended(k, nodes.confidence[node]),
      borderColor: ink(`--edge-${colourOf(k)}`),
      borderWidth: 1.5,
    },
    label: {
      show: named,
      position: "bottom",
      distance: nodes.known[node] >= 0 ? 9 : 6,
      formatter: () => drawnName(node),
      color: ink("--text"),
      fontSize: 12,
      fontWeight: middle ? "bold" : "normal",
      width: 100,
      overflow: "truncate",
      textBorderColor: ink("--ground"),
      textBorderWidth: 3,
    },
  };
}

// Mixed with the ground rather than transparent: links must not shine through.
function blended(k, confidence) {
  const share = Math.round(100 * fullness(confidence));
  const probe = make("i", {
    style: `color: color-mix(in srgb, var(--fill-${colourOf(k)}) ${share}%, var(--ground))`,
  });
  document.body.append(probe);
  const parts = getComputedStyle(probe)
    .color.match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);
  const unit = getComputedStyle(probe).color.startsWith("color(") ? 255 : 1;
  probe.remove();
  return `rgb(${parts.map((part) => Math.round(part * unit)).join(",")})`;
}

// As thick as what it adds to the class or takes from it; other edges are thin.
function drawnLink({ centre, adds }, u, v, suspect, most) {
  const other = u === centre ? v : v === centre ? u : -1;
  const value = adds.get(other);
  const [relation, name] = relationOf(u, v);
  const width = value === undefined ? 1 : 1 + (7 * Math.abs(value)) / most;
  const colour = value === undefined ? "--link" : value < 0 ? "--lower" : "--higher";
  const side = kind ? (value < 0 ? "smaller" : "larger") : `${value < 0 ? "against" : "for"} its ${isTagged() ? "tag" : "class"}`;
  const does = value === undefined ? [] : [`${times(value)}: ${side}`];
  return {
    source: String(u),
    target: String(v),
    lines: [...does, ...(name ? [shortened(name, 80)] : []), ...(suspect ? ["suspect edge"] : [])],
    label: { show: suspect, formatter: "?", color: ink("--text"), fontWeight: "bold", fontSize: 14 },
    lineStyle: { color: ink(colour), width, type: LINES[relation % LINES.length], opacity: 0.8, curveness: 0 },
  };
}

// What lines mean.
function lineKey(centre, drawn) {
  const items = [];
  const item = (style, words) => items.push(make("li", {}, make("span", { class: "stroke", style }), words));
  if (neighbourEvidence(evidenceOf(centre)).size) {
    item("border-color: var(--higher)", `${kind ? "makes it larger" : `for its ${isTagged() ? "tag" : "class"}`}, the thicker the more`);
    item("border-color: var(--lower)", kind ? "makes it smaller" : "against it");
  }
  const seen = [...linksAmong(drawn)];
  const relations = new Map(seen.map(([, [u, v]]) => relationOf(u, v)).filter(([, name]) => name));
  for (const [relation, name] of [...relations].sort(([a], [b]) => a - b).slice(0, 6)) {
    const style = ["solid", "dashed", "dotted", "double"][relation % LINES.length];
    item(`border-top-style: ${style}`, shortened(name, 40));
  }
  if (seen.some(([link]) => suspectLinks.has(link))) items.push(make("li", {}, make("strong", {}, "?"), "suspect edge"));
  return items;
}

const sureness = (node) =>
  nodes.predicted[node] < 0 || !nodes.confidence[node] ? "" : `, ${percent(nodes.confidence[node])}`;

function nodeLines(node) {
  const named = () => (isTagged() ? tagNames(setOf(node, nodes.knownTags)) : shortened(classNames[nodes.known[node]], 80));
  const label = nodes.known[node] < 0 ? [] : [`Known label: ${kind ? kind.knownText(node) : named()}`];
  return [
    shortened(nodes.names[node], 120),
    nodes.predicted[node] < 0 ? shortened(nameOf(nodes.predicted[node]), 80) : predictedWords(node),
    ...label,
  ];
}
