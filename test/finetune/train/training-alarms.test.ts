import { describe, expect, it } from 'vitest';
import type { Conversation } from '../../../finetune/dataset/read-dataset.js';
import { createAlarmWatch, supervisedChecks, templateAlarms } from '../../../finetune/train/alarms.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import { referenceDirectory } from '../../models/local/fixture.js';

describe('template alarms', () => {
  const model = referenceDirectory('qwen2-tied-bf16-sharded');
  const tokenizer = openTokenizer(model);
  const conversation = (name: string, promptTokens: (counted: number) => number): Conversation => {
    const messages = [{ role: 'user', content: 'Maximise f.' }] as const;
    const counted = tokenizer.encodePrompt(messages).length;
    const served = { model: name, promptTokens: promptTokens(counted) };
    return { messages, completion: ' params[0]: 1', weight: 1, promptOrigin: served };
  };
  const same = (count: number) => count;
  const more = (count: number) => count + 4;

  it('are not raised when training reads the same prompts that were served', () => {
    const own = conversation('local/qwen2-tied-bf16-sharded', same);
    const { promptOrigin: _served, ...unserved } = own;
    expect(templateAlarms(model, tokenizer, [own, unserved])).toEqual([]);
  });

  it('are raised when served prompts had a different length, even with an adapter in the model name', () => {
    const alarms = templateAlarms(model, tokenizer, [
      conversation('local/qwen2-tied-bf16-sharded', same),
      conversation('local/qwen2-tied-bf16-sharded+adapter', more),
    ]);
    expect(alarms).toMatchObject([{ alarm: 'other-prompts' }]);
    expect(alarms[0]!.message).toMatch(/changed for 1 of 2 prompts/);
  });

  it('ignore token counts of other models', () => {
    expect(
      templateAlarms(model, tokenizer, [
        conversation('gpt-5', more),
        conversation('local/qwen2-tied-bf16-sharded-2', more),
      ]),
    ).toEqual([]);
  });
});

describe('the divergence alarm', () => {
  /** Alarms by validation, given the training and the validation loss at each. */
  const alarms = (training: readonly number[], validation: readonly number[]) => {
    const watch = createAlarmWatch(supervisedChecks);
    return validation.map((loss, step) => {
      for (const change of [0.1, -0.1]) watch({ kind: 'step', step, loss: training[step]! + change });
      return watch({ kind: 'validation', step, loss, best: false })[0]?.alarm;
    });
  };
  const alarm = 'validation-diverging';
  const none = undefined;

  it('is raised after three rises in a row while the training loss falls, once per sequence of rises', () => {
    const rising = alarms([3, 2, 1.5, 1.2, 1, 0.8], [3, 2, 2.1, 2.2, 2.3, 2.4]);
    expect(rising).toEqual([none, none, none, none, alarm, none]);
    const twice = alarms([3, 2, 1.5, 1.2, 1, 0.9, 0.8, 0.7], [2, 2.1, 2.2, 2.3, 2.1, 2.2, 2.3, 2.4]);
    expect(twice).toEqual([none, none, none, alarm, none, none, none, alarm]);
  });

  it('is not raised by noise or when the training loss rises too', () => {
    expect(alarms([1, 1.1, 1.2, 1.3], [2, 2.1, 2.2, 2.3])).toEqual([none, none, none, none]);
    expect(alarms([4, 3, 2, 1], [2, 2.001, 2.002, 2.003])).toEqual([none, none, none, none]);
  });
});
