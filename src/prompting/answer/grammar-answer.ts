/** Extracts the answer from a reply generated under `answerGrammar`, without the free text before or after it. */
export function grammarAnswer(text: string, count: number): string | undefined {
  const json = /(?<!\\)"params"\s*:\s*(\[[^[\]]*\])/.exec(text)?.[1];
  if (json !== undefined) return json;
  const [first, last] = ['params[0]:', `params[${count - 1}]:`];
  const start = text.trimStart().startsWith(first) ? text.indexOf(first) : text.lastIndexOf(first);
  const at = start < 0 ? -1 : text.indexOf(last, start) + last.length;
  const value = at < last.length ? null : /^ ?-?\d+(?:\.\d+)?/.exec(text.slice(at, at + 64));
  return value === null ? undefined : text.slice(start, at + value[0].length);
}
