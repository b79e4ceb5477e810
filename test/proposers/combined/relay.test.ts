import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { LegEnd } from '../../../src/config/relay.js';
import type { LanguageModel } from '../../../src/models/language-model.js';
import { legAt, relayProposer } from '../../../src/proposers/combined/relay.js';
import type { ProposalRequest, Turn } from '../../../src/proposers/proposer.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { createScriptedModel } from '../../support/scripted-model.js';

const model = createScriptedModel([]);

/** A leg that proposes with a language model or, named `search…`, with a search. */
const leg = (name: string, end: LegEnd = {}) => ({
  name,
  end,
  proposer: { model: name.startsWith('search') ? undefined : (model as LanguageModel) },
});

const entry = (iteration: number, returns: readonly number[], candidate = 0): BufferEntry => ({
  ...{ iteration, group: iteration, candidate, parameters: [iteration, candidate], returns },
  source: iteration === 0 ? 'warm-up' : 'proposal',
  ...{ score: mean(returns), lengths: returns.map(() => 1) },
});

/** Proposes in each iteration with the leg whose turn it is. @returns the names of the legs, and what was recorded */
function played(
  legs: readonly ReturnType<typeof leg>[],
  iterations: number,
  returnsIn: (iteration: number) => readonly number[] | undefined,
  { candidates = 1, noisy = false, warmup = [] as readonly BufferEntry[] } = {},
) {
  const asked = new Map<string, Turn>();
  const entries = [...warmup];
  const names = Array.from({ length: iterations }, (_, i) => {
    const iteration = i + 1;
    const { leg: own } = legAt(legs, { iteration, past: { asked, entries }, task: { noisy } });
    for (let candidate = 0; candidate < candidates; candidate++) {
      // A place that a killed process and the one that resumes both asked for counts once.
      for (let again = 0; again < 2; again++)
        asked.set(`${iteration}/${candidate}`, { iteration, member: own.name });
      const returns = returnsIn(iteration);
      if (returns !== undefined) entries.push(entry(iteration, returns, candidate));
    }
    return own.name;
  });
  return { names, asked, entries };
}

const lengthOf = (names: readonly string[], name: string) => names.filter((one) => one === name).length;
const rising = (iteration: number) => [iteration, iteration];

describe('a leg', () => {
  it.each([
    [{ calls: 4 }, 1, 4],
    [{ calls: 4 }, 3, 2],
    [{ evaluations: 4 }, 1, 8],
    [{ calls: 6, evaluations: 4 }, 1, 6],
    [{ calls: 9, evaluations: 4 }, 1, 8],
  ])(
    'with %o and %i candidates lasts %i iterations if every other proposal is rejected',
    (end, candidates, expected) => {
      const evaluated = (iteration: number) => (iteration % 2 === 0 ? rising(iteration) : undefined);
      const { names } = played([leg('model', end), leg('search')], 12, evaluated, {
        candidates,
        warmup: [entry(0, [0, 0])],
      });
      expect(lengthOf(names, 'model')).toBe(expected);
      expect(names.slice(expected)).toEqual(names.slice(expected).map(() => 'search'));
    },
  );

  it('is extended while all returns are equal, unless a language model follows', () => {
    const flat = (iteration: number) => (iteration < 7 ? [-200, -200] : [-190, -200]);
    expect(lengthOf(played([leg('model', { calls: 3 }), leg('search')], 12, flat).names, 'model')).toBe(7);
    const first = played([leg('search', { calls: 3 }), leg('model')], 12, flat);
    expect(lengthOf(first.names, 'search')).toBe(3);
  });

  it('until: signal ends once the best return exceeds the median by more than luck', () => {
    const legs = [leg('model', { until: 'signal' }), leg('search')];
    const random = createGenerator(1);
    const noise = () => Array.from({ length: 10 }, () => random.normal());
    const jump = (iteration: number) => noise().map((value) => value + (iteration === 8 ? 5 : 0));
    for (const noisy of [false, true])
      expect(lengthOf(played(legs, 12, jump, { noisy }).names, 'model')).toBe(8);
    // Of 200 runs with up to 21 equal policies, about a tenth end the leg by luck.
    const early = Array.from({ length: 200 }, () =>
      lengthOf(played(legs, 21, noise, { noisy: true }).names, 'search'),
    ).filter((own) => own > 0);
    expect(early.length).toBeLessThan(40);
    // A single episode has no noise floor.
    expect(lengthOf(played(legs, 12, (i) => [i]).names, 'model')).toBe(12);
  });

  it('until: stalled ends after as many evaluations without a real improvement as its patience', () => {
    const legs = [leg('model', { until: 'stalled', patience: 4 }), leg('search')];
    const lengthWith = (gain: (iteration: number) => number) => {
      const random = createGenerator(2);
      const returns = (iteration: number) =>
        Array.from({ length: 10 }, () => gain(iteration) + 0.1 * random.normal());
      return lengthOf(played(legs, 20, returns).names, 'model');
    };
    expect(lengthWith((iteration) => Math.min(iteration, 8))).toBe(12);
    expect(lengthWith((iteration) => iteration)).toBe(20);
    // Improvements within the noise floor don't count.
    expect(lengthWith((iteration) => (iteration === 1 ? 1 : 1 + iteration / 1000))).toBeLessThan(8);
  });

  it('never returns, whatever the ends and the history', () => {
    const random = createGenerator(3);
    const whole = () => 1 + Math.floor(4 * random.random());
    for (let run = 0; run < 300; run++) {
      const ends: readonly LegEnd[] = [
        { calls: whole() },
        { evaluations: whole() },
        { until: 'signal' },
        { until: 'stalled', patience: whole() },
        { calls: 3 * whole(), until: 'signal' },
      ];
      const legs = Array.from({ length: 4 }, (_, i) =>
        leg(`${random.choice(['model', 'search'])}-${i}`, random.choice(ends)),
      );
      const returns = () => (random.random() < 0.2 ? undefined : [Math.round(2 * random.normal()), 0]);
      const { asked, entries, names } = played(legs, 20, returns, { candidates: whole() });
      const order = names.map((name) => Number(name.slice(-1)));
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      // What comes later decides nothing: a run that resumes in any iteration chooses the same leg.
      for (const [i, name] of names.entries()) {
        const moment = { iteration: i + 1, past: { asked, entries }, task: {} };
        expect(legAt(legs, { ...moment }).leg.name).toBe(name);
      }
    }
  });
});

it('a search sees the whole buffer, and what came before its leg as its warm-up', async () => {
  const seen: ProposalRequest[] = [];
  const proposer = {
    id: 'baseline/any',
    model: undefined,
    async propose(request: ProposalRequest) {
      seen.push(request);
      return { proposals: [] };
    },
  };
  const relay = relayProposer([
    { name: 'leg 1', end: { calls: 2 }, proposer: { ...proposer, model, id: 'ollama/m' } },
    { name: 'leg 2', end: {}, proposer },
  ]);
  expect(relay).toMatchObject({ id: 'relay(ollama/m+any)', model });
  const { asked, entries } = played([leg('leg 1', { calls: 2 }), leg('search')], 2, rising, {
    warmup: [entry(0, [0, 0])],
  });
  const history = [...entries, entry(3, [3, 3])];
  const later = new Map([...asked, ['3/0', { iteration: 3, member: 'leg 2' }]]);
  for (const iteration of [2, 3, 4]) {
    const past = { asked: later, entries: history.filter((one) => one.iteration < iteration) };
    await relay.propose({
      iteration,
      past,
      task: { history: past.entries, warmup: 1 },
    } as unknown as ProposalRequest);
  }
  expect(seen.map(({ member, task }) => [member, task.warmup, task.history.length])).toEqual([
    ['leg 1', 1, 2],
    ['leg 2', 3, 3],
    ['leg 2', 3, 4],
  ]);
});
