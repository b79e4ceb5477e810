import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { choiceConstraint } from '../../../../src/models/local/constraint/choices.js';

const end = 0;
const choices = [
  [1, 2, end],
  [1, 2, 3, end],
  [1, 4, 5, end],
  [6, end],
];

const allowed = (mask: ReturnType<ReturnType<ReturnType<typeof choiceConstraint>['start']>['mask']>) => {
  if (mask.kind !== 'only') throw new Error('some tokens only');
  return [...mask.ids];
};

describe('a choice constraint', () => {
  it('allows the next token of each matching choice, and the end after a complete choice', () => {
    const state = choiceConstraint(choices).start();
    expect(allowed(state.mask(9))).toEqual([1, 6]);
    state.accept(1);
    expect(allowed(state.mask(9))).toEqual([2, 4]);
    state.accept(2);
    expect(allowed(state.mask(9))).toEqual([end, 3]);
    state.accept(3);
    expect(allowed(state.mask(9))).toEqual([end]);
  });

  it('rejects a token that continues no choice', () => {
    expect(() => choiceConstraint(choices).start().accept(2)).toThrow("doesn't continue any of the choices");
  });

  it('reports the length of its longest choice without the end token', () => {
    expect(choiceConstraint(choices).answerTokens).toBe(3);
    expect(() => choiceConstraint([])).toThrow(RangeError);
  });

  it('can produce each of its choices, and nothing else', () => {
    const texts = fc.uniqueArray(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 8,
      selector: (ids) => ids.join(),
    });
    fc.assert(
      fc.property(texts, (given) => {
        const constraint = choiceConstraint(given.map((ids) => [...ids, end]));
        const found: string[] = [];
        const walk = (before: readonly number[]) => {
          const state = constraint.start();
          for (const id of before) state.accept(id);
          for (const id of allowed(state.mask(9)))
            if (id === end) found.push(before.join());
            else walk([...before, id]);
        };
        walk([]);
        expect(found.sort()).toEqual(given.map((ids) => ids.join()).sort());
      }),
    );
  });
});
