import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { formatReturn } from '../../../src/base/text/numbers.js';
import {
  type Column,
  csvTable,
  markdownTable,
  pageTable,
  terminalTable,
} from '../../../src/base/text/table.js';

interface Row {
  readonly task: string;
  readonly model: string;
  readonly runs: number;
  readonly mean?: number;
  readonly ends?: readonly [number, number];
}

const columns: readonly Column<Row>[] = [
  { title: 'task', name: 'task', grouped: true, cell: ({ task }) => task },
  { title: 'model', name: 'model', cell: ({ model }) => ({ text: model, code: true }) },
  { title: 'runs', name: 'runs', kind: 'number', cell: ({ runs }) => runs },
  {
    title: 'mean',
    name: 'mean',
    kind: 'estimate',
    format: formatReturn,
    cell: ({ mean, ends: interval }) => mean && { value: mean, interval },
  },
  { name: 'seed', cell: () => 7 },
];

const rows: readonly Row[] = [
  { task: 'pole', model: 'a', runs: 2, mean: 5.25, ends: [-1.5, 12.0001] },
  { task: 'pole', model: 'b', runs: 12345, mean: -20 },
  { task: 'lake', model: 'a', runs: 0 },
];

describe('a table', () => {
  it('aligns its columns on a terminal', () => {
    expect(stripVTControlCharacters(terminalTable(rows, columns)).split('\n')).toEqual([
      'task  model    runs    mean   95 % interval',
      'pole  a           2   5.250  −1.500 … 12.00',
      '      b      12\u202f345  −20.00               –',
      'lake  a           0       –               –',
    ]);
  });

  it('renders as Markdown', () => {
    expect(markdownTable(rows, columns).split('\n')).toEqual([
      '| task | model | runs | mean | 95 % interval |',
      '| --- | --- | --: | --: | --: |',
      '| pole | `a` | 2 | 5.250 | −1.500 … 12.00 |',
      '| pole | `b` | 12\u202f345 | −20.00 | – |',
      '| lake | `a` | 0 | – | – |',
    ]);
  });

  it('has unrounded numbers and hidden columns in CSV', () => {
    expect(csvTable(rows, columns)).toBe(
      [
        'task,model,runs,mean,mean_low,mean_high,seed',
        'pole,a,2,5.25,-1.5,12.0001,7',
        'pole,b,12345,-20,,,7',
        'lake,a,0,,,,7',
        '',
      ].join('\n'),
    );
  });

  it('becomes data for a page: texts, numbers to sort by, and cells that repeat the cell above', () => {
    expect(JSON.parse(JSON.stringify(pageTable(rows, columns)))).toEqual([
      'data-table',
      {
        isTall: false,
        columns: [
          { kind: 'text', title: 'task', spoken: 'name' },
          { kind: 'text', title: 'model', spoken: 'value' },
          { kind: 'number', title: 'runs', spoken: 'value' },
          { kind: 'estimate', title: 'mean', spoken: 'value' },
        ],
        rows: [
          [
            { text: 'pole' },
            { text: 'a', code: true },
            { text: '2', value: 2 },
            { text: '5.250', value: 5.25, strong: true, detail: '−1.500 … 12.00', interval: [-1.5, 12.0001] },
          ],
          [
            { text: 'pole', isRepeated: true },
            { text: 'b', code: true },
            { text: '12\u202f345', value: 12345 },
            { text: '−20.00', value: -20, strong: true, detail: 'no interval' },
          ],
          [{ text: 'lake' }, { text: 'a', code: true }, { text: '0', value: 0 }, { text: '–' }],
        ],
      },
    ]);
  });
});

describe('a table on a terminal', () => {
  interface Wide {
    readonly name: string;
    readonly value: number;
  }
  const wide: readonly Column<Wide>[] = [
    { title: 'group', cell: ({ name }) => name },
    { title: 'environment', cell: () => '環境の名前 with options {"is_slippery":false}' },
    ...['confirmed', 'median', 'area, observed'].map(
      (title): Column<Wide> => ({
        title,
        kind: 'estimate',
        cell: ({ value }) => ({ value, interval: [value - 1, value + 1] }),
      }),
    ),
    { title: 'evaluations to the target', kind: 'number', cell: ({ value }) => value },
    { title: '', cell: () => 'no evidence' },
  ];
  const groups = [
    { name: 'model=a-very-long-model-name:32b-instruct, prompts.set=semantic', value: 412.5 },
    { name: '日本語の長いグループ名はここにあります', value: -12345.5 },
    { name: 'short', value: 0 },
  ];
  const plain = (width?: number) => stripVTControlCharacters(terminalTable(groups, wide, width));

  it.each([40, 60, 80, 120, 200])('fits %i columns, and still shows names, values and titles', (width) => {
    const text = plain(width);
    expect(Math.max(...text.split('\n').map((line) => stringWidth(line)))).toBeLessThanOrEqual(width);
    for (const value of ['412.5', '411.5 … 413.5', '−12\u202f346', 'evidence']) expect(text).toContain(value);
    // Names are broken, not cut.
    for (const { name } of groups) for (const letter of name) expect(text).toContain(letter);
    for (const title of ['confirmed', 'median', 'observed', 'target']) expect(text).toContain(title);
  });

  it('is split if too wide: each part repeats the row names and keeps intervals with their estimates', () => {
    const parts = plain(60).split('\n\n');
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) {
      expect(part).toContain('short');
      const [titles] = part.split('\n');
      expect(titles!.trim()).not.toMatch(/^group +95 %/);
    }
  });

  it('uses one line per row if the width is unknown or sufficient', () => {
    const lines = plain().split('\n');
    expect(lines).toHaveLength(1 + groups.length);
    expect(new Set(lines.map((line) => stringWidth(line))).size).toBeLessThanOrEqual(2);
    expect(plain(stringWidth(lines[1]!))).toBe(plain());
  });
});

describe('untrusted text', () => {
  const text: Column<string> = { title: 'text', name: 'text', cell: (row) => row };

  it.each([
    ['a|b', 'a\\|b'],
    ['a\\|b', 'a\\\\\\|b'],
    ['two\r\nlines', 'two lines'],
  ])('%j stays within one row of Markdown', (value, expected) =>
    expect(markdownTable([value], [text]).split('\n')[2]).toBe(`| ${expected} |`),
  );

  it.each([
    ['=1+1', "'=1+1"],
    ['@x', "'@x"],
    ['-cmd', "'-cmd"],
    [' =1+1', "' =1+1"],
    ['\n=1+1', `"'\n=1+1"`],
    ['\u200b@x', "'\u200b@x"],
    ['＝1+1', "'＝1+1"],
    ['+1+cmd', "'+1+cmd"],
    ['-1.5', '-1.5'],
    ['+1e3', '+1e3'],
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    ['=a,"b"', `"'=a,""b"""`],
    ['a\nb', '"a\nb"'],
  ])('%j becomes a single CSV field, never a formula', (value, expected) =>
    expect(csvTable([value], [text])).toBe(`text\n${expected}\n`),
  );

  it('cannot control a terminal', () => {
    expect(stripVTControlCharacters(terminalTable(['a\u001b[2Jb\nc'], [text]))).toBe('text\na [2Jb c');
  });
});
