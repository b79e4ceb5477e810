/** The same pairs of runs get the same verdict, in the same words, from every command and on every page. */
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Arm } from '../../../finetune/evaluate/arms.js';
import { evaluate } from '../../../finetune/evaluate/evaluate.js';
import { readFigures } from '../../../finetune/evaluate/evaluation.js';
import { evaluationPage } from '../../../finetune/evaluate/page.js';
import { conclusions, evaluationTables } from '../../../finetune/evaluate/tables.js';
import { type BaselineName, baselineArm } from '../../../src/config/baselines.js';
import { parseConfig } from '../../../src/config/load.js';
import { findRuns } from '../../../src/runs/listing/names.js';
import type { GroupDifference } from '../../../src/studies/comparison/comparability.js';
import { readComparedRuns } from '../../../src/studies/comparison/compared-runs.js';
import { comparisonPage } from '../../../src/studies/comparison/page.js';
import { compareGroups } from '../../../src/studies/comparison/run-comparison.js';
import { groupRuns } from '../../../src/studies/comparison/run-groups.js';
import { comparisonTables } from '../../../src/studies/comparison/table.js';
import { pageHtml } from '../../../src/web/page.js';
import { fileContext } from '../../../src/web/study.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { writeRun } from '../../support/written-runs.js';
import { visibleText } from '../../web/shown.js';

const base = [10, 14, 9, 12, 11, 13, 8, 12];
/** Compared with `base` alone, p = 10/256. */
const tuned = base.map((value, i) => value + [1, 2, 0.2, 1.5, -1, 1.4, 2, 0.9][i]!);
const third = base.map((value, i) => value + (i % 2 === 0 ? 0.1 : -0.1));
const seeds = base.map((_, i) => i);

/** The baseline that replaces each arm. */
const baselines = { base: 'random', tuned: 'hill-climb', 'cma-es': 'cma-es' } as const;
type ArmName = keyof typeof baselines;

/** All texts about the same runs. */
function told(returns: Readonly<Partial<Record<ArmName, readonly number[]>>>) {
  const place = temporaryDirectory();
  const names = Object.keys(returns) as ArmName[];
  const pathOf = (baseline: BaselineName, repeat: number) => join('pole', `${baseline}-0${repeat + 1}`);
  for (const name of names) {
    const config = { model: { provider: baselines[name] } };
    for (const [i, confirmed] of returns[name]!.entries()) {
      writeRun(join(place, pathOf(baselines[name], i)), { seed: seeds[i]!, confirmed, config });
    }
  }

  const { runs } = readComparedRuns(
    findRuns(
      names.map((name) => `pole/${baselines[name]}-*`),
      { cwd: place, runsDir: '.' },
    ),
  );
  const tasks = groupRuns(runs, undefined);
  const options = { by: undefined, target: undefined, leftOut: [], nameOf: (path: string) => path };
  const comparison = compareGroups(tasks, options);

  const config = parseConfig({ environment: 'CartPole-v1', model: { provider: 'random' } });
  const configs = Object.fromEntries(names.map((name) => [name, config]));
  const experiments = [{ name: 'pole', configs }];
  const arms = names.map((name): Arm => ({ ...baselineArm(baselines[name]), name, hash: null }));
  const evaluation = evaluate(
    { arms, experiments, seeds },
    names.flatMap((arm) =>
      returns[arm]!.map((_, repeat) => {
        const path = pathOf(baselines[arm], repeat);
        return { experiment: 'pole', arm, repeat, path, figures: readFigures(join(place, path)) };
      }),
    ),
    { kind: 'stated', environments: [] },
  );

  const figures = ({ p, adjusted, verdict }: GroupDifference) => ({ p, adjusted, verdict });
  const isTuned = ({ of, against }: { of: string; against: string }) =>
    of === 'hill-climb' && against === 'random';
  return {
    compare: figures(comparison.tasks[0]!.differences.find(isTuned)!),
    evaluate: figures(
      evaluation.experiments[0]!.differences.find(({ of, against }) => of === 'tuned' && against === 'base')!,
    ),
    sentence: conclusions(evaluation)[0]!.text,
    texts: {
      compare: comparisonTables(comparison),
      'page of compare': visibleText(pageHtml(comparisonPage(comparison, tasks, fileContext))),
      evaluate: evaluationTables(evaluation),
      'page of evaluate': visibleText(pageHtml(evaluationPage(evaluation, fileContext))),
    },
  };
}

describe('the verdict on the same pairs of runs', () => {
  it('is `higher` everywhere if eight pairs are the only comparison', () => {
    const { texts, sentence, ...verdicts } = told({ base, tuned });
    const { p } = verdicts.compare;
    expect(p).toBe(10 / 256);
    for (const verdict of Object.values(verdicts))
      expect(verdict).toEqual({ p, adjusted: p, verdict: 'higher' });
    for (const [where, text] of Object.entries(texts)) {
      const plain = stripVTControlCharacters(text);
      expect(plain, where).toMatch(/(tuned − base|hill-climb − random).* 0\.039 +higher/);
      expect(plain, where).not.toContain('no evidence');
    }
    expect(sentence).toMatch(/^Higher: tuned − base is \+1\.000 in confirmed return/);
    expect(texts.compare).toContain(sentence.replace('tuned', 'hill-climb').replace('base', 'random'));
  });

  it('is `no evidence` for the same eight pairs if a third group raises the number of tests to three', () => {
    const { texts, sentence, ...verdicts } = told({ base, tuned, 'cma-es': third });
    const { p, adjusted } = verdicts.compare;
    expect(adjusted).toBeGreaterThan(0.05);
    for (const verdict of Object.values(verdicts)) {
      expect(verdict).toEqual({ p, adjusted, verdict: 'no-evidence' });
    }
    for (const [where, text] of Object.entries(texts)) {
      expect(stripVTControlCharacters(text), where).toMatch(
        /(tuned − base|hill-climb − random).* 0\.117 +no evidence/,
      );
      expect(text, where).toContain("with Holm's correction for the 3 differences that were tested");
    }
    expect(sentence).toMatch(/^No evidence of a difference: tuned − base/);
    for (const where of ['compare', 'page of compare'] as const)
      expect(texts[where]).toContain('None of 3 differences is evident: 3 without evidence.');
  });

  it('is part of a summary on the terminal and on the page if only some differences are evident', () => {
    const high = base.map((value, i) => value + 100 + (i % 3));
    const { texts } = told({ base, tuned: high, 'cma-es': third });
    for (const where of ['compare', 'page of compare'] as const)
      expect(stripVTControlCharacters(texts[where])).toContain(
        '2 of 3 differences in confirmed return are evident: hill-climb beats random; hill-climb beats cma-es. The others: 1 without evidence.',
      );
  });

  it('is `too few` for five pairs', () => {
    const five = (values: readonly number[]) => values.slice(0, 5);
    const { compare, evaluate, sentence } = told({ base: five(base), tuned: five(base.map((v) => v + 9)) });
    for (const verdict of [compare, evaluate])
      expect(verdict).toEqual({ p: null, adjusted: null, verdict: 'too-few' });
    expect(sentence).toMatch(/^Too few pairs for a verdict: tuned − base is \+9\.000 .* at least 6 pairs/);
  });
});

describe('confidence intervals of bounded returns', () => {
  it('stay within the bounds in compare, in evaluate and on their pages', () => {
    // On CartPole no mean is above 500 or below 1, wherever Student's t would end.
    const near = [500, 500, 480, 500, 300, 500, 500, 410];
    const far = [9, 10, 8, 9, 200, 9, 8, 9];
    const { texts } = told({ base: far, tuned: near });
    for (const [where, text] of Object.entries(texts)) {
      const plain = stripVTControlCharacters(text).replaceAll('−', '-');
      expect(plain, where).toMatch(/… 500\.0/);
      expect(plain, where).toMatch(/1\.000 …/);
      const returns = [...plain.matchAll(/(?<![+\d.-])(-?\d+\.\d+) … (\d+\.\d+)(?! %)/g)];
      for (const [, low, high] of returns) {
        expect(Number(low), where).toBeGreaterThanOrEqual(1);
        expect(Number(high), where).toBeLessThanOrEqual(500);
      }
    }
  });
});
