import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { execute as exportCommand } from '../../../finetune/commands/export.js';
import { endOfAnswer, renderExample } from '../../../finetune/dataset/read-dataset.js';
import { findHandOver } from '../../../finetune/handoff/hand-over.js';
import { fillTemplate, yamlText } from '../../../finetune/handoff/texts.js';
import { shellWord } from '../../../src/format/one-line.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { jsonLines } from '../dataset/runs.js';

type ExportArguments = Parameters<typeof exportCommand>[0];

const model = referenceDirectory('qwen3-fp32');

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
  readonly model?: string;
}

function workplace({ train, validation = [answer(9)], config = '', ...rest }: Place = {}) {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'data'));
  const write = (name: string, rows: readonly object[]) =>
    writeFileSync(join(cwd, 'data', name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  write('train.jsonl', train ?? [1, 2, 3, 4].map((i) => answer(i)));
  write('validation.jsonl', validation);
  writeFileSync(
    join(cwd, 'tune.yaml'),
    `model: ${JSON.stringify(rest.model ?? model)}\ndataset: data\noutput: tuned\n${config}`,
  );
  const { context, printed, noted } = recordingContext(cwd);
  const command = (changes: Partial<ExportArguments> = {}) =>
    exportCommand(
      {
        config: 'tune.yaml',
        out: 'folder',
        rows: 'messages',
        gpus: 1,
        nodes: 1,
        perDevice: 1,
        trainer: 'trl',
        seeds: 1,
        time: '4:00:00',
        json: true,
        ...changes,
      },
      context,
    );
  const text = (name: string) => readFileSync(join(cwd, 'folder', name), 'utf8');
  const yaml = (name: string) => parse(text(name), { version: '1.1' }) as Record<string, unknown>;
  const refusal = (changes: Partial<ExportArguments>) =>
    command(changes).then(
      () => 'nothing thrown',
      (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
    );
  const result = () => JSON.parse(printed.at(-1)!) as { tokens: object; warnings: string[]; files: string[] };
  return { cwd, command, refusal, text, yaml, result, printed, noted };
}

describe('finetune export trl', () => {
  it('translates the config into settings of TRL and Accelerate', async () => {
    const { command, yaml } = workplace({
      config: `seed: 5
epochs: 2
learningRate: 1.0e-7
schedule: constant
warmupSteps: 3
batchExamples: 16
method: { kind: lora, rank: 4, alpha: 6, rsLora: true, dropout: 0.1, modules: [q_proj, down_proj] }
`,
    });
    expect(await command({ gpus: 2, nodes: 2, perDevice: 2, accelerate: 'fsdp2' })).toBe(0);
    expect(yaml('sft.yaml')).toMatchObject({
      model_name_or_path: model,
      use_peft: true,
      lora_r: 4,
      lora_alpha: 6,
      lora_dropout: 0.1,
      lora_target_modules: ['q_proj', 'down_proj'],
      use_rslora: true,
      num_train_epochs: 2,
      learning_rate: 1e-7,
      lr_scheduler_type: 'constant_with_warmup',
      warmup_steps: 3,
      per_device_train_batch_size: 2,
      gradient_accumulation_steps: 2,
      adam_epsilon: 1e-8,
      seed: 5,
      bf16: true,
      eval_strategy: 'steps',
      completion_only_loss: true,
    });
    expect(yaml('accelerate.yaml')).toMatchObject({
      distributed_type: 'FSDP',
      num_machines: 2,
      num_processes: 4,
      mixed_precision: 'bf16',
      fsdp_config: { fsdp_version: 2 },
    });
  });

  it.each([
    ['single_gpu', 1, { distributed_type: 'NO' }],
    ['multi_gpu', 4, { distributed_type: 'MULTI_GPU' }],
    ['zero2', 4, { distributed_type: 'DEEPSPEED', deepspeed_config: { zero_stage: 2 } }],
  ] as const)('distributes the training as %s', async (accelerate, gpus, expected) => {
    const { command, yaml, text } = workplace();
    await command({ accelerate, gpus });
    expect(yaml('accelerate.yaml')).toMatchObject({ ...expected, num_processes: gpus });
    expect(text('requirements.txt').includes('deepspeed')).toBe(accelerate === 'zero2');
  });

  it('writes rows for SFT with separate lineage, and warns that weights are lost', async () => {
    const { cwd, command, text, result } = workplace({
      train: [answer(1, 2), answer(2), answer(3, -1), answer(4, 0)],
      validation: [],
    });
    await command();
    expect(jsonLines(join(cwd, 'folder', 'data'), 'train.jsonl')).toEqual(
      [1, 2].map((i) => ({
        prompt: [{ role: 'user', content: `f(params): ${i}. Propose.` }],
        completion: [{ role: 'assistant', content: `params[0]: ${i}.5` }],
      })),
    );
    expect(jsonLines(join(cwd, 'folder', 'lineage'), 'train.jsonl')).toEqual([
      { weight: 2, lineage: { run: 'run-1' } },
      { weight: 1, lineage: { run: 'run-2' } },
    ]);
    // A file of any name below data/ would be read as rows.
    expect(readdirSync(join(cwd, 'folder', 'data'))).toEqual(['train.jsonl']);
    expect(result().warnings).toEqual([
      expect.stringContaining('weights'),
      expect.stringContaining('Excluded: 2 examples with a weight of 0 or less'),
    ]);
    expect(text('README.md')).toContain('weights');
    expect(text('sft.yaml')).toContain('eval_strategy: "no"');
    expect(findHandOver(join(cwd, 'folder'))).toMatchObject({
      trainer: 'sft',
      config: { output: join(cwd, 'tuned') },
      base: { path: model, hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      warnings: result().warnings,
    });
  });

  it('writes pairs for DPO with the variables of the chat template', async () => {
    const { cwd, command, yaml } = workplace({
      train: [pair],
      validation: [],
      config: 'template: { enable_thinking: false }\nbatchExamples: 1\n',
    });
    await command();
    expect(jsonLines(join(cwd, 'folder', 'data'), 'train.jsonl')).toEqual([
      {
        prompt: [{ role: 'user', content: 'f' }],
        chosen: [{ role: 'assistant', content: 'params[0]: 1' }],
        rejected: [{ role: 'assistant', content: 'params[0]: 2' }],
        chat_template_kwargs: { enable_thinking: false },
      },
    ]);
    expect(yaml('dpo.yaml')).toMatchObject({ beta: 0.1, use_peft: true });
    expect(yaml('dpo.yaml')).not.toHaveProperty('completion_only_loss');
  });

  it('passes the config’s beta to DPO', async () => {
    const config = 'objective: { kind: dpo, beta: 0.3 }\n';
    const { command, yaml } = workplace({ train: [pair], validation: [], config });
    await command();
    expect(yaml('dpo.yaml')).toMatchObject({ beta: 0.3 });
  });

  it('writes the token ids of serving with --rows tokens', async () => {
    const { cwd, command, result } = workplace();
    await command({ rows: 'tokens' });
    const rows = jsonLines<{ input_ids: number[]; completion_mask: number[] }>(
      join(cwd, 'folder', 'data'),
      'train.jsonl',
    );
    const tokenizer = openTokenizer(model);
    const end = endOfAnswer(model, readDecoderConfig(model), tokenizer);
    const { promptIds, completionIds } = renderExample(tokenizer, end, {
      messages: [{ role: 'user', content: 'f(params): 2. Propose.' }],
      completion: 'params[0]: 2.5',
      weight: 1,
    });
    expect(rows[1]!.input_ids).toEqual([...promptIds, ...completionIds]);
    expect(rows[1]!.completion_mask.indexOf(1)).toBe(promptIds.length);
    expect(rows[1]!.completion_mask.lastIndexOf(0)).toBe(promptIds.length - 1);
    expect(result().tokens).toMatchObject({ same: 5, longer: 0, different: 0 });
  });

  it('repeats a single module, so that TRL does not read it as a regular expression', async () => {
    const { command, yaml } = workplace({ config: 'method: { kind: lora, modules: [v_proj] }\n' });
    await command();
    expect(yaml('sft.yaml').lora_target_modules).toEqual(['v_proj', 'v_proj']);
  });

  it.each([
    ['linear', 'polynomial', { power: 1, lr_end: 2e-5 }],
    ['cosine', 'cosine_with_min_lr', { min_lr_rate: 0.1 }],
  ])('keeps the learning-rate floor of a %s schedule', async (kind, type, kwargs) => {
    const { command, yaml } = workplace({ config: `schedule: ${kind}\nlearningRateFloor: 0.1\n` });
    await command();
    expect(yaml('sft.yaml')).toMatchObject({ lr_scheduler_type: type, lr_scheduler_kwargs: kwargs });
  });

  it('warns that the base model is not quantized on the other machine', async () => {
    const { command, result } = workplace({ config: 'method: { kind: lora, quantization: int4 }\n' });
    await command();
    expect(result().warnings).toEqual([expect.stringContaining('method.quantization=int4')]);
  });

  it('turns PEFT off for full fine-tuning', async () => {
    const { command, yaml } = workplace({ config: 'method: { kind: full }\n' });
    await command();
    expect(yaml('sft.yaml')).toMatchObject({ use_peft: false, dtype: 'float32' });
  });
});

describe('TRL’s tokenization of messages', () => {
  /** A model with another template. */
  function modelWith(template: string): string {
    const directory = join(temporaryDirectory(), 'model');
    cpSync(model, directory, { recursive: true });
    writeFileSync(join(directory, 'chat_template.jinja'), template);
    return directory;
  }
  const plain = readFileSync(join(model, 'chat_template.jinja'), 'utf8');

  it('is compared with serving and counted as same, longer or different', async () => {
    const tokensOf = async (place: Place) => {
      const { command, result } = workplace({ validation: [], ...place });
      await command();
      return result();
    };
    expect((await tokensOf({})).tokens).toMatchObject({ same: 0, longer: 4, different: 0 });
    const tight = modelWith(plain.replace(`'<|im_end|>' + '\n'`, `'<|im_end|>'`));
    expect((await tokensOf({ model: tight })).tokens).toMatchObject({ same: 4, longer: 0, different: 0 });
    const thinking = modelWith(
      plain.replace(`m['content']`, `('<think></think>' if m['role'] == 'assistant' else '') + m['content']`),
    );
    const different = await tokensOf({ model: thinking });
    expect(different.tokens).toMatchObject({ different: 4 });
    expect(different.warnings).toEqual([expect.stringContaining('--rows tokens')]);
    const dated = modelWith(`{# strftime_now #}${plain}`);
    expect((await tokensOf({ model: dated })).tokens).toMatchObject({ different: 4 });
    const spelled = { ...answer(1), completion: 'params[0]: 1<|im_end|>' };
    expect((await tokensOf({ train: [spelled, answer(2)] })).tokens).toMatchObject({
      longer: 1,
      different: 1,
    });
  });

  it('is not compared if the base model is only on the other machine, with a warning', async () => {
    const { command, result, yaml } = workplace({ model: '/nowhere/big' });
    await command({ base: 'org/big-70b' });
    expect(result()).toMatchObject({ tokens: null, warnings: [expect.stringMatching(/TRL's tokens/)] });
    expect(yaml('sft.yaml')).toMatchObject({ model_name_or_path: 'org/big-70b', max_length: null });
  });

  it('truncates nothing: the longest example sets max_length', async () => {
    const { command, yaml, result } = workplace();
    await command();
    expect(yaml('sft.yaml').max_length).toBe((result().tokens as { longest: number }).longest);
  });
});

describe('a rejected export', () => {
  it('reports the invalid option and writes nothing', async () => {
    const { cwd, refusal } = workplace({ config: 'batchExamples: 8\n' });
    expect(await refusal({ gpus: 3 })).toMatch(/UserError: batchExamples: [\s\S]*multiple of 3/);
    expect(await refusal({ gpus: 2, accelerate: 'single_gpu' })).toMatch(
      /--accelerate: single_gpu means one device, not 2/,
    );
    expect(await refusal({ time: 'soon' })).toMatch(/--time: not a Slurm time limit/);
    expect(await refusal({ partition: 'gpu\n#SBATCH --nodes=9' })).toMatch(/--partition: /);
    expect(await refusal({ account: '$(touch pwned)' })).toMatch(/--account: /);
    expect(await refusal({ gpus: 0 })).toMatch(/--gpus: /);
    expect(existsSync(join(cwd, 'folder'))).toBe(false);
    expect(await refusal({ out: 'data' })).toMatch(/--out: this directory is not empty/);
  });

  it('reports what TRL doesn’t support', async () => {
    expect(await workplace({ config: 'method: { kind: scratch }\n' }).refusal({})).toMatch(/method\.kind: /);
    const muon = 'method: { kind: full }\noptimizer: { kind: muon }\n';
    expect(await workplace({ config: muon }).refusal({})).toMatch(/optimizer\.kind: /);
    const pairs = workplace({ train: [pair], validation: [], config: 'batchExamples: 1\n' });
    expect(await pairs.refusal({ rows: 'tokens' })).toMatch(/--rows: .*DPO/);
    expect(await workplace({ train: [answer(1, -1)] }).refusal({})).toMatch(/dataset: no example/);
    expect(await workplace({ model: '/nowhere' }).refusal({})).toMatch(/nowhere/);
  });
});

describe('unusual names and values', () => {
  it('reach YAML, shell and Markdown unchanged', async () => {
    const nasty = `a'b" $(touch pwned) \`touch pwned\` #x: {y}`;
    const directory = join(temporaryDirectory(), nasty);
    cpSync(model, directory, { recursive: true });
    const { cwd, command, yaml, text } = workplace({ model: directory });
    await command({ seeds: 3 });
    expect(yaml('sft.yaml').model_name_or_path).toBe(directory);
    for (const script of ['slurm.sh', 'run.sh'])
      execFileSync('bash', ['-n', join(cwd, 'folder', script)], { stdio: 'pipe' });
    const line = text('README.md')
      .split('\n')
      .find((one) => one.includes('finetune import'))!;
    const words = execFileSync('bash', ['-c', `policyloop() { printf '%s\\0' "$@"; }\n${line}`], { cwd });
    expect(words.toString().split('\0')).toContain(directory);
    expect(existsSync(join(cwd, 'pwned'))).toBe(false);
  });

  it('any text is quoted as a single shell word', () => {
    const texts = fc
      .sample(fc.string({ unit: 'binary' }), { numRuns: 300, seed: 1 })
      .map((text) => text.replaceAll('\0', ''));
    const output = execFileSync('bash', ['-s'], {
      input: texts.map((text) => `printf '%s\\0' ${shellWord(text)}\n`).join(''),
    });
    expect(output.toString('utf8').split('\0').slice(0, -1)).toEqual(texts);
  });

  it('YAML has small numbers and special characters in a form that PyYAML reads', () => {
    expect(yamlText({ rate: 1e-8, list: [-2e21], text: '\u0085\u2028' })).toBe(
      'rate: 1.0e-8\nlist: [-2.0e+21]\ntext: "\\u0085\\u2028"\n',
    );
  });

  it('a template rejects a value with a line break', () => {
    expect(() => fillTemplate('run.sh', { trainer: 'sft\nid' })).toThrow(/trainer: .*line break/);
  });

  it('a template rejects a missing value', () => {
    expect(() => fillTemplate('run.sh', {})).toThrow(/"trainer" not defined/);
  });

  it('any mapping survives a round trip through YAML 1.1', () => {
    const leaf = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('yes', 'no', 'on', 'null', '1e-8', '0x1', '2024-01-01', '~', ''),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      fc.boolean(),
      fc.constant(null),
    );
    const value = fc.oneof(
      leaf,
      fc.array(leaf),
      fc.dictionary(fc.constantFrom('a', 'b'), leaf, { minKeys: 1 }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('key', 'other'), value, { minKeys: 1 }), (mapping) => {
        expect(parse(yamlText(mapping), { version: '1.1' })).toEqual({ ...mapping });
      }),
    );
  });
});
