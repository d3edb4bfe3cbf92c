// The page in a browser: what people see, do and hear, and what it must never do.
//
// `make page` runs it, with the program in OPERATOR and the browser in CHROMIUM. Nothing waits for a time here, but for
// what is to be seen. Pictures of both themes and two widths go to SCREENSHOTS.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";

// The packages are not beside this file, but where they were built.
const require = createRequire(join(process.env.PACKAGES, "package.json"));
const { chromium } = require("playwright-core");
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
// One window a week, which comes too late for the oldest node.
const WEDNESDAYS = await readFile("docs/plan/wednesdays.yaml", "utf8");
const WIDTHS = [1280, 390];
const THEMES = ["light", "dark"];

let server;
const others = [];
let base;
let folder;
let context;
let page;
let complaints;

/** Starts the program, and gives its address. */
async function serve(flags) {
  const started = spawn(process.env.OPERATOR, [...flags, "--serve"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: started.stdout })) {
    return { started, address: line.match(/http:\S+/)[0] };
  }
  throw new Error("the program has ended without an address");
}

/** The plan of some files as of a time. */
function plan(files, at) {
  return ["plan", ...files.flatMap((file) => ["-f", file]), "--at", at];
}

before(async () => {
  const files = ["examples/weekly.yaml", "docs/plan/cluster.yaml"];
  ({ started: server, address: base } = await serve(plan(files, "2026-12-02T00:00:00Z")));
  folder = await mkdtemp(join(tmpdir(), "page-"));
  context = await chromium.launchPersistentContext(folder, {
    executablePath: process.env.CHROMIUM, headless: true, args: FLAGS, timezoneId: "Europe/Berlin", locale: "en-GB",
  });
  await mkdir(process.env.SCREENSHOTS, { recursive: true });
});

after(async () => {
  await context?.close();
  server?.kill();
  others.forEach((other) => other.kill());
  if (folder) {
    await rm(folder, { recursive: true, force: true });
  }
});

/** A new page each time; whatever it complains of, or asks another host for, is kept. */
beforeEach(async () => {
  await page?.close();
  page = await context.newPage();
  complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (new URL(request.url()).host !== new URL(base).host) {
      complaints.push(`asked ${request.url()}`);
    }
  });
});

async function open(hash = "", width = 1280) {
  await page.setViewportSize({ width, height: 900 });
  await page.goto(base + hash);
  await page.locator("#plan[aria-busy=false] svg").first().waitFor();
}

/** The rows of the calendar, as somebody reads them. */
async function calendar(pool = "api") {
  const rows = page.getByRole("region", { name: `Calendar of ${pool}` }).locator("tbody tr");
  return rows.evaluateAll((all) => all.map((row) => [...row.cells].slice(0, 4).map((cell) => cell.textContent).join(" | ")));
}

async function violations() {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const told = (nodes) => nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ");
  return found.violations.map(({ id, nodes }) => `${id}: ${told(nodes)}`);
}

test("it loads and shows the plan that the command line prints", async () => {
  await open();
  assert.deepEqual(await calendar(), [
    "Sat 2026-12-05 02:00 | api-zt81c | surge | 6h55m",
    "Sat 2026-12-05 02:25 | api-4hx2b | surge | 5d14h30m",
    "Sat 2026-12-05 02:50 | api-7kq9d | surge | 5d14h6m",
    "Sat 2026-12-05 05:13 | api-m2v6s | surge | 8d1h11m",
  ]);
  assert.equal(await page.locator("svg [role=option]").count(), 4);
  assert.match(await page.locator("#as-of").textContent(), /4 nodes are rotated, 0 expire by force/);
  assert.deepEqual(complaints, []);
});

test("a policy that is edited changes the calendar and the drawing", async () => {
  await open();
  const drawn = await page.locator("svg.timeline").first().innerHTML();
  await page.getByLabel("RotationPolicies").fill(WEDNESDAYS);
  await page.locator("svg .expires").waitFor();
  const rows = await calendar();
  assert.equal(rows[0], "Sat 2026-12-05 09:00 | api-zt81c | expires | none");
  assert.equal(rows[1].split(" | ")[0], "Wed 2026-12-09 02:00");
  assert.notEqual(await page.locator("svg.timeline").first().innerHTML(), drawn);
  await page.getByRole("button", { name: "Back to what was given" }).click();
  await page.locator("svg .expires").waitFor({ state: "detached" });
  assert.equal((await calendar())[0], "Sat 2026-12-05 02:00 | api-zt81c | surge | 6h55m");
  assert.deepEqual(complaints, []);
});

test("all faults come at once, lead to their places, and leave the picture", async () => {
  await open();
  const policy = page.getByLabel("RotationPolicies");
  await policy.fill((await policy.inputValue()).replace("02:00", "25:00").replace("Asia/Tokyo", "Nowhere"));
  const faults = page.getByRole("alert").locator("li");
  await faults.first().waitFor();
  assert.equal(await faults.count(), 2);
  assert.equal((await calendar()).length, 4);
  await faults.first().getByRole("button").click();
  assert.equal(await policy.evaluate((area) => area === document.activeElement), true);
  const line = await policy.evaluate((area) => area.value.slice(0, area.selectionStart).split("\n").length);
  assert.equal(await policy.evaluate((area, row) => area.value.split("\n")[row - 1].trim(), line), "- timezone: Nowhere");
  // A refusal is logged by the browser itself.
  assert.deepEqual(complaints.filter((text) => !text.includes("422")), []);
});

test("the arrow keys go from bar to bar, and each is explained", async () => {
  await open();
  const bars = page.locator("svg [role=option]");
  const heard = page.getByRole("status");
  await bars.first().focus();
  assert.match(await heard.textContent(), /^api-zt81c: surge, Sat 2026-12-05 02:00 Asia\/Tokyo .*when the window opens\./);
  await page.keyboard.press("ArrowDown");
  assert.match(await heard.textContent(), /^api-4hx2b: surge/);
  assert.equal(await bars.nth(1).getAttribute("aria-selected"), "true");
  await page.keyboard.press("End");
  assert.match(await heard.textContent(), /^api-m2v6s: .*It becomes due at that time/);
  await page.keyboard.press("ArrowDown");
  assert.match(await heard.textContent(), /^api-m2v6s: /);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  assert.match(await heard.textContent(), /^api-zt81c: /);
  await page.keyboard.press("Tab");
  const inside = await page.evaluate(() => Boolean(document.activeElement.closest("svg")));
  assert.equal(inside, false, "Tab must leave the drawing");
  assert.deepEqual(complaints, []);
});

test("whoever points at a bar or a window reads why", async () => {
  await open();
  await page.locator("svg [role=option]").nth(2).hover();
  assert.match(await page.getByRole("status").textContent(), /^api-7kq9d: surge/);
  await page.locator("svg .window").first().dispatchEvent("pointerenter");
  const told = await page.getByRole("status").textContent();
  assert.match(told, /^Window from Sat 2026-12-05 02:00 Asia\/Tokyo .* 4 rotations begin in it/);
});

test("the address restores what was chosen and what was written", async () => {
  await open();
  await page.getByRole("combobox", { name: "NodePool" }).selectOption("api");
  await page.getByRole("combobox", { name: "Time zone" }).selectOption("Europe/Berlin");
  await page.getByRole("combobox", { name: "Days" }).selectOption("14");
  await page.getByRole("button", { name: "Later" }).click();
  const policy = page.getByLabel("RotationPolicies");
  await policy.fill(WEDNESDAYS);
  await page.locator("td.bad").waitFor();
  await page.waitForURL(/texts=/);
  const hash = new URL(page.url()).hash;
  const drawn = await page.locator("svg.timeline").first().innerHTML();
  await page.goto("about:blank");
  await open(hash);
  assert.equal(await policy.inputValue(), WEDNESDAYS);
  assert.equal(await page.getByRole("combobox", { name: "Time zone" }).inputValue(), "Europe/Berlin");
  assert.equal(await page.getByRole("combobox", { name: "Days" }).inputValue(), "14");
  assert.equal(await page.locator("svg.timeline").first().innerHTML(), drawn);
  assert.equal((await calendar())[0], "Sat 2026-12-05 01:00 | api-zt81c | expires | none");
  assert.deepEqual(complaints.filter((text) => !text.includes("about:blank")), []);
});

test("an address that was cut off opens the page as it is", async () => {
  await open("#pool=none&zone=Nowhere&days=-3&from=never&texts=AAAA");
  assert.equal((await calendar()).length, 4);
  assert.deepEqual(complaints, []);
});

test("the theme follows the machine, and the button overrules it", async () => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "dark" });
  await open();
  const dark = await ground();
  await page.emulateMedia({ colorScheme: "light" });
  const light = await ground();
  assert.notEqual(dark, light);
  await page.getByRole("button", { name: "Theme: auto" }).click();
  assert.equal(await ground(), dark);
  await page.getByRole("button", { name: "Theme: dark" }).click();
  assert.equal(await ground(), light);
  await page.getByRole("button", { name: "Theme: light" }).click();
  assert.equal(await ground(), light);
});

test("a name in the cluster that is markup stays a name", async () => {
  await open();
  const fleet = page.getByLabel("Cluster:");
  await fleet.fill((await fleet.inputValue()).replaceAll("name: api-zt81c", 'name: "<img src=x onerror=alert(1)>"'));
  await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
  assert.equal(await page.locator("#plan img").count(), 0);
  assert.deepEqual(complaints, []);
});

test("a cluster with everything in it is drawn, and can be used by everybody", async () => {
  const folder = "tests/scripts/plan";
  const files = [`${folder}/policies.yaml`, `${folder}/cluster.json`];
  const { started, address } = await serve(plan(files, "2026-01-05T12:00:00Z"));
  others.push(started);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(address);
  await page.locator("#plan[aria-busy=false] svg").first().waitFor();
  assert.deepEqual(await page.locator("h2").allTextContents(), [
    "Try it", "NodePool api", "NodePool frozen", "NodePool full", "NodePool lost",
  ]);
  assert.equal((await calendar())[0], "Wed 2026-01-07 03:00 | api-1 | surge into free room | 3d21h");
  for (const sign of [".room", ".surge", ".expires", ".deadline", ".missed", ".now"]) {
    assert.ok(await page.locator(`svg.timeline ${sign}`).count() > 0, `${sign} is not drawn`);
  }
  await page.locator("svg .missed").first().dispatchEvent("pointerenter");
  assert.match(await page.getByRole("status").textContent(), /goes by unused although nodes are due/);
  assert.deepEqual(await violations(), []);
  await page.getByRole("combobox", { name: "NodePool" }).selectOption("full");
  assert.deepEqual(await page.locator("main h2").allTextContents(), ["NodePool full"]);
  assert.deepEqual(complaints.filter((text) => !text.startsWith(`asked ${address.split("/ui")[0]}`)), []);
});

test("a simulated life is drawn, and follows what is edited", async () => {
  const flags = ["simulate", "--fleet", "docs/simulate/batch.yaml", "-f", "docs/simulate/batch-short.yaml"];
  const { started, address } = await serve(flags);
  others.push(started);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(address);
  await page.locator("#plan[aria-busy=false] svg").first().waitFor();
  const told = () => page.locator("#as-of").textContent();
  assert.match(await told(), /^From Mon 2026-01-05 00:00 to .* 28 nodes are rotated, 20 expire by force/);
  assert.equal((await calendar())[0], "Wed 2026-01-14 02:00 | api-00001 | surge | 4d20h53m");
  for (const sign of [".surge", ".expires", ".off"]) {
    assert.ok(await page.locator(`svg.timeline ${sign}`).count() > 0, `${sign} is not drawn`);
  }
  const off = page.locator("svg [role=option]").filter({ hasText: "called off" }).first();
  await off.hover();
  assert.match(await page.getByRole("status").textContent(), /called off, .* Over at /);
  assert.deepEqual(await violations(), []);
  await page.screenshot({ path: join(process.env.SCREENSHOTS, "simulation.png") });
  const policy = page.getByLabel("RotationPolicies");
  await policy.fill((await policy.inputValue()).replace("02:30", "06:00"));
  await page.locator("svg .expires").first().waitFor({ state: "detached" });
  assert.match(await told(), /84 nodes are rotated, 0 expire by force/);
  const fleet = page.getByLabel("Fleet:");
  await fleet.fill((await fleet.inputValue()).replace("336h", "14d").replace("2026-03-02", "2025-03-02"));
  const faults = page.getByRole("alert").locator("li");
  await faults.first().waitFor();
  assert.equal(await faults.count(), 2);
  await faults.first().getByRole("button").click();
  assert.equal(await fleet.evaluate((area) => area === document.activeElement), true);
  const own = (text) => text.startsWith(`asked ${address.split("/ui")[0]}`) || text.includes("422");
  assert.deepEqual(complaints.filter((text) => !own(text)), []);
});

test("where nothing may be edited there is nothing to edit", async () => {
  await page.route("**/start.json", (route) => route.fulfill({ json: { edit: false } }));
  await open();
  assert.equal(await page.getByLabel("RotationPolicies").isVisible(), false);
  assert.equal((await calendar()).length, 4);
  assert.deepEqual(await violations(), []);
  assert.deepEqual(complaints, []);
});

test("a server that is gone is told, and the picture stays", async () => {
  await open();
  await page.route("**/plan.json", (route) => route.abort());
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByRole("alert").getByText("The server does not answer").waitFor();
  assert.equal((await calendar()).length, 4);
});

test("all files together are small", async () => {
  const sizes = [];
  page.on("response", (response) => sizes.push(response.body().then((body) => body.length)));
  await open();
  const all = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  assert.ok(all > 10_000 && all < 300_000, `${all} bytes`);
});

for (const theme of THEMES) {
  for (const width of WIDTHS) {
    test(`it can be used by everybody: ${theme}, ${width} pixels wide`, async () => {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await open("", width);
      for (const summary of await page.locator("summary").all()) {
        await summary.click();
      }
      assert.deepEqual(await violations(), []);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
      await page.screenshot({ path: join(process.env.SCREENSHOTS, `${theme}-${width}.png`), fullPage: true });
      const policy = page.getByLabel("RotationPolicies");
      await policy.fill(WEDNESDAYS);
      await page.locator("td.bad").waitFor();
      await page.locator("svg [role=option]").nth(1).focus();
      assert.deepEqual(await violations(), []);
      await page.screenshot({ path: join(process.env.SCREENSHOTS, `${theme}-${width}-edited.png`) });
      await policy.fill("kind: [");
      await page.getByRole("alert").locator("li").first().waitFor();
      assert.deepEqual(await violations(), []);
      assert.deepEqual(complaints.filter((text) => !text.includes("422")), []);
    });
  }
}
