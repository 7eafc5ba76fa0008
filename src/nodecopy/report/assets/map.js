// The map: nodes as points, near to those that look like them.

function mapOption() {
  const shown = map.nodes;
  const place = (at) => [map.places[2 * at] / 10000, map.places[2 * at + 1] / 10000];
  const inks = Array.from({ length: COLOURS }, (_, c) => ink(`--fill-${c}`));
  const point = (i, at) => ({
    value: place(at),
    node: i,
    symbol: `path://${shapeOf(nodes.predicted[i])}`,
    symbolSize: shown.length > 800 ? 6 : 9,
    itemStyle: {
      color: inks[colourOf(nodes.predicted[i])],
      opacity: fullness(nodes.confidence[i]),
    },
  });
  const known = shown.map((i, at) => [i, at]).filter(([i]) => nodes.known[i] >= 0);
  const hidden = { type: "value", show: false, min: -1.05, max: 1.05 };
  return {
    grid: { left: 4, right: 4, top: 4, bottom: 4, outerBoundsMode: "none" },
    xAxis: hidden,
    yAxis: hidden,
    tooltip: tooltip(({ data: { node } }) => (node === undefined ? [] : nodeLines(node))),
    series: [
      { type: "scatter", data: shown.map(point), emphasis: { scale: 1.6 } },
      {
        type: "scatter",
        silent: true,
        symbol: "circle",
        symbolSize: shown.length > 800 ? 10 : 14,
        data: known.map(([, at]) => place(at)),
        itemStyle: { color: "transparent", borderColor: ink("--text"), borderWidth: 1.2 },
      },
    ],
  };
}
