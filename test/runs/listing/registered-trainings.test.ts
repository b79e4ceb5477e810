/** Trainings whose output lies elsewhere are listed and named all the same. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { trainingState } from '../../../finetune/dataset/lineage.js';
import { execute as list } from '../../../src/commands/list.js';
import { findTraining } from '../../../src/runs/listing/names.js';
import { registeredTrainings, registerTraining } from '../../../src/runs/training-files.js';
import { Items } from '../../../src/view/items.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const about = {
  method: 'lora',
  base: { model: '/models/m' },
  dataset: { path: 'data' },
  config: {},
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

const runsOf = (cwd: string) => join(cwd, 'buffers');
const registryOf = (cwd: string) => join(runsOf(cwd), 'trainings.jsonl');

describe('a training', () => {
  it('registered in any directory is listed once, can be found by name, and is in the view', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const inside = training(join(cwd, 'tuned', 'a'));
    const deep = training(join(cwd, 'tuned/1/2/3/4/5/6/7'));
    const [beside, far] = [training(join(cwd, 'mine')), training(join(other, 'far'))];
    const all = [inside, deep, beside, far].toSorted();
    for (const output of [...all, far]) registerTraining(runsOf(cwd), output);
    expect(readFileSync(registryOf(cwd), 'utf8').split('\n')).toHaveLength(all.length + 1);
    expect(registeredTrainings(runsOf(cwd))).toEqual(all);
    expect((await listed(cwd)).toSorted()).toEqual(all);
    expect(findTraining('mine', { cwd, runsDir: 'buffers' })).toBe(beside);
    expect(findTraining(far, { cwd, runsDir: 'buffers' })).toBe(far);
    expect(await listed(cwd, 'another')).toEqual([]);
    const items = new Items([{ path: join(cwd, 'tuned'), prefix: 'tuned/' }], () =>
      registeredTrainings(runsOf(cwd)).map((path) => ({ path, prefix: `${dirname(path).slice(1)}/` })),
    );
    items.look();
    expect(items.all()).toHaveLength(4);
    expect(items.find('tuned/a')?.path).toBe(inside);
    expect(items.find(far.slice(1))?.path).toBe(far);
  });

  it('with tuned/ itself as its output has the name of that directory in the view', () => {
    const own = training(join(temporaryDirectory(), 'tuned'));
    const items = new Items([{ path: own, prefix: 'tuned/', name: 'tuned' }]);
    items.look();
    expect(items.all().map(({ item }) => item.name)).toEqual(['tuned']);
  });

  it('is registered when it starts', () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const state = trainingState(join(other, 'far'), { ...about, outcome: undefined } as never, {
      command: 'policyloop finetune train t.yaml',
      folder: cwd,
    });
    expect(registeredTrainings(runsOf(cwd))).toEqual([]);
    state.begin();
    expect(registeredTrainings(runsOf(cwd))).toEqual([join(other, 'far')]);
  });

  it('is not lost if several are registered at once', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const outputs = Array.from({ length: 48 }, (_, i) =>
      training(join(other, `t${String(i).padStart(2, '0')}`)),
    );
    const script = `import { registerTraining } from '${join(import.meta.dirname, '../../../src/runs/training-files.ts')}';
for (const output of process.argv.slice(1)) registerTraining(${JSON.stringify(runsOf(cwd))}, output);`;
    const start = (part: readonly string[]) =>
      promisify(execFile)(process.execPath, [
        ...['--import', 'tsx', '--input-type=module', '-e', script],
        ...part,
      ]);
    // Parts overlap, so that some are registered by two processes.
    await Promise.all([0, 8, 16, 24].map((from) => start(outputs.slice(from, from + 24))));
    expect(registeredTrainings(runsOf(cwd))).toEqual(outputs);
  }, 120_000);
});

describe('the registry', () => {
  it('skips links, and directories that are missing or contain no training', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const [far, gone] = [training(join(other, 'far')), training(join(other, 'gone'))];
    mkdirSync(join(other, 'private'));
    writeFileSync(join(other, 'private', 'secret.txt'), '');
    symlinkSync(far, join(other, 'link'));
    const all = [far, gone, '/etc', join(other, 'private'), join(other, 'link'), '/dev/zero'];
    for (const path of all) registerTraining(runsOf(cwd), path);
    rmSync(gone, { recursive: true });
    expect(await listed(cwd)).toEqual([far]);
    rmSync(far, { recursive: true });
    expect(await listed(cwd)).toEqual([]);
    expect(await listed(temporaryDirectory())).toEqual([]);
  });

  it('keeps the readable entries of a damaged file, and appends to it', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const [one, two] = [training(join(other, 'one')), training(join(other, 'two'))];
    mkdirSync(runsOf(cwd));
    const damaged = [
      ...['', 'null', '[]', '{}', '7', '"text"', '{"path":5}', '{"path":"../relative"}', '{"path":""}'],
      ...[JSON.stringify({ path: `${other}/one/../two` }), JSON.stringify({ path: `${other}/one\0` })],
      ...[JSON.stringify({ path: `/${'a'.repeat(9000)}` }), '['.repeat(100_000), '\u00ff\ufffd'],
      ...[JSON.stringify({ path: one }), `{"path":"${other}/tw`],
    ];
    writeFileSync(registryOf(cwd), Buffer.from(damaged.join('\n'), 'latin1'));
    expect(await listed(cwd)).toEqual([one]);
    registerTraining(runsOf(cwd), two);
    expect((await listed(cwd)).toSorted()).toEqual([one, two]);
  });

  it('is neither read nor written if it is a symbolic link or a directory', async () => {
    const [cwd, other] = [temporaryDirectory(), temporaryDirectory()];
    const far = training(join(other, 'far'));
    registerTraining(runsOf(other), far);
    mkdirSync(runsOf(cwd));
    symlinkSync(registryOf(other), registryOf(cwd));
    const before = readFileSync(registryOf(other), 'utf8');
    registerTraining(runsOf(cwd), join(other, 'new'));
    expect(await listed(cwd)).toEqual([]);
    expect(readFileSync(registryOf(other), 'utf8')).toBe(before);
    rmSync(registryOf(cwd));
    mkdirSync(registryOf(cwd));
    registerTraining(runsOf(cwd), far);
    expect(await listed(cwd)).toEqual([]);
    rmSync(registryOf(cwd), { recursive: true });
    registerTraining(runsOf(cwd), far);
    expect(await listed(cwd)).toEqual([far]);
  });
});
