import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/config.js';
import { type LanguageModel, ModelError } from '../../src/models/language-model.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { quick, resultsOf, resumeExperiment, runExperimentFrom } from '../support/experiments.js';

const config = {
  ...quick,
  model: { provider: 'ollama', name: 'scripted' },
  policy: { kind: 'program' },
} as const satisfies ConfigInput;
const tuned = { kind: 'program', tune: { by: 'cma-es', after: 2, evaluations: 3 } } as const;

const body = (text: string) => `\`\`\`js\nfunction act(observation, memory, constants) {\n${text}\n}\n\`\`\``;

/** Writes a different program for each seed; every third one fails. */
const seeded: LanguageModel = {
  id: 'ollama/scripted',
  async generate(_messages, { seeds }) {
    return seeds.map((seed) => ({
      text: body(
        seed % 3 === 0
          ? '  return memory.nothing.here;'
          : `  return observation.poleAngle + ${(seed % 97) / 50} * observation.poleAngularVelocity > 0 ? 1 : 0;`,
      ),
      finishReason: 'stop',
      usage: { promptTokens: 9, completionTokens: 9 },
      latencyMs: 1,
      retries: 0,
    }));
  },
};

const scripted = (...replies: readonly string[]): LanguageModel => {
  let next = 0;
  return {
    id: 'ollama/scripted',
    generate: async (_messages, { seeds }) =>
      seeds.map(() => ({
        text: replies[Math.min(next++, replies.length - 1)]!,
        finishReason: 'stop',
        usage: {},
        latencyMs: 1,
        retries: 0,
      })),
  };
};

const expectSame = (path: string, other: string) => {
  expect(resultsOf(path)).toEqual(resultsOf(other));
  const { confirmations, reason } = readManifest(other);
  expect(readManifest(path)).toMatchObject({ confirmations, reason });
};
const failures = (path: string) =>
  readRun(path).calls.flatMap(({ outcome }) => (outcome.kind === 'rejected' ? [outcome.failure] : []));

describe('a run with programs', () => {
  it('asks for corrections of failing programs, and gives the line, the reason and the observation', async () => {
    const model = scripted(
      'I would push left.',
      body('  return observation.poleAngle >'),
      body('  const x = 1;\n  return memory.missing.x;'),
      body('  return 0 / 0;'),
      body('  while (true) {}'),
      body('  return observation.poleAngle + 0.5 * observation.poleAngularVelocity > 0 ? 1 : 0;'),
    );
    const { path } = await runExperimentFrom({ ...config, iterations: 1, corrections: 9 }, { model });
    const [missing, syntax, thrown, nan, endless] = failures(path);
    expect(missing).toEqual({ kind: 'missing' });
    expect(syntax).toMatchObject({ kind: 'program', line: 3 });
    expect(thrown).toMatchObject({ kind: 'program', line: 3 });
    expect(thrown).toHaveProperty('observation.length', 4);
    expect(nan).toMatchObject({ kind: 'program', reason: expect.stringContaining('NaN') });
    expect(endless).toMatchObject({ kind: 'program', reason: expect.stringContaining('work') });
    const { calls, entries } = readRun(path);
    expect(calls.at(-1)!.messages.at(-1)!.content).toMatch(/work.*\n.*observation \[/);
    const expected = { iteration: 1, score: 60, program: expect.stringContaining('0.5 *') };
    expect(entries.at(-1)).toMatchObject(expected);
    expect(readManifest(path)).toMatchObject({ status: 'completed', confirmations: expect.anything() });
  });

  it('rejects a program that acts like an earlier one, and does not evaluate it', async () => {
    const one = body('  return observation[2] > 0 ? 1 : 0;');
    const model = scripted(
      one,
      one,
      body('  const lean = observation.poleAngle;\n  return lean > 0 ? 1 : 0;'),
    );
    const { path } = await runExperimentFrom({ ...config, iterations: 2, corrections: 1 }, { model });
    expect(failures(path)).toEqual([
      expect.objectContaining({ kind: 'repeated', iteration: 1 }),
      expect.objectContaining({ kind: 'repeated', iteration: 1, same: 'actions' }),
    ]);
    expect(readRun(path).entries.filter(({ iteration }) => iteration > 0)).toHaveLength(1);
  });

  it('evaluates a program that differs only in states that the warm-up did not visit', async () => {
    const act = (rule: string) =>
      `\`\`\`js\nfunction act(observation) {\n  return ${rule} ? 1 : 0;\n}\n\`\`\``;
    // The recorded episodes of the warm-up all begin with a sum of 18.
    const model = scripted(
      act('observation[0] < 4'),
      act('observation[0] < 17'),
      act('observation[0] < 17 && observation[1] > 0'),
    );
    const blackjack = { ...config, environment: 'Blackjack-v1', evaluation: { episodes: 10 } } as const;
    const { path } = await runExperimentFrom({ ...blackjack, iterations: 3, corrections: 0 }, { model });
    expect(failures(path)).toMatchObject([{ kind: 'repeated', iteration: 2, same: 'actions' }]);
    expect(readRun(path).entries.filter(({ iteration }) => iteration > 0)).toHaveLength(2);
  });

  it('stores every source, and CMA-ES proposes tuned constants at no token cost', async () => {
    const { path } = await runExperimentFrom({ ...config, policy: tuned, iterations: 10 }, { model: seeded });
    const { calls, entries } = readRun(path);
    const tunedEntries = entries.filter((entry) => entry.tuned);
    expect(tunedEntries.length).toBeGreaterThanOrEqual(3);
    expect(new Set(entries.map(({ program }) => program)).size).toBe(entries.length);
    for (const { candidate, iteration } of tunedEntries) {
      const call = calls.findLast((one) => one.iteration === iteration && one.candidate === candidate);
      expect(call).toMatchObject({ member: 'cma-es', outcome: { kind: 'accepted' } });
    }
    // Tuned constants aren't paid for.
    expect(readManifest(path).usage.promptTokens).toBe(9 * calls.filter(({ member }) => !member).length);
  });

  it('edits a parent with search-and-replace blocks', async () => {
    const line = '  return observation.poleAngle + 0.4 * observation.poleAngularVelocity > 0 ? 1 : 0;';
    const edited = line.replace('>', '+ 0.3 * observation.cartVelocity >');
    const model = scripted(
      '<<<<<<< SEARCH\nno such line\n=======\nx\n>>>>>>> REPLACE',
      body(line),
      `<<<<<<< SEARCH\n${line}\n=======\n${edited}\n>>>>>>> REPLACE`,
    );
    const policy = { kind: 'program', edits: true } as const;
    const { path } = await runExperimentFrom({ ...config, policy, iterations: 2 }, { model });
    expect(failures(path)[0]).toMatchObject({
      kind: 'program',
      reason: expect.stringContaining('no such line'),
    });
    expect(readRun(path).entries.at(-1)?.program).toContain('0.3 * observation.cartVelocity');
  });

  it.each([
    ['programs', config],
    ['tuned programs', { ...config, policy: tuned }],
    ['several candidates', { ...config, candidates: 3 }],
    ['genetic programming', { ...config, model: { provider: 'genetic', population: 3 } }],
  ] as const)('that is interrupted and resumed equals an uninterrupted one: %s', async (_, given) => {
    const isModel = given.model.provider !== 'genetic';
    const whole = await runExperimentFrom(given, isModel ? { model: seeded } : {});
    for (const stopAt of [2, 7]) {
      const stop = new AbortController();
      let asked = 0;
      const stopping: LanguageModel = {
        id: seeded.id,
        async generate(messages, options) {
          if (++asked === stopAt) {
            stop.abort();
            throw new ModelError('aborted', 'aborted', { retries: 0, latencyMs: 0 });
          }
          return seeded.generate(messages, options);
        },
      };
      let events = 0;
      const { path } = await runExperimentFrom(given, {
        abort: stop.signal,
        ...(isModel
          ? { model: stopping }
          : {
              onEvent: ({ kind }) => {
                if (kind === 'call-finished' && ++events === stopAt) stop.abort();
              },
            }),
      });
      await resumeExperiment(path, isModel ? { model: seeded } : {});
      expectSame(path, whole.path);
    }
  });

  it('can be replayed', async () => {
    const given = { ...config, policy: tuned, iterations: 8 };
    const { path } = await runExperimentFrom(given, { model: seeded });
    const replay = await runExperimentFrom({ ...given, model: { provider: 'replayed', run: path } });
    expectSame(replay.path, path);
  });
});
