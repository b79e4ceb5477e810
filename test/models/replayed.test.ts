import { describe, expect, it } from 'vitest';
import type { ChatMessage, Completion } from '../../src/models/language-model.js';
import { createReplayedModel, type RecordedCall } from '../../src/models/replayed.js';
import { callId } from '../../src/runs/calls.js';
import { ask } from '../support/ask.js';
import { messages } from './model-configs.js';

const completion = (text: string): Completion => ({
  text,
  finishReason: 'stop',
  usage: { promptTokens: 7, completionTokens: 3 },
  latencyMs: 90_000,
  retries: 1,
});

const at = (iteration: number, candidate = 0, attempt = 0) => callId({ iteration, candidate, attempt });

const answered = (id: string, text: string): RecordedCall => ({
  id,
  messages,
  completion: completion(text),
  outcome: { kind: 'accepted' },
});

const failed = (
  id: string,
  error: 'aborted' | 'rate-limit' | 'bad-request',
  choices?: number,
): RecordedCall => ({
  id,
  messages,
  ...(choices !== undefined && { choices }),
  outcome: { kind: 'error', error, message: `it was ${error}`, retries: 4, latencyMs: 12 },
});

function replay(calls: readonly RecordedCall[], onChange: 'fail' | 'warn' = 'fail') {
  const model = createReplayedModel({ onChange }, { path: 'runs/a', model: 'openai/x', calls });
  return {
    model,
    ask: (callId: string, asked: readonly ChatMessage[] = messages) =>
      ask(model, asked, { seeds: [1], callId }),
    askGroup: (callId: string) => model.generate(messages, { seeds: [1, 2, 3], callId }),
  };
}

describe('a replayed model', () => {
  it('returns the recorded completion of an iteration, candidate and attempt, in any order', async () => {
    const { ask, model } = replay([
      answered(at(1), 'a'),
      answered(at(1, 1), 'b'),
      answered(at(1, 1, 1), 'c'),
      answered(at(2), 'd'),
    ]);
    expect(model.id).toBe('replayed/openai/x');
    expect(await ask(at(2))).toEqual(completion('d'));
    expect(await ask(at(1, 1, 1))).toEqual(completion('c'));
    expect(await ask(at(1, 1))).toEqual(completion('b'));
    expect(await ask(at(1))).toEqual(completion('a'));
  });

  it('rethrows recorded errors', async () => {
    const { ask } = replay([failed(at(1), 'rate-limit')]);
    await expect(ask(at(1))).rejects.toMatchObject({
      kind: 'rate-limit',
      message: 'it was rate-limit',
      retries: 4,
      latencyMs: 12,
    });
  });

  it('returns the last completion if a resumed run repeated a call', async () => {
    const { ask } = replay([
      answered(at(1), 'old'),
      failed(at(1), 'aborted'),
      answered(at(1), 'new'),
      failed(at(1), 'aborted'),
    ]);
    expect((await ask(at(1))).text).toBe('new');
  });

  it.each<readonly [string, readonly ChatMessage[], string]>([
    [
      'a line',
      [messages[0]!, { role: 'user', content: 'Propose three numbers.' }],
      'Message 2 (user), line 1: recorded “Propose two numbers.”, now “Propose three numbers.”',
    ],
    [
      'another line',
      [{ role: 'system', content: 'You improve parameters.\nCarefully.' }, messages[1]!],
      'Message 1 (system), line 2: added “Carefully.”',
    ],
    ['one message fewer', [messages[0]!], 'Message 2 (user) was removed'],
    [
      'the end of a long line',
      [messages[0]!, { role: 'user', content: `Propose two numbers${'.'.repeat(500)}` }],
      'line 1: recorded “Propose two numbers.”, now “Propose two numbers',
    ],
  ])('reports where a prompt differs: %s', async (_, asked, difference) => {
    const { ask } = replay([answered(at(4, 2, 1), 'a')]);
    const error: unknown = await ask(at(4, 2, 1), asked).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'not-recorded', fatal: true });
    const { message } = error as Error;
    expect(message).toContain(
      'iteration 4, candidate 2, attempt 1: the prompt differs from the recorded one',
    );
    expect(message).toContain(difference);
    expect(message.length).toBeLessThan(500);
  });

  it('warns of the first difference only once, with the next reply', async () => {
    const calls = [failed(at(1), 'rate-limit'), answered(at(1, 0, 1), 'a'), answered(at(2), 'b')];
    const { ask } = replay(calls, 'warn');
    const other: ChatMessage[] = [{ role: 'user', content: 'Hello' }];
    await expect(ask(at(1), other)).rejects.toMatchObject({ kind: 'rate-limit' });
    const { warnings, text } = await ask(at(1, 0, 1), other);
    expect(text).toBe('a');
    expect(warnings).toEqual([expect.stringMatching(/^iteration 1, candidate 0, attempt 0: /)]);
    expect((await ask(at(2), other)).warnings).toBeUndefined();
  });

  it('returns no completions for a group, but throws an error recorded for the whole group', async () => {
    const calls = [
      answered(at(1), 'a'),
      failed(at(1, 1), 'bad-request'),
      failed(at(2), 'bad-request', 3),
      failed(at(3), 'rate-limit', 3),
    ];
    const { askGroup } = replay(calls);
    expect([await askGroup(at(1)), await askGroup(at(1, 1))]).toEqual([[], []]);
    await expect(askGroup(at(3))).rejects.toMatchObject({ kind: 'rate-limit' });
    await expect(askGroup(at(2))).rejects.toMatchObject({ kind: 'bad-request' });
  });

  it('rejects calls outside runs, unrecorded calls and aborted calls', async () => {
    const { model, ask } = replay([answered(at(1), 'a')]);
    await expect(model.generate(messages, { seeds: [1] })).rejects.toMatchObject({ kind: 'not-recorded' });
    await expect(ask(at(2))).rejects.toThrow(
      "iteration 2, candidate 0, attempt 0: runs/a doesn't contain this call",
    );
    const signal = AbortSignal.abort();
    await expect(model.generate(messages, { seeds: [1], callId: at(1), signal })).rejects.toMatchObject({
      kind: 'aborted',
    });
  });
});
