/** A tag that opens or closes a block of thinking; it is tested at `lastIndex` only. */
const thinking = /<\/?(?:think|thinking|thought|reasoning)>|\[\/?THINK\]/iy;
const finalChannel = /<\|channel\|>final[^<\n]{0,40}<\|message\|>/g;

/**
 * The answer part of a reply: without the model's thinking, and without lines that open or close a code fence. The
 * middle of an answer is left out where it is too long, which bounds the time to read it: `count` parameters need less
 * than 64 characters each.
 */
export function answerText(
  reply: string,
  count: number,
): { readonly text: string; readonly unclosedThinking: boolean } {
  const { answer, unclosedThinking } = withoutThinking(reply);
  const kept = 50_000 + 64 * count;
  const text =
    answer.length <= 2 * kept ? answer : `${answer.slice(0, kept)}\n(left out)\n${answer.slice(-kept)}`;
  return {
    text: text.includes('```') ? text.replace(/^[ \t>]{0,8}```[\w+-]{0,20}[ \t]{0,8}\r?$/gm, '') : text,
    unclosedThinking,
  };
}

function withoutThinking(reply: string): { readonly answer: string; readonly unclosedThinking: boolean } {
  let from = 0;
  for (const channel of reply.matchAll(finalChannel)) from = channel.index + channel[0].length;
  let parts: string[] = [];
  let thinks = false;
  // The loop goes from bracket to bracket: a search for all tags makes a match for each, and a reply may hold millions.
  let [angle, square] = [reply.indexOf('<', from), reply.indexOf('[', from)];
  while (angle >= 0 || square >= 0) {
    const start = square < 0 || (angle >= 0 && angle < square) ? angle : square;
    thinking.lastIndex = start;
    const isTag = thinking.test(reply);
    const end = isTag ? thinking.lastIndex : start + 1;
    const closes = reply[start + 1] === '/';
    if (isTag && (closes || !thinks)) {
      if (!closes && start > from) parts.push(reply.slice(from, start));
      // A closing tag without its opening one is usual: chat templates open the block in the prompt.
      if (closes && !thinks) parts = [];
      from = end;
      thinks = !closes;
    }
    if (angle >= 0 && angle < end) angle = reply.indexOf('<', end);
    if (square >= 0 && square < end) square = reply.indexOf('[', end);
  }
  if (!thinks) parts.push(reply.slice(from));
  return { answer: parts.join('\n'), unclosedThinking: thinks };
}

/** The `params` (or `parameters`) of a reply that is one JSON object: what its reason quotes is no answer. */
export function jsonAnswer(text: string): string | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return undefined;
  try {
    const object = JSON.parse(trimmed) as { readonly params?: unknown; readonly parameters?: unknown };
    const params = object.params ?? object.parameters;
    return typeof params === 'object' && params !== null ? JSON.stringify({ params }) : undefined;
  } catch {
    return undefined;
  }
}
