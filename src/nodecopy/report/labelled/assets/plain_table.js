// A table of a few rows.

// A heading that starts with # is of a column of numbers.
function plainTable(headings, rows) {
  const style = (heading) => (heading.startsWith("#") ? { class: "number" } : {});
  const head = headings.map((h) => make("th", { scope: "col", ...style(h) }, h.replace("#", "")));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell, i) => make("td", style(headings[i]), cell))),
  );
  const table = make(
    "table",
    {},
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
  return make("div", { class: "scroll" }, table);
}
