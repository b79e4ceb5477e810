/** Pages as data, and the document that shows them: a shell with the app, which draws the data. */
import { createHash } from 'node:crypto';
import { packageText } from '../base/package.js';
import { type Content, childrenOf, jsonForScript } from '../base/text/content.js';
import type { PageContent } from './messages.js';
import { paletteStyle } from './palette.js';

export type Page = PageContent<Content>;

/** Creates sections; omits those without content. */
export const sectionsOf = (
  ...sections: readonly (readonly [id: string, title: string, content: Content])[]
): Page['sections'] =>
  sections.flatMap(([id, title, content]) =>
    content === undefined || content === null || content === false ? [] : { id, title, content },
  );

/** Converts a page to JSON data, which the app reads. */
export const pageData = ({ footer, header, sections, ...rest }: Page) => ({
  ...rest,
  header: childrenOf(header),
  footer: childrenOf(footer),
  sections: sections.map(({ content, ...section }) => ({ ...section, content: childrenOf(content) })),
});

/** Returns the style sheet of all pages: `app.css`, which `npm run prepare` builds, and the colours. */
export const appStyle = (): string => `${packageText('dist/web/app.css')}\n${paletteStyle()}`;

export const appScript = (): string => packageText('dist/web/app.js');

/** The icon of all pages: a rising curve. */
const icon =
  "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2016%2016'%3E%3Crect%20width='16'%20height='16'%20rx='3'%20fill='%233d6fd1'/%3E%3Cpath%20d='M3%2012h3V9h3V6h4V3'%20fill='none'%20stroke='%23fff'%20stroke-width='2'/%3E%3C/svg%3E";

/** @param head,body trusted markup */
export const pageShell = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title.replace(/[&<\0]/g, (character) => ({ '&': '&amp;', '<': '&lt;' })[character] ?? '\u{fffd}')}</title>
<link rel="icon" href="${icon}">
${head}
</head>
<body>
${body}
</body>
</html>
`;

/**
 * Renders a page as a single file. Its Content-Security-Policy allows only embedded images and, by hash, this style and
 * this script. So the page sends no requests, and no text in it can run as code.
 */
export function pageHtml(page: Page): string {
  const style = appStyle();
  const script = appScript();
  const csp = [
    "default-src 'none'",
    `style-src ${hashSource(style)}`,
    `script-src ${hashSource(script)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return pageShell(
    page.title,
    `<meta http-equiv="Content-Security-Policy" content="${csp}">\n<style>${style}</style>`,
    `<noscript>This page needs JavaScript. The files next to it contain everything that it shows.</noscript>
<script type="application/json" id="page">${jsonForScript(pageData(page))}</script>
<script>${script}</script>`,
  );
}

/** Returns the source expression for a Content-Security-Policy that allows exactly this text. */
function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
