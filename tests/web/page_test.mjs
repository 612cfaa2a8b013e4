// SPDX-License-Identifier: Apache-2.0
// The page in headless Chromium, from disk as a user opens it. Run by run_page_tests.py:
//   node page_test.mjs --node-modules DIR --chromium PROGRAM --reports DIR [--screenshots DIR]
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? null : process.argv[at + 1];
};
const { chromium } = createRequire(`${option('--node-modules')}/`)('playwright-core');
const reports = option('--reports');
const shots = option('--screenshots');
if (shots) mkdirSync(shots, { recursive: true });

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: option('--chromium'),
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

// The page draws what an action changed in the next frames (effects of its components run after a frame is shown), so
// the actions below that something is asked after end when two frames have passed: what is asked is what a person would
// see.
const settled = (page) => page.evaluate(() => new Promise((resolve) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)));
}));
function settling(page) {
  const locators = Object.getPrototypeOf(page.locator('body'));
  for (const [owner, names] of [[page.keyboard, ['press']], [page.mouse, ['move', 'up', 'click', 'wheel']],
    [locators, ['click', 'fill', 'hover', 'selectOption']]]) {
    for (const name of names) {
      const act = owner[name];
      if (act.settles) continue;
      owner[name] = async function action(...values) {
        const result = await act.apply(this, values);
        await settled(owner === locators ? this.page() : page);
        return result;
      };
      owner[name].settles = true;
    }
  }
}

// Opens a report; anything said on the console, thrown or fetched is a mistake.
async function open(name, { width = 1400, height = 900, colorScheme = 'light' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  settling(page);
  const mistakes = [];
  const url = pathToFileURL(`${reports}/${name}.html`).href;
  page.on('console', (message) => mistakes.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => mistakes.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (request.url() !== url && !request.url().startsWith('data:')) mistakes.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForFunction(() => performance.getEntriesByName('headway-ready').length > 0);
  await page.waitForTimeout(100);
  return { page, mistakes, close: () => context.close() };
}

const shot = async (page, name) => {
  if (!shots) return;
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
};
const noSideScroll = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
// How many different colours a canvas shows: a blank one has very few.
const colours = (page, selector) => page.evaluate((s) => {
  const canvas = document.querySelector(s);
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size;
}, selector);

for (const width of [1400, 700]) {
  for (const colorScheme of ['light', 'dark']) {
    test(`a diagnosis at ${width} px, ${colorScheme}`, async () => {
      const { page, mistakes, close } = await open('diagnosis', { width, colorScheme });
      assert.equal(await page.textContent('h1'), 'One GPU of 64 slows the whole job by 20 %');
      assert.equal(await page.locator('article.card').count(), 2);
      assert.equal(await page.locator('details.small-card').count(), 1);
      for (const canvas of ['canvas.bars', 'canvas.heat', 'canvas.timeline']) assert.ok(await colours(page, canvas) > 6, canvas);
      assert.ok(await noSideScroll(page), 'the page scrolls sideways');
      const columns = await page.evaluate(() => {
        const [left, right] = ['.findings', '.pictures'].map((s) => document.querySelector(s).getBoundingClientRect());
        return right.left >= left.right;
      });
      assert.equal(columns, width >= 1100, 'two columns above 1100 px, one below');
      await shot(page, `diagnosis-${width}-${colorScheme}`);
      await page.locator('button.pick').first().click();
      await shot(page, `diagnosis-${width}-${colorScheme}-picked`);
      assert.deepEqual(mistakes, []);
      await close();
    });
  }
}

test('on paper it is light, with all tables, whatever the screen was', async () => {
  const { page, mistakes, close } = await open('diagnosis', { colorScheme: 'dark' });
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.equal(await page.locator('[role=tabpanel] table:visible').count(), 5);
  assert.equal(await page.locator('.topbar:visible, .pick:visible').count(), 0);
  if (shots) await page.pdf({ path: `${shots}/diagnosis.pdf`, format: 'A4', printBackground: true });
  assert.deepEqual(mistakes, []);
  await close();
});

test('picking a finding marks its culprit in every picture', async () => {
  const { page, mistakes, close } = await open('diagnosis');
  await page.locator('button.pick').nth(1).click();
  assert.equal(await page.textContent('.picked-note b'), '7 ranks');
  assert.equal(await page.locator('article.card.picked').count(), 1);
  // The timeline changes to the one around this finding.
  assert.match(await page.locator('#timeline select').evaluate((s) => s.selectedOptions[0].textContent), /Slow input/);
  assert.match(await page.getAttribute('canvas.timeline', 'aria-label'), /rank 42 \(n5, gpu 2\), culprit/);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.picked-note b').count(), 0);
  // A rank in a table is the same choice.
  await page.locator('#compute-kernels .chip').first().click();
  assert.equal(await page.textContent('.picked-note b'), 'rank 19 (n2, gpu 3)');
  assert.ok(await page.locator('#compute-kernels tr.picked').count() >= 14);
  assert.deepEqual(mistakes, []);
  await close();
});

test('tables sort, search, filter and save', async () => {
  const { page, mistakes, close } = await open('diagnosis');
  const names = () => page.locator('#compute-kernels tbody tr.abnormal td.text').allTextContents();
  const before = await names();
  assert.equal(before.length, 14);
  const head = page.locator('#compute-kernels th', { hasText: 'calls' });
  await head.locator('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  const calls = await page.locator('#compute-kernels tbody tr.abnormal td:nth-child(8)').allTextContents();
  assert.deepEqual(calls, [...calls].sort((a, b) => Number(b) - Number(a)));
  await head.locator('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  // Pairs stay together.
  const roles = await page.locator('#compute-kernels tbody tr td.role').allTextContents();
  roles.forEach((role, i) => assert.match(role, i % 2 ? /normal$/ : /abnormal$/));
  await page.locator('#compute-kernels .search').fill('SOFTMAX warp');
  assert.deepEqual([...new Set(await names())].sort(), ['softmax_warp_forward', 'softmax_warp_forward_13']);
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#compute-kernels button', { hasText: 'CSV' }).click()]);
  assert.equal(download.suggestedFilename(), 'compute-kernels.csv');
  const csv = readFileSync(await download.path(), 'utf8').split('\r\n');
  assert.equal(csv[0], 'row,function,rank,beta (share of 1),mu (share of 1),sigma (share of 1),per step (ns),calls,against normal (ratio)');
  assert.equal(csv.length, 1 + 4 + 1);  // head, two pairs, the end of the last line
  await page.locator('#compute-kernels .search').fill('no such kernel');
  assert.equal(await page.textContent('#compute-kernels td.empty'), 'No row matches.');
  await page.getByRole('tab', { name: /Communication/ }).click();
  assert.ok(await page.locator('#communication table').isVisible());
  assert.ok(!(await page.locator('#compute-kernels table').isVisible()));
  assert.deepEqual(mistakes, []);
  await close();
});

test('everything works by keyboard', async () => {
  const { page, mistakes, close } = await open('diagnosis');
  await page.keyboard.press('j');
  assert.equal(await page.textContent('.picked-note b'), 'rank 19 (n2, gpu 3)');
  await page.keyboard.press('j');
  assert.equal(await page.textContent('.picked-note b'), '7 ranks');
  await page.keyboard.press('k');
  assert.equal(await page.textContent('.picked-note b'), 'rank 19 (n2, gpu 3)');
  await page.keyboard.press('?');
  assert.ok(await page.locator('dialog.help').isVisible());
  await page.keyboard.press('Escape');
  assert.ok(!(await page.locator('dialog.help').isVisible()));
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'search');
  await page.keyboard.press('Escape');

  // The bars: first the longest own time, Enter picks it.
  await page.focus('canvas.bars');
  await page.keyboard.press('Home');
  assert.match(await page.textContent('#ranks .readout'), /^rank 19 \(n2, gpu 3\): own time 367 ms/);
  await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('#ranks .readout'), /^rank 4[0-7] \(n5/);
  // The heat strip: walk to a cell, zoom, all again.
  await page.focus('canvas.heat');
  for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('#ranks-by-steps .readout'), /^rank 19 \(n2, gpu 3\), step #101: own time 3\d\d ms/);
  await page.keyboard.press('+');
  assert.ok(await page.locator('#ranks-by-steps button', { hasText: 'Show all' }).isVisible());
  await page.keyboard.press('0');
  assert.equal(await page.locator('#ranks-by-steps button', { hasText: 'Show all' }).count(), 0);
  // The timeline: zooming in changes the picture, 0 brings it back.
  await page.focus('canvas.timeline');
  const picture = () => page.evaluate(() => document.querySelector('canvas.timeline').toDataURL());
  const whole = await picture();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await picture(), whole);
  await page.keyboard.press('0');
  assert.equal(await picture(), whole);
  // Tab reaches every kind of control, and shows where it is.
  const reached = new Set();
  await page.focus('a.brand');
  for (let i = 0; i < 400; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      return e === document.body ? null : { key: `${e.tagName.toLowerCase()}.${e.className}`, ring: getComputedStyle(e).outlineStyle };
    });
    if (!at) break;
    assert.notEqual(at.ring, 'none', `no focus ring on ${at.key}`);
    reached.add(at.key);
  }
  for (const key of ['canvas.bars', 'canvas.heat', 'canvas.timeline', 'button.pick', 'button.chip', 'button.sort', 'input.search', 'span.term', 'button.quiet']) {
    assert.ok(reached.has(key), `Tab does not reach ${key}`);
  }
  assert.deepEqual(mistakes, []);
  await close();
});

test('the pointer tells, drags and zooms', async () => {
  const { page, mistakes, close } = await open('diagnosis');
  const heat = await page.locator('canvas.heat').boundingBox();
  const cell = (heat.width - 44) / 64;
  await page.locator('canvas.heat').scrollIntoViewIfNeeded();
  const box = await page.locator('canvas.heat').boundingBox();
  await page.mouse.move(box.x + 44 + 19.5 * cell, box.y + 30);
  assert.match(await page.textContent('#ranks-by-steps .readout'), /rank 19 \(n2, gpu 3\), step #101/);
  await page.mouse.move(box.x + 44 + 10.5 * cell, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + 44 + 30 * cell, box.y + 40, { steps: 4 });
  await page.mouse.up();
  assert.ok(await page.locator('#ranks-by-steps button', { hasText: 'Show all' }).isVisible(), 'dragging zooms');
  await page.mouse.click(box.x + 44 + 2, box.y + 30);
  assert.equal(await page.textContent('.picked-note b'), 'rank 10 (n1, gpu 2)');
  await page.locator('#ranks-by-steps select').nth(1).selectOption('host');
  await shot(page, 'heat-zoomed');
  await page.mouse.move(5, 5);

  await page.locator('canvas.timeline').scrollIntoViewIfNeeded();
  const line = await page.locator('canvas.timeline').boundingBox();
  const picture = () => page.evaluate(() => document.querySelector('canvas.timeline').toDataURL());
  const whole = await picture();
  await page.keyboard.down('Control');
  await page.mouse.move(line.x + 400, line.y + 70);
  await page.mouse.wheel(0, -400);
  await page.keyboard.up('Control');
  assert.notEqual(await picture(), whole, 'ctrl and wheel zoom');
  await page.mouse.move(line.x + 600, line.y + 70);
  assert.ok((await page.textContent('#timeline .readout')).length > 0);
  await page.locator('.waterfall .term').first().hover();
  assert.match(await page.textContent('.tip'), /^compute/);
  assert.deepEqual(mistakes, []);
  await close();
});

test('strings of a trace stay text', async () => {
  const { page, mistakes, close } = await open('hostile');
  assert.equal(await page.evaluate(() => window.broken), undefined);
  const text = await page.evaluate(() => document.body.innerText + document.title);
  for (const marker of ['</script><script>window.broken=1</script>', '<img src=x onerror="window.broken=2">', '"><svg onload=window.broken=3>',
    '<!--<script>', '${window.broken=4} {{window.broken=5}} @@HEADWAY_REPORT@@', '\\u202e', '&lt;b&gt;&amp;', '\ufffd']) {
    assert.ok(text.includes(marker), `not shown as text: ${marker}`);
  }
  // Only what the page itself makes: no element came out of a string.
  assert.equal(await page.locator('img, iframe, object, embed, form, u, i:not(.ramp i), body script:not([id]) ~ script').count(), 0);
  assert.equal(await page.evaluate(() => document.querySelectorAll('script').length), 1);
  assert.ok(await page.evaluate(() => !/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)));
  assert.ok(await noSideScroll(page), 'long names make the page scroll sideways');
  await page.locator('button.pick').first().click();
  await page.focus('canvas.timeline');
  await page.keyboard.press('ArrowUp');
  assert.equal(await page.evaluate(() => window.broken), undefined);
  await shot(page, 'hostile');
  assert.deepEqual(mistakes, []);
  await close();
});

test('even a string that got into the markup could run nothing', async () => {
  const { page, close } = await open('diagnosis');
  const ran = await page.evaluate(() => {
    const holder = document.createElement('div');
    document.body.append(holder);
    holder.innerHTML = '<img src="data:," onerror="window.broken = 1">';
    const script = document.createElement('script');
    script.textContent = 'window.broken = 2';
    document.body.append(script);
    return new Promise((resolve) => setTimeout(() => resolve(window.broken ?? 'nothing'), 200));
  });
  assert.equal(ran, 'nothing');
  await close();
});

test('a thousand ranks: small, and quickly there', async () => {
  const bytes = statSync(`${reports}/thousand.html`).size;
  assert.ok(bytes < 5e6, `${bytes} bytes`);
  const times = [];
  for (let i = 0; i < 3; i++) {
    const { page, mistakes, close } = await open('thousand');
    times.push(await page.evaluate(() => ({
      paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity,
      ready: performance.getEntriesByName('headway-ready')[0].startTime,
    })));
    if (i === 0) {
      await shot(page, 'thousand');
      assert.ok(await colours(page, 'canvas.heat') > 6);
      // Rank 19 is one of a thousand: it must be seen in a strip of fewer pixels.
      await page.focus('canvas.heat');
      await page.keyboard.press('ArrowRight');
      assert.match(await page.textContent('#ranks-by-steps .readout'), /the worst of \d+ ranks in this bin/);
    }
    assert.deepEqual(mistakes, []);
    await close();
  }
  const best = (key) => Math.min(...times.map((t) => t[key]));
  console.log(`1,000 ranks x 20 steps: ${(bytes / 1e6).toFixed(2)} MB, first paint ${best('paint').toFixed(0)} ms, ready ${best('ready').toFixed(0)} ms (best of 3)`);
  // Ten times the budget: a machine may be busy, a page that takes this long is broken.
  assert.ok(best('ready') < 10_000);
});

for (const name of ['healthy', 'other']) {
  test(`the ${name} report`, async () => {
    const { page, mistakes, close } = await open(name);
    if (name === 'healthy') assert.match(await page.textContent('.floor'), /more than 3\.0 ms per step \(1\.0 %\) would have been found/);
    else assert.equal(await page.locator('.chart canvas').count(), 2);
    assert.ok(await noSideScroll(page));
    await shot(page, name);
    assert.deepEqual(mistakes, []);
    await close();
  });
}
