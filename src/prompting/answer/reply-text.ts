/** What a reply shows: without the model's thinking and without marks that change no reading. */

/** Blocks of thinking, under the names that models use; `begin_of_` and the like are gone from a name. */
const thinking = new Set(
  'think thinking thought thoughts reasoning analysis reflection scratchpad seed:think inner_monologue'.split(
    ' ',
  ),
);
/** Elements whose content is the answer: their names become labels. */
const answers = new Set(
  'answer final final_answer solution response output result params parameters proposal'.split(' '),
);
const formatting = new Set('b i em strong code pre p br div span center li ul ol u'.split(' '));
/** Names in the example of the format, where they have no end. */
const placeholders = new Set('number integer value reason why explanation'.split(' '));
/** Marks of a chat template. */
const boundaries = new Set(
  'im_start im_end eot_id eos bos endoftext turn text end start return message'.split(' '),
);

interface Tag {
  readonly name: string;
  readonly closes: boolean;
  readonly start: number;
  readonly end: number;
}

/**
 * `<name>`, `</name>`, `<|name|>`, the same in other angle brackets, and `[NAME]`. Every part is bounded, so that a search
 * is linear.
 */
const tagPattern =
  /(?:[<\u25c1\u00ab\u3010\u27e8\u2039\uff1c]|&lt;) ?\|?(\/?) ?([\p{L}_][\p{L}\d_:.-]{0,40})(?:\s[^<>\n]{0,60})?\/?\|?(?:[>\u25b7\u00bb\u3011\u27e9\u203a\uff1e]|&gt;)|\[(\/?)([a-z_]{3,40})\]/giu;
const edge = /^(?:(begin|start)|(end))_(?:of_)?(?=[a-z])/;
const finalChannel = /<\|channel\|>final(?:[^<\n]|<\|constrain\|>){0,40}<\|message\|>/g;

/**
 * The answer part of a reply. Thinking is left out under any name: a block that opens a line or spans lines counts as
 * thinking unless its name says that it holds the answer. What stands before the end of a block that never began is
 * thinking, too: chat templates open it in the prompt.
 */
export function answerText(reply: string): { readonly text: string; readonly unclosedThinking: boolean } {
  if (isJson(reply)) return { text: reply, unclosedThinking: false };
  const said = finalMessage(reply);
  const tags = tagsOf(said.text);
  const roleOf = tagRoles(said.text, tags);
  let parts: string[] = [];
  let from = 0;
  let hidden: Tag | undefined;
  for (const tag of tags) {
    if (hidden !== undefined) {
      if (!tag.closes || !sameBlock(tag.name, hidden.name)) continue;
      from = tag.end;
      hidden = undefined;
      continue;
    }
    const role = roleOf(tag);
    if (role === 'text') continue;
    const before = said.text.slice(from, tag.start);
    from = tag.end;
    if (role === 'hides before') parts = [];
    else parts.push(before, role === 'hides after' ? trace(said.text, tag.start) : shown(tag, role));
    if (role === 'hides after') hidden = tag;
  }
  if (hidden === undefined) parts.push(said.text.slice(from));
  return { text: parts.join(''), unclosedThinking: said.unclosed || hidden !== undefined };
}

type TagRole = 'text' | 'hides before' | 'hides after' | 'label' | 'space' | 'line';

/** What each tag does; it is asked in the order of the text. */
function tagRoles(text: string, tags: readonly Tag[]): (tag: Tag) => TagRole {
  const lastEnd = new Map(tags.filter(({ closes }) => closes).map(({ name, start }) => [name, start]));
  let lineEnd = -1;
  /** Names of elements within a line, whose ends end nothing else. */
  const inline = new Set<string>();
  return ({ name, closes, start, end }) => {
    if (thinking.has(name)) return closes ? 'hides before' : 'hides after';
    const until = lastEnd.get(name) ?? -1;
    // `[sic]` is no block; a pair such as `[PLAN]`, `[/PLAN]` is.
    if (text[start] === '[') return !closes && until > start ? 'hides after' : 'text';
    if (answers.has(name)) return closes ? 'line' : 'label';
    if (formatting.has(name)) return 'space';
    if (boundaries.has(name) || (name === 's' && (start === 0 || text.length - end < 3))) return 'line';
    if (!closes && until < start && placeholders.has(name)) return 'text';
    if (closes)
      return !inline.has(name) && (opensLine(text, start) || endsLine(text, end)) ? 'hides before' : 'text';
    if (lineEnd < end) lineEnd = (text.indexOf('\n', end) + 1 || text.length + 1) - 1;
    if (opensLine(text, start) || until > lineEnd) return 'hides after';
    inline.add(name);
    return 'text';
  };
}

function shown({ name, start, end }: Tag, role: 'label' | 'space' | 'line'): string {
  if (role === 'label') return `\n${name}: `;
  return role === 'line' ? '\n' : ' '.repeat(end - start);
}

/** What a hidden block leaves: a line break, and within a line a sign after which no value is whole. */
const trace = (text: string, start: number) => (opensLine(text, start) ? '\n' : '\u0000\n');

const sameBlock = (a: string, b: string) => a === b || (thinking.has(a) && thinking.has(b));
const opensLine = (text: string, at: number) => /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, at - 40), at));
const endsLine = (text: string, at: number) => /^[ \t]*(?:\n|$)/.test(text.slice(at, at + 40));

function tagsOf(text: string): readonly Tag[] {
  const tags: Tag[] = [];
  for (const match of text.matchAll(tagPattern)) {
    const full = (match[2] ?? match[4])!.toLowerCase();
    const [prefix, , end] = edge.exec(full) ?? [];
    const name = prefix === undefined ? full : full.slice(prefix.length);
    const closes = end !== undefined || [match[1], match[3]].includes('/');
    tags.push({ name, closes, start: match.index, end: match.index + match[0].length });
  }
  return tags;
}

/** The last final message where a reply has channels; what stands before the first channel where none is final. */
function finalMessage(reply: string): { readonly text: string; readonly unclosed: boolean } {
  const last = [...reply.matchAll(finalChannel)].at(-1);
  if (last !== undefined) return { text: reply.slice(last.index + last[0].length), unclosed: false };
  const channel = reply.indexOf('<|channel|>');
  if (channel >= 0) return { text: reply.slice(0, channel), unclosed: true };
  // The same without its control tokens.
  if (!/^analysis(?! )/.test(reply)) return { text: reply, unclosed: false };
  const final = reply.lastIndexOf('assistantfinal');
  return final < 0
    ? { text: '', unclosed: true }
    : { text: reply.slice(final + 'assistantfinal'.length), unclosed: false };
}

function isJson(reply: string): boolean {
  if (!/^\s{0,40}\{/.test(reply)) return false;
  try {
    JSON.parse(reply);
    return true;
  } catch {
    return false;
  }
}

const replacements: Readonly<Record<string, string>> = {
  '\r': ' ',
  '\v': ' ',
  '\f': ' ',
  '\u2028': '\n',
  '\u2029': '\n',
  '*': ' ',
  '`': ' ',
  '\u201c': ' ',
  '\u201d': ' ',
  '\uff0c': ',',
  '\u3001': ',',
  '\uff1b': ';',
  '\uff1a': ':',
  '\uff1d': '=',
  '\u3002': '.',
  '\uff08': '(',
  '\uff09': ')',
};
const signs = /[\r\v\f\u2028\u2029*`\u201c\u201d\uff0c\u3001\uff1b\uff1a\uff1d\u3002\uff08\uff09]/g;
const spaces = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;
/** Signs that stand for a minus: the true one, hyphens, the en dash, the small and the full-width one. */
const minuses = /[\u2212\u2010-\u2013\ufe63\uff0d]/g;

/** The text with emphasis, code marks and LaTeX's wrapping blanked and typographic signs made plain; no sign moves. */
export function undecorated(text: string): string {
  return text
    .replace(/^\ufeff/, ' ')
    .replace(signs, (sign) => replacements[sign]!)
    .replace(spaces, ' ')
    .replace(minuses, '-')
    .replace(/(?<![\d$])\$\$?(?=[^\s$])([^$\n]{0,4000}[^\s$])\$\$?(?!\d)/g, (all) => all.replaceAll('$', ' '))
    .replace(/\\boxed\{/g, '\nfinal:')
    .replace(
      /(\\(?:text|math)[a-z]{0,9}\{)([^{}\n]{0,400})\}/g,
      (_all, mark: string, content: string) => `${' '.repeat(mark.length)}${content} `,
    )
    .replace(/\\(?:text|mathrm|mathbf)\{|\\q?quad\b|\\\\(?=[ \t]*(?:\n|$))|&(?= ?=)/g, (all) =>
      ' '.repeat(all.length),
    )
    .replace(/\\(?:left|right)(?=[\s[\](){}])/g, (all) => ' '.repeat(all.length))
    .replace(/\\(.)/gs, (all, next: string) => ('"\'\\'.includes(next) ? all : ` ${next}`));
}

/** A line and where it stands in the text. */
export interface Line {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export function linesOf(text: string): readonly Line[] {
  const lines: Line[] = [];
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    lines.push({ text: text.slice(start, end), start, end });
    start = end + 1;
  }
  return lines;
}
