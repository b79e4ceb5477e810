/** Pages of `docs/`: one index links all of them, how-to guides are short, and the total length is limited. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pages, root } from './blocks.js';

const read = (page: string) => readFileSync(`${root}/${page}`, 'utf8');

/** Words outside code blocks. */
const wordsOf = (page: string) =>
  read(page)
    .replaceAll(/^( {0,3})```[\s\S]*?^\1```$/gm, '')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

const inFolder = (folder: string) => pages.filter((page) => page.startsWith(`docs/${folder}/`));

it('the index links each page once, apart from log entries and decisions; design.md links decisions', () => {
  const index = read('docs/README.md');
  const linked = [...index.matchAll(/\]\(([\w/-]+\.md)\)/g)].map(([, path]) => `docs/${path}`);
  const expected = pages.filter((page) => !/^README|^docs\/README|\/decisions\//.test(page));
  expect(linked.sort()).toEqual(['docs/log/README.md', ...expected].sort());
  for (const page of inFolder('explanation/decisions'))
    expect(read('docs/explanation/design.md')).toContain(`(${page.replace('docs/explanation/', '')})`);
});

it.each(inFolder('how-to'))('%s has at most 700 words outside code blocks', (page) => {
  expect(wordsOf(page)).toBeLessThanOrEqual(700);
});

it('tutorials, how-to guides and explanations have at most 30,000 words in all, outside code blocks', () => {
  const words = ['tutorials', 'how-to', 'explanation'].flatMap(inFolder).map(wordsOf);
  expect(words.length).toBeGreaterThan(40);
  expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(30_000);
});
