/** Trainings whose output lies elsewhere are listed and named all the same. */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { trainingState } from '../../../finetune/dataset/lineage.js';
import { execute as list } from '../../../src/commands/list.js';
import { findTraining } from '../../../src/runs/listing/names.js';
import { noteTraining, trainingsElsewhere } from '../../../src/runs/training-files.js';
import { Items } from '../../../src/view/items.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const about = {
  ...{ method: 'lora', base: { model: '/models/m' }, dataset: { path: 'data' }, config: {} },
  outcome: { ended: 'interrupted', step: 1 },
};

function training(path: string): string {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'training.json'), JSON.stringify(about));
  writeFileSync(
    join(path, 'metrics.jsonl'),
    '{"kind":"start","step":0,"totalSteps":9,"time":"2026-01-01T00:00:00Z"}\n',
  );
  return path;
}

async function listed(cwd: string, runsDir = 'buffers') {
  const { context, printed } = recordingContext(cwd);
  await list({ filters: [], sort: undefined, limit: undefined, runsDir, json: true } as never, context);
  return (JSON.parse(printed[0]!) as { kind?: string; path: string }[]).map(({ path }) => path);
}

describe('a training with its output elsewhere', () => {
  it('is listed, has a name, and is in the view, with those of tuned/', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const inside = training(join(cwd, 'tuned', 'a'));
    const [beside, far] = [training(join(cwd, 'mine')), training(join(other, 'far'))];
    for (const output of [inside, beside, far]) noteTraining(cwd, output);
    noteTraining(cwd, far);
    expect((await listed(cwd)).toSorted()).toEqual([inside, beside, far].toSorted());
    expect(trainingsElsewhere(cwd)).toEqual([beside, far].toSorted());
    expect(findTraining('mine', { cwd, runsDir: 'buffers' })).toBe(beside);
    expect(findTraining(far, { cwd, runsDir: 'buffers' })).toBe(far);
    expect(await listed(cwd, 'another')).toEqual([]);
    const items = new Items([{ path: join(cwd, 'tuned'), prefix: 'tuned/' }], () =>
      trainingsElsewhere(cwd).map((path) => ({ path, prefix: `${path.slice(1)}/../` })),
    );
    items.look();
    expect(items.all()).toHaveLength(3);
  });

  it('is named like its directory in the view, too, if that is tuned/ itself', () => {
    const own = training(join(temporaryDirectory(), 'tuned'));
    const items = new Items([{ path: own, prefix: 'tuned/', name: 'tuned' }]);
    items.look();
    expect(items.all().map(({ item }) => item.name)).toEqual(['tuned']);
  });

  it('is forgotten where it was removed, and never invented', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const far = training(join(other, 'far'));
    noteTraining(cwd, far);
    writeFileSync(join(cwd, 'tuned', '.elsewhere', '0123456789abcdef'), '/etc\n');
    writeFileSync(join(cwd, 'tuned', '.elsewhere', 'fedcba9876543210'), '../relative\n');
    expect(await listed(cwd)).toEqual([far]);
    rmSync(far, { recursive: true });
    expect(await listed(cwd)).toEqual([]);
    expect(await listed(temporaryDirectory())).toEqual([]);
  });

  it('is noted when it begins', () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const state = trainingState(join(other, 'far'), { ...about, outcome: undefined } as never, {
      command: 'policyloop finetune train t.yaml',
      folder: cwd,
    });
    expect(trainingsElsewhere(cwd)).toEqual([]);
    state.begin();
    expect(trainingsElsewhere(cwd)).toEqual([join(other, 'far')]);
  });

  it('is not lost where several begin at once', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const outputs = Array.from({ length: 6 }, (_, i) => training(join(other, `t${i}`)));
    const script = `import { noteTraining } from '${join(import.meta.dirname, '../../../src/runs/training-files.ts')}';
noteTraining(${JSON.stringify(cwd)}, process.argv[1]);`;
    await Promise.all(
      outputs.map(
        (output) =>
          new Promise<void>((resolve, reject) => {
            execFile(
              process.execPath,
              ['--import', 'tsx', '--input-type=module', '-e', script, output],
              (error) => (error ? reject(error) : resolve()),
            );
          }),
      ),
    );
    expect(trainingsElsewhere(cwd)).toEqual(outputs);
    expect(readdirSync(join(cwd, 'tuned', '.elsewhere'))).toHaveLength(6);
  }, 120_000);
});
