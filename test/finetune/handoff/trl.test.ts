/** Exported folders run by the real TRL, on this machine's processor, and what they make of a tiny model. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../finetune/commands/export.js';
import { execute as importCommand } from '../../../finetune/commands/import.js';
import { execute as trainCommand } from '../../../finetune/commands/train.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { lastLogits } from '../../support/last-logits.js';
import { largestDifference } from '../reference-training.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const hasTrl =
  spawnSync(python, ['-c', 'import torch, transformers, peft, datasets, accelerate, trl']).status === 0;

const run = promisify(execFile);
const model = referenceDirectory('qwen3-fp32');

/** Launching TRL takes a quarter of a minute, more on a busy machine. */
const patience = 600_000;

const settings = `model: ${model}
output: tuned
epochs: 2
batchExamples: 4
warmupSteps: 0
learningRate: 0.01
schedule: linear
evaluateEvery: 1
checkpointEvery: 1
threads: 1
`;

describe.skipIf(!hasTrl)(
  'TRL (needs Python with trl, transformers, peft, datasets: POLICYLOOP_PYTHON)',
  () => {
    const cwd = hasTrl ? temporaryDirectory() : '';
    const { context, printed } = recordingContext(cwd);

    function writeDataset(name: string, row: (i: number) => object): void {
      mkdirSync(join(cwd, name));
      const write = (split: string, from: number, to: number) =>
        writeFileSync(
          join(cwd, name, `${split}.jsonl`),
          Array.from({ length: to - from }, (_, i) => `${JSON.stringify(row(from + i))}\n`).join(''),
        );
      write('train', 0, 4);
      write('validation', 4, 6);
    }

    async function exported(name: string, config: string, rows: 'messages' | 'tokens'): Promise<void> {
      writeFileSync(join(cwd, `${name}.yaml`), `${settings}${config}`);
      const machines = { gpus: 1, nodes: 1, perDevice: 2, seeds: 1 };
      const rest = { out: name, rows, time: '60', json: true };
      await exportCommand({ trainer: 'trl', config: `${name}.yaml`, ...rest, ...machines }, context);
      // A processor is no GPU: what is compared is compared in float32.
      const file = join(cwd, name, 'accelerate.yaml');
      const text = readFileSync(file, 'utf8');
      expect(text).toContain('mixed_precision: "bf16"');
      writeFileSync(file, text.replace('mixed_precision: "bf16"', 'mixed_precision: "no"'));
    }

    const prompt = (i: number) => [{ role: 'user', content: `f(params): ${'9'.repeat(i + 1)}. Propose.` }];

    beforeAll(async () => {
      writeDataset('answers', (i) => ({ prompt: prompt(i), completion: `params[0]: ${i}.5`, weight: 1 }));
      writeDataset('pairs', (i) => ({ prompt: prompt(i), chosen: `params[0]: ${i}.5`, rejected: 'no' }));
      await exported('messages', 'dataset: answers\nmethod: { kind: lora, modules: [v_proj] }\n', 'messages');
      await exported('tokens', 'dataset: answers\n', 'tokens');
      await exported('preferences', 'dataset: pairs\n', 'messages');
    });

    /** In the folder, with the Python's own commands first. */
    async function inFolder(folder: string, command: readonly string[]): Promise<void> {
      const bin = execFileSync(python, ['-c', 'import sys; print(sys.prefix + "/bin")'], {
        encoding: 'utf8',
      });
      const overrides = ['--use_cpu', 'true', '--bf16', 'false', '--dtype', 'float32'];
      await run(command[0]!, [...command.slice(1), ...overrides], {
        cwd: join(cwd, folder),
        env: {
          ...process.env,
          PATH: `${bin.trim()}${delimiter}${process.env.PATH}`,
          HF_HOME: join(cwd, 'cache'),
          HF_HUB_OFFLINE: '1',
          OMP_NUM_THREADS: '1',
        },
      });
    }

    const imported = async (directory: string, out: string) => {
      expect(await importCommand({ directory, out, json: true }, context)).toBe(0);
      return JSON.parse(printed.at(-1)!) as {
        outcome: { step: number; finished: boolean };
        warnings: string[];
      };
    };

    const losses = (folder: string) =>
      (
        JSON.parse(readFileSync(join(cwd, folder, 'trainer_state.json'), 'utf8')) as {
          log_history: { loss?: number; eval_loss?: number }[];
        }
      ).log_history;

    it(
      'trl sft --config writes an adapter that gives the same logits here as in PEFT',
      async () => {
        await inFolder('messages', ['trl', 'sft', '--config', 'sft.yaml']);
        const { outcome } = await imported('messages', 'from-trl');
        expect(outcome).toMatchObject({ step: 2, finished: false });
        const ids = [3, 5, 8, 13, 21];
        const adapter = join(cwd, 'from-trl');
        const script = join(import.meta.dirname, '../peft-logits.py');
        const theirs = JSON.parse(
          execFileSync(python, [script, model, adapter, model, JSON.stringify(ids)], { encoding: 'utf8' }),
        ) as { adapter: number[] };
        const ours = await lastLogits(model, ids, { adapter: adapter });
        expect(largestDifference(ours, await lastLogits(model, ids))).toBeGreaterThan(1e-3);
        expect(largestDifference(ours, theirs.adapter)).toBeLessThan(1e-4);
      },
      patience,
    );

    it(
      'run.sh stops with a checkpoint when asked, and resumes to the same adapter',
      async () => {
        const output = join(cwd, 'tokens', 'output');
        mkdirSync(output);
        writeFileSync(join(output, 'stop-requested'), '');
        await inFolder('tokens', ['bash', 'run.sh']);
        expect(existsSync(join(output, 'checkpoint-1', 'trainer_state.json'))).toBe(true);
        expect(existsSync(join(output, 'finished.json'))).toBe(false);
        rmSync(join(output, 'stop-requested'));
        await inFolder('tokens', ['bash', 'run.sh']);
        await inFolder('tokens', ['bash', 'run.sh', '--output_dir', 'uninterrupted']);
        const adapter = (folder: string) =>
          readFileSync(join(cwd, 'tokens', folder, 'adapter_model.safetensors'));
        expect(adapter('output').equals(adapter('uninterrupted'))).toBe(true);
        const { outcome, warnings } = await imported('tokens', 'resumed');
        expect(outcome).toMatchObject({ finished: true, step: 2 });
        expect(warnings).toEqual([]);
      },
      patience,
    );

    it('with token ids, the first loss matches that of finetune train', async () => {
      const steps: number[] = [];
      const { context: quiet } = recordingContext(cwd, {
        print: (line) => {
          const event = JSON.parse(line) as { kind?: string; loss: number };
          if (event.kind === 'step') steps.push(event.loss);
        },
      });
      await trainCommand(
        { config: join(cwd, 'tokens.yaml'), overrides: [], finish: false, quiet: false, json: true },
        quiet,
      );
      const theirs = losses('tokens/uninterrupted').flatMap(({ loss }) => loss ?? []);
      expect(theirs).toHaveLength(2);
      expect(Math.abs(theirs[0]! - steps[0]!)).toBeLessThan(1e-4);
    });

    it(
      'DPO trains on pairs',
      async () => {
        await inFolder('preferences', ['bash', 'run.sh']);
        expect((await imported('preferences', 'preferring')).outcome).toMatchObject({
          finished: true,
          step: 2,
        });
        expect(losses('preferences/output')[0]!.loss).toBeCloseTo(Math.log(2), 5);
      },
      patience,
    );
  },
);
