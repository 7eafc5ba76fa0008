// Bundles sigma.js into one script, next to the licences of all that it holds.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const VENDOR = "../src/nodecopy/report/vendor";

const { metafile, outputFiles } = await build({
  entryPoints: ["sigma.js"],
  bundle: true,
  format: "iife",
  globalName: "sigma",
  legalComments: "none",
  metafile: true,
  minify: true,
  target: "es2022",
  write: false,
});
const folders = Object.keys(metafile.inputs).map((file) => file.match(/^node_modules\/([^/]+)/)?.[1]);
const packages = [...new Set(folders.filter(Boolean))].sort().map(described);
const names = packages.map(({ title }) => title).join(", ");
const banner = `/* ${names}: MIT, see sigma-LICENSE.txt */\n`;
writeFileSync(`${VENDOR}/sigma.min.js`, banner + outputFiles[0].text);
const texts = packages.map(({ title, text }) => `${title}\n\n${text.trim()}\n`);
writeFileSync(`${VENDOR}/sigma-LICENSE.txt`, texts.join("\n----\n\n"));

function described(name) {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  if (license !== "MIT") throw new Error(`${name} ${version} has the licence ${license}`);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return { title: `${name} ${version}`, text: readFileSync(`${folder}/${file}`, "utf8") };
}
