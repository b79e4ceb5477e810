/**
 * "LLM RL Finetune" gives two rewards for the form of an answer. Both are rewritten here from what they accept, and judge
 * answers of the forms that its prompts ask for.
 */
import { describe, expect, it } from 'vitest';
import { rewardSchema, termsOf } from '../../../../finetune/rl/proposer/candidate-reward.js';
import { type Candidate, rewardsOf } from '../../../../finetune/rl/proposer/reward.js';
import { parseParameters } from '../../../../src/prompting/answer/parse.js';

const [line, number] = [String.raw`[^\n]*?`, String.raw`[+-]?\d+(?:\.\d+)?`];
const around = (policy: string) => new RegExp(`^<think>${line}</think>\\s*<policy>${policy}</policy>$`);
/** Between two parameters it wants nothing, or the three characters comma, semicolon and white space, any number of times. */
const between = String.raw`(?:,;\s)*`;
const parameter = String.raw`params\[\d+\]:\s*${number}`;

const soft = (answer: string) => (around(line).test(answer) ? 1 : 0);
const hard = (answer: string) =>
  around([parameter, parameter, parameter].join(between)).test(answer) ? 1 : 0;

/** As the user's prompt asks: the parameters in one line, then the reason. */
const plain = 'params[0]: 0.0; params[1]: 5.5; params[2]: 0.0\nThe velocity has to be amplified.';
/** As the system prompt asks: thinking, of several lines, and the policy in tags. */
const tagged =
  '<think>\nThe hill is too steep.\nThe car has to swing.\n</think>\n<policy>params[0]: 0.0; params[1]: 5.5; params[2]: 0.0</policy>';

describe('the original format rewards', () => {
  it.each([
    ['parameters and a reason', plain],
    ['thinking and a policy in tags', tagged],
  ])('are 0 for %s', (_, answer) => {
    expect([soft(answer), hard(answer)]).toEqual([0, 0]);
  });

  it('are 1 for formats no prompt asks for: one-line thinking and three-character separators', () => {
    const [oneLine, separated] = [
      '<think>Swing.</think><policy>x</policy>',
      'params[0]: 0,; params[1]: 5.5,; params[2]: 0',
    ];
    expect(soft(oneLine)).toBe(1);
    expect(hard(`<think>Swing.</think><policy>${separated}</policy>`)).toBe(1);
    expect(hard(`<think>Swing.</think><policy>${separated.replaceAll(',;', ';')}</policy>`)).toBe(0);
  });
});

it('the `format` reward is 1 for the answer that a run’s prompt asks for', () => {
  const spec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
  const read = parseParameters(plain, spec);
  expect(read).toEqual({ ok: true, value: [0, 5.5, 0] });
  const policy = { parameters: [0, 5.5, 0], returns: [85], score: 85 };
  const candidate: Candidate = { kind: 'evaluated', text: plain, ...policy };
  const group = { history: [], candidates: [candidate], environment: 'MountainCarContinuous-v0' };
  expect(rewardsOf(group, termsOf(rewardSchema.parse({ kind: 'format' })))).toEqual([1]);
});
