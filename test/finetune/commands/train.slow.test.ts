import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { execute as datasetCommand } from '../../../finetune/commands/dataset.js';
import { execute as trainCommand } from '../../../finetune/commands/train.js';
import { readLineage } from '../../../finetune/dataset/lineage.js';
import { openArms } from '../../../finetune/evaluate/arms.js';
import { writeGguf } from '../../../finetune/export/gguf/gguf.js';
import { recordingContext, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';
import { visibleText } from '../../web/shown.js';
import { jsonLines } from '../dataset/runs.js';

const model = resolve(import.meta.dirname, '../../fixtures/reference-models/qwen3-fp32');
const place = temporaryDirectory();
const path = (...parts: readonly string[]) => join(place, ...parts);

/** Prompts that fit the 512 tokens of the reference models. */
function writePrompts(): string {
  const prompts = path('prompts');
  mkdirSync(prompts);
  writeFileSync(join(prompts, 'system.hbs'), 'Maximise f.\n');
  writeFileSync(join(prompts, 'user.hbs'), '{{history.text}}\nnext\n');
  writeFileSync(join(prompts, 'format-correction.hbs'), 'again\n');
  return prompts;
}

const experiment = (prompts: string) =>
  ({
    environment: 'MountainCarContinuous-v0',
    iterations: 12,
    warmup: 2,
    evaluation: { episodes: 2, maxSteps: 50 },
    confirmation: { candidates: 1, episodes: 2 },
    memory: { best: 1, recent: 1 },
    prompts: { set: prompts },
  }) as const;

let prompts: string;

beforeAll(async () => {
  prompts = writePrompts();
  for (const seed of [0, 1, 2]) {
    await runExperimentFrom(
      { ...experiment(prompts), seed, model: { provider: 'hill-climb' } },
      { path: path('buffers', `run-${seed}`) },
    );
  }
  const { context } = recordingContext(place);
  await datasetCommand(
    {
      runs: ['buffers/run-*'],
      runsDir: 'buffers',
      recipe: 'weighted',
      out: path('data'),
      validation: '0.34',
      format: 'jsonl',
      seed: 0,
      json: true,
    },
    context,
  );
});

function writeConfig(name: string, text: string): string {
  const file = path(`${name}.yaml`);
  writeFileSync(
    file,
    `model: ${model}\ndataset: data\noutput: ${name}\nepochs: 2\nevaluateEvery: 2\nthreads: 1\n${text}`,
  );
  return file;
}

/** Returns step and loss of the metrics of one kind. */
const losses = (name: string, of: 'step' | 'validation') =>
  jsonLines<{ kind: string; step: number; loss: number }>(path(name), 'metrics.jsonl').flatMap(
    ({ kind, step, loss }) => (kind === of ? [{ step, loss }] : []),
  );

const adapter = (name: string) => readFileSync(path(name, 'adapter', 'adapter_model.safetensors'));

const train = (config: string, changes: Parameters<typeof recordingContext>[1] = {}, finish = false) => {
  const recorded = recordingContext(place, changes);
  return trainCommand({ config, overrides: [], finish, quiet: false, json: true }, recorded.context).then(
    (code) => ({ code, result: JSON.parse(recorded.printed.at(-1)!) as Record<string, unknown> }),
  );
};

describe('finetune train', () => {
  it('trains an adapter on logged runs and records its metrics', async () => {
    const { code, result } = await train(writeConfig('tuned', 'learningRate: 0.01\nwarmupSteps: 1\n'));
    expect(code).toBe(0);
    expect(result).toMatchObject({ ended: 'complete', result: join('tuned', 'adapter') });
    const validations = losses('tuned', 'validation');
    expect(validations.at(-1)!.loss).toBeLessThan(validations[0]!.loss);
    expect(existsSync(path('tuned', 'adapter', 'adapter_config.json'))).toBe(true);
  });

  it('writes a report page, samples and TensorBoard event files', async () => {
    const text = visibleText(readFileSync(path('tuned', 'index.html'), 'utf8'));
    expect(text).toContain('qwen3-fp32 trained on data');
    expect(text).toContain('completed after all steps');
    expect(text).toContain(`model.adapter=${join('tuned', 'adapter')}`);
    expect(text).toMatch(/recipe weighted/);
    expect(text).toContain('Built from 3 runs');
    expect(text).toMatch(/Sample replies .*Prompt .* Reply .* Reply in the data /s);
    const samples = jsonLines(path('tuned'), 'samples.jsonl');
    expect(samples).toHaveLength(3 * losses('tuned', 'validation').length);
    expect(samples[0]).toMatchObject({
      step: 2,
      turns: [{ prompt: expect.stringContaining('Maximise f.'), reply: expect.any(String) }],
      expected: expect.stringContaining('params[0]'),
    });
    expect(readdirSync(path('tuned', 'tensorboard'))).toHaveLength(1);
  });

  const pressed = { stop: { finish: AbortSignal.abort(), abort: new AbortController().signal } };

  it('resumes after Ctrl-C and ends with the same adapter, byte for byte', async () => {
    const config = writeConfig('resumed', 'learningRate: 0.01\nwarmupSteps: 1\n');
    const interrupted = await train(config, pressed);
    expect(interrupted).toMatchObject({ code: 130, result: { ended: 'interrupted', step: 1, result: null } });
    expect(visibleText(readFileSync(path('resumed', 'index.html'), 'utf8'))).toContain(
      'interrupted by the user',
    );
    expect((await train(config)).code).toBe(0);
    expect(adapter('resumed').equals(adapter('tuned'))).toBe(true);
    expect(losses('resumed', 'step')).toEqual(losses('tuned', 'step'));
    const samples = (name: string) => readFileSync(path(name, 'samples.jsonl'), 'utf8');
    expect(samples('resumed')).toBe(samples('tuned'));
    expect(readdirSync(path('resumed', 'tensorboard'))).toHaveLength(2);
  });

  it('with --finish writes the adapter of an interrupted run before it validates; the run can still resume', async () => {
    const config = writeConfig('halfway', 'learningRate: 0.01\nwarmupSteps: 1\n');
    await expect(train(config, {}, true)).rejects.toThrow(
      /--finish: this training run has no checkpoint yet/,
    );
    await train(config, pressed);
    const written = { step: 1, result: join('halfway', 'adapter') };
    const interrupted = { code: 130, result: { ended: 'interrupted', best: null, ...written } };
    expect(await train(config, pressed, true)).toMatchObject(interrupted);
    expect(readLineage(path('halfway', 'adapter'))?.outcome.ended).toBe('interrupted');
    const early = adapter('halfway');
    expect(await train(config, {}, true)).toMatchObject({ code: 0, result: { ended: 'early', ...written } });
    expect(adapter('halfway').equals(early)).toBe(true);
    expect(early.equals(adapter('tuned'))).toBe(false);
    expect((await train(config)).result).toMatchObject({ ended: 'complete' });
    expect(adapter('halfway').equals(adapter('tuned'))).toBe(true);
  });

  it('shows the plan in a dry run and writes nothing; limits end a training run, which resumes with higher limits', async () => {
    const config = writeConfig('limited', 'maxSteps: 2\nlimits: {minutes: 1.0e-6}\n');
    const recorded = recordingContext(place);
    await trainCommand({ config, overrides: [], quiet: false, json: false, dryRun: true }, recorded.context);
    expect(existsSync(path('limited'))).toBe(false);
    expect(recorded.printed.join('\n')).toMatch(
      /^2 steps over \d+ examples .*\ntrains {5}[\d\s]+ parameters of .*qwen3-fp32 \(lora\)\nmemory {5}about \d+ MB\ntime {7}unknown.*\noutput {5}limited$/,
    );
    expect((await train(config)).result).toMatchObject({ ended: 'early', step: 1 });
    writeConfig('limited', 'maxSteps: 2\nlimits: {minutes: 60}\n');
    expect((await train(config)).result).toMatchObject({ ended: 'complete', step: 2 });
    await trainCommand({ config, overrides: [], quiet: false, json: false, dryRun: true }, recorded.context);
    expect(recorded.printed.at(-1)).toMatch(/time {7}0 s\noutput {5}limited, complete after step 2$/);
  });

  it('trains an adapter for a GGUF file, which evaluation recognises as its base', async () => {
    await writeGguf(model, undefined, path('base.gguf'), 'F16');
    const config = path('over-gguf.yaml');
    const text = 'model: base.gguf\ndataset: data\noutput: over-gguf\nepochs: 1\nthreads: 1\n';
    writeFileSync(config, text);
    const { context } = recordingContext(place);
    const whole = { config, overrides: ['method.kind=full'], quiet: true, json: true };
    await expect(trainCommand(whole, context)).rejects.toThrow(
      /method\.kind=full needs a model directory[\s\S]*hint: use method\.kind=lora, which accepts a GGUF/,
    );
    expect((await train(config)).code).toBe(0);
    const arms = openArms(undefined, path('over-gguf'), [], place);
    const [base, tuned] = arms;
    expect(base).toMatchObject({ label: 'base.gguf', paths: { model: path('base.gguf') } });
    expect(tuned!.lineage!.base.hash).toBe(base!.hash);
    expect(openArms('base.gguf', path('over-gguf', 'adapter'), [], place)[0]).toEqual(base);
    expect(() => openArms('none.gguf', path('over-gguf'), [], place)).toThrow(/there is no such/);
  });

  it('prints its progress and how to use the result', async () => {
    let time = 0;
    const recorded = recordingContext(place, { milliseconds: () => (time += 11_000) });
    const config = writeConfig('told', 'learningRate: 0.01\nwarmupSteps: 1\n');
    vi.useFakeTimers({ toFake: ['setInterval'] });
    const note = (text: string) => {
      recorded.context.note(text);
      if (/^step 1: 0 of \d+ examples$/.test(text)) vi.advanceTimersByTime(30_000);
    };
    const context = { ...recorded.context, note };
    await trainCommand({ config, overrides: [], finish: false, quiet: false, json: false }, context);
    vi.useRealTimers();
    const noted = recorded.noted.join('\n');
    expect(noted).toMatch(/^step 1: 0 of \d+ examples, \d+ s so far$/m);
    expect(noted).toMatch(/^\d+ steps over \d+ examples \(.* tokens\), \d+ examples \(.* tokens\) held out/m);
    expect(noted).toMatch(/step \d+\/\d+ {2}loss \d\.\d{3,4} {2}.* tok\/s {2}[\d.]+ [MG]B {2}.* left/);
    expect(noted).toMatch(/step 2 {2}validation loss \d\.\d{4}, the lowest so far/);
    expect(noted).toMatch(/^step 2: (\d+) of \1 examples$/m);
    expect(noted).toMatch(/^validation: \d+ of \d+ examples, 16\.5 s left$/m);
    expect(noted).toMatch(/^wrote told.adapter before the last validation \(press Ctrl-C to skip/m);
    const printed = recorded.printed.join('\n');
    expect(printed).toMatch(/policyloop run buffers.run-0.config\.yaml model\.provider=local /);
    expect(printed).toContain(join('told', 'index.html'));
    expect(printed).toContain(`model.adapter=${join('told', 'adapter')}`);
  });
});

it('finetune train reports a missing dataset', async () => {
  const config = path('none.yaml');
  writeFileSync(config, `model: ${model}\ndataset: nowhere\noutput: none\n`);
  await expect(train(config)).rejects.toThrow(/dataset: .*no train\.jsonl[\s\S]*policyloop finetune dataset/);
});
