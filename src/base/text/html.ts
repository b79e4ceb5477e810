const markup: unique symbol = Symbol('markup');

/** Markup that is safe to insert into a page. Only functions in this file create it. */
export interface Html {
  readonly [markup]: string;
}

/**
 * Values that a template can contain. Strings are escaped; `undefined`, `null` (from damaged logs) and `false`
 * render as nothing.
 */
export type Content = string | number | Html | undefined | null | false | readonly Content[];

/** Template tag that escapes the interpolated values, for element content and quoted attributes. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return { [markup]: parts.map((part, i) => (i === 0 ? part : render(contents[i - 1]) + part)).join('') };
}

export function render(content: Content): string {
  if (content === undefined || content === null || content === false) return '';
  if (typeof content === 'string') return escapeHtml(content);
  if (typeof content === 'number') return String(content);
  return isList(content) ? content.map(render).join('') : content[markup];
}

function isList(content: Html | readonly Content[]): content is readonly Content[] {
  return Array.isArray(content);
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`\0]/g, (character) => entities[character]!);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
  '\0': '\u{fffd}',
};

/** A `pre` element that shows text unchanged. It starts with a line break, because HTML parsers drop the first one. */
export function preformatted(text: string, className = ''): Html {
  return html`<pre${className !== '' && html` class="${className}"`} tabindex="0">
${text}</pre>`;
}

export function embedJson(id: string | undefined, value: unknown): Html {
  return html`<script type="application/json"${id !== undefined && html` id="${id}"`}>${trusted(jsonForScript(value))}</script>`;
}

/** Writes JSON without characters that could end a script element or break an older JavaScript parser. */
export function jsonForScript(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Marks text as safe markup. Only for policyloop's own styles and scripts, and for escaped JSON. */
export function trusted(text: string): Html {
  return { [markup]: text };
}
