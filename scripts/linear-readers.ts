/**
 * Checks that everything that reads text from models, servers or other people's runs takes linear time: gives each
 * reader 300,000 characters of one repeated unit, and compares the CPU time with that for half as many.
 */
import { parseAction } from '../src/agents/reading.js';
import { redactAddresses } from '../src/base/errors.js';
import { safeLine } from '../src/base/terminal-text.js';
import { markdownTable, text } from '../src/base/text/table.js';
import { programIn } from '../src/experiment/programs/program-file.js';
import { endsInLoop, maxTextTokens, minPromptTokens } from '../src/models/reply-faults.js';
import { createProgramLibrary } from '../src/policies/program/library.js';
import { parseParameters } from '../src/prompting/answer/parse.js';
import { readEdits, readProgram, withoutProgram } from '../src/prompting/answer/program.js';
import { statedReason } from '../src/prompting/answer/reason.js';
import { parseFilter } from '../src/runs/listing/filter.js';

const space = { kind: 'discrete', n: 2 } as const;
const spec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 2 } as const;
const programs = createProgramLibrary(space);
const parent = programs.add('function act(observation) { return 0; }');
const columns = [text<string>('Text', (row) => row)];

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  parameters: (text) => parseParameters(text, spec),
  program: (text) => readProgram(text, programs),
  edits: (text) => readEdits(text, parent, programs),
  'edits that were cut off': (text) => readEdits(text, parent, programs, { finishReason: 'length' }),
  'text without a program': withoutProgram,
  reason: (text) => statedReason(text),
  'action in text': (text) => parseAction(text, space, undefined, 'text'),
  'action in JSON': (text) => parseAction(text, space, undefined, 'json'),
  loop: endsInLoop,
  'most tokens': maxTextTokens,
  'fewest tokens': (content) => minPromptTokens([{ role: 'user', content }]),
  'program file': programIn,
  filter: (text) => parseFilter(text),
  'redacted text': redactAddresses,
  'text on one line': safeLine,
  'table cell': (text) => markdownTable([text], columns),
};

const signs = ['a', '1', ' ', '\n', '"', '`', '(', '[', '{', '<', '-', '=', ':', '.', ',', '/'];
const words = [
  '```',
  '~~~',
  '<<<<<<<',
  '=======',
  '>>>>>>>',
  'param',
  'params[0]: ',
  'let ',
  'act = ',
  'sk-',
  '<think>',
  '"action":',
  '// ',
  '\\text{',
];
const characters = Array.from({ length: 0x17f }, (_, code) => String.fromCharCode(code));
const units = [
  ...characters,
  ...['\u2028', '\u3000', '\u201c', '\u25c1', '\u{1f600}'],
  ...signs.flatMap((first) => signs.filter((second) => second !== first).map((second) => first + second)),
  ...words.flatMap((word) => ['', 'x', '\n', '"', ']', '('].map((sign) => word + sign)),
];

/** CPU seconds to read about `length` characters between a word and a control character, which no reader expects. */
function secondsFor(read: (text: string) => unknown, unit: string, length: number): number {
  const text = `x ${unit.repeat(length / unit.length)}\u0001`;
  const start = process.cpuUsage();
  try {
    read(text);
  } catch {
    // The time counts, whether the reader accepts the text or not.
  }
  const { system, user } = process.cpuUsage(start);
  return (system + user) / 1e6;
}

for (const [name, read] of Object.entries(readers)) {
  let worst = 0;
  for (const unit of units) {
    for (const length of [30_000, 300_000]) {
      const [half, whole] = [secondsFor(read, unit, length / 2), secondsFor(read, unit, length)];
      worst = Math.max(worst, whole);
      if (whole < 0.5 || whole < 3 * half || secondsFor(read, unit, 2 * length) < 3 * whole) continue;
      process.stderr.write(
        `${name}: ${length} characters of ${JSON.stringify(unit)} take ${whole} s, half of them ${half} s\n`,
      );
      process.exitCode = 1;
      break;
    }
  }
  process.stdout.write(`${name}: at most ${worst.toFixed(2)} s for 300,000 characters\n`);
}
