/** Converts Markdown to HTML, with the same anchors and links as on GitHub. */
import { dirname, posix } from 'node:path';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import yaml from 'highlight.js/lib/languages/yaml';
import MarkdownIt from 'markdown-it';
import anchor from 'markdown-it-anchor';
import { addressOf, pages } from './contents.js';

const languages = {
  bash,
  sh: bash,
  javascript,
  js: javascript,
  json,
  python,
  sql,
  typescript,
  ts: typescript,
  yaml,
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

/** A search entry: a heading with the text below it. */
export interface Part extends Heading {
  readonly words: string;
}

export interface RenderedPage {
  readonly title: string;
  readonly html: string;
  readonly parts: readonly Part[];
  /** Anchors that links may point to. */
  readonly anchors: ReadonlySet<string>;
  /** Links to pages of the checkout, as paths from its root with `#anchor`. */
  readonly links: readonly string[];
  /** Pictures, as paths from the root of the checkout. */
  readonly pictures: readonly string[];
}

/** The anchor that GitHub gives a heading. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');

const isElsewhere = (target: string) => /^[a-z][a-z+.-]*:|^\/\//i.test(target);

/** @param page path from the root of the checkout */
export function renderPage(page: string, markdown: string): RenderedPage {
  const links: string[] = [];
  const pictures: string[] = [];
  const within = (target: string) => posix.normalize(posix.join(dirname(page), target));
  const parser = new MarkdownIt({
    html: true,
    highlight: (code, language) =>
      hljs.getLanguage(language) === undefined ? '' : hljs.highlight(code, { language }).value,
  });
  parser.use(anchor, { slugify: slug, uniqueSlugStartIndex: 1, permalink: anchor.permalink.headerLink() });
  const { rules } = parser.renderer;
  // Wide content can be scrolled, also with the keyboard.
  rules.table_open = () => '<div class="scroll" tabindex="0"><table>\n';
  rules.table_close = () => '</table></div>\n';
  const fence = rules.fence!;
  rules.fence = (...given) => fence(...given).replace('<pre>', '<pre tabindex="0">');
  rules.code_block = rules.fence;
  parser.core.ruler.push('addresses', ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'image') pictures.push(within(String(token.attrGet('src'))));
      if (token.type !== 'link_open') continue;
      const target = String(token.attrGet('href'));
      if (isElsewhere(target)) continue;
      const [path = '', id] = target.split('#');
      const to = path === '' ? page : within(path);
      if (path.endsWith('.md') || path === '') links.push(id === undefined ? to : `${to}#${id}`);
      // Remove links to targets that aren't pages, such as a folder of examples.
      if (pages.includes(to)) token.attrSet('href', relative(page, to) + (id === undefined ? '' : `#${id}`));
      else token.attrs = token.attrs!.filter(([name]) => name !== 'href');
    }
  });
  const html = parser.render(markdown);
  for (const [, source] of html.matchAll(/<img [^>]*src="([^"]+)"/g)) {
    if (!pictures.includes(within(source!))) pictures.push(within(source!));
  }
  const parts = partsOf(html);
  return {
    title: parts.find(({ level }) => level === 1)?.text ?? page,
    html,
    parts,
    anchors: new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)),
    links,
    pictures,
  };
}

/** Relative link from one page to another, so that the site works at any address. */
export const relative = (from: string, to: string): string =>
  posix.relative(posix.dirname(addressOf(from)), addressOf(to)) || posix.basename(addressOf(to));

/** Text of HTML that `renderPage` generated. */
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();

function partsOf(html: string): readonly Part[] {
  return html.split(/(?=<h[1-6] id=)/).flatMap((part) => {
    const [whole, level, id, heading] = /^<h([1-6]) id="([^"]+)"[^>]*>(.*?)<\/h\1>/s.exec(part) ?? [];
    if (whole === undefined) return [];
    return [
      { level: Number(level), id: id!, text: textOf(heading!), words: textOf(part.slice(whole.length)) },
    ];
  });
}
