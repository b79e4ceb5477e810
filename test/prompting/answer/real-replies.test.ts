/** Replies of real models, each with the vector that a careful reader takes from it. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { FinishReason } from '../../../src/models/language-model.js';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { shareOf } from './agreement.js';

interface RealReplies {
  readonly model: string;
  readonly spec?: ParameterSpec;
  /** Vectors that the prompt showed. */
  readonly shown?: readonly (readonly number[])[];
  readonly replies: readonly {
    readonly reply: string;
    readonly meant: readonly number[] | null;
    /** Which of `shown` the prompt of this reply showed; all if left out. */
    readonly shown?: readonly number[];
    readonly finishReason?: FinishReason;
  }[];
}

/** The settings with which the first files were recorded. */
const cartPole: ParameterSpec = { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 };

const folder = new URL('../../fixtures/real-replies/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = files.flatMap((name) => {
  const {
    replies,
    shown = [],
    spec = cartPole,
  } = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as RealReplies;
  return replies.map(({ finishReason = 'stop', meant, reply, ...own }) => {
    const known = new Set((own.shown?.map((i) => shown[i]) ?? shown).map(String));
    const seen = (vector: readonly number[]) => (known.has(String(vector)) ? {} : undefined);
    const isKnown = meant !== null && known.has(String(meant));
    const result = parseParameters(reply, spec, { finishReason, seen });
    return { reply, meant: isKnown ? null : meant, result };
  });
});

describe('replies from real models', () => {
  it('with a new proposal are read as intended at least 97 % of the time', () => {
    const proposals = read.filter(({ meant }) => meant !== null);
    expect(proposals.length).toBeGreaterThan(10);
    expect(shareOf(proposals)).toBeGreaterThanOrEqual(0.97);
  });

  it('without a new proposal yield none at least 90 % of the time', () => {
    expect(shareOf(read.filter(({ meant }) => meant === null))).toBeGreaterThanOrEqual(0.9);
  });

  it('yield only numbers that they contain', () => {
    for (const { reply, result } of read) {
      if (!result.ok) continue;
      const numbers = new Set(
        (reply.match(/-? ?\d*\.?\d+(?:e[+-]?\d+)?/gi) ?? []).map((text) => Number(text.replace(' ', '')) + 0),
      );
      expect(result.value.filter((value) => !numbers.has(value))).toEqual([]);
    }
  });
});

interface RecordedReply {
  readonly parameters: number;
  readonly low: number;
  readonly high: number;
  readonly reply: string;
  readonly meant: readonly number[] | null;
  readonly why?: string;
}

/** Replies in the forms of gpt-oss:120b. */
const recorded = readFileSync(new URL('../../fixtures/recorded-replies.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedReply);

it.each(recorded)(
  'a reply for $environment is read as $meant (null: rejected): $reply',
  ({ high, low, meant, parameters, reply, why }) => {
    const result = parseParameters(reply, { count: parameters, kind: 'float', low, high, decimals: 1 });
    if (meant !== null) expect(result).toMatchObject({ ok: true, value: meant });
    else
      expect(result).toMatchObject({ ok: false, failure: { kind: why === 'range' ? 'range' : 'missing' } });
  },
);
