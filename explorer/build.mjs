// Bundles src/ into the assets of tm2tfr/web/explorer and tm2tfr/web/playground, readable: nothing but anymachine.js is minified. With a folder as
// argument, into its folders explorer/ and playground/.
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { build, transform } from "esbuild";

const here = (path) => new URL(path, import.meta.url).pathname;
const assets = (part) => (process.argv[2] ? `${process.argv[2]}/${part}` : here(`../tm2tfr/web/${part}/assets`));
const [explorer, playground] = [assets("explorer"), assets("playground")];
const version = async (name) => JSON.parse(await readFile(here(`node_modules/${name}/package.json`))).version;
const copied = async (folder, out, ...names) => {
  for (const name of names) await copyFile(here(`src/${folder}${name}`), `${out}/${name}`);
};

await mkdir(explorer, { recursive: true });
await mkdir(playground, { recursive: true });
const common = { bundle: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "inline", logLevel: "warning" };
const banner = { js: "// Built from explorer/src; see explorer/README.md." };
await build({ ...common, entryPoints: ["src/main.ts"], outfile: `${explorer}/explorer.js`, globalName: "explorer", banner });
await build({ ...common, entryPoints: ["src/home.ts"], outfile: `${explorer}/home.js`, banner });
const notice = `/*! Graphviz in WebAssembly: @viz-js/viz ${await version("@viz-js/viz")}; licences in LICENSE-viz.txt */`;
await build({
  ...common,
  entryPoints: ["src/viz.ts"],
  outfile: `${explorer}/viz.js`,
  banner: { js: notice },
  define: { "import.meta.url": "document.baseURI" },
});
await anyMachine();
await copied("", explorer, "page.html");
await copied("anymachine/", explorer, "anymachine.html");
const [palette, layout, flow, own] = await Promise.all(["palette.css", "explorer.css", "sequence/flow.css", "anymachine/anymachine.css"].map((name) => readFile(here(`src/${name}`), "utf8")));
await writeFile(`${explorer}/explorer.css`, `${palette}\n${layout}\n${flow}`);
const { code: small } = await transform(`${palette}\n${layout}\n${own}`, { loader: "css", minify: true, charset: "utf8", target: "chrome123" });
await writeFile(`${explorer}/anymachine.css`, small);
for (const name of ["explorer.js", "anymachine.js", "viz.js"]) {
  // a script element ends at its end tag, and a comment may swallow it
  const text = await readFile(`${explorer}/${name}`, "utf8");
  await writeFile(`${explorer}/${name}`, text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--"));
}

const { metafile } = await build({ ...common, entryPoints: ["src/playground/main.ts"], outfile: `${playground}/playground.js`, banner, metafile: true });
await build({ ...common, entryPoints: ["src/playground/draws.ts"], outfile: `${playground}/draws.js`, banner });
await copied("playground/", playground, "index.html", "playground.css");
await writeFile(`${playground}/LICENSE-codemirror.txt`, await licences(Object.keys(metafile.inputs)));

/** The page in which any machine runs, which is to be small: minified, and without the views and the references of other sources. */
async function anyMachine() {
  const licence = (await readFile(here("node_modules/yaml/LICENSE"), "utf8")).trim().replaceAll("\n", "\n// ");
  const others = /\/(?:bits|circuit|gates|picture|sequence|sequence\/panel)$/; // each is used for its own sources alone
  const without = {
    name: "without the views and the references of other sources",
    setup(bundle) {
      bundle.onResolve({ filter: others }, ({ path }) => ({ path, namespace: "absent" }));
      bundle.onLoad({ filter: /.*/, namespace: "absent" }, () => ({ contents: "module.exports = {};" }));
    },
  };
  await build({
    ...common,
    entryPoints: ["src/anymachine/main.ts"],
    outfile: `${explorer}/anymachine.js`,
    globalName: "anymachine",
    minify: true,
    plugins: [without],
    banner: { js: `${banner.js}\n// It has the package yaml ${await version("yaml")} in it:\n// ${licence}` },
  });
}

/** The licences of the packages that files of a bundle come from, each text once. */
async function licences(files) {
  const names = [...new Set(files.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []))].sort();
  const texts = new Map();
  for (const name of names) {
    const folder = here(`node_modules/${name}`);
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    if (!file) throw new Error(`${name} has no licence: find out what it is`);
    const text = (await readFile(`${folder}/${file}`, "utf8")).trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${await version(name)}`]);
  }
  const parts = [...texts].map(([text, packages]) => `${packages.join("\n")}\n\n${text}\n`);
  return `playground.js in this folder, put together by explorer/build.mjs, has CodeMirror and what it needs in it:\n\n${parts.join("\n\n")}`;
}
