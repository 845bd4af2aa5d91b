// Looks at pages as people do: wide and on a phone, light and dark, with the keyboard alone, and with axe-core.
// node look.mjs CHROMIUM PACKAGES PICTURES PAGE...   prints one line for each thing that is wrong.
// PACKAGES is a folder with node_modules; PICTURES a folder for screenshots, or `-` for none.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, packages, pictures, ...pages] = process.argv.slice(2);
const require = createRequire(join(packages, "look.cjs"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const plain = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
const wrong = [];

const views = [
  { name: "wide-light", width: 1600, height: 1000, theme: "light" },
  { name: "wide-dark", width: 1600, height: 1000, theme: "dark" },
  { name: "phone-light", width: 360, height: 800, theme: "light" },
  { name: "phone-dark", width: 360, height: 800, theme: "dark" },
];

// What is checked of a page however it is shown.
async function inspect(page, say) {
  const seen = await page.evaluate(() => {
    const shown = (one) => one.getClientRects().length > 0;
    const charts = [...document.querySelectorAll("svg.lt")].filter(shown);
    return {
      wider: document.documentElement.scrollWidth - innerWidth,
      hacked: window.hacked,
      headings: document.querySelectorAll("h1").length,
      charts: charts.length,
      silent: charts.filter((chart) => !chart.querySelector("[data-tip]")).length,
      unlabelled: charts.filter((chart) => !chart.getAttribute("aria-label")).length,
      tableless: [...document.querySelectorAll("figure")].filter((one) => !one.querySelector("table")).length,
      cut: charts.flatMap((chart) => {
        const box = chart.getBoundingClientRect();
        return [...chart.querySelectorAll("text")].filter((text) => {
          const own = text.getBoundingClientRect();
          return own.left < box.left - 3 || own.right > box.right + 3 || own.bottom > box.bottom + 3;
        }).map((text) => text.textContent);
      }),
    };
  });
  if (seen.wider > 0) say(`is ${seen.wider} px wider than the window`);
  if (seen.hacked) say("ran a script from a name");
  if (seen.headings !== 1) say(`has ${seen.headings} main headings`);
  if (seen.charts === 0) say("shows no chart");
  if (seen.silent) say(`has ${seen.silent} charts that say nothing on hover`);
  if (seen.unlabelled) say(`has ${seen.unlabelled} charts without a label`);
  if (seen.tableless) say(`has ${seen.tableless} figures without a table`);
  if (seen.cut.length) say(`has text that leaves its chart: ${seen.cut.slice(0, 5).join(" | ")}`);
}

// Tab to the switch, a chart and a table, and use each.
async function withKeys(page, say) {
  const focused = () => page.evaluate(() => {
    const one = document.activeElement;
    if (one.id === "theme") return "switch";
    if (one.matches("svg.lt")) return "chart";
    return one.matches("summary") ? "table" : "";
  });
  const met = new Set();
  for (let presses = 0; presses < 120 && met.size < 3; presses += 1) {
    await page.keyboard.press("Tab");
    const what = await focused();
    if (!what || met.has(what)) continue;
    met.add(what);
    if (what === "switch") {
      const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await page.keyboard.press("Enter");
      const after = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      if (before === after) say("keeps its colours when the switch is pressed");
      await page.keyboard.press("Enter");
    } else if (what === "chart") {
      await page.keyboard.press("ArrowRight");
      const tip = await page.evaluate(() => (document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent));
      if (!tip) say("says nothing when an arrow key is pressed on a chart");
      await page.keyboard.press("Escape");
    } else {
      await page.keyboard.press("Enter");
      if (!(await page.evaluate(() => document.activeElement.parentElement.open))) say("keeps a table shut");
    }
  }
  for (const what of ["switch", "chart", "table"]) if (!met.has(what)) say(`has no ${what} that the keyboard reaches`);
}

async function withAxe(page, say) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, impact, nodes } of violations) {
    if (impact !== "serious" && impact !== "critical") continue;
    say(`axe: ${impact}: ${id}, ${nodes.length} times, such as ${nodes[0].html.slice(0, 160)}`);
  }
}

const browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: [...plain, ...quiet] });
for (const path of pages) {
  for (const view of views) {
    // What a switch keeps is not for the next view.
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.setDefaultTimeout(240000);
    const say = (what) => wrong.push(`${basename(path)} ${view.name}: ${what}`);
    page.on("pageerror", (error) => say(`script error: ${error.message}`));
    page.on("console", (line) => line.type() === "error" && say(`console: ${line.text()}`));
    page.on("request", (request) => {
      if (!request.url().startsWith("file:")) say(`asks for ${request.url()}`);
    });
    await page.setViewport({ width: view.width, height: view.height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: view.theme }]);
    await page.goto(pathToFileURL(path).href);
    await inspect(page, say);
    if (pictures !== "-") {
      const name = `${basename(path, ".html")}-${view.name}.png`;
      await page.screenshot({ path: join(pictures, name), fullPage: true, captureBeyondViewport: true });
    }
    if (view.name === "wide-light" || view.name === "phone-dark") {
      await withAxe(page, say);
      await withKeys(page, say);
    }
    await context.close();
  }
}
await browser.close();
for (const line of wrong) console.log(line);
