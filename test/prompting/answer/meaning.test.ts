import { describe, expect, it } from 'vitest';
import { type ParseFailure, parseParameters } from '../../../src/prompting/answer/format.js';
import { createGenerator } from '../../../src/random/generator.js';
import { answering } from './answering-replies.js';
import { doubtful, type HandMade, wellFormed } from './hand-made-replies.js';
import { writeReply } from './reply-generator.js';
import { unanswering } from './unanswering-replies.js';

const read = ({ count, reply }: HandMade) =>
  parseParameters(reply, { count, kind: 'float', low: -50, high: 50, decimals: 3 });

const label = ({ reply }: HandMade) => JSON.stringify(reply.slice(0, 120));

describe('a well-formed reply is read', () => {
  it.each(wellFormed.map((item) => [label(item), item] as const))('%s', (_label, item) => {
    expect(read(item)).toEqual({ ok: true, value: item.meant });
  });
});

describe('a reply as models dress it is read', () => {
  it.each(answering.map((reply) => [JSON.stringify(reply)]))('%s', (reply) => {
    expect(read({ count: 2, reply: JSON.parse(reply) as string, meant: [1, 2] })).toEqual({
      ok: true,
      value: [1, 2],
    });
  });
});

describe('a reply with several readings is refused', () => {
  it.each(doubtful.map((item) => [label(item), item] as const))('%s', (_label, item) => {
    const result = read(item);
    if (typeof item.meant !== 'string') expect(result).toEqual({ ok: true, value: item.meant });
    else if (item.meant === 'refused') expect(result.ok).toBe(false);
    else expect(result).toMatchObject({ ok: false, failure: { kind: item.meant } });
  });
});

describe('a reply without one answer is refused', () => {
  it.each(unanswering.map((reply) => [JSON.stringify(reply)]))('%s', (reply) => {
    const result = read({ count: 2, reply: JSON.parse(reply) as string, meant: 'refused' });
    expect(result.ok).toBe(false);
  });
});

describe('an ambiguous reply', () => {
  const failure = (reply: string, count: number): ParseFailure => {
    const result = read({ reply, count, meant: 'ambiguous' });
    return result.ok ? expect.fail('accepted') : result.failure;
  };

  it('is told both readings', () => {
    const reply = 'params[0]: 1, params[1]: 2\n\nparams[0]: 3, params[1]: 2';
    expect(failure(reply, 2)).toEqual({
      kind: 'ambiguous',
      readings: ['params[0]: 1, params[1]: 2', 'params[0]: 3, params[1]: 2'],
    });
  });

  it('is told only where long readings differ', () => {
    const line = (change: number) =>
      Array.from({ length: 2000 }, (_, i) => `params[${i}]: ${i === 1500 ? change : 0}`).join(', ');
    expect(failure(`${line(1)}\n\n${line(2)}`, 2000)).toEqual({
      kind: 'ambiguous',
      readings: ['params[1500]: 1', 'params[1500]: 2'],
    });
  });

  it('is told that its words take the answer back', () => {
    expect(failure('params[0]: 1\nIgnore the above.', 1)).toEqual({
      kind: 'ambiguous',
      readings: ['params[0]: 1 is your answer', 'you take it back'],
    });
  });
});

/** How many replies are written; `REPLIES=100000` writes more. */
const replies = Number(process.env.REPLIES ?? 3000);

describe('written replies', () => {
  const random = createGenerator(15);
  const written = Array.from({ length: replies }, () => writeReply(random));
  const outcomes = written.map((item) => ({ ...item, result: parseParameters(item.reply, item.spec) }));
  const accepted = outcomes.filter(({ result }) => result.ok);
  const wrong = accepted.filter(({ result, meant }) => result.ok && String(result.value) !== String(meant));
  const plain = outcomes.filter((item) => item.plain);
  const lost = plain.filter(({ result }) => !result.ok);
  const shown = (items: typeof outcomes) =>
    items
      .slice(0, 10)
      .map(({ kind, reply, meant, result }) => `${kind}: ${JSON.stringify({ reply, meant, result })}`);

  it('are accepted only as they are meant, at least 99.9 % of them', () => {
    const precision = 1 - wrong.length / accepted.length;
    const figures = `${wrong.length} of ${accepted.length} accepted replies are misread`;
    expect(precision, [figures, ...shown(wrong)].join('\n')).toBeGreaterThanOrEqual(0.999);
  });

  it('are all accepted where they are plain', () => {
    const figures = `${lost.length} of ${plain.length} plain replies are refused`;
    expect(lost.length, [figures, ...shown(lost)].join('\n')).toBe(0);
  });

  it('are of every kind, and more than the plain ones are accepted', () => {
    expect(new Set(written.map(({ kind }) => kind)).size).toBe(15);
    expect(accepted.length).toBeGreaterThan(plain.length * 1.1);
  });
});
