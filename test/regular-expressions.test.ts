/** No regular expression takes time that grows with the square of a text's length: text may come from a model. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { analyse } from 'scslre';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** The regular expressions in a source, as `file: /pattern/flags`, for which time isn't linear. */
function slowExpressions(file: string, text: string): readonly string[] {
  const slow: string[] = [];
  new Visitor({
    Literal(node) {
      if (!('regex' in node)) return;
      const { pattern, flags } = node.regex;
      // An expression without a suffix that may fail always matches.
      const { reports } = analyse({ source: pattern, flags }, { assumeRejectingSuffix: false });
      if (reports.length > 0) slow.push(`${file}: /${pattern}/${flags}`);
    },
  }).visit(parseSync(file, text).program);
  return slow;
}

it('scslre reports no slow regular-expression literal in src or finetune', () => {
  const sources = ['src', 'finetune'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:[cm]?js|tsx?)$/.test(file))
      .map((file) => join(folder, file)),
  );
  expect(sources.length).toBeGreaterThan(500);
  expect(sources.flatMap((file) => slowExpressions(file, readFileSync(join(root, file), 'utf8')))).toEqual(
    [],
  );
  for (const slow of ['/^\\s*<{5,}/m', '/\\s+$/', '/(?:a+)+b/', '/~{3,}[^`]*`/'])
    expect(slowExpressions('a.ts', slow), slow).toHaveLength(1);
  expect(slowExpressions('a.ts', '/^[ \\t]*<{5}/m; /(?<!\\s)\\s+$/')).toEqual([]);
});
