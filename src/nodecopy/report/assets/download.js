// Rows of the page as CSV files.

// A carriage return is quoted as well: readers take a bare one for the end of a row.
function csvCell(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(rows) {
  return rows.map((cells) => `${cells.map(csvCell).join(",")}\n`).join("");
}

// Rows are made when they are asked for: there may be many.
function downloadButton(label, file, rows) {
  const button = make("button", { type: "button", class: "download" }, `${label} (CSV)`);
  button.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([csvText(rows())], { type: "text/csv" }));
    const link = make("a", { href: url, download: file });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  return button;
}

// As predictions.csv has them, without the parts of the doubt; probabilities have four digits.
function nodeRows(chosen) {
  if (kind) return kind.rows(chosen);
  const named = data.nodes.names !== null;
  const names = tagged ? classNames.slice(0, -1) : classNames;
  const sure = tagged ? [] : ["confidence"];
  const head = ["id", ...(named ? ["name"] : []), "known", "predicted", ...sure, ...names.map((n) => `p_${n}`)];
  const cell = (some) => some.map((k) => classNames[k].replace(/[\\|]/g, "\\$&")).join("|") || "[]";
  const line = (i) => [
    nodes.ids[i],
    ...(named ? [data.nodes.names[i]] : []),
    nodes.known[i] < 0 ? "" : tagged ? cell(setOf(i, nodes.knownTags)) : classNames[nodes.known[i]],
    tagged ? cell(setOf(i)) : classNames[nodes.predicted[i]],
    ...(tagged ? [] : [nodes.confidence[i].toFixed(4)]),
    ...probabilitiesOf(i).slice(0, names.length).map((p) => p.toFixed(4)),
  ];
  return [head, ...chosen.map(line)];
}
