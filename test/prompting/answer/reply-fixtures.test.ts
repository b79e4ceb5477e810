import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { FinishReason } from '../../../src/models/language-model.js';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import type { ParseFailure } from '../../../src/prompting/answer/failure.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { statedReason } from '../../../src/prompting/answer/reason.js';

interface Expectation {
  readonly spec: keyof typeof specs;
  readonly finishReason?: FinishReason;
  /** Parameters that were evaluated before. */
  readonly seen?: readonly (readonly number[])[];
  readonly expect:
    | { readonly parameters: readonly number[] }
    | {
        readonly failure: string;
        readonly indices?: readonly number[];
        readonly absent?: readonly number[];
        readonly unknown?: readonly number[];
      };
  /** What the stated reason starts with. */
  readonly reason?: string;
}

const specs = {
  cartpole: { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 },
  'mountain-car': { count: 3, kind: 'float', low: -50, high: 50, decimals: 1 },
  'frozen-lake': { count: 16, kind: 'integer', low: 0, high: 3, decimals: 0, choices: [0, 1, 2, 3] },
} satisfies Record<string, ParameterSpec>;

const folder = new URL('../../fixtures/replies/', import.meta.url);
const expectations = JSON.parse(readFileSync(new URL('expected.json', folder), 'utf8')) as Record<
  string,
  Expectation
>;

describe('reply fixtures', () => {
  it('have an expectation for every reply', () => {
    const names = readdirSync(folder).filter((name) => name.endsWith('.txt'));
    expect(names.map((name) => name.slice(0, -4)).sort()).toEqual(Object.keys(expectations).sort());
  });

  it.each(Object.entries(expectations))('are read as expected: %s', (name, expectation) => {
    const reply = readFileSync(new URL(`${name}.txt`, folder), 'utf8');
    const seen = new Set((expectation.seen ?? []).map(String));
    const result = parseParameters(reply, specs[expectation.spec], {
      seen: (parameters) => (seen.has(String(parameters)) ? { iteration: 3, score: 42 } : undefined),
      ...(expectation.finishReason && { finishReason: expectation.finishReason }),
    });
    if ('parameters' in expectation.expect) {
      expect(result).toMatchObject({ ok: true, value: expectation.expect.parameters });
    } else {
      const { failure: kind, indices, ...rest } = expectation.expect;
      expect(result).toMatchObject({ ok: false, failure: { kind, ...rest } });
      if (indices && !result.ok) expect(namedIndices(result.failure)).toEqual(indices);
    }
    if (expectation.reason !== undefined) {
      const reason = statedReason(reply);
      if (expectation.reason === '') expect(reason).toBe('');
      else expect(reason.slice(0, expectation.reason.length)).toBe(expectation.reason);
    }
  });
});

function namedIndices(failure: ParseFailure): readonly number[] {
  if ('indices' in failure) return failure.indices;
  return 'values' in failure ? failure.values.map(({ index }) => index) : [];
}
