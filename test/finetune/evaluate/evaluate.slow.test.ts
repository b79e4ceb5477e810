import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as evaluateCommand } from '../../../finetune/commands/evaluate.js';
import { trainingLineage, writeLineage } from '../../../finetune/dataset/lineage.js';
import { initialAdapter, writeAdapter } from '../../../finetune/engine/first-values.js';
import { trainedParameters } from '../../../finetune/engine/trainable.js';
import { openArms, trainingEnvironments } from '../../../finetune/evaluate/arms.js';
import type { Evaluation } from '../../../finetune/evaluate/evaluation.js';
import type { CommandContext } from '../../../src/base/context.js';
import { UserError } from '../../../src/base/errors.js';
import { takeLock } from '../../../src/base/files/lock.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { planLock } from '../../../src/runs/finder.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { type OpenAIRequest, startFakeOpenAI } from '../../support/fake-openai.js';
import type { FakeServer } from '../../support/fake-server.js';
import { chartsIn, elementsOf, visibleText } from '../../web/shown.js';

type EvaluateArguments = Parameters<typeof evaluateCommand>[0];

const reference = resolve(import.meta.dirname, '../../fixtures/reference-models/qwen3-fp32');
const place = temporaryDirectory();
const path = (...parts: readonly string[]) => join(place, ...parts);

/**
 * `hopeless` pushes the wrong way, half of the time after an unreadable reply; the others catch the pole. An equal
 * bias of both actions changes nothing, but makes every proposal new.
 */
function reply({ model, messages, seed = 0 }: OpenAIRequest): string {
  if (model === 'mute') return 'Well.';
  const isHopeless = model === 'hopeless';
  if (isHopeless && seed % 2 === 1 && messages.at(-1)!.role === 'user' && messages.length === 2)
    return 'Well.';
  const push = isHopeless ? [6, 6, -6, -6] : [0, 1, 6, 6];
  const bias = ((seed % 121) - 60) / 10;
  const values = [...push.flatMap((weight) => [0, weight]), bias, bias];
  return values.map((value, i) => `params[${i}]: ${value.toFixed(1)}`).join(', ');
}

let server: FakeServer;
const served = () => [`model.baseUrl=${server.url}`];

beforeAll(async () => {
  server = await startFakeOpenAI({ reply });
  const short = 'warmup: 3\nevaluation: { episodes: 4 }\nconfirmation: { candidates: 2, episodes: 20 }\n';
  writeFileSync(
    path('cartpole.yaml'),
    `environment: CartPole-v1\nmodel: { provider: random }\niterations: 5\n${short}`,
  );
  writeFileSync(
    path('car.yaml'),
    `environment: MountainCarContinuous-v0\nmodel: { provider: random }\niterations: 3\n${short}`,
  );
});

type Printed = Evaluation & {
  readonly out: string;
  readonly cautions: readonly string[];
  readonly conclusions: readonly {
    readonly scope: string;
    readonly verdict: string;
    readonly text: string;
  }[];
};

async function run(changes: Partial<EvaluateArguments>, context: Partial<CommandContext> = {}) {
  const recorded = recordingContext(place, context);
  const code = await evaluateCommand(
    {
      base: 'random',
      tuned: 'hill-climb',
      configs: [path('cartpole.yaml')],
      baseline: [],
      repeats: 8,
      runsDir: 'buffers',
      overrides: [],
      quiet: false,
      json: true,
      ...changes,
    },
    recorded.context,
  );
  return {
    ...recorded,
    code,
    printed: recorded.printed,
    result: JSON.parse(recorded.printed.at(-1)!) as Printed,
  };
}

const stored = (out: string) => JSON.parse(readFileSync(path(out, 'evaluation.json'), 'utf8')) as Evaluation;

const onReturn = ({ experiments }: Evaluation, against = 'base') =>
  experiments[0]!.differences.find((difference) => difference.against === against)!;

const scripted = { base: 'openai:hopeless', tuned: 'openai:good' };

describe('finetune evaluate', () => {
  it('rates the better model higher and compares it with a baseline with the same budget', async () => {
    const { code, result } = await run({
      ...scripted,
      out: 'better',
      // The scripted answers differ only in their numbers.
      overrides: [...served(), 'repeats=parameters'],
      baseline: ['cma-es'],
      trainedOn: 'none',
    });
    expect(code).toBe(0);
    expect(result.status).toBe('completed');
    expect(onReturn(result)).toMatchObject({ counts: [8], verdict: 'higher' });
    expect(onReturn(result, 'cma-es').counts).toEqual([8]);
    expect(result.conclusions).toHaveLength(1);
    expect(result.conclusions[0]).toMatchObject({
      scope: 'CartPole-v1, a new environment',
      text: expect.stringMatching(
        /^Higher: tuned − base is \+[\d.]+ in confirmed return \(95 % interval \+.* 8 pairs\).* More seeds would narrow/,
      ),
    });
    // The same seeds and budget: every arm starts from the same warm-up and takes as many evaluations.
    for (const repeat of ['01', '08']) {
      const runs = ['base', 'tuned', 'cma-es'].map((arm) =>
        readRun(path('better', 'cartpole', `${arm}-${repeat}`)),
      );
      const warmups = runs.map(({ entries }) => entries.filter(({ iteration }) => iteration === 0));
      expect(warmups[1]).toEqual(warmups[0]);
      expect(warmups[2]).toEqual(warmups[0]);
      expect(runs.map(({ entries }) => entries.length)).toEqual([8, 8, 8]);
    }
    const { base, tuned } = result.experiments[0]!.arms;
    expect(tuned!.confirmed!.mean).toBeGreaterThan(490);
    expect([tuned!.validFirst!.mean, tuned!.valid!.mean, base!.valid!.mean]).toEqual([1, 1, 1]);
    expect(base!.validFirst!.mean).toBeGreaterThan(0.2);
    expect(base!.validFirst!.mean).toBeLessThan(0.8);
    // The first good proposal improves on the warm-up; no later one on that.
    expect(tuned!.improvementRate!.mean).toBeCloseTo(1 / 5, 12);
  });

  it('gives no verdict on too few repeats, and can add more later', async () => {
    const few = await run({ ...scripted, overrides: served(), out: 'more', repeats: 2 });
    expect(few.result.conclusions[0]!.text).toMatch(
      /^Too few pairs for a verdict: .* at least 6 pairs are needed/,
    );
    const before = readFileSync(path('more', 'cartpole', 'tuned-02', 'evaluations.jsonl'));
    const more = await run({ ...scripted, overrides: served(), out: 'more', repeats: 8 });
    expect(readFileSync(path('more', 'cartpole', 'tuned-02', 'evaluations.jsonl')).equals(before)).toBe(true);
    // With a baseline, three differences share the correction; here, there is only one.
    const beside = onReturn(stored('better'));
    expect(onReturn(more.result)).toEqual({ ...beside, adjusted: beside.p });
  });

  it('resumes after an interruption with the same result', async () => {
    const whole = await run({ out: 'whole', repeats: 2, configs: [path('cartpole.yaml'), path('car.yaml')] });
    const finish = new AbortController();
    const never = new AbortController().signal;
    const clock = recordingContext(place).context.now;
    const first = await run(
      { out: 'parts', repeats: 2, configs: [path('cartpole.yaml'), path('car.yaml')] },
      {
        // In the middle of the second run.
        now: () => {
          if (existsSync(path('parts', 'cartpole', 'tuned-01', 'calls.jsonl'))) finish.abort();
          return clock();
        },
        stop: { finish: finish.signal, abort: never },
      },
    );
    expect(first.code).toBe(130);
    expect(first.result.status).toBe('incomplete');
    expect(stored('parts').runs.map(({ figures }) => figures?.status)).toContain('interrupted');
    const second = await run({
      out: 'parts',
      repeats: 2,
      configs: [path('cartpole.yaml'), path('car.yaml')],
    });
    expect(second.code).toBe(0);
    expect(stored('parts')).toEqual(stored('whole'));
    expect(whole.result.groups.map(({ group }) => group)).toEqual(['all']);
  });

  it('reports training environments and others separately, and all of them in normalised returns', async () => {
    const { result } = await run({
      out: 'transfer',
      configs: [path('cartpole.yaml'), path('car.yaml'), 'iterations=4'],
      trainedOn: 'CartPole-v1',
      repeats: 8,
    });
    expect(result.experiments.map(({ name, familiarity }) => [name, familiarity])).toEqual([
      ['cartpole', 'trained'],
      ['car', 'transfer'],
    ]);
    expect(result.groups.map(({ group, experiments }) => [group, experiments])).toEqual([
      ['all', ['cartpole', 'car']],
      ['trained', ['cartpole']],
      ['transfer', ['car']],
    ]);
    expect(result.conclusions).toHaveLength(3);
    const all = result.groups[0]!;
    expect(all.differences[0]!.counts).toEqual([8]);
    for (const arm of Object.values(all.arms)) {
      expect(arm.confirmed!.mean).toBeGreaterThanOrEqual(0);
      expect(arm.confirmed!.mean).toBeLessThanOrEqual(1);
    }
    // An argument of --configs that contains `=` was an override.
    expect(readManifest(path('transfer', 'car', 'base-01')).iterations).toEqual({ done: 4, of: 4 });
  });

  it('completes the runs of the other model when one model fails', async () => {
    const { code, result, noted } = await run({
      out: 'failing',
      tuned: 'openai:absent',
      repeats: 2,
      overrides: ['model.baseUrl=http://127.0.0.1:9/v1', 'model.maxRetries=0'],
    });
    expect(code).toBe(1);
    expect(noted.join('\n')).toMatch(/tuned-01: [\s\S]*; the other runs of tuned are skipped/);
    expect(result.failures.map(({ arm }) => arm)).toEqual(['tuned']);
    expect(stored('failing').runs.map(({ arm, figures }) => [arm, figures?.status])).toEqual([
      ['base', 'completed'],
      ['tuned', undefined],
      ['base', 'completed'],
      ['tuned', undefined],
    ]);
    expect(result.conclusions[0]!.text).toMatch(/Nothing to compare/);
  });

  it('reports unused budgets and runs that found no policy', async () => {
    const { result } = await run({ out: 'target', repeats: 1, overrides: ['target=5', 'iterations=2'] });
    expect(result.cautions).toEqual([
      expect.stringMatching(/^base: 1 of its 1 run ended before the last .*target 5 reached/),
      expect.stringMatching(/^tuned: 1 of its 1/),
    ]);
    const silent = await run({
      out: 'silent',
      ...scripted,
      base: 'openai:mute',
      repeats: 1,
      overrides: [...served(), 'warmup=0', 'iterations=1', 'corrections=0'],
    });
    // A run without an accepted proposal has failed, but still counts as a result.
    expect(silent.code).toBe(1);
    expect(silent.result).toMatchObject({
      status: 'completed',
      failures: [{ arm: 'base', message: expect.stringMatching(/^0 proposals accepted; first reason: /) }],
    });
    expect(silent.result.cautions).toEqual([
      'base: 1 of its 1 run failed; a failed run gets the lowest confirmed return of its experiment',
    ]);
    expect(visibleText(readFileSync(path('silent', 'index.html'), 'utf8'))).toContain(
      '1 of its 1 run failed',
    );
    const unreachable = await run({
      out: 'unreachable',
      tuned: 'openai:absent',
      repeats: 1,
      overrides: ['model.baseUrl=http://127.0.0.1:9/v1', 'model.maxRetries=0', 'iterations=1'],
    });
    // A run whose model never answered has failed.
    expect(unreachable.code).toBe(1);
    expect(unreachable.result).toMatchObject({
      status: 'incomplete',
      failures: [{ run: expect.stringMatching(/tuned/) }],
    });
  });

  it('prints readable tables without --json', async () => {
    const { context, printed } = recordingContext(place);
    await evaluateCommand(
      {
        ...scripted,
        configs: [path('cartpole.yaml')],
        baseline: ['cma-es'],
        repeats: 8,
        out: 'better',
        runsDir: 'buffers',
        trainedOn: 'none',
        overrides: [...served(), 'repeats=parameters'],
        quiet: false,
        json: false,
      },
      context,
    );
    const text = printed.join('\n');
    expect(text).toMatch(/cartpole \(transfer\) +base +8 +[\d.]+/);
    expect(text).toMatch(
      /cartpole \(transfer\) +tuned − base +8 pairs +\+[\d.]+ +\+[\d.]+ … \+[\d.]+ .* higher/,
    );
    expect(text).toContain('Higher: tuned − base');
    expect(text).toContain(join('better', 'index.html'));
  });

  it('reuses its output directory for the same settings if no directory is given', async () => {
    const first = await run({ repeats: 1, overrides: ['iterations=1'] });
    const again = await run({ repeats: 1, overrides: ['iterations=1'] });
    const other = await run({ repeats: 1, overrides: ['iterations=2'] });
    expect(first.result.out).toMatch(/^buffers\/evaluate-[0-9a-f]{10}$/);
    expect(again.result.out).toBe(first.result.out);
    expect(other.result.out).not.toBe(first.result.out);
  });
});

describe('a trained adapter', () => {
  /** Writes the output of a training run, whose base model can be run. */
  function training(name: string, environments: readonly string[], changed = false): string {
    const lora = { rank: 2, alpha: 4, rankStabilized: false, dropout: 0, modules: ['q_proj'] as const };
    const trainable = { kind: 'adapter', lora, base: openWeights(reference) } as const;
    const parameters = initialAdapter(trainedParameters(readDecoderConfig(reference), trainable), 1);
    for (const { values } of parameters)
      for (let i = 0; i < values.length; i++) values[i] = 0.2 * Math.sin(i);
    writeAdapter(path(name, 'adapter'), parameters, lora, reference);
    const lineage = trainingLineage({
      method: 'lora',
      model: reference,
      dataset: {
        path: 'data',
        recipe: 'weighted',
        sources: environments.map((environment) => ({
          run: 'a',
          environment,
          model: 'random',
          seed: 0,
          hash: '',
          split: 'train' as const,
          kept: 3,
        })),
        files: {},
        changed,
      },
      config: { template: { enable_thinking: false } },
      outcome: { ended: 'complete', step: 1 },
    });
    writeLineage(path(name, 'adapter'), lineage);
    return name;
  }

  it('is compared with the model that it names, and an environment missing from its lineage counts as transfer', async () => {
    const prompts = path('prompts');
    mkdirSync(prompts);
    writeFileSync(join(prompts, 'system.hbs'), 'Maximise f.\n');
    writeFileSync(join(prompts, 'user.hbs'), '{{history.text}}\nnext\n');
    writeFileSync(join(prompts, 'format-correction.hbs'), 'again\n');
    const local = {
      base: undefined,
      tuned: training('tuned', ['CartPole-v1']),
      configs: [path('car.yaml')],
      baseline: ['random'],
      repeats: 1,
      out: 'local',
    };
    const { code, result } = await run({
      ...local,
      overrides: [
        'iterations=2',
        'memory.best=1',
        `prompts.set=${prompts}`,
        'model.format=constrained',
        'model.maxTokens=120',
        'model.threads=1',
      ],
    });
    expect(code).toBe(0);
    expect(result.arms.map(({ name, label }) => [name, label])).toEqual([
      ['base', 'qwen3-fp32'],
      ['tuned', 'qwen3-fp32 + tuned/adapter'],
      ['random', 'random search'],
    ]);
    expect(result.trainedOn).toEqual({ kind: 'lineage', environments: ['CartPole-v1'] });
    expect(result.experiments[0]!.familiarity).toBe('transfer');
    expect(result.experiments[0]!.arms.tuned!.validFirst!.mean).toBe(1);
    expect(readManifest(path('local', 'car', 'tuned-01')).model).toBe('local/qwen3-fp32+adapter');
    expect(readManifest(path('local', 'car', 'base-01')).model).toBe('local/qwen3-fp32');
    // Both get the template variables of the training run.
    for (const arm of ['base', 'tuned']) {
      expect(readFileSync(path('local', 'car', `${arm}-01`, 'config.yaml'), 'utf8')).toContain(
        'enable_thinking: false',
      );
    }
    // The model has been trained again since then, so this would be another evaluation.
    writeAdapterByte(path('tuned', 'adapter', 'adapter_model.safetensors'));
    await expect(run(local)).rejects.toThrow(/--out: .*evaluation with different models/);
  });

  it('has unknown training environments if its dataset has changed since the manifest was written', () => {
    const adapter = training('changed', ['CartPole-v1'], true);
    const arms = openArms(undefined, adapter, [], place);
    expect(trainingEnvironments(arms[1]!, undefined)).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('manifest'),
    });
  });

  function writeAdapterByte(file: string): void {
    const bytes = readFileSync(file);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(file, bytes);
  }
});

describe('baselines from --baseline', () => {
  const arms = (control: readonly string[]) => openArms('random', 'hill-climb', control, place);

  it('use the settings given with their names', () => {
    expect(arms(['hill-climb:sigma=2', 'cma-es:sigma=1.5:population=6']).slice(2)).toMatchObject([
      {
        name: 'hill-climb',
        label: 'hill climbing (sigma=2)',
        overrides: ['model.provider=hill-climb', 'model.sigma=2'],
      },
      { name: 'cma-es', overrides: ['model.provider=cma-es', 'model.sigma=1.5', 'model.population=6'] },
    ]);
    expect(openArms('hill-climb:sigma=1', 'hill-climb:sigma=2', [], place)).toMatchObject([
      { name: 'base', overrides: ['model.provider=hill-climb', 'model.sigma=1'] },
      { name: 'tuned', overrides: ['model.provider=hill-climb', 'model.sigma=2'] },
    ]);
  });

  it.each([
    [['climber:sigma=2'], /--baseline: unknown baseline/],
    [['hill-climb', 'hill-climb:sigma=2'], /--baseline: is listed twice/],
  ])('are rejected if unknown or listed twice: %j', (control, message) => {
    expect(() => arms(control)).toThrow(message);
  });
});

describe('finetune evaluate with invalid arguments', () => {
  const refusal = (changes: Partial<EvaluateArguments>) =>
    run({ out: 'refused', ...changes }).then(
      () => '',
      (error: unknown) => (error instanceof UserError ? error.message : String(error)),
    );

  it('reports the cause and writes no results', async () => {
    mkdirSync(path('interrupted'));
    writeFileSync(path('interrupted', 'checkpoint.safetensors'), '');
    expect(await refusal({ tuned: 'nowhere' })).toMatch(
      /--tuned: there is no such directory[\s\S]*ollama:NAME/,
    );
    expect(await refusal({ base: reference, tuned: reference })).toMatch(/--tuned: .*same weights/);
    expect(await refusal({ base: undefined, tuned: reference })).toMatch(/--base: is required/);
    expect(await refusal({ overrides: ['model.path=x'] })).toMatch(/model\.path: can't be overridden/);
    expect(await refusal({ overrides: ['confirmation.candidates=0'] })).toMatch(/biased by selection/);
    expect(await refusal({ configs: [path('car.yaml'), path('car.yaml')] })).toMatch(
      /two configs have the same name/,
    );
    expect(await refusal({ trainedOn: 'CartPol-v1' })).toMatch(/CartPole-v1/);
    expect(await refusal({ repeats: 0 })).toMatch(/--repeats/);
    // The page and results of a training run would be overwritten.
    expect(await refusal({ out: 'interrupted' })).toMatch(
      /--out: contains something other than an evaluation/,
    );
    expect(readdirSync(path('interrupted'))).toEqual(['checkpoint.safetensors']);
    mkdirSync(path('torn'));
    writeFileSync(path('torn', 'plan.json'), '{"version": 1, "ha');
    expect(await refusal({ out: 'torn' })).toMatch(/plan\.json: not valid JSON/);
    const release = takeLock(path('torn', planLock));
    expect(await refusal({ out: 'torn' })).toMatch(/another process is writing/);
    release();
    expect(existsSync(path('refused'))).toBe(false);
  });
});

describe('the evaluation page', () => {
  it('links to the runs and draws a curve for each model in each environment', async () => {
    const page = readFileSync(path('transfer', 'index.html'), 'utf8');
    const elements = elementsOf(page);
    const links = elements.flatMap(({ name, attributes }) => (name === 'a' ? (attributes.href ?? []) : []));
    const runs = links.filter((link) => !link.startsWith('#'));
    expect(runs).toHaveLength(32);
    for (const link of runs) expect(existsSync(path('transfer', link))).toBe(true);
    const lines = chartsIn(page).flatMap(({ series }) => series);
    expect(lines).toHaveLength(4);
    expect(visibleText(page)).toContain('Training environments: CartPole-v1 (from --trained-on)');
  });
});
