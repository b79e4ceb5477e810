import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as datasetCommand } from '../../../finetune/commands/dataset.js';
import type { DatasetManifest } from '../../../finetune/dataset/dataset.js';
import { recipes, rowFormats } from '../../../finetune/dataset/example.js';
import { execute as sweep } from '../../../src/commands/sweep.js';
import { built } from '../../support/built.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { jsonLines, played } from '../dataset/runs.js';

type DatasetArguments = Parameters<typeof datasetCommand>[0];

async function workplace(...runs: readonly Parameters<typeof played>[]) {
  const cwd = temporaryDirectory();
  for (const [i, [config, options]] of runs.entries()) {
    await played(config, { ...options, root: join(cwd, 'buffers'), name: `run-${i}` });
  }
  const { context, printed, noted } = recordingContext(cwd);
  const command = (changes: Partial<DatasetArguments> = {}) =>
    datasetCommand(
      {
        runs: ['buffers/*'],
        runsDir: 'buffers',
        recipe: 'weighted',
        out: 'dataset',
        validation: '0.5',
        format: 'jsonl',
        seed: 0,
        json: true,
        ...changes,
      },
      context,
    );
  return { cwd, command, printed, noted };
}

describe('finetune dataset', () => {
  it('writes a dataset of the runs and prints its manifest', async () => {
    const { cwd, command, printed, noted } = await workplace([{ seed: 1 }], [{ seed: 2 }]);
    expect(await command()).toBe(0);
    const manifest = JSON.parse(readFileSync(join(cwd, 'dataset/manifest.json'), 'utf8')) as DatasetManifest;
    expect(printed.map((text) => JSON.parse(text) as object)).toEqual([{ out: 'dataset', ...manifest }]);
    expect(manifest.sources.map(({ run }) => run)).toEqual(['buffers/run-0', 'buffers/run-1']);
    expect(jsonLines(join(cwd, 'dataset'), 'train.jsonl')).toHaveLength(6);
    expect(jsonLines(join(cwd, 'dataset'), 'validation.jsonl')).toHaveLength(6);
    expect(noted).toEqual([expect.stringContaining('6 examples to train on; 578 to 1648 are usual')]);
  });

  it('reads every run in the directory of a sweep, and reports missing runs before too few examples', async () => {
    const { cwd, command, noted } = await workplace();
    const config = 'environment: CartPole-v1\nmodel: { provider: random }\nprompts: { set: compact }\n';
    const short = 'iterations: 2\nwarmup: 2\nevaluation: { episodes: 1, maxSteps: 20 }\n';
    writeFileSync(join(cwd, 'pole.yaml'), `${config}${short}confirmation: { candidates: 1, episodes: 2 }\n`);
    const { context } = recordingContext(cwd);
    const flags = { baselines: false, slurm: false, quiet: true, json: true, runsDir: 'buffers' };
    const overrides = ['model.provider=random,hill-climb', 'seed=1..2'];
    await sweep({ ...flags, config: join(cwd, 'pole.yaml'), overrides, out: 'buffers/swept' }, context);
    expect(await command({ runs: ['swept'] })).toBe(0);
    const manifest = JSON.parse(readFileSync(join(cwd, 'dataset/manifest.json'), 'utf8')) as DatasetManifest;
    expect(manifest.sources.map(({ run }) => run)).toEqual(
      ['hill-climb', 'random'].flatMap((name) =>
        [1, 2].map((seed) => `buffers/swept/provider-${name}/seed-${seed}`),
      ),
    );
    expect(noted.join()).not.toContain('lacks');
    const result = join(cwd, 'buffers/swept/sweep.json');
    writeFileSync(result, readFileSync(result, 'utf8').replace(/"seeds": \[[^\]]*\]/, '"seeds": [1, 2, 3]'));
    await command({ runs: ['swept'], out: 'second' });
    expect(noted.slice(-2)).toEqual([
      'buffers/swept lacks 2 runs: repeat its command to add them',
      expect.stringMatching(/^alarm only \d+ examples[\s\S]*hint: add the missing runs first$/),
    ]);
  });

  it('prints a readable summary without --json', async () => {
    const { command, printed } = await workplace([{ seed: 1 }], [{ seed: 2 }]);
    expect(await command({ json: false })).toBe(0);
    expect(printed.join('\n')).toContain('weighted: 12 examples, 0 duplicates removed');
    expect(printed.join('\n')).toMatch(/train +1 +6 +6/);
    expect(printed.join('\n')).toContain('written     dataset');
  });

  it('fails with an alarm and a hint if there is nothing to train on', async () => {
    const { command, noted } = await workplace([{ environment: 'MountainCar-v0' }]);
    expect(await command({ recipe: 'improvement', validation: 'none' })).toBe(1);
    expect(noted.join('\n')).toMatch(/alarm [\s\S]*hint: /);
  });

  it('rejects invalid options, unusable output paths and patterns without runs', async () => {
    const { command } = await workplace([{ seed: 1 }]);
    await expect(command({ format: 'trl-dpo' })).rejects.toThrow(/--format: .*can't store/);
    await expect(command({ seed: -1 })).rejects.toThrow(/--seed/);
    await expect(command({ context: 0.5 })).rejects.toThrow(/--context/);
    await expect(command({ out: 'buffers' })).rejects.toThrow(/--out: /);
    await expect(command({ out: 'buffers/run-0/config.yaml' })).rejects.toThrow(
      /this is a file, not a directory/,
    );
    await expect(command({ runs: ['nothing-*'] })).rejects.toThrow(/nothing-\*/);
  });

  it('lists every recipe and format in its help', () => {
    const { stdout } = spawnSync(process.execPath, [built('src/cli.js'), 'finetune', 'dataset', '--help'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, NO_COLOR: '1' },
    });
    const choices = [...stdout.replace(/\s+/g, ' ').matchAll(/choices: ([^\]]*)\]/g)].map(([, names]) =>
      [...names!.matchAll(/"([^"]+)"/g)].map(([, name]) => name),
    );
    expect(choices).toEqual([[...recipes], [...rowFormats]]);
  });
});
