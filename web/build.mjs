// Builds the one script and the one style sheet of the report into the crate that embeds them, and the licences of
// what is in the script: in full into NOTICE, and short enough for every page into the script itself.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const assets = fileURLToPath(new URL("../crates/report/assets/", import.meta.url));
const read = (path) => readFileSync(new URL(`node_modules/${path}`, import.meta.url), "utf8").trim();
const version = (name) => JSON.parse(read(`${name}/package.json`)).version;

// The colours are those of the pages without a script, which have no style sheet of this directory.
const theme = (name) => readFileSync(new URL(`../crates/report/src/html/theme/${name}.css`, import.meta.url), "utf8");
const style = readFileSync(new URL("src/report.css", import.meta.url), "utf8");

const d3 = read("echarts/licenses/LICENSE-d3");
const zrender = read("zrender/LICENSE");
const tslib = read("tslib/LICENSE.txt");
const rule = `\n\n${"-".repeat(100)}\n`;

const short = [
  `This script contains Apache ECharts ${version("echarts")}, minified and reduced to the parts in use.`,
  read("echarts/NOTICE"),
  "Licensed under the Apache License, Version 2.0; you may obtain a copy of the License at",
  "http://www.apache.org/licenses/LICENSE-2.0",
].join("\n");
const others = [
  `ECharts contains parts of d3.js:\n\n${d3}`,
  `It contains ZRender ${version("zrender")}:\n\n${zrender}`,
  `It contains tslib ${version("tslib")}:\n\n${tslib}`,
].join(rule);

const common = { bundle: true, minify: true, legalComments: "none", logLevel: "info", charset: "ascii" };
await build({
  ...common,
  entryPoints: ["src/main.ts"],
  outfile: `${assets}report.js`,
  format: "iife",
  target: "es2020",
  banner: { js: `/*!\n${short}${rule}${others}\n*/` },
});
await build({
  ...common,
  stdin: {
    contents: style.replace(/\/\* theme: (light|dark) \*\//g, (_, name) => theme(name)),
    loader: "css",
    sourcefile: "src/report.css",
  },
  outfile: `${assets}report.css`,
  target: ["chrome110", "firefox110", "safari16"],
});
writeFileSync(
  `${assets}NOTICE`,
  `Licences of what report.js contains beside Lydite's own code.${rule}${short}\n\n${read("echarts/LICENSE")}${rule}${others}\n`,
);
