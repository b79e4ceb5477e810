/** Just enough of an HTML reader to check pages that the report wrote. */
import type { Chart } from '../../../src/web/chart.js';

const voidTags = new Set(['meta', 'link', 'br', 'input', 'img']);

export interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The page's elements in order of their start tags. @throws Error where a tag is not closed or nested wrongly. */
export function elementsOf(page: string): readonly Tag[] {
  const elements: Tag[] = [];
  const open: string[] = [];
  const pattern = /<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][a-zA-Z0-9:-]*(?:="[^"<>]*")?)*)\s*(\/?)>/y;
  let position = page.startsWith('<!doctype html>') ? '<!doctype html>'.length : 0;
  for (;;) {
    position = page.indexOf('<', position);
    if (position < 0) break;
    pattern.lastIndex = position;
    const match = pattern.exec(page);
    if (match === null) throw new Error(`no tag at ${position}: ${page.slice(position, position + 60)}`);
    const [whole, closing, name = '', attributes = '', selfClosing] = match;
    position += whole.length;
    if (closing === '/') {
      const expected = open.pop();
      if (expected !== name) throw new Error(`</${name}> closes <${expected}>`);
      continue;
    }
    elements.push({ name, attributes: readAttributes(attributes) });
    if (selfClosing === '/' || voidTags.has(name)) continue;
    if (name === 'script' || name === 'style') {
      position = page.indexOf(`</${name}`, position) + name.length + 3;
      continue;
    }
    open.push(name);
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(', ')}`);
  return elements;
}

function readAttributes(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-zA-Z][a-zA-Z0-9:-]*)(?:="([^"]*)")?/g)];
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, unescapeHtml(value)]));
}

/** The content of the script element with this id, or of the only one without a type. */
export function scriptContent(page: string, id?: string): string {
  const start = id === undefined ? '<script>' : `id="${id}">`;
  const from = page.indexOf(start) + start.length;
  return page.slice(from, page.indexOf('</script>', from));
}

/** The text a reader sees: without tags, scripts and styles, spaces collapsed. */
export function visibleText(page: string): string {
  const text = page.replace(/<(script|style)[^>]*>[\s\S]*?<\/\1>/g, ' ').replace(/<[^>]*>/g, ' ');
  return collapse(unescapeHtml(text));
}

/** Runs of spaces and line breaks as one space, as a browser shows them. */
export function collapse(text: string): string {
  return text.replace(/[ \t\r\n]+/g, ' ');
}

export function unescapeHtml(text: string): string {
  const named: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return text.replace(/&(?:(lt|gt|quot|amp)|#(\d+));/g, (_, name: string | undefined, code: string) =>
    name === undefined ? String.fromCharCode(Number(code)) : named[name]!,
  );
}

/** The charts of a page, as data. */
export const chartsIn = (page: string): readonly Chart[] =>
  [...page.matchAll(/data-chart><script type="application\/json">(.*?)<\/script>/gs)].map(
    ([, json]) => JSON.parse(json!) as Chart,
  );

export const chartIn = (page: string): Chart => chartsIn(page)[0]!;
