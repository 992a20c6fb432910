// Looks for faults of HTML pages with axe: `make axe` does so for the documentation.
//
//   node tools/axe.mjs MODULES [--pictures FOLDER] PATH…
//
// MODULES is the folder where npm has put axe-core and playwright-core; a path is a page or a folder of
// pages. Each is opened as on a desk and on a phone, light and dark. A page that is wider than the phone is
// a fault, too. With --pictures it takes a picture of each page in each way, for a person to look at. It needs
// Chromium.
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...rest] = process.argv.slice(2);
const [pictures, paths] = rest[0] === "--pictures" ? [rest[1], rest.slice(2)] : [null, rest];
if (pictures) mkdirSync(pictures, { recursive: true });
const load = createRequire(join(resolve(modules), "package.json"));
const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");

const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];
const SIZES = { desk: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } };

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile();
const executablePath = process.env.PATH.split(delimiter)
  .flatMap((folder) => BROWSERS.map((name) => join(folder, name))).find(isFile);
if (!executablePath) {
  console.error("there is no Chromium on this machine");
  process.exit(2);
}

// Of modules' sources, which Sphinx writes by the hundred, one is as the other.
const pages = paths.flatMap((path) => (isFile(path) ? [path] : readdirSync(path, { recursive: true })
  .filter((name) => name.endsWith(".html") && !name.startsWith("_modules"))
  .map((name) => join(path, name)))).sort();

async function faultsOf(page, path) {
  await page.goto(pathToFileURL(resolve(path)).href);
  // Of the inspector, with the details of an operator.
  await page.evaluate(() => document.querySelector(".node")
    ?.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  await page.addScriptTag({ content: axe });
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const faults = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target }) => `${id}: ${help}: ${target.join(" ")}`));
  const [whole, seen] = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return [scrollWidth, clientWidth];
  });
  return whole > seen ? [...faults, `wider than its window: ${whole} of ${seen} pixels`] : faults;
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
let count = 0;
for (const colorScheme of ["light", "dark"]) {
  for (const [name, viewport] of Object.entries(SIZES)) {
    const context = await browser.newContext({ viewport, colorScheme });
    for (const path of pages) {
      const page = await context.newPage();
      for (const fault of await faultsOf(page, path)) {
        console.log(`${path}, ${name}, ${colorScheme}: ${fault}`);
        count += 1;
      }
      if (pictures) {
        const file = `${basename(path, ".html")}-${name}-${colorScheme}.png`;
        await page.screenshot({ path: join(pictures, file), fullPage: true });
      }
      await page.close();
    }
    await context.close();
  }
}
await browser.close();
console.log(`${pages.length} pages, ${count} faults`);
process.exit(count || !pages.length ? 1 : 0);
