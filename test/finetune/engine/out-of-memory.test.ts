import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { TrainingHooks } from '../../../finetune/train/loop.js';
import { UserError } from '../../../src/base/errors.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { tuneBriefly } from '../train/tuning.js';

const folder = temporaryDirectory();
afterEach(() => vi.restoreAllMocks());

const tune = (output: string, batchTokens: number, hooks: TrainingHooks = {}) => {
  const method = { kind: 'lora', rank: 4, alpha: 8, modules: ['q_proj'] };
  const model = referenceDirectory('qwen3-fp32');
  return tuneBriefly({ model, method, batchTokens, output: path.join(folder, output) }, hooks);
};

const failure = async (running: Promise<unknown>) => {
  const error = await running.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UserError);
  return (error as UserError).message;
};

it('an out-of-memory error while loading states the cause and what to change', async () => {
  vi.spyOn(ort.InferenceSession, 'create').mockRejectedValue(new Error('std::bad_alloc'));
  const message = await failure(tune('loading', 64));
  expect(message).toMatch(/out of memory while loading the model/);
  expect(message).toMatch(/batchTokens.*method\.quantization=int4/s);
});

it('a training run that runs out of memory can be resumed with a smaller batchTokens', async () => {
  const create = ort.InferenceSession.create.bind(ort.InferenceSession);
  let runs = 0;
  vi.spyOn(ort.InferenceSession, 'create').mockImplementation(async (...args: unknown[]) => {
    const session = await (create as (...all: unknown[]) => Promise<ort.InferenceSession>)(...args);
    const run = session.run.bind(session);
    session.run = async (feeds: ort.InferenceSession.FeedsType) => {
      if (++runs > 1) throw new Error('Failed to allocate memory for requested buffer of size 8589934592');
      return run(feeds);
    };
    return session;
  });
  const message = await failure(tune('step', 1000));
  expect(message).toMatch(/out of memory while reading 105 tokens at once/);
  expect(existsSync(path.join(folder, 'step', 'checkpoint.safetensors'))).toBe(true);
  vi.restoreAllMocks();
  const steps: number[] = [];
  const outcome = await tune('step', 64, {
    onEvent: (event) => void (event.kind === 'step' && steps.push(event.step)),
  });
  expect(steps).toEqual([2, 3, 4]);
  expect(outcome.ended).toBe('complete');
});

it('an out-of-memory error outside the runtime is reported', async () => {
  const stop = () => {
    throw new RangeError('Array buffer allocation failed');
  };
  expect(await failure(tune('outside', 64, { stop }))).toMatch(/out of memory while training/);
});

it('the memory estimate of a training run grows with the largest part of a step', async () => {
  const bytes: number[] = [];
  const onEvent: TrainingHooks['onEvent'] = (event) => {
    if (event.kind === 'start') bytes.push(event.sessionBytes!);
    throw new RangeError('Array buffer allocation failed');
  };
  for (const batchTokens of [1, 1000]) await failure(tune('planned', batchTokens, { onEvent }));
  const { hidden, layers } = readDecoderConfig(referenceDirectory('qwen3-fp32'));
  // With three more examples, each of at least ten tokens, their residual streams before and after each attention are kept, too.
  expect(bytes[1]! - bytes[0]!).toBeGreaterThan(3 * 10 * 2 * layers.length * hidden * 4);
});
