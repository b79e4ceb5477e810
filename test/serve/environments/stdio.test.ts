/** Environments over lines of JSON. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { createGenerator } from '../../../src/random/generator.js';
import { longestMessage } from '../../../src/serve/environments/messages.js';
import { offerEnvironments } from '../../../src/serve/environments/offered.js';
import { LineSessions, linesOf } from '../../../src/serve/environments/stdio.js';
import { built } from '../../support/built.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { type Message, nativeTrace, type Seen, turnOf } from './environment-server.js';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

type Answer = Message & { readonly id?: unknown; readonly session?: string };

async function lines(ids: readonly string[], most = 4) {
  const sessions = new LineSessions(await offerEnvironments(ids, {}, '/'), most);
  closing.push(() => sessions.close());
  return async (message: unknown) => {
    const line = typeof message === 'string' ? message : JSON.stringify(message);
    const answer = await sessions.answer(line);
    expect(answer).not.toContain('\n');
    return JSON.parse(answer) as Answer;
  };
}

const observed = ({ data }: Answer) => turnOf(data as unknown as Seen);

describe('lines of JSON', () => {
  it.each(['CartPole-v1', 'text:cooking', 'Taxi-v4'])('play %s the same as in-process', async (id) => {
    const ask = await lines([id]);
    const { actions, turns } = await nativeTrace(id, 4);
    const played = [observed(await ask({ type: 'reset', data: { seed: 4 } }))];
    for (const action of actions) played.push(observed(await ask({ type: 'step', data: { action } })));
    expect(played).toEqual(turns);
  });

  it('carry several sessions of several environments, and return request ids', async () => {
    const ask = await lines(['CartPole-v1', 'FrozenLake-v1']);
    const games = ['a', 'b', 'c'].map((session, i) => ({
      session,
      environment: i === 2 ? 'FrozenLake-v1' : 'CartPole-v1',
      seed: i,
    }));
    const traces = await Promise.all(games.map(({ environment, seed }) => nativeTrace(environment, seed)));
    for (const [i, { environment, seed, session }] of games.entries()) {
      const answer = await ask({ type: 'reset', session, environment, id: `r${i}`, data: { seed } });
      expect(answer).toMatchObject({ type: 'observation', session, id: `r${i}` });
      expect(observed(answer)).toEqual(traces[i]!.turns[0]);
    }
    for (let step = 0; step < 3; step++) {
      for (const [i, { session }] of games.entries()) {
        const action = traces[i]!.actions[step]!;
        const answer = await ask({ type: 'step', session, id: step, data: { action } });
        expect(answer.id).toBe(step);
        expect(observed(answer)).toEqual(traces[i]!.turns[step + 1]);
      }
    }
  });

  it('treat null as a missing field, and explain what a valid id is', async () => {
    const ask = await lines(['CartPole-v1']);
    const none = { id: null, session: null, environment: null };
    const answer = await ask({ ...none, type: 'reset', data: { seed: 4 } });
    expect(Object.keys(answer)).toEqual(['type', 'data']);
    expect(observed(answer)).toEqual((await nativeTrace('CartPole-v1', 4)).turns[0]);
    expect(await ask({ type: 'state', id: 1.5 })).toMatchObject({
      type: 'error',
      data: {
        message: expect.stringMatching(/id: must be a string of at most 255 characters or a whole number/),
      },
    });
  });

  it('end a session, which frees its place for another environment', async () => {
    const ask = await lines(['CartPole-v1', 'FrozenLake-v1'], 1);
    await ask({ type: 'reset', environment: 'CartPole-v1', data: { seed: 1 } });
    expect(await ask({ type: 'state', environment: 'FrozenLake-v1' })).toMatchObject({
      type: 'error',
      data: {
        code: 'VALIDATION_ERROR',
        message: expect.stringMatching(/already uses CartPole-v1; close it first/),
      },
    });
    const more = { type: 'reset', session: 'more', environment: 'FrozenLake-v1' };
    expect(await ask(more)).toMatchObject({ session: 'more', data: { code: 'CAPACITY_REACHED' } });
    expect(await ask({ type: 'health' })).toMatchObject({ data: { status: 'healthy', sessions: 1 } });
    expect(await ask({ type: 'close' })).toEqual({ type: 'closed', data: {} });
    expect(await ask(more)).toMatchObject({ type: 'observation' });
  });

  it('return metadata and schemas', async () => {
    const ask = await lines(['CartPole-v1']);
    expect((await ask({ type: 'metadata' })).data.name).toBe('CartPole-v1');
    expect((await ask({ type: 'schema' })).data).toMatchObject({ action: { type: 'object' } });
    const several = await lines(['CartPole-v1', 'Nim-v0']);
    expect((await several({ type: 'schema' })).data.message).toMatch(/choose one: CartPole-v1, Nim-v0/);
    expect((await several({ type: 'schema', environment: 'Nim' })).data.message).toMatch(
      /Nim is not available/,
    );
  });

  it('carry batches, one per session, also for a module', async () => {
    const directory = temporaryDirectory();
    writeFileSync(
      join(directory, 'own.mjs'),
      `export default { name: 'own', create: () => ({
        observationSpace: { kind: 'discrete', n: 9 }, actionSpace: { kind: 'discrete', n: 2 },
        reset() { this.at = 0; return 0; },
        step(action) { this.at += action; return { observation: this.at, reward: action, terminated: this.at > 1 }; },
      }) };`,
    );
    const sessions = new LineSessions(
      await offerEnvironments(['CartPole-v1', './own.mjs'], {}, directory),
      2,
    );
    closing.push(() => sessions.close());
    const ask = async (type: string, session: string, data: object, environment?: string) =>
      (JSON.parse(await sessions.answer(JSON.stringify({ type, session, environment, data }))) as Answer)
        .data;
    await ask('reset_batch', 'a', { seeds: [1, 2] }, 'CartPole-v1');
    await ask('reset_batch', 'b', { seeds: [1, 2, 3] }, 'own');
    expect(await ask('step_batch', 'a', { actions: [1, 1] })).toMatchObject({ rewards: [1, 1] });
    const step = (...actions: readonly number[]) => ask('step_batch', 'b', { actions });
    expect(await step(1, 0, 1)).toMatchObject({ observations: [1, 0, 1], rewards: [1, 0, 1] });
    expect(await step(1, 0, 2)).toMatchObject({
      message: expect.stringMatching(/actions\.2: is out of range/),
    });
    expect(await step(1, 0, 0)).toMatchObject({ observations: [2, 0, 1], terminated: [true, false, false] });
    expect(await step(1, 1, 1)).toMatchObject({ observations: [0, 1, 2], rewards: [0, 1, 1] });
  });

  it('return spaces with their data types in the metadata', async () => {
    const ask = await lines(['InvertedPendulum-v5', 'CartPole-v1']);
    expect((await ask({ type: 'metadata', environment: 'InvertedPendulum-v5' })).data).toMatchObject({
      observation_space: { kind: 'box', low: [null, null, null, null], dtype: 'float64' },
      max_steps: 1000,
    });
    expect((await ask({ type: 'metadata', environment: 'CartPole-v1' })).data).toMatchObject({
      action_space: { kind: 'discrete', n: 2 },
    });
  });

  it.each<readonly [string, unknown, string]>([
    ['no JSON', '{', 'INVALID_JSON'],
    ['a number that is none', '{"type": "step_batch", "data": {"actions": [NaN]}}', 'INVALID_JSON'],
    ['a list', '[1]', 'VALIDATION_ERROR'],
    ['another type', { type: 'jump', id: 7 }, 'UNKNOWN_TYPE'],
    ['an id that is none', { type: 'state', id: {} }, 'VALIDATION_ERROR'],
    ['a session without a name', { type: 'state', session: '' }, 'VALIDATION_ERROR'],
    ['a field too many', { type: 'state', more: 1 }, 'VALIDATION_ERROR'],
    ['a wrong action', { type: 'step', data: { action: 9 } }, 'VALIDATION_ERROR'],
  ])('answer %s with an error and continue', async (_, message, code) => {
    const ask = await lines(['CartPole-v1']);
    await ask({ type: 'reset', data: { seed: 1 } });
    expect(await ask(message)).toMatchObject({ type: 'error', data: { code } });
    expect((await ask({ type: 'step', data: { action: 1 } })).type).toBe('observation');
  });

  it('of random text are each answered', async () => {
    const ask = await lines(['text:cooking']);
    const random = createGenerator(3);
    const whole = JSON.stringify({ type: 'step', session: 's', id: 3, data: { action: 'look' } });
    for (let round = 0; round < 300; round++) {
      const at = random.integers(0, whole.length);
      const noise = String.fromCodePoint(random.integers(32, 0xd7ff));
      const answer = await ask(whole.slice(0, at) + noise + whole.slice(at + random.integers(0, 3)));
      expect(['error', 'observation']).toContain(answer.type);
    }
  });
});

describe('the line reader', () => {
  const read = async (chunks: readonly string[], longest?: number) => {
    const found: (string | undefined)[] = [];
    for await (const line of linesOf(Readable.from(chunks.map((text) => Buffer.from(text))), longest))
      found.push(line);
    return found;
  };

  it('joins chunks into lines and skips empty lines', async () => {
    expect(await read(['{"a"', ':1}\n\n', '{"b":2}\r\n{"c"', ':3}'])).toEqual([
      '{"a":1}',
      '{"b":2}\r',
      '{"c":3}',
    ]);
    expect(await read(['é'.repeat(3)])).toEqual(['ééé']);
    expect(await read([])).toEqual([]);
  });

  it('drops a line that is too long and continues after it', async () => {
    expect(await read(['12345\n123', '456\n12\n', '1'.repeat(50)], 5)).toEqual([
      '12345',
      undefined,
      '12',
      undefined,
    ]);
    const ask = new LineSessions(await offerEnvironments(['CartPole-v1'], {}, '/'), 1);
    expect(await ask.answer(undefined)).toContain(`at most ${longestMessage} bytes`);
  });
});

describe('policyloop serve --environments --stdio', () => {
  it('answers line by line and exits when its input ends', async () => {
    const process_ = spawn(process.execPath, [
      built('src/cli.js'),
      'serve',
      '--environments',
      'CartPole-v1',
      '--stdio',
    ]);
    closing.push(() => process_.kill('SIGKILL'));
    const { actions, turns } = await nativeTrace('CartPole-v1', 2);
    const answers = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
    const ask = async (message: object) => {
      process_.stdin.write(`${JSON.stringify(message)}\n`);
      const { value } = (await answers.next()) as { value: string };
      return JSON.parse(value) as Answer;
    };
    const played = [observed(await ask({ type: 'reset', data: { seed: 2 } }))];
    for (const action of actions) played.push(observed(await ask({ type: 'step', data: { action } })));
    expect(played).toEqual(turns);
    process_.stdin.end();
    expect(await once(process_, 'exit')).toEqual([0, null]);
  }, 120_000);
});
