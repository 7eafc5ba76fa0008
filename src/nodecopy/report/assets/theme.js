// Light or dark: as the system has it, or as the reader chooses.

function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function nameTheme() {
  byId("theme").textContent = currentTheme() === "dark" ? "Light theme" : "Dark theme";
}

function switchTheme() {
  document.documentElement.dataset.theme = currentTheme() === "dark" ? "light" : "dark";
  nameTheme();
  redrawAll();
  graphMap?.redraw();
}

function watchTheme() {
  nameTheme();
  byId("theme").addEventListener("click", switchTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    nameTheme();
    redrawAll();
    graphMap?.redraw();
  });
}
