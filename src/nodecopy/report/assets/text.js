// How values are written, and how elements are made.

const byId = (id) => document.getElementById(id);

// Control characters would vanish: show a sign in their place.
function shown(text) {
  const signs = { "\n": "↵", "\t": "⇥", "\u007f": "␡" };
  const picture = (c) => String.fromCharCode(0x2400 + c.charCodeAt(0));
  return text.replace(/[\u0000-\u001f\u007f]/g, (c) => signs[c] ?? picture(c));
}

// What a reader takes for one character: a letter with its accents, a family of emoji.
function signs(text) {
  return Array.from(new Intl.Segmenter().segment(shown(text)), ({ segment }) => segment);
}

function shortened(text, length) {
  const all = signs(text);
  return all.length > length ? all.slice(0, length - 1).join("") + "…" : all.join("");
}

const whole = (n) => n.toLocaleString("en");
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const counted = (n, one, many) => `${whole(n)} ${n === 1 ? one : (many ?? one + "s")}`;

// Strings become text nodes: nothing from the data is ever read as markup.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
