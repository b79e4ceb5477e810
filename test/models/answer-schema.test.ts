import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerSchema } from '../../src/models/answer-schema.js';
import type { ParameterSpec } from '../../src/policies/policy.js';
import { parseParameters } from '../../src/prompting/answer/parse.js';
import { answerGrammar } from '../../src/prompting/notation/grammar.js';
import { lakeTable } from '../support/records.js';

const float: ParameterSpec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 };

describe('answerSchema', () => {
  it('requires every property and allows no other, as strict schemas must', () => {
    const schema = answerSchema(answerGrammar(float));
    expect(schema.additionalProperties).toBe(false);
    expect(schema.required).toEqual(Object.keys(schema.properties as object));
  });

  it('bounds floats and lists choices', () => {
    expect(answerSchema(answerGrammar(float))).toMatchObject({
      properties: {
        params: { minItems: 3, maxItems: 3, items: { type: 'number', minimum: -6, maximum: 6 } },
      },
    });
    expect(answerSchema(answerGrammar(lakeTable))).toMatchObject({
      properties: { params: { minItems: 16, items: { type: 'integer', enum: [0, 1, 2, 3] } } },
    });
  });

  it('lists all allowed numbers if there are at most maxChoices of them, and always lists choices', () => {
    const listOf = (spec: ParameterSpec, maxChoices: number) => {
      const schema = answerSchema(answerGrammar(spec), { maxChoices });
      return (schema.properties as { params: { items: { enum?: number[] } } }).params.items.enum;
    };
    const grid = listOf(float, 121)!;
    expect(grid).toHaveLength(121);
    expect(JSON.stringify(grid)).toMatch(/^\[-6,-5\.9,.*,-0\.1,0,0\.1,.*,5\.9,6\]$/);
    expect(listOf(float, 120)).toBeUndefined();
    expect(listOf({ ...float, low: -0.25, high: 0.3 }, 9)).toEqual([-0.2, -0.1, 0, 0.1, 0.2, 0.3]);
    expect(listOf({ ...float, kind: 'integer', low: 2, high: 4, decimals: 0 }, 9)).toEqual([2, 3, 4]);
    expect(listOf(lakeTable, 0)).toEqual([0, 1, 2, 3]);
  });

  it.each([float, lakeTable])('has properties that the parser reads', (spec) => {
    const value = fc.integer({ min: 0, max: 3 });
    fc.assert(
      fc.property(
        fc.array(value, { minLength: spec.count, maxLength: spec.count }),
        fc.string(),
        (params, reason) => {
          const properties = Object.keys(answerSchema(answerGrammar(spec)).properties as object);
          const answer = Object.fromEntries(
            properties.map((name) => [name, name === 'params' ? params : reason]),
          );
          expect(parseParameters(JSON.stringify(answer), spec)).toEqual({ ok: true, value: params });
        },
      ),
    );
  });
});
