// The charts. Each is a function from colours and width to an option of ECharts, so that it can be
// drawn again when the theme or the width changes. Nothing is animated.

const drawings = new Map();
const watcher = new ResizeObserver((entries) => entries.forEach(({ target }) => redraw(target)));

function draw(host, label, option) {
  host.setAttribute("role", "img");
  host.setAttribute("aria-label", label);
  drawings.set(host, { option, width: 0 });
  redraw(host);
  watcher.observe(host);
}

function redraw(host, always = false) {
  const drawing = drawings.get(host);
  const width = host.clientWidth;
  if (!drawing || width === 0 || (width === drawing.width && !always)) return;
  drawing.width = width;
  const chart = echarts.getInstanceByDom(host) ?? echarts.init(host, null, { renderer: "svg" });
  chart.resize();
  chart.setOption({ ...frame(), ...drawing.option(width) }, true);
  // So that it shrinks as a whole where there is less room, which is on paper.
  host.querySelector("svg").setAttribute("viewBox", `0 0 ${width} ${host.clientHeight}`);
}

function redrawAll() {
  for (const host of drawings.keys()) redraw(host, true);
}

function forget(host) {
  echarts.getInstanceByDom(host)?.dispose();
  drawings.delete(host);
  watcher.unobserve(host);
}

function frame() {
  const font = getComputedStyle(document.body).fontFamily;
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: font, color: ink("--text") },
    tooltip: tooltip(),
  };
}

// A tooltip of ECharts would read a string as markup; an element it takes as it is.
function tooltip(lines) {
  return {
    confine: true,
    backgroundColor: ink("--ground"),
    borderColor: ink("--line"),
    textStyle: { color: ink("--text"), fontSize: 14 },
    formatter: (item) => {
      const shown = lines ? lines(item) : [];
      return make("div", { class: "tip" }, ...shown.map((text) => make("div", {}, text)));
    },
  };
}

function axis(more) {
  const quiet = ink("--quiet");
  return {
    type: "value",
    nameTextStyle: {
      color: quiet,
      fontSize: 13,
      align: more.nameLocation === "end" ? "left" : "center",
    },
    axisLine: { show: false, lineStyle: { color: ink("--link") } },
    axisTick: { show: false },
    splitLine: { show: true, lineStyle: { color: ink("--line") } },
    ...more,
    axisLabel: { color: quiet, fontSize: 13, hideOverlap: true, ...more.axisLabel },
  };
}

const across = (name, more) => axis({ name, nameLocation: "middle", nameGap: 30, ...more });
const upwards = (name, more) => axis({ name, nameLocation: "end", nameGap: 12, ...more });
const wholePercent = (share) => `${Math.round(100 * share)}%`;
const span = (low, high) => `${wholePercent(low)} to ${wholePercent(high)}`;
const inPercent = { axisLabel: { formatter: wholePercent } };

// A name in at most two lines, which end between words; a longer word is cut at its end.
function inLines(text, letters) {
  const words = shown(text).split(/(?<=[\s_/-])/);
  const lines = [""];
  for (const word of words) {
    if (signs(lines.at(-1) + word).length <= letters || lines.at(-1) === "") lines[lines.length - 1] += word;
    else lines.push(word);
  }
  const kept = lines.length > 2 ? [lines[0], lines.slice(1).join("")] : lines;
  return kept.map((line) => shortened(line, letters)).join("\n");
}

function classOption(width, some) {
  const keys = ["known", "predicted", "expected"].filter((key) => data.classes[key]);
  const shares = keys.map((key) => {
    const total = data.classes[key].reduce((sum, n) => sum + n, 0) || 1;
    return some.map((k) => data.classes[key][k] / total);
  });
  const bar = { type: "bar", barMaxWidth: 12, barGap: "25%", barCategoryGap: "40%" };
  const room = Math.min(300, 0.4 * width);
  const label = { color: ink("--text"), interval: 0, lineHeight: 15 };
  return {
    grid: { left: 8, right: 24, top: 4, bottom: 4, outerBoundsMode: "same" },
    xAxis: axis({ position: manyClasses ? "top" : "bottom", ...inPercent }),
    yAxis: axis({
      type: "category",
      inverse: true,
      data: some.map((k) => inLines(classNames[k], Math.floor(room / 8))), // pixels of a letter
      axisLabel: label,
      splitLine: { show: false },
    }),
    tooltip: tooltip(({ dataIndex, seriesIndex, seriesName }) => [
      shortened(classNames[some[dataIndex]], 120),
      `${seriesName}: ${percent(shares[seriesIndex][dataIndex])}`,
    ]),
    series: [
      { ...bar, name: "Known labels", data: shares[0], itemStyle: { color: ink("--link") } },
      { ...bar, name: "Predicted", data: shares[1], itemStyle: { color: ink("--fill-0") } },
      { ...bar, name: "Expected", data: shares[2], itemStyle: { color: ink("--fill-5") } },
    ].slice(0, keys.length),
  };
}

function confidenceOption() {
  const counts = data.confidence.counts;
  const step = 1 / counts.length;
  // An empty beginning tells nothing: nobody can be less sure than chance.
  const from = Math.max(
    0,
    counts.findIndex((n) => n > 0),
  );
  const start = Math.floor(10 * from * step) / 10;
  return {
    grid: { left: 8, right: 16, top: 30, bottom: 8, outerBoundsMode: "same" },
    xAxis: across("confidence", {
      min: start,
      max: 1,
      interval: 0.1,
      splitLine: { show: false },
      ...inPercent,
    }),
    yAxis: upwards("nodes", { minInterval: 1, axisLabel: { formatter: whole } }),
    tooltip: tooltip(({ dataIndex, value }) => [
      `Confidence ${span((from + dataIndex) * step, (from + dataIndex + 1) * step)}`,
      counted(value[1], "node"),
    ]),
    series: [
      {
        type: "bar",
        data: counts.slice(from).map((n, i) => [(from + i + 0.5) * step, n]),
        barCategoryGap: "6%",
        itemStyle: { color: ink("--fill-0") },
      },
    ],
  };
}

function setsOption() {
  const counts = data.sets.counts;
  const total = counts.reduce((sum, n) => sum + n, 0) || 1;
  return {
    grid: { left: 8, right: 16, top: 30, bottom: 8, outerBoundsMode: "same" },
    xAxis: across("classes in the set", {
      type: "category",
      data: counts.map((_, i) => whole(i + 1)),
      splitLine: { show: false },
    }),
    yAxis: upwards("share of the nodes", inPercent),
    tooltip: tooltip(({ dataIndex, value }) => [
      `A set of ${counted(dataIndex + 1, "class", "classes")}`,
      `${counted(counts[dataIndex], "node")}, ${percent(value)}`,
    ]),
    series: [
      {
        type: "bar",
        data: counts.map((n) => n / total),
        barMaxWidth: 64,
        itemStyle: { color: ink("--fill-0") },
      },
    ],
  };
}

function reliabilityOption() {
  const points = data.reliability.points;
  const share = { min: 0, max: 1, interval: 0.25, ...inPercent };
  return {
    grid: { left: 8, right: 16, top: 30, bottom: 8, outerBoundsMode: "same" },
    xAxis: across(tagged ? "probability of a tag" : "confidence", share),
    yAxis: upwards(tagged ? "share with the tag" : "share right", share),
    tooltip: tooltip(({ data: { point } }) => [
      `${tagged ? "Probability" : "Confidence"} ${percent(point.confidence)} on average`,
      `${percent(point.right)} ${tagged ? "have the tag" : "right"} (95% interval ${span(point.low, point.high)})`,
      counted(point.count, "prediction"),
    ]),
    series: [agreement(), ...points.map(interval), pointSeries(points)],
  };
}

const silentLine = { type: "line", symbol: "none", silent: true, tooltip: { show: false } };

function agreement() {
  const lineStyle = { color: ink("--quiet"), type: "dashed", width: 1 };
  return {
    ...silentLine,
    data: [
      [0, 0],
      [1, 1],
    ],
    lineStyle,
  };
}

function interval({ confidence, low, high }) {
  const lineStyle = { color: ink("--edge-0"), width: 1.5, opacity: 0.55 };
  return {
    ...silentLine,
    data: [
      [confidence, low],
      [confidence, high],
    ],
    lineStyle,
  };
}

function pointSeries(points) {
  const most = Math.max(...points.map((point) => point.count));
  const around = { textBorderColor: ink("--ground"), textBorderWidth: 3 };
  const label = { show: true, position: "top", color: ink("--text"), fontSize: 12, ...around };
  return {
    type: "scatter",
    data: points.map((point) => ({
      value: [point.confidence, point.right],
      point,
      symbolSize: 8 + 14 * Math.sqrt(point.count / most),
    })),
    itemStyle: {
      color: ink("--fill-0"),
      borderColor: ink("--ground"),
      borderWidth: 1.5,
      opacity: 1,
    },
    label: { ...label, formatter: ({ data: { point } }) => whole(point.count) },
    labelLayout: { hideOverlap: true },
  };
}
