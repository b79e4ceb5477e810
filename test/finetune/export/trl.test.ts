import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../finetune/commands/export.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { jsonLines } from '../dataset/runs.js';

const answer = (i: number, weight = 1) => ({
  prompt: [{ role: 'user', content: `f(params): ${i}. Propose.` }],
  completion: `params[0]: ${i}.5`,
  weight,
  lineage: { run: `run-${i}` },
});
const pair = { prompt: [{ role: 'user', content: 'f' }], chosen: 'params[0]: 1', rejected: 'params[0]: 2' };

interface Place {
  readonly train?: readonly object[];
  readonly validation?: readonly object[];
  /** Lines of the config. */
  readonly config?: string;
}

function workplace({ train, validation = [answer(9)], config = '' }: Place = {}) {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'data'));
  const write = (name: string, rows: readonly object[]) =>
    writeFileSync(join(cwd, 'data', name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  write('train.jsonl', train ?? [1, 2, 3, 4].map((i) => answer(i)));
  write('validation.jsonl', validation);
  writeFileSync(join(cwd, 'tune.yaml'), `model: ./base\ndataset: data\noutput: tuned\n${config}`);
  const { context, printed, noted } = recordingContext(cwd);
  const command = (changes: object = {}) =>
    exportCommand({ source: 'tune.yaml', to: 'trl', out: 'folder', json: true, ...changes }, context);
  const script = () => readFileSync(join(cwd, 'folder', 'train.py'), 'utf8');
  const refusal = (changes: object = {}) =>
    command(changes).then(
      () => 'nothing thrown',
      (error: unknown) => String(error),
    );
  return { cwd, command, refusal, script, printed, noted };
}

describe('finetune export --to trl', () => {
  it('writes rows, a training script and a job script, and nothing else', async () => {
    const { cwd, command, printed } = workplace();
    expect(await command()).toBe(0);
    expect(readdirSync(join(cwd, 'folder')).sort()).toEqual(['data', 'job.sh', 'train.py']);
    const [first] = jsonLines(join(cwd, 'folder', 'data'), 'train.jsonl');
    const { prompt, completion } = answer(1);
    expect(first).toEqual({ prompt, completion: [{ role: 'assistant', content: completion }] });
    expect(JSON.parse(printed[0]!)).toEqual({
      out: 'folder',
      trainer: 'sft',
      examples: { train: 4, validation: 1 },
      warnings: [],
    });
    execFileSync('bash', ['-n', join(cwd, 'folder', 'job.sh')]);
  });

  it('translates the config into arguments of TRL and PEFT', async () => {
    const { cwd, command, script } = workplace({
      config: `seed: 5
epochs: 2
learningRate: 1.0e-7
schedule: cosine
learningRateFloor: 0.1
warmupSteps: 3
batchExamples: 16
method: { kind: lora, rank: 4, alpha: 6, rsLora: true, dropout: 0.1, modules: [q_proj] }
`,
    });
    await command({ model: 'org/"big" model' });
    for (const line of [
      'MODEL = os.environ.get("MODEL", "org/\\"big\\" model")',
      'BATCH = 16  #',
      'config = SFTConfig(',
      'model_init_kwargs={"dtype": "bfloat16"},',
      'max_length=None,',
      'completion_only_loss=True,',
      'num_train_epochs=2,',
      'learning_rate=1e-7,',
      'lr_scheduler_type="cosine_with_min_lr",',
      'lr_scheduler_kwargs={"min_lr_rate": 0.1},',
      'warmup_steps=3,',
      'seed=5,',
      'eval_strategy="steps",',
      'r=4,',
      'lora_alpha=6,',
      'lora_dropout=0.1,',
      'target_modules=["q_proj"],',
      'use_rslora=True,',
    ])
      expect(script()).toContain(line);
    execFileSync('python3', ['-m', 'py_compile', join(cwd, 'folder', 'train.py')]);
  });

  it('uses DPO for pairs, and no adapter if all weights are trained', async () => {
    const { cwd, command, script } = workplace({
      train: [pair],
      validation: [],
      config: 'objective: { kind: dpo, beta: 0.3 }\nmethod: { kind: full }\n',
    });
    await command();
    expect(jsonLines(join(cwd, 'folder', 'data'), 'train.jsonl')[0]).toMatchObject({
      chosen: [{ role: 'assistant', content: 'params[0]: 1' }],
    });
    expect(existsSync(join(cwd, 'folder', 'data', 'validation.jsonl'))).toBe(false);
    expect(script()).toContain('DPOTrainer(');
    expect(script()).toContain('beta=0.3,');
    expect(script()).not.toMatch(/peft_config|LoraConfig|eval_strategy/);
    execFileSync('python3', ['-m', 'py_compile', join(cwd, 'folder', 'train.py')]);
  });

  it('leaves out examples with a weight of 0 or less, and names what TRL lacks', async () => {
    const { cwd, command, noted } = workplace({
      train: [answer(1, 2), answer(2), answer(3, -1), answer(4, 0)],
      config:
        'patience: 3\nmethod: { kind: lora, quantization: int8 }\ntemplate: { enable_thinking: false }\n',
    });
    await command();
    const rows = jsonLines(join(cwd, 'folder', 'data'), 'train.jsonl');
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({ chat_template_kwargs: { enable_thinking: false } });
    expect(noted.join('\n')).toMatch(/weights[\s\S]*excluded 2 examples[\s\S]*quantise[\s\S]*patience/);
  });

  it.each([
    ['method: { kind: scratch }', {}, /method\.kind.*doesn't support/],
    ['optimizer: { kind: muon }\nmethod: { kind: full }', {}, /optimizer\.kind.*doesn't support/],
    ['method: { kind: lora, adapter: old }', {}, /method\.adapter[\s\S]*merge it first/],
    ['', { out: 'data' }, /not empty|already/],
    ['', { dtype: 'f16' }, /--dtype.*no effect/],
    ['', { model: 'a\nb' }, /line break/],
  ])('rejects unsupported and invalid settings: %s %j', async (config, changes, expected) => {
    const { cwd, refusal } = workplace({ config: `${config}\n` });
    expect(await refusal(changes)).toMatch(expected);
    expect(existsSync(join(cwd, 'folder'))).toBe(false);
  });
});
