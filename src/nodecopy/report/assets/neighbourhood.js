// The neighbourhood of a node: which nodes are drawn, where, and how.

const MAX_DRAWN = 60; // besides the node itself
const MAX_INNER = 40; // of these, where two steps are drawn
const MAX_NAMED = 14; // more names than these would cover each other

function surroundings(centre, hops) {
  const near = byInterest(neighboursOf(centre), (node) => [
    nodes.known[node] >= 0,
    suspectLinks.has(linkKey(centre, node)),
  ]);
  const inner = near.slice(0, hops < 2 ? MAX_DRAWN : MAX_INNER);
  const beyond = hops < 2 ? [] : secondStep(centre, near, new Set(inner));
  const outer = beyond.slice(0, MAX_DRAWN - inner.length);
  return {
    centre,
    near,
    inner: inner.sort((a, b) => nodes.predicted[a] - nodes.predicted[b] || a - b),
    outer,
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

// The node in the middle, its neighbours around it by class, the second step around these.
function places({ centre, inner, outer }) {
  const place = new Map([[centre, { x: 0, y: 0, angle: 0 }]]);
  ring(place, inner, 1);
  const first = new Map(inner.map((node, at) => [node, at]));
  const parent = (node) =>
    Math.min(...[...neighboursOf(node)].map((other) => first.get(other) ?? Infinity));
  const towards = new Map(outer.map((node) => [node, parent(node)]));
  ring(
    place,
    [...outer].sort((a, b) => towards.get(a) - towards.get(b) || a - b),
    1.75,
  );
  return place;
}

function ring(place, members, radius) {
  members.forEach((node, at) => {
    const angle = Math.PI / 2 - (2 * Math.PI * at) / members.length;
    place.set(node, { x: radius * Math.cos(angle), y: radius * Math.sin(angle), angle });
  });
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

function neighbourhoodOption(around) {
  const place = places(around);
  const named = place.size <= MAX_NAMED + 1;
  const size = (node) =>
    node === around.centre ? 26 : place.size > 45 ? 10 : place.size > 25 ? 13 : 18;
  const known = [...place.keys()].filter((node) => nodes.known[node] >= 0);
  return (width) => ({
    grid: { left: 0, right: 0, top: 0, bottom: 0, outerBoundsMode: "none" },
    ...axesAround([...place.values()], width, named),
    tooltip: tooltip(({ dataType, data: { node } }) =>
      dataType === "edge" || node === undefined ? [] : nodeLines(node),
    ),
    series: [
      {
        type: "graph",
        coordinateSystem: "cartesian2d",
        data: [...place].map(([node, at]) => drawnNode(node, at, size(node), named)),
        links: [...linksAmong(place)].map(([key, [u, v]]) =>
          drawnLink(u, v, suspectLinks.has(key)),
        ),
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

const NAME_WIDTH = 100; // of a name beside a mark, in pixels

// Around what is drawn, with as many units to a pixel across as up and down.
function axesAround(drawn, width, named) {
  const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
  const [x, y] = [middle(drawn.map((at) => at.x)), middle(drawn.map((at) => at.y))];
  const height = byId("neighbourhood").clientHeight;
  const across = Math.max(...drawn.map((at) => Math.abs(at.x - x)));
  const upwards = Math.max(...drawn.map((at) => Math.abs(at.y - y)));
  const room = named ? (across * height) / Math.max(width - 2 * NAME_WIDTH, 100) : 0;
  const half = Math.max(0.3 + Math.max(0.7, across, upwards), room);
  const wide = half * (width / height);
  const hidden = { type: "value", show: false };
  return {
    xAxis: { ...hidden, min: x - wide, max: x + wide },
    yAxis: { ...hidden, min: y - half, max: y + half },
  };
}

function drawnNode(node, { x, y, angle }, size, named) {
  const k = nodes.predicted[node];
  const middle = x === 0 && y === 0;
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
      position: middle ? "bottom" : outwards(angle),
      distance: nodes.known[node] >= 0 ? 9 : 6,
      formatter: () => drawnName(node),
      color: ink("--text"),
      fontSize: 12,
      fontWeight: middle ? "bold" : "normal",
      width: NAME_WIDTH - 16,
      overflow: "truncate",
      textBorderColor: ink("--ground"),
      textBorderWidth: 3,
    },
  };
}

// The side of a mark on which its name does not cross the drawing.
function outwards(angle) {
  if (Math.abs(Math.cos(angle)) > 0.35) return Math.cos(angle) > 0 ? "right" : "left";
  return Math.sin(angle) > 0 ? "top" : "bottom";
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

function drawnLink(u, v, suspect) {
  const style = suspect
    ? { color: ink("--lower"), type: "dashed", width: 2 }
    : { color: ink("--link"), width: 1 };
  return {
    source: String(u),
    target: String(v),
    lineStyle: { ...style, opacity: 0.8, curveness: 0 },
  };
}

const sureness = (node) => (nodes.predicted[node] < 0 ? "" : `, ${percent(nodes.confidence[node])}`);

function nodeLines(node) {
  const label =
    nodes.known[node] < 0 ? [] : [`Known label: ${shortened(classNames[nodes.known[node]], 80)}`];
  return [
    shortened(nodes.names[node], 120),
    `${shortened(nameOf(nodes.predicted[node]), 80)}${sureness(node)}`,
    ...label,
  ];
}
