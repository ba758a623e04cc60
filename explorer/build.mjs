// Bundles src/ into tm2tfr/explorer/assets, readable: nothing is minified. With a folder as argument, into that.
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const out = process.argv[2] ?? new URL("../tm2tfr/explorer/assets", import.meta.url).pathname;
const version = async (name) => JSON.parse(await readFile(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

await mkdir(out, { recursive: true });
const common = { bundle: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "inline", logLevel: "warning" };
await build({ ...common, entryPoints: ["src/main.ts"], outfile: `${out}/explorer.js`, banner: { js: "// Built from explorer/src; see explorer/README.md." } });
const notice = `/*! Graphviz in WebAssembly: @viz-js/viz ${await version("@viz-js/viz")}; licences in LICENSE-viz.txt */`;
await build({
  ...common,
  entryPoints: ["src/viz.ts"],
  outfile: `${out}/viz.js`,
  banner: { js: notice },
  define: { "import.meta.url": "document.baseURI" },
});
for (const name of ["explorer.css", "page.html"]) await copyFile(new URL(`src/${name}`, import.meta.url), `${out}/${name}`);
for (const name of ["explorer.js", "viz.js"]) {
  // a script element ends at its end tag, and a comment may swallow it
  const text = await readFile(`${out}/${name}`, "utf8");
  await writeFile(`${out}/${name}`, text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--"));
}
