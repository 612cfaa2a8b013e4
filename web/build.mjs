// SPDX-License-Identifier: Apache-2.0
// Bundles the page into one HTML file with two holes for the report (see template.html), or the unit tests with --tests.
//   node build.mjs [--out FILE] [--tests]
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const flag = (name) => process.argv.includes(name);
const option = (name, fallback) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? fallback : process.argv[at + 1];
};

const shared = {
  bundle: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  target: ['chrome100', 'firefox113', 'safari16.4'],
  logLevel: 'warning',
  legalComments: 'none',
  absWorkingDir: here,
};

// What the policy in the page allows to run: these bytes and nothing else.
const sourceHash = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

async function bundlePage(out) {
  const result = await esbuild.build({
    ...shared,
    entryPoints: ['src/main.tsx'],
    outdir: 'dist',
    format: 'iife',
    minify: true,
    charset: 'ascii',
    write: false,
  });
  const part = (ending) => result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
  const script = part('.js');
  const style = part('.css');
  const fill = { STYLE: style, SCRIPT: script, STYLE_HASH: sourceHash(style), SCRIPT_HASH: sourceHash(script) };
  const page = readFileSync(join(here, 'src/template.html'), 'utf8').replace(/%%(STYLE|SCRIPT|STYLE_HASH|SCRIPT_HASH)%%/g, (_, key) => fill[key]);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, page);
}

async function bundleTests() {
  const tests = readdirSync(join(here, 'test')).filter((name) => name.endsWith('.test.ts'));
  rmSync(join(here, 'dist/test'), { recursive: true, force: true });
  await esbuild.build({
    ...shared,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: 'dist/test',
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    platform: 'node',
    target: ['node18'],
  });
}

if (flag('--tests')) await bundleTests();
else await bundlePage(option('--out', join(here, 'dist/report.html')));
