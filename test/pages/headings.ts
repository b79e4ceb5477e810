/** What a screen reader can't use: skipped heading levels and headers without text. */
export function outlineProblems(page: string): readonly string[] {
  const markup = page.replaceAll(/<(script|style)\b.*?<\/\1>/gs, '');
  const problems: string[] = [];
  let last = 0;
  for (const [, level, content] of markup.matchAll(/<h([1-6])\b[^>]*>(.*?)<\/h\1>/gs)) {
    if (Number(level) > last + 1)
      problems.push(`h${level} after ${last === 0 ? 'nothing' : `h${last}`}: ${content}`);
    last = Number(level);
  }
  if (last === 0) problems.push('no headings');
  for (const [header, content = ''] of markup.matchAll(/<th\b[^>]*>(.*?)<\/th>/gs))
    if (content.replaceAll(/<[^>]*>/g, '').trim() === '') problems.push(`empty header: ${header}`);
  return problems;
}
