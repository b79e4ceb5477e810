import { describe, expect, it } from 'vitest';
import { improvement } from '../../../finetune/dataset/recipes.js';
import type { SourceRun } from '../../../finetune/dataset/source-run.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import { seededModel } from '../../support/experiments.js';
import { playedSource } from './runs.js';

const scripted = { model: { provider: 'ollama', name: 'scripted' }, iterations: 12 } as const;

/** Those of the history; the line of the best one follows it. */
const shownScores = (prompt: readonly ChatMessage[]) =>
  [...prompt.at(-1)!.content.matchAll(/^params\[0\].*; f\(params\): (\S+)/gm)]
    .map(([, score]) => Number(score))
    .slice(0, -1);

async function source(more: object): Promise<SourceRun> {
  return playedSource({ ...scripted, ...more }, { model: seededModel(0.2) });
}

describe.each([
  ['one after the other', {}],
  ['four at once', { pipeline: 4 }],
  ['two at once, of three candidates', { pipeline: 2, candidates: 3 }],
])('a run whose iterations are requested %s', (_, more) => {
  it('has steps that record the history and incumbent of their prompts', async () => {
    const { steps } = await source(more);
    expect(steps.length).toBeGreaterThan(6);
    for (const { history, best, iteration, prompt } of steps) {
      const scores = shownScores(prompt);
      expect(history, `iteration ${iteration}`).toBe(scores.length);
      expect(best!).toBeCloseTo(Math.max(...scores), 2);
    }
  });

  it('gives an improvement example for every proposal that beats the incumbent', async () => {
    const run = await source(more);
    const better = run.steps.flatMap(({ best, iteration, proposals }) =>
      proposals.flatMap(({ entry }) => (entry.score > best! ? [`${iteration}/${entry.candidate}`] : [])),
    );
    const kept = improvement(run).map(({ lineage }) => `${lineage.iteration}/${lineage.candidate}`);
    expect(kept).toEqual(better);
  });
});
