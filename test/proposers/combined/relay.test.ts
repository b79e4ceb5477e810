import { expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { LegEnd } from '../../../src/config/relay.js';
import { relayProposer } from '../../../src/proposers/combined/relay.js';
import type { ProposalRequest, ProposalTurn } from '../../../src/proposers/proposer.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { createScriptedModel } from '../../support/scripted-model.js';

/**
 * Lets each leg propose when it is its turn; those named `model…` have a language model.
 * @returns the leg of each iteration, and its name if earlier iterations alone are known, as in a resumed run
 */
async function played(
  legs: Readonly<Record<string, LegEnd>>,
  iterations: number,
  returnsIn: (iteration: number) => readonly number[] | undefined,
  { candidates = 1, noisy = false } = {},
) {
  const requests: ProposalRequest[] = [];
  const propose = async (request: ProposalRequest) => ({ proposals: requests.push(request) ? [] : [] });
  const relay = relayProposer(
    Object.entries(legs).map(([name, end]) => {
      const model = name.startsWith('model') ? createScriptedModel([]) : undefined;
      return { name, end, proposer: { id: `baseline/${name}`, model, propose } };
    }),
  );
  const asked = new Map<string, ProposalTurn>();
  const entries: BufferEntry[] = [];
  const ask = (iteration: number) => {
    const task = { history: [...entries], warmup: 1, noisy };
    const pastProposals = { memberTurns: asked, entries };
    return relay.propose({ iteration, pastProposals, task } as unknown as ProposalRequest);
  };
  for (let iteration = 0; iteration <= iterations; iteration++) {
    if (iteration > 0) await ask(iteration);
    for (let candidate = 0; candidate < (iteration === 0 ? 1 : candidates); candidate++) {
      const member = requests.at(-1)?.member;
      if (member !== undefined) asked.set(`${iteration}/${candidate}`, { iteration, member });
      const returns = returnsIn(iteration);
      const parameters = [iteration, candidate];
      const place = { iteration, group: iteration, candidate, parameters, source: 'proposal' } as const;
      if (returns) entries.push({ ...place, score: mean(returns), returns, lengths: [] });
    }
  }
  const names = requests.map(({ member }) => member!);
  for (let iteration = 1; iteration <= iterations; iteration++) await ask(iteration);
  return { names, again: requests.slice(iterations).map(({ member }) => member), requests };
}

const lengthOf = async (name: string, ...given: Parameters<typeof played>) =>
  (await played(...given)).names.filter((own) => own === name).length;

it.each([
  [{ calls: 4 }, 1, 4],
  [{ evaluations: 4 }, 1, 8],
  [{ calls: 9, evaluations: 4 }, 2, 4],
])('a leg with $0 lasts $2 iterations if half are rejected (candidates: $1)', async (end, each, count) => {
  const returns = (iteration: number) => (iteration % 2 === 0 ? [iteration, iteration] : undefined);
  const { names, requests } = await played({ model: end, gp: {} }, 12, returns, { candidates: each });
  expect(names).toEqual(Array.from({ length: 12 }, (_, i) => (i < count ? 'model' : 'gp')));
  // To the search, what came before is its warm-up.
  const { length } = requests[count]!.task.history;
  const warmup = names.map((name) => (name === 'gp' ? length : 1));
  expect(requests.slice(0, 12).map(({ task }) => task.warmup)).toEqual(warmup);
});

it('a leg lasts up to twice as long while all returns are equal, unless a language model follows', async () => {
  const flatUntil = (end: number) => (iteration: number) => (iteration < end ? [0, 0] : [10, 0]);
  expect(await lengthOf('model', { model: { calls: 3 }, gp: {} }, 12, flatUntil(5))).toBe(5);
  expect(await lengthOf('model', { model: { calls: 3 }, gp: {} }, 12, flatUntil(13))).toBe(6);
  expect(await lengthOf('model', { model: { evaluations: 4 }, gp: {} }, 12, flatUntil(13))).toBe(8);
  const stalled = { until: 'stalled', patience: 2 } as const;
  expect(await lengthOf('model', { model: stalled, gp: {} }, 12, flatUntil(13))).toBe(4);
  expect(await lengthOf('gp', { gp: { calls: 3 }, model: {} }, 12, flatUntil(5))).toBe(3);
});

it('until: signal ends a leg once the best return exceeds the median by more than luck explains', async () => {
  const legs: Record<string, LegEnd> = { model: { until: 'signal' }, gp: {} };
  const random = createGenerator(1);
  const noise = () => [1, 2, 3, 4, 5].map(() => random.normal());
  const jump = (iteration: number) => noise().map((value) => 0.1 * value + (iteration === 8 ? 20 : 0));
  for (const noisy of [false, true]) expect(await lengthOf('model', legs, 12, jump, { noisy })).toBe(8);
  let ended = 0;
  for (let run = 0; run < 200; run++)
    if ((await lengthOf('gp', legs, 21, noise, { noisy: true })) > 0) ended++;
  // Equal policies rarely end it, although every iteration looks again.
  expect(ended).toBeLessThan(40);
  expect(await lengthOf('model', legs, 12, (iteration) => [iteration])).toBe(12);
});

it('until: stalled ends a leg after `patience` evaluations without a real improvement', async () => {
  const lengthWith = (gain: (iteration: number) => number) => {
    const random = createGenerator(2);
    const returns = (iteration: number) => [0, 1].map(() => gain(iteration) + 0.01 * random.normal());
    return lengthOf('model', { model: { until: 'stalled', patience: 4 }, gp: {} }, 20, returns);
  };
  expect(await lengthWith((iteration) => Math.min(iteration, 8))).toBe(12);
  expect(await lengthWith((iteration) => iteration)).toBe(20);
  expect(await lengthWith((iteration) => 1 + iteration / 1e5)).toBeLessThan(8);
});

it('legs never repeat, and a run that resumes in any iteration chooses the same leg', async () => {
  const random = createGenerator(3);
  const whole = () => 1 + Math.floor(4 * random.random());
  const endsOf = (n: number): LegEnd[] => [
    ...[{ calls: n }, { evaluations: n }],
    ...[{ until: 'signal' } as const, { until: 'stalled', patience: n } as const],
  ];
  for (let run = 0; run < 200; run++) {
    const own = (i: number) => [`${random.choice(['model', 'gp'])}-${i}`, random.choice(endsOf(whole()))];
    const legs = Object.fromEntries([0, 1, 2, 3].map(own)) as Record<string, LegEnd>;
    const returns = () => (random.random() < 0.2 ? undefined : [Math.round(2 * random.normal()), 0]);
    const { again, names } = await played(legs, 20, returns, { candidates: whole() });
    const order = names.map((name) => Number(name.slice(-1)));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(again).toEqual(names);
  }
});
