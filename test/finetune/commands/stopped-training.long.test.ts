import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { execute } from '../../../finetune/commands/rl.js';
import { execute as resume } from '../../../src/commands/resume.js';
import { stopRun } from '../../../src/runs/listing/stop.js';
import { readTraining } from '../../../src/runs/training/trainings.js';
import { readTrainingPage } from '../../../src/web/report/training-page.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { sentPage, visibleText } from '../../web/shown.js';
import { tinyConfig } from '../rl/tiny-learning.js';

it('a training run can be stopped from outside, and gives the same result once it is resumed', async () => {
  const [folder, undisturbed] = [temporaryDirectory(), temporaryDirectory()];
  for (const each of [folder, undisturbed])
    tinyConfig({ environment: 'bandit', updates: 60, groups: 2, groupSize: 8, checkpointEvery: 50 }, each);
  const out = join(folder, 'out');
  const learn = (where: string) => {
    const { context, printed } = recordingContext(where);
    const args = { config: 'rl.yaml', overrides: [], quiet: true, json: false };
    return execute(args, context).then((code) => ({ code, said: printed.join('\n') }));
  };
  const log = () => readFileSync(join(out, 'metrics.jsonl'), 'utf8');
  const learning = learn(folder);
  while (!existsSync(join(out, 'metrics.jsonl')) || !log().includes('"kind":"step"')) await delay(2);
  expect(await stopRun(out, false, 30)).toMatchObject({ outcome: 'stopped' });
  expect((await learning).said).toContain('interrupted after');
  expect(readTraining(out)).toMatchObject({ status: 'interrupted', steps: { of: 60 } });
  const { context } = recordingContext(folder);
  const on = { run: out, overrides: [], runsDir: 'buffers', json: true, quiet: true };
  await expect(resume(on, context)).rejects.toThrow(/resume it with policyloop finetune rl rl.yaml/);
  // The same command resumes training, and gives the same result as without a stop.
  expect((await learn(folder)).code).toBe(0);
  await learn(undisturbed);
  const model = (where: string) => readFileSync(join(where, 'out', 'model', 'model.safetensors'));
  expect(model(folder).equals(model(undisturbed))).toBe(true);
  const page = visibleText(sentPage(readTrainingPage(out)));
  expect(page).toContain('Best held-out mean return');
  expect(page).toContain('Replies to the same held-out prompts');
});
