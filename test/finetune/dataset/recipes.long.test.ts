import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Example } from '../../../finetune/dataset/example.js';
import {
  advantageWeights,
  improvementExamples,
  preferenceExamples,
  weightedExamples as unweighted,
  weightByTask,
} from '../../../finetune/dataset/recipes.js';
import { readSourceRun, type SourceRun } from '../../../finetune/dataset/source-run.js';
import type { LanguageModel } from '../../../src/models/language-model.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { ask } from '../../support/ask.js';
import { seededModel } from '../../support/experiments.js';
import { answerOf, callsOf, evaluationsOf, played, playedSource, read } from './runs.js';

const exampleRun = resolve(import.meta.dirname, '../../../buffers/example-cartpole');

const openai = { provider: 'openai', name: 'any', format: 'json' } as const;
const env = { OPENAI_API_KEY: 'none' };

const weighted = (run: SourceRun) => weightByTask(unweighted(run), [run]);

let groups: SourceRun;
let table: SourceRun;
let alone: SourceRun;

beforeAll(async () => {
  groups = await playedSource({ iterations: 8, candidates: 3, seed: 1 });
  table = await playedSource(
    { environment: 'FrozenLake-v1', candidates: 2, evaluation: { episodes: 20 } },
    { model: seededModel(0.4) },
  );
  alone = await playedSource({ iterations: 12, seed: 1 });
});

const every = (run: SourceRun): readonly Example[] => [
  ...improvementExamples(run),
  ...weighted(run),
  ...preferenceExamples(run),
];

describe('lineage', () => {
  it('traces every example back to the run on disk', () => {
    for (const run of [groups, table, alone]) {
      const entries = evaluationsOf(run.path);
      const examples = every(run);
      expect(new Set(examples.map(({ lineage }) => lineage.recipe))).toEqual(
        new Set(['improvement', 'weighted', 'preference']),
      );
      for (const example of examples) {
        const { lineage } = example;
        const at = ({ iteration, candidate }: { iteration: number; candidate: number }) =>
          entries.find((entry) => entry.iteration === iteration && entry.candidate === candidate)!;
        expect(at(lineage).score).toBe(lineage.score);
        expect(read(answerOf(example), run)).toEqual(at(lineage).parameters);
        if (example.kind === 'preference') {
          expect(read(example.rejected, run)).toEqual(at(lineage.rejected!).parameters);
          expect(lineage.rejected!.score).toBe(at(lineage.rejected!).score);
        }
        const pairs = example.prompt.map(({ role, content }) => [role, content]);
        expect(lineage.prompt).toBe(createHash('sha256').update(JSON.stringify(pairs)).digest('hex'));
        expect(lineage).toMatchObject({
          run: 'a',
          environment: run.environment.id,
          model: run.manifest.model,
        });
      }
    }
  });

  it('refers to the logged prompt before any correction, and to the best earlier score', () => {
    for (const run of [groups, table, alone]) {
      const entries = evaluationsOf(run.path);
      const calls = callsOf(run.path);
      for (const { prompt, lineage } of every(run)) {
        const before = entries.filter(({ iteration }) => iteration < lineage.promptIteration);
        expect(lineage.incumbent).toBe(Math.max(...before.map(({ score }) => score)));
        expect(lineage.history).toBe(before.length);
        const first = calls.find(
          ({ iteration, attempt }) => iteration === lineage.promptIteration && attempt === 0,
        )!;
        expect(prompt).toEqual(first.messages);
        expect(prompt.map(({ role }) => role)).toEqual(['system', 'user']);
      }
    }
    expect(callsOf(table.path).some(({ attempt }) => attempt > 0)).toBe(true);
  });

  it('matches the snapshot for some examples from the example run', async () => {
    const run = await readSourceRun(exampleRun, 'buffers/example-cartpole');
    const preferences = preferenceExamples(run).slice(0, 3);
    const rows = [...improvementExamples(run), ...preferences, ...weighted(run).slice(0, 5)].map(
      ({ prompt: _, ...rest }) => rest,
    );
    await expect(`${JSON.stringify(rows, null, 1)}\n`).toMatchFileSnapshot(
      '../../fixtures/datasets/example-cartpole.json',
    );
  });
});

describe('the improvement recipe', () => {
  it('contains exactly the proposals that beat all earlier iterations', () => {
    for (const run of [groups, table, alone]) {
      const entries = evaluationsOf(run.path);
      const improved = entries.filter(
        ({ source, iteration, score }) =>
          source === 'proposal' &&
          entries.every((other) => other.iteration >= iteration || other.score < score),
      );
      const found = improvementExamples(run).map(({ lineage }) => [lineage.iteration, lineage.candidate]);
      expect(found).toEqual(improved.map(({ iteration, candidate }) => [iteration, candidate]));
      expect(found.length).toBeGreaterThan(0);
    }
  });

  it('keeps the stated reason', async () => {
    const run = await playedSource({}, { model: seededModel() });
    const reasons = improvementExamples(run).map(({ completion }) => completion.replace(/^params.*\n/, ''));
    expect(new Set(reasons)).toEqual(new Set(['A step from the best.']));
  });

  it('skips an iteration without earlier evaluations', async () => {
    const run = await playedSource({ warmup: 0, iterations: 3 });
    expect(improvementExamples(run).every(({ lineage }) => lineage.promptIteration > 1)).toBe(true);
    expect(weighted(run)).toHaveLength(2);
  });

  it('writes completions in JSON if the prompt asks for JSON', async () => {
    const run = await playedSource({ model: openai }, { model: seededModel(), env });
    const examples = improvementExamples(run);
    expect(examples.length).toBeGreaterThan(0);
    for (const { completion, prompt } of examples) {
      expect(prompt[0]!.content).toContain('"params"');
      expect(JSON.parse(completion)).toMatchObject({ reason: 'A step from the best.' });
    }
  });

  it('ignores proposals of an unfinished iteration', async () => {
    const path = await played({ iterations: 4 });
    const before = improvementExamples(await readSourceRun(path, 'a'));
    const last = evaluationsOf(path).at(-1)!;
    appendFileSync(
      join(path, 'evaluations.jsonl'),
      `${JSON.stringify({ ...last, iteration: 5, group: 5, score: 1e6 })}\n`,
    );
    const call = callsOf(path).at(-1)!;
    appendFileSync(join(path, 'calls.jsonl'), `${JSON.stringify({ ...call, iteration: 5 })}\n`);
    expect(improvementExamples(await readSourceRun(path, 'a'))).toEqual(before);
  });
});

describe('the improvement recipe with winners', () => {
  it("keeps an iteration's best candidates that beat the incumbent, with the same prompt", () => {
    const found = improvementExamples(groups, 2);
    for (const { lineage, prompt } of found) {
      const same = found.filter((other) => other.lineage.iteration === lineage.iteration);
      for (const other of same) expect(other.prompt).toBe(prompt);
      const better = evaluationsOf(groups.path)
        .filter(({ iteration, score }) => iteration === lineage.iteration && score > lineage.incumbent!)
        .map(({ score }) => score)
        .toSorted((a, b) => b - a);
      expect(same.map((other) => other.lineage.score)).toEqual(better.slice(0, 2));
    }
    expect(found.length).toBeGreaterThan(improvementExamples(groups, 1).length);
    const answers = (winners?: number) => new Set(improvementExamples(groups, winners).map(answerOf));
    expect(answers(3)).toEqual(answers());
  });
});

describe('the weighted recipe', () => {
  it('contains every proposal after a warm-up, with weights that grow with the gain', () => {
    for (const run of [groups, table, alone]) {
      const found = weighted(run);
      expect(found).toHaveLength(
        evaluationsOf(run.path).filter(({ source }) => source === 'proposal').length,
      );
      const byGain = found.toSorted(
        (a, b) => a.lineage.score - a.lineage.incumbent! - (b.lineage.score - b.lineage.incumbent!),
      );
      const weights = byGain.map(({ weight }) => weight);
      expect(weights).toEqual(weights.toSorted((a, b) => a - b));
      expect(mean(weights)).toBeCloseTo(1, 4);
    }
  });

  it('weights proposals by exp(standardised gain), scaled to a mean of 1', () => {
    // Mean 0 and standard deviation 1.
    const [low, middle, high] = [Math.exp(-1), 1, Math.E];
    const average = (low + middle + high) / 3;
    const expected = [low, middle, high].map((weight) => Number((weight / average).toPrecision(6)));
    expect(advantageWeights([-1, 0, 1])).toEqual(expected);
    expect(advantageWeights([-50, 0, 50])).toEqual(expected);
    expect(advantageWeights([3, 3])).toEqual([1, 1]);
    expect(advantageWeights([])).toEqual([]);
  });
});

describe('the preference recipe', () => {
  it('pairs the winner of a group with each candidate that scored lower', () => {
    const entries = evaluationsOf(groups.path);
    const found = preferenceExamples(groups);
    for (let iteration = 1; iteration <= 8; iteration++) {
      const group = entries.filter((entry) => entry.iteration === iteration);
      const best = Math.max(...group.map(({ score }) => score));
      const lower = group.filter(({ score }) => score < best).map(({ candidate }) => candidate);
      const own = found.filter(({ lineage }) => lineage.promptIteration === iteration);
      expect(own.map(({ lineage }) => lineage.rejected!.candidate)).toEqual(lower);
      for (const { lineage } of own) expect(lineage).toMatchObject({ iteration, score: best });
    }
  });

  it('pairs a single candidate with the next proposal, and the prompt shows neither', () => {
    const found = preferenceExamples(alone);
    expect(found.length).toBeGreaterThan(4);
    for (const { lineage, chosen, rejected, prompt } of found) {
      expect(lineage.score).toBeGreaterThan(lineage.rejected!.score);
      const { promptIteration: at } = lineage;
      expect(new Set([lineage.iteration, lineage.rejected!.iteration])).toEqual(new Set([at, at + 1]));
      for (const answer of [chosen, rejected]) {
        expect(prompt.at(-1)!.content).not.toContain(answer.replaceAll(', ', '; '));
      }
    }
  });

  it('includes reasons on both sides or on neither', async () => {
    const talkative = seededModel();
    const moody: LanguageModel = {
      id: 'scripted/moody',
      generate: async (messages, options) => {
        const completion = await ask(talkative, messages, options);
        const keeps = options.seeds[0]! % 3 > 0;
        return [keeps ? completion : { ...completion, text: completion.text.split('\n')[0]! }];
      },
    };
    const run = await playedSource({ candidates: 3, iterations: 8 }, { model: moody });
    const stated = (iteration: number, candidate: number) =>
      callsOf(run.path)
        .findLast((call) => call.iteration === iteration && call.candidate === candidate)!
        .completion!.text.includes('step');
    const found = preferenceExamples(run);
    for (const { chosen, rejected, lineage } of found) {
      const both = [lineage, lineage.rejected!].every(({ iteration, candidate }) =>
        stated(iteration, candidate),
      );
      expect([chosen.includes('step'), rejected.includes('step')]).toEqual([both, both]);
    }
    expect(new Set(found.map(({ chosen }) => chosen.includes('step'))).size).toBe(2);
  });
});
