import { jsonIn } from '../base/files/json-depth.js';

/** Extracts the answer from a model's text by removing thinking, chat-template tags and channels. */

const nameSet = (text: string) => new Set(text.split(' '));
/** Names of thinking blocks, without prefixes such as `begin_of_`. */
const thinkingTags = nameSet(
  'think thinking thought thoughts reasoning analysis reflection scratchpad seed:think inner_monologue',
);
/** Elements whose content is the answer; their names become labels. */
const answerTags = nameSet(
  'answer final final_answer solution response output result params parameters proposal',
);
const formatTags = nameSet('b i em strong code pre p br div span center li ul ol u tool_call tool_calls');
/** Placeholders in format examples, such as `<number>`, which have no end tag. */
const placeholderNames = nameSet('number integer value reason why explanation');
/** Names of chat-template tags. */
const chatTags = nameSet('im_start im_end eot_id eos bos endoftext turn text end start return message');

/** `<name>`, `</name>` or `<|name|>` in any angle brackets, or `[NAME]`; bounded repetition keeps matching linear. */
const tagPattern =
  /(?:[<\u25c1\u00ab\u3010\u27e8\u2039\uff1c]|&lt;) ?\|?(\/?) ?([\p{L}_][\p{L}\d_:.-]{0,40})(?:\s[^<>\n]{0,60})?\/?\|?(?:[>\u25b7\u00bb\u3011\u27e9\u203a\uff1e]|&gt;)|\[(\/?)([a-z_]{3,40})\]/giu;
const prefix = /^(?:(?:begin|start)|(end))_(?:of_)?(?=[a-z])/;
const finalChannel = /<\|channel\|>final(?:[^<\n]|<\|constrain\|>){0,40}<\|message\|>/g;

/**
 * Extracts the answer from a reply. A block is thinking if its name says so, or is unknown and the block starts a line,
 * spans lines or is in square brackets. Chat templates may open thinking in the prompt, so text before an end tag
 * without a start tag is thinking, too, if its name says so, or if `</…>` of an unknown name starts or ends a line.
 */
export function findAnswer(reply: string): { readonly text: string; readonly hasUnclosedThinking: boolean } {
  if (isJson(reply)) return { text: reply, hasUnclosedThinking: false };
  const { text, isUnclosed } = finalMessage(reply);
  const tags = [...text.matchAll(tagPattern)].map((match) => {
    const tag = (match[2] ?? match[4])!.toLowerCase();
    const closes = prefix.exec(tag)?.[1] !== undefined || [match[1], match[3]].includes('/');
    return { name: tag.replace(prefix, ''), closes, start: match.index, end: match.index + match[0].length };
  });
  const lastEndByName = new Map(tags.flatMap(({ closes, name, start }) => (closes ? [[name, start]] : [])));
  /** Names of inline elements; their end tags don't end a thinking block. */
  const inlineTags = new Set<string>();
  let [result, from, lineEnd] = ['', 0, -1];
  let hiddenName: string | undefined;
  for (const { closes, end, name, start } of tags) {
    const isThought = thinkingTags.has(name);
    if (hiddenName !== undefined) {
      if (closes && (name === hiddenName || (isThought && thinkingTags.has(hiddenName))))
        [from, hiddenName] = [end, undefined];
      continue;
    }
    const opensLine = /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, start - 40), start));
    const lastEndTag = lastEndByName.get(name) ?? -1;
    if (lineEnd < end) lineEnd = (text.indexOf('\n', end) + 1 || text.length + 1) - 1;
    let filler: string | undefined;
    if (answerTags.has(name)) filler = closes ? '\n' : `\n${name}: `;
    else if (formatTags.has(name)) filler = ' '.repeat(end - start);
    else if (chatTags.has(name) || (name === 's' && (start === 0 || text.length - end < 3))) filler = '\n';
    else if (closes && (isThought || !inlineTags.has(name))) {
      const isEnd = opensLine || /^[ \t]*(?:\n|$)/.test(text.slice(end, end + 40));
      if (isThought || (text[start] !== '[' && isEnd)) [result, from] = ['', end];
      continue;
    } else if (!isThought) {
      // `[sic]` isn't a block, but a pair of tags such as `[PLAN]` … `[/PLAN]` is.
      const isBlock = text[start] === '[' ? lastEndTag > start : opensLine || lastEndTag > lineEnd;
      if (!isBlock || closes || (lastEndTag < start && placeholderNames.has(name))) {
        if (text[start] !== '[') inlineTags.add(name);
        continue;
      }
    }
    // A block removed within a line leaves a marker, so that half of a value isn't parsed as the whole value.
    result += text.slice(from, start) + (filler ?? (opensLine ? '\n' : '\u0000\n'));
    from = end;
    if (filler === undefined) hiddenName = name;
  }
  if (hiddenName === undefined) result += text.slice(from);
  return { text: result, hasUnclosedThinking: isUnclosed || hiddenName !== undefined };
}

/** Returns the last message of the final channel (OpenAI's Harmony format) or else the text before any channel. */
function finalMessage(reply: string): { readonly text: string; readonly isUnclosed: boolean } {
  const channel = reply.indexOf('<|channel|>');
  // If a server strips the control tokens, a Harmony reply begins with `analysis`.
  const isBare = channel < 0 && /^analysis(?! )/.test(reply);
  const [beforeFinal = '', ...finals] = reply.split(isBare ? 'assistantfinal' : finalChannel);
  const last = finals.at(-1);
  if (last !== undefined) return { text: last, isUnclosed: false };
  return {
    text: isBare ? '' : channel < 0 ? beforeFinal : beforeFinal.slice(0, channel),
    isUnclosed: isBare || channel >= 0,
  };
}

const isJson = (reply: string): boolean => /^\s{0,40}\{/.test(reply) && typeof jsonIn(reply) === 'object';
