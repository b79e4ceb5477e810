/** Files for the browser: the shell, the view's modules and the packages they import. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageText } from '../base/package.js';
import { html, render, trusted } from '../format/html.js';
import { hashSource, pageScript, pageStyle } from '../report/page/page.js';

/** Reads a file of an installed package, regardless of its `exports`. */
const library = (name: string, file: string) => () => readFileSync(join(folderOf(name), file), 'utf8');

function folderOf(name: string): string {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((folder) => existsSync(folder));
  if (found !== undefined) return found;
  throw new Error(`package ${name} is not installed`);
}

const browser = (file: string) => () => packageText(`src/view/browser/${file}`);

const modules = [
  ...[
    'app.js',
    'chart.js',
    'compare.js',
    'curve.js',
    'feedback.js',
    'index-page.js',
    'item-page.js',
    'live.js',
  ],
  ...['metrics.js', 'search-page.js', 'sections.js', 'words.js'],
] as const;

const script = 'text/javascript; charset=utf-8';
const style = 'text/css; charset=utf-8';

interface Asset {
  readonly type: string;
  readonly read: () => string;
}

/** Assets by address. No other files are served. */
const assets: Readonly<Record<string, Asset>> = {
  '/assets/preact.js': { type: script, read: library('preact', 'dist/preact.mjs') },
  '/assets/hooks.js': { type: script, read: library('preact', 'hooks/dist/hooks.mjs') },
  '/assets/htm.js': { type: script, read: library('htm', 'dist/htm.mjs') },
  '/assets/uplot.js': { type: script, read: library('uplot', 'dist/uPlot.esm.js') },
  '/assets/numbers.js': {
    type: script,
    read: () => readFileSync(new URL('../format/numbers.js', import.meta.url), 'utf8'),
  },
  '/assets/pattern.js': {
    type: script,
    read: () => readFileSync(new URL('../base/pattern.js', import.meta.url), 'utf8'),
  },
  '/assets/uplot.css': { type: style, read: library('uplot', 'dist/uPlot.min.css') },
  '/assets/report.js': { type: script, read: pageScript },
  '/assets/report.css': { type: style, read: pageStyle },
  '/assets/view.css': { type: style, read: browser('view.css') },
  ...Object.fromEntries(
    modules.map((name) => [`/assets/${name}`, { type: script, read: browser(name) } satisfies Asset]),
  ),
};

const bodies = new Map<string, Buffer>();

/** Reads an asset, cached because anyone can request it. */
export function assetAt(path: string): { readonly type: string; readonly body: Buffer } | undefined {
  const asset = Object.hasOwn(assets, path) ? assets[path] : undefined;
  if (asset === undefined) return undefined;
  const body = bodies.get(path) ?? Buffer.from(asset.read());
  bodies.set(path, body);
  return { type: asset.type, body };
}

const imports = JSON.stringify({
  imports: {
    preact: '/assets/preact.js',
    'preact/hooks': '/assets/hooks.js',
    htm: '/assets/htm.js',
    numbers: '/assets/numbers.js',
    pattern: '/assets/pattern.js',
    uplot: '/assets/uplot.js',
  },
});

/** Allows only scripts and content from this server; scripts embedded in displayed text never run. */
export const contentPolicy = [
  "default-src 'none'",
  `script-src 'self' ${hashSource(imports)}`,
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Policy for saved pages, which may come from anywhere: they can't run scripts or load anything. */
export const savedPolicy = [
  'sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "frame-ancestors 'self'",
].join('; ');

/** The HTML shell of all pages. Served to anyone, so it contains nothing about the runs. */
export const shell = (): string =>
  render(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>policyloop</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/report.css">
<link rel="stylesheet" href="/assets/uplot.css">
<link rel="stylesheet" href="/assets/view.css">
<script type="importmap">${trusted(imports)}</script>
<script type="module" src="/assets/app.js"></script>
<script defer src="/assets/report.js"></script>
</head>
<body>
<noscript><p class="empty">The view needs JavaScript; a run's report.html does not.</p></noscript>
</body>
</html>
`);
