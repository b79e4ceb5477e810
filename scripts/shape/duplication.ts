import type { SourceModule } from './module-graph.js';

/** Fewer equal lines in a row don't count as repetition: closing brackets and common calls recur anyway. */
const window = 6;

/**
 * Number of lines in blocks of at least six lines that also occur elsewhere. Ignores blank lines, comments, imports,
 * lines of punctuation, and white space at the ends of lines.
 */
export function repeatedLines(modules: readonly SourceModule[]): number {
  const places = new Map<string, { file: number; at: number }[]>();
  const files = modules.map(({ text }) => codeLines(text));
  for (const [file, lines] of files.entries()) {
    for (let at = 0; at + window <= lines.length; at++) {
      const key = lines.slice(at, at + window).join('\n');
      const list = places.get(key);
      if (list === undefined) places.set(key, [{ file, at }]);
      else list.push({ file, at });
    }
  }
  const repeated = new Set<string>();
  for (const list of places.values()) {
    if (list.length < 2) continue;
    for (const { file, at } of list) {
      for (let line = at; line < at + window; line++) repeated.add(`${file}:${line}`);
    }
  }
  return repeated.size;
}

function codeLines(text: string): readonly string[] {
  const withoutImports = text.replaceAll(/^(import|export)\b[^;]*? from '[^']*';$/gm, '');
  const withoutComments = withoutImports.replaceAll(/\/\*[\s\S]*?\*\//g, '');
  return withoutComments
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /\w/.test(line) && !line.startsWith('//'));
}
