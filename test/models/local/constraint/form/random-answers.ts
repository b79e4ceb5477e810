/** Answers of a model that writes at random, under a form. */

import type { TextForm } from '../../../../../src/models/language-model.js';
import type { ConstraintVocabulary } from '../../../../../src/models/local/constraint/constraint.js';
import { formConstraint } from '../../../../../src/models/local/constraint/form/form-constraint.js';
import { sealForm } from '../../../../../src/models/local/constraint/form/text-form.js';
import { createGenerator } from '../../../../../src/random/generator.js';

const pieces = [
  ...[
    '{"',
    '":',
    '": ',
    '", "',
    '",',
    '"}',
    '"]',
    '"}]',
    '}}',
    ']}',
    '[{',
    '[',
    ', ',
    'true',
    'false',
    'null',
  ],
  ...[
    '12',
    '00',
    '-1',
    '0.',
    '.5',
    'e1',
    'ab',
    ' the',
    'name',
    'value',
    '\\n',
    '\\"',
    '\\u00',
    'é',
    '€',
    '😀',
    '@a.b',
  ],
  ...['2024-', '-02-', '-3', 'T1', ':0', '<tool', '_call>', '</'],
];
const singles = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
const bytes = [...singles, ...pieces.map((piece) => new Uint8Array(Buffer.from(piece))), new Uint8Array(0)];
const end = bytes.length - 1;
const closes = bytes.map((token, id) => id === end || /^["\]}]+$/.test(Buffer.from(token).toString()));

/** All bytes, some longer tokens, and an end token. */
const vocabulary: ConstraintVocabulary = {
  bytes,
  byFirst: singles.map((_, byte) => [...bytes.keys()].filter((id) => bytes[id]![0] === byte)),
  silent: [end],
  eosTokens: new Set([end]),
  spell: (text) => [...Buffer.from(text)],
};

/** @returns the text, or undefined if it isn't complete after `most` tokens */
export function randomAnswer(form: TextForm, seed: number, most = 600): string | undefined {
  const random = createGenerator(seed);
  const state = formConstraint(sealForm(form), vocabulary).start();
  const text: number[] = [];
  for (let step = 0; step < most; step++) {
    const { ids, kind } = state.mask(most - step);
    const masked = new Set(ids);
    const allowed = [...bytes.keys()].filter((id) => masked.has(id) === (kind === 'only'));
    // Closes what is open from time to time, and in the end whenever it can.
    const closing = allowed.filter((id) => closes[id]);
    const hurries = closing.length > 0 && (step > 60 || random.random() < 0.2);
    const among = hurries ? closing : allowed;
    const id = among[Math.floor(random.random() * among.length)]!;
    if (id === end) return Buffer.from(text).toString();
    state.take(id);
    text.push(...bytes[id]!);
  }
  return undefined;
}
