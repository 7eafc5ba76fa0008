// How far it is: labels, the estimate of accuracy, classes, suspect labels, results.

function showProgress() {
  byId("folder").textContent = state.folder;
  byId("fit").textContent = fitWords();
  byId("doing").textContent = state.doing;
  showFacts();
  showHistory();
  showBalance();
  showSuspects();
  byId("finish").disabled = state.finish.state === "writing";
  byId("writing").hidden = state.finish.state !== "writing";
  byId("fitting").hidden = !isBehind();
  const done = state.finish.state === "written";
  const link = make("a", { href: "report", target: "_blank", rel: "noopener" }, "Open the report");
  byId("finished").replaceChildren(shown(state.finish.message), ...(done ? [" ", link] : []));
  byId("finished").className = state.finish.state === "failed" ? "wrong" : "";
}

function fitWords() {
  if (isBehind()) return state.fitted ? "fitting your latest answers …" : "first fit …";
  if (!state.fitted) return "two classes with a label are needed before anything is fitted";
  return "fitted to all your answers";
}

function showFacts() {
  const last = state.history.at(-1);
  const facts = [
    ["Labels", whole(state.labels), `of ${counted(state.nodes, "node")}`],
    [
      "Estimated accuracy",
      last ? wholePercent(last[1]) : "–",
      last ? `95% interval ${span(last[2], last[3])}. ${restsOn()}` : "takes two labels of some class",
    ],
    ...(state.forecast ? [forecastFact(...state.forecast)] : []),
  ];
  const cells = facts.map(([name, value, remark]) =>
    make(
      "div",
      {},
      make("dt", {}, name),
      make("dd", { class: "value" }, value),
      make("dd", { class: "remark" }, remark),
    ),
  );
  byId("facts").replaceChildren(...cells);
}

function restsOn() {
  if (!state.suggested) return "It rests on all labels.";
  const some = counted(state.restsOn ?? 0, "label");
  return `It rests on ${some} of random nodes or your own, not on those that were suggested, which are harder.`;
}

function forecastFact(more, low, high) {
  const points = (gain) => `${gain < 0 ? "−" : "+"}${Math.abs(Math.round(100 * gain))}`;
  const words = `of accuracy, in 80 of 100 cases, going by learning curves of other graphs`;
  return [`${more} more labels`, `${points(low)} to ${points(high)} points`, words];
}

// Every estimate so far, the latest first.
function showHistory() {
  const rows = state.history.map(([n, a, low, high]) => [whole(n), percent(a), span(low, high)]);
  byId("history").hidden = rows.length === 0;
  byId("history").lastElementChild.replaceChildren(
    plainTable(["#Labels", "#Estimated accuracy", "#95% interval"], rows.reverse()),
  );
}

function showBalance() {
  const rows = state.classes.map((_, k) => [
    className(k),
    whole(state.counts[k]),
  ]);
  const table = plainTable(["Class", "#Labels"], rows);
  const none = make("p", {}, "No class has a name yet: press n to name one.");
  byId("balance").replaceChildren(state.classes.length ? table : none);
  if (state.cannotTell) {
    const words = `${counted(state.cannotTell, "node")} that cannot be told.`;
    byId("balance").append(make("p", { class: "quiet" }, words));
  }
}

function showSuspects() {
  const [changed, confirmed] = state.lookedAgain;
  const again = changed + confirmed ? ` Asked again: ${changed} changed, ${confirmed} confirmed.` : "";
  if (state.suspects.length === 0) {
    byId("suspects").replaceChildren(make("p", { class: "quiet" }, `No label is in doubt.${again}`));
    return;
  }
  const items = state.suspects.map(([id, name, known, predicted, probability]) => {
    const button = make(
      "button",
      { type: "button" },
      oneLine(name),
      make("small", {}, `wrong with ${wholePercent(probability)}`),
      className(state.classes.indexOf(known)),
      make("small", {}, `rather ${shortened(predicted, 60)}?`),
    );
    const why = `Its label may be wrong: without it, ${shortened(predicted, 60)} is predicted.`;
    button.addEventListener("click", () => ask(id, why));
    return make("li", {}, button);
  });
  byId("suspects").replaceChildren(
    ...(again ? [make("p", { class: "quiet" }, again)] : []),
    make("ul", { class: "list" }, ...items),
  );
}
