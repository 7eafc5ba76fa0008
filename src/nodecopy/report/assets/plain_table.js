// A table of a few rows.

// A heading that starts with # is of a column of numbers.
function plainTable(headings, rows) {
  const style = (heading) => (heading.startsWith("#") ? { class: "number" } : {});
  const shares = textShares(headings, rows).map((share) => ({ style: `--share: ${share}` }));
  const head = headings.map((h) => make("th", { scope: "col", ...style(h) }, h.replace("#", "")));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell, i) => make("td", { ...style(headings[i]), ...shares[i], "data-name": headings[i].replace("#", "") }, cell))),
  );
  const table = make(
    "table",
    headings.length > 4 ? { class: "cards" } : {},
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
  const numbers = headings.filter((heading) => heading.startsWith("#")).length;
  return make("div", { class: "scroll", style: `--numbers: ${numbers}` }, table);
}

// What each column of text may have of the width that the numbers leave, by its longest text.
function textShares(headings, rows) {
  const length = (cell) => (cell.textContent ?? cell).length;
  const longest = headings.map((heading, i) =>
    heading.startsWith("#") ? 0 : Math.min(40, Math.max(8, ...rows.map((row) => length(row[i])))),
  );
  const total = longest.reduce((sum, n) => sum + n, 0) || 1;
  return longest.map((n) => (n / total).toFixed(3));
}
