import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { statedReason } from '../../../src/prompting/answer/reason.js';
import { nastyReply } from './nasty-replies.js';

const specs: Readonly<Record<string, ParameterSpec>> = {
  'a linear policy': { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 },
  'a linear policy without bounds to speak of': {
    count: 3,
    kind: 'float',
    low: -1e6,
    high: 1e6,
    decimals: 3,
  },
  'a table': { count: 16, kind: 'integer', low: 0, high: 3, decimals: 0, choices: [0, 1, 2, 3] },
  'a table of odd values': { count: 4, kind: 'float', low: -2, high: 2, decimals: 1, choices: [-2, -0.5, 2] },
};

/** What a policy could not be made of; undefined of a result that keeps to its spec. */
function fault(
  result: ReturnType<typeof parseParameters>,
  { count, low, high, decimals, choices }: ParameterSpec,
): string | undefined {
  if (!result.ok) return result.failure.kind.length > 0 ? undefined : 'no kind of failure';
  if (result.value.length !== count) return `${result.value.length} parameters`;
  const wrong = result.value.find(
    (value) =>
      !Number.isFinite(value) ||
      Object.is(value, -0) ||
      value < low ||
      value > high ||
      Number(value.toFixed(decimals)) !== value ||
      (choices !== undefined && !choices.includes(value)),
  );
  return wrong === undefined ? undefined : `parameter ${wrong}`;
}

/** In all; `REPLIES=100000` reads ten times as many. */
const replies = Number(process.env.REPLIES ?? 10_000);
const each = Math.ceil(replies / Object.keys(specs).length);

describe.each(Object.entries(specs))('nasty replies for %s', (name, spec) => {
  it('yield parameters that the spec allows, or a failure', () => {
    const random = createGenerator(7, [Object.keys(specs).indexOf(name)]);
    let accepted = 0;
    for (let n = 0; n < each; n++) {
      const reply = nastyReply(random, spec);
      const finishReason = n % 5 === 0 ? ('length' as const) : ('stop' as const);
      const result = parseParameters(reply, spec, { finishReason });
      const wrong =
        fault(result, spec) ?? (statedReason(reply).length > 600 ? 'an endless reason' : undefined);
      if (wrong !== undefined) expect.fail(`${wrong} of ${JSON.stringify(reply)}`);
      if (result.ok) accepted++;
    }
    // Neither all nor nothing, or the replies would show nothing.
    expect(accepted).toBeGreaterThan(0.02 * each);
    expect(accepted).toBeLessThan(0.6 * each);
  }, 120_000);
});
