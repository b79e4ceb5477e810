import { createHash } from 'node:crypto';
import { packageText } from '../../base/package.js';
import { type Content, type Html, html, render, trusted } from '../../format/html.js';
import { paletteStyle } from './palette.js';

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly content: Content;
}

/** What tells a reader of a page that its work goes on. */
interface Following {
  /** ISO 8601: when the page was written. */
  readonly written: string;
  /** Seconds without a new page after which the work may have ended without notice. */
  readonly silence: number;
}

/** Seconds after which a page whose work goes on is loaded again. */
const reloadEvery = 10;

/** What a page says, however it is delivered: as a file, or section by section by the live view. */
export interface Page {
  readonly title: string;
  readonly header: Html;
  readonly sections: readonly Section[];
  readonly footer: Content;
  /** Only while what the page shows goes on: the page then loads itself again. */
  readonly following?: Following | undefined;
}

/** The style sheet of every page. */
export const pageStyle = (): string =>
  [...['page.css', 'charts.css', 'arms.css', 'log.css'].map(file), paletteStyle()].join('\n');

/** What every page does beyond HTML. */
export const pageScript = (): string => file('browser.js');

/**
 * A whole page in one file. Its Content-Security-Policy admits this style and this script by their hashes, images
 * embedded in the page, and nothing else: no request leaves it, and no text in it can run.
 */
export function page(options: Page): string {
  const { following } = options;
  const style = pageStyle();
  const script = pageScript();
  const policy = [
    "default-src 'none'",
    `style-src ${hashSource(style)}`,
    `script-src ${hashSource(script)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return render(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
${
  following &&
  html`<noscript><meta http-equiv="refresh" content="${reloadEvery}"></noscript>
`
}<title>${options.title}</title>
<link rel="icon" href="data:,">
<style>${trusted(style)}</style>
</head>
<body>
${options.header}
${following && followLine(following)}
<nav aria-label="Sections">${options.sections.map(({ id, title }) => html`<a href="#${id}">${title}</a>`)}</nav>
<main>
${options.sections.map(
  ({ id, title, content }) => html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${content}
</section>
`,
)}</main>
<footer>${options.footer}</footer>
<script>${trusted(script)}</script>
</body>
</html>
`);
}

function followLine({ silence, written }: Following): Html {
  return html`<p class="follow"><label class="scripted"><input type="checkbox" id="follow" data-every="${reloadEvery}" checked> follow: load this page again every ${reloadEvery} s</label> <span id="written" data-time="${written}" data-silence="${Math.ceil(silence)}">written at ${written.slice(11, 19)} UTC</span></p>`;
}

const file = (name: string) => packageText(`src/report/page/${name}`);

/** The source of a Content-Security-Policy that admits exactly this text. */
export function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
