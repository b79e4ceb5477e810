import { describe, expect, it, vi } from 'vitest';
import { execute as serveCommand } from '../../src/commands/serve.js';
import { connect } from '../serve/environments/environment-server.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { expectSchema } from '../support/output-schema.js';

type ServeArguments = Parameters<typeof serveCommand>[0];

const args: ServeArguments = {
  ...{ adapter: [], host: '127.0.0.1', port: 0, device: 'auto', quantization: 'none', template: [] },
  ...{ environments: ['CartPole-v1'], option: [], stdio: false, json: true },
};

const refusal = (changes: Partial<ServeArguments>) =>
  serveCommand({ ...args, ...changes }, recordingContext(temporaryDirectory()).context);

describe('policyloop serve --environments', () => {
  it('prints its address when ready, applies the given options, and ends at Ctrl-C', async () => {
    const finish = new AbortController();
    const stop = { finish: finish.signal, abort: new AbortController().signal };
    const { context, printed } = recordingContext(temporaryDirectory(), { stop });
    const option = ['max_episode_steps=2'];
    const ended = serveCommand({ ...args, option, sessions: 3, idleSeconds: 9 }, context);
    await vi.waitFor(() => expect(printed).toHaveLength(1), { timeout: 20_000 });
    expectSchema('serve', printed);
    const { url, ...ready } = JSON.parse(printed[0]!) as { url: string };
    expect(ready).toEqual({ environments: [{ name: 'CartPole-v1', url }], sessions: 3, idleSeconds: 9 });
    const client = await connect(url);
    await client.reset({ seed: 1 });
    await client.step(0);
    expect((await client.step(1)).observation.truncated).toBe(true);
    finish.abort();
    expect(await ended).toBe(0);
    expect((await client.closed).code).toBe(1001);
  });

  it.each<readonly [Partial<ServeArguments>, RegExp]>([
    [{ batch: 2 }, /--batch: has no effect with --environments/],
    [{ adapter: ['x'] }, /--adapter: has no effect with --environments/],
    [{ contextTokens: 9 }, /--context-tokens: has no effect with --environments/],
    [{ environments: undefined, stdio: true }, /--stdio: has no effect without --environments/],
    [{ environments: undefined, option: ['a=1'] }, /--option: has no effect without --environments/],
    [{ stdio: true, port: 8000, json: false, host: '::1' }, /--host: has no effect with --stdio/],
    [{ stdio: true, port: 8000, json: false, idleSeconds: 4 }, /--idle-seconds: has no effect with --stdio/],
    [{ sessions: 0 }, /--sessions: must be a whole number of at least 1/],
    [{ idleSeconds: 2_592_000 }, /--idle-seconds: .*2147483/],
    [{ option: ['steps'] }, /--option: must be name=value[\s\S]*is_slippery=false/],
    [{ option: ['steps=3'] }, /steps/],
    [{ environments: ['CartPole-v9'] }, /has no version v9/],
    [{ host: '0.0.0.0' }, /servers only accept connections from this machine/],
  ])('refuses %j', async (changes, message) => {
    await expect(refusal(changes as Partial<ServeArguments>)).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(message),
    });
  });
});
