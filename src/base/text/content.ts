/** The content of pages as data: a tree of text and parts, which the app (web/app) draws. */

/** Strings are shown as text, never as markup; `undefined`, `null` (from damaged logs) and booleans show nothing. */
export type Content = string | number | boolean | undefined | null | Part | readonly Content[];

type Child = string | number | Part;

/** An element such as `p`, or a component of the app such as `data-table`, with its data in `props`. */
export class Part {
  readonly tag: string;
  readonly props: Readonly<Record<string, unknown>>;
  readonly children: readonly Child[];

  constructor(tag: string, props: Readonly<Record<string, unknown>> | null, ...children: readonly Content[]) {
    this.tag = tag;
    this.props = props ?? {};
    this.children = childrenOf(children);
  }

  /** The part as JSON, such as `["p", {"class": "note"}, "No evaluations."]`. */
  toJSON() {
    return [this.tag, this.props, ...this.children];
  }
}

/** Content in JSON: text, or a part with its tag, its properties and its children. */
export type ContentJson =
  | string
  | number
  | readonly [tag: string, props: Readonly<Record<string, unknown>>, ...children: ContentJson[]];

/** The children to show. Objects from damaged or malicious logs, which only look like parts, become text. */
export function childrenOf(content: Content): readonly Child[] {
  if (content === undefined || content === null || typeof content === 'boolean') return [];
  if (isList(content)) return content.flatMap(childrenOf);
  return [content instanceof Part || typeof content === 'number' ? content : String(content)];
}

const isList = (content: Content): content is readonly Content[] => Array.isArray(content);

/** Writes JSON without characters that could end a script element or break an older JavaScript parser. */
export function jsonForScript(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for element content and attributes; characters that XML doesn't allow become U+FFFD. */
export function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are replaced
      .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
      .replace(/[&<>"']/g, (character) => entities[character]!)
  );
}
