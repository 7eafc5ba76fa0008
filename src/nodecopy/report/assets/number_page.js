// What the page shows of numbers, in the place of classes.

// Few digits, large numbers whole.
function inDigits(value) {
  if (Number.isNaN(value)) return "–";
  return Math.abs(value) >= 1000 ? whole(Math.round(value)) : String(+value.toPrecision(3));
}

const numberCell = (k, value) => make("span", { class: "name" }, classMark(k), make("span", {}, inDigits(value)));
const intervalText = (low, high) => `${inDigits(low)} to ${inDigits(high)}`;

function numberKind() {
  const hasIntervals = Boolean(nodes.low);
  const interval = (i) => (nodes.predicted[i] < 0 ? "" : intervalText(nodes.low[i], nodes.high[i]));
  return {
    multiplies: false,
    number: inDigits,
    predicted: (i) =>
      nodes.predicted[i] < 0 ? className(nodes.predicted[i]) : numberCell(nodes.predicted[i], nodes.value[i]),
    known: (i) => numberCell(nodes.known[i], nodes.knownValue[i]),
    words: (i) => inDigits(nodes.value[i]),
    knownText: (i) => inDigits(nodes.knownValue[i]),
    between: (i) => (hasIntervals ? `, with ${data.scatter.coverage} from ${interval(i)}` : ""),
    differs: (i) => hasIntervals && (nodes.knownValue[i] < nodes.low[i] || nodes.knownValue[i] > nodes.high[i]),
    trustHeadings: hasIntervals ? ["#Interval"] : [],
    trust: (i) => (hasIntervals ? [interval(i)] : []),
    columns: [
      { key: "value", title: "Predicted", width: "minmax(8rem, 1fr)", narrow: "7rem", cell: predictedCell },
      ...(hasIntervals
        ? [{ key: "wide", title: `${data.scatter.coverage} interval`, width: "minmax(10rem, 1.2fr)", number: true, cell: interval }]
        : []),
      { key: "knownValue", title: "Known number", width: "minmax(8rem, 1fr)", cell: knownCell },
    ],
    mapColumns: () => [
      ...(hasIntervals ? [ranked("Width of the interval", nodes.wide, inDigits)] : []),
      ranked("Degree", nodes.degree, whole),
    ],
    // What a piece of evidence adds, or multiplies by where the fit is one of logarithms.
    effect(value) {
      if (this.multiplies) return `×${+Math.exp(value).toPrecision(3)}`;
      return `${value < 0 ? "−" : "+"}${inDigits(Math.abs(value))}`;
    },
    fall: (why, bars) => [
      make("p", {}, `From ${inDigits(why.mean)}, the mean of the labels, each piece makes it larger (right) or smaller (left)${why.multiplies ? "; pieces multiply" : ""}.`),
      make("ul", { class: "waterfall" }, ...bars),
      make("p", {}, "Together ", make("strong", {}, inDigits(why.value)), "."),
    ],
    sections: showNumbers,
    rows: numberRows,
  };
}

function showNumbers() {
  showRanges();
  if (data.scatter) {
    showScatter();
    showComponents();
    return;
  }
  for (const id of ["trust", "components"]) {
    byId(id).remove();
    document.querySelector(`nav a[href="#${id}"]`).parentElement.remove();
  }
}

function showRanges() {
  const { known, predicted } = data.classes;
  const order = classNames.map((_, k) => k);
  byId("class-chart").style.height = `${36 + order.length * 44}px`;
  const label = "Bar chart of known and predicted numbers by range; a table follows";
  draw(byId("class-chart"), label, (width) => classOption(width, order));
  const rows = order.map((k) => [className(k), whole(known[k]), whole(predicted[k])]);
  byId("class-table").append(plainTable(["Range", "#Known", "#Predicted"], rows));
}

function showScatter() {
  byId("scatter-words").append(data.scatter.sentence);
  const label = "Predicted beside known numbers that were held out; a table follows";
  draw(byId("scatter-chart"), label, scatterOption);
  const rows = data.scatter.points.map(([known, value, low, high]) => [
    inDigits(known),
    inDigits(value),
    intervalText(low, high),
  ]);
  byId("scatter-table").append(plainTable(["#Known", "#Predicted without it", "#Interval"], rows));
}

function scatterOption() {
  const { points, logarithm } = data.scatter;
  const values = points.flatMap(([known, value]) => [known, value]);
  const ends = [Math.min(...values), Math.max(...values)];
  const side = { type: logarithm ? "log" : "value", scale: true, axisLabel: { formatter: inDigits } };
  const within = (value) => Math.max(ends[0], Math.min(ends[1], value));
  const line = (from, to, lineStyle) => ({ ...silentLine, data: [from, to], lineStyle });
  const colour = ink("--edge-2");
  const bars = points.slice(0, 300).map(([, value, low, high]) =>
    line([value, within(low)], [value, within(high)], { color: colour, width: 1, opacity: 0.3 }),
  );
  return {
    grid: { left: 8, right: 24, top: 30, bottom: 8, outerBoundsMode: "same" },
    xAxis: across("predicted without it", side),
    yAxis: upwards("known", side),
    tooltip: tooltip(({ data: { point } }) => [
      `Known ${inDigits(point[0])}`,
      `Predicted ${inDigits(point[1])}, ${intervalText(point[2], point[3])}`,
    ]),
    series: [
      line([ends[0], ends[0]], [ends[1], ends[1]], { color: ink("--quiet"), type: "dashed", width: 1 }),
      ...bars,
      {
        type: "scatter",
        symbolSize: 7,
        data: points.map((point) => ({ value: [point[1], point[0]], point })),
        itemStyle: { color: colour, borderColor: ink("--ground"), borderWidth: 1 },
      },
    ],
  };
}

// As predictions.csv has them.
function numberRows(chosen) {
  const named = data.nodes.names !== null;
  const ends = nodes.low ? ["low", "high"] : [];
  const cell = (value) => (Number.isNaN(value) ? "" : String(+value.toPrecision(7)));
  const line = (i) => [
    nodes.ids[i],
    ...(named ? [data.nodes.names[i]] : []),
    cell(nodes.knownValue[i]),
    cell(nodes.value[i]),
    ...ends.map((end) => cell(nodes[end][i])),
  ];
  return [["id", ...(named ? ["name"] : []), "known", "predicted", ...ends], ...chosen.map(line)];
}

kind = numberKind();
document.documentElement.classList.add("numbers");
