/** `npm run docs`: writes README and documents as a static site to `dist/site`, which also works from disk. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { packageRoot, version } from '../../src/base/package.js';
import { html, render, trusted } from '../../src/format/html.js';
import { icon } from '../../src/web/page.js';
import { addressOf, contents, pages, unlisted } from './contents.js';
import { type RenderedPage, relative, renderPage } from './markdown.js';

const root = packageRoot();
const here = import.meta.dirname;

/** @throws Error listing every broken link, and every document missing from the contents */
export function writeSite(folder: string): void {
  const rendered = new Map(
    pages.map((page) => [page, renderPage(page, readFileSync(join(root, page), 'utf8'))]),
  );
  const problems = [...missingPages(), ...brokenLinks(rendered)];
  if (problems.length > 0) throw new Error(`the site has problems:\n${problems.join('\n')}`);
  rmSync(folder, { recursive: true, force: true });
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  for (const [page, one] of rendered) write(addressOf(page), layout(page, one, rendered));
  for (const picture of new Set([...rendered.values()].flatMap(({ pictures }) => pictures)))
    cpSync(join(root, picture), join(folder, picture));
  write('site.css', `${colours()}\n${readFileSync(join(here, 'site.css'), 'utf8')}`);
  write('search.js', readFileSync(join(here, 'search.js'), 'utf8'));
  write('minisearch.js', minisearch());
  write('parts.js', `globalThis.parts = ${JSON.stringify(searched(rendered))};\n`);
}

/** Documents missing from all chapters. */
const missingPages = () =>
  readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => name.endsWith('.md') && !pages.includes(`docs/${name}`) && !unlisted.test(`docs/${name}`),
    )
    .map((name) => `docs/${name} isn't in any chapter of scripts/docs/contents.ts`);

export function brokenLinks(rendered: ReadonlyMap<string, RenderedPage>): readonly string[] {
  return [...rendered].flatMap(([page, { links }]) =>
    links.flatMap((link) => {
      const [path = '', id] = link.split('#');
      const target = rendered.get(path);
      if (target === undefined) return unlisted.test(path) ? [] : [`${page}: ${link} isn't a page`];
      return id === undefined || target.anchors.has(decodeURIComponent(id))
        ? []
        : [`${page}: ${link} points to a missing heading`];
    }),
  );
}

/** The colours of reports, so that the site looks like them. */
function colours(): string {
  const style = readFileSync(join(root, 'src/web/style/base.css'), 'utf8');
  return style.slice(style.indexOf(':root'), style.indexOf('\n* {'));
}

/** The search library as one script, without the reference to its source map. */
function minisearch(): string {
  const file = join(dirname(createRequire(import.meta.url).resolve('minisearch')), '../umd/index.js');
  return readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL.*$/m, '');
}

const searched = (rendered: ReadonlyMap<string, RenderedPage>) =>
  [...rendered].flatMap(([page, { title, parts }]) =>
    parts.map(({ id, text, words }) => ({ id: `${addressOf(page)}#${id}`, page: title, title: text, words })),
  );

const titleOf = (page: string, { title }: RenderedPage) => (page === 'README.md' ? 'Overview' : title);

function layout(
  page: string,
  { title, html: content, parts }: RenderedPage,
  all: ReadonlyMap<string, RenderedPage>,
): string {
  const up = '../'.repeat(addressOf(page).split('/').length - 1);
  const at = pages.indexOf(page);
  const link = (to: string, relation?: string) =>
    html`<a href="${relative(page, to)}"${to === page && html` aria-current="page"`}${relation !== undefined && html` rel="${relation}"`}>${titleOf(to, all.get(to)!)}</a>`;
  const headings = parts.filter(({ level }) => level === 2 || level === 3);
  const [before, behind] = [pages[at - 1], pages[at + 1]];
  return render(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src 'self' file: data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${page === 'README.md' ? 'policyloop' : `${title} · policyloop`}</title>
${icon}
<link rel="stylesheet" href="${up}site.css">
<script defer src="${up}search.js" data-site="${up}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="name" href="${relative(page, 'README.md')}">policyloop</a>
<search class="scripted"><label for="query">Search</label> <input id="query" type="search" autocomplete="off" placeholder="Press / to search">
<div id="found" hidden><p role="status"></p><ol></ol></div></search>
<a class="to-contents" href="#contents">Contents</a>
</header>
<div class="columns">
<main id="content" tabindex="-1">
${trusted(content)}
<nav class="steps" aria-label="Previous and next page">${before !== undefined && html`<span>← ${link(before, 'prev')}</span>`}${behind !== undefined && html`<span class="next">${link(behind, 'next')} →</span>`}</nav>
</main>
<nav id="contents" aria-label="Contents">
${contents.map(
  (chapter) => html`<h2>${chapter.title}</h2>
<ul>${chapter.pages.map((one) => html`<li>${link(one)}</li>`)}</ul>
`,
)}</nav>
${
  headings.length > 2 &&
  html`<nav id="headings" aria-label="On this page"><h2>On this page</h2>
<ul>${headings.map(({ level, id, text }) => html`<li class="level-${level}"><a href="#${id}">${text}</a></li>`)}</ul></nav>
`
}</div>
<footer>policyloop ${version()}, MIT licence. These pages load nothing from the network.</footer>
</body>
</html>
`);
}

if (process.argv[1] === import.meta.filename) {
  const folder = join(root, 'dist', 'site');
  writeSite(folder);
  process.stdout.write(`${pages.length} pages: ${join(folder, 'index.html')}\n`);
}
