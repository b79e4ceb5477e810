/** A fault is reported with its reason when it first happens, and so is a wait. */
import { describe, expect, it } from 'vitest';
import { wrapUserModel } from '../../src/models/user-model.js';
import type { RunEvent } from '../../src/runs/events.js';
import { createDisplay } from '../../src/studies/run-progress.js';
import { quick, recordingContext, runExperimentFrom, seededModel } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

const env = { OPENAI_API_KEY: 'k' };
const config = { ...quick, model: { provider: 'ollama', name: 'x' } } as const;
const answer = `params[0]: 1.0, ${Array.from({ length: 9 }, (_, i) => `params[${i + 1}]: 0.5`).join(', ')}`;

const faultsIn = (events: readonly RunEvent[]) => events.filter((event) => event.kind === 'fault');

describe('the first fault of each kind', () => {
  it('is reported with its reason while the call is still being retried', async () => {
    const server = await startFakeOpenAI({
      reply: () => answer,
      faults: {
        script: [
          { kind: 'status', status: 503, message: 'the GPU fell out' },
          { kind: 'status', status: 503, message: 'it is still out' },
          { kind: 'html' },
        ],
      },
    });
    const order: string[] = [];
    const { events } = await runExperimentFrom(
      {
        ...quick,
        iterations: 2,
        model: { provider: 'openai', name: 'x', format: 'text', baseUrl: server.url },
      },
      { env, onEvent: ({ kind }) => order.push(kind) },
    );
    expect(faultsIn(events)).toEqual([
      { kind: 'fault', fault: 'server', message: expect.stringContaining('the GPU fell out') },
      { kind: 'fault', fault: 'html', message: expect.stringContaining('HTML page') },
    ]);
    expect(order.indexOf('fault')).toBeLessThan(order.indexOf('call-finished'));
  });

  it('is reported for an exception in a module, with the function that threw it', async () => {
    const generate = () => {
      throw new Error('Reduce of empty array');
    };
    const broken = wrapUserModel({ generate, context: () => undefined }, 'module/mine');
    await expect(broken.context?.().catch(() => 'failed')).resolves.toBeUndefined();
    const { events } = await runExperimentFrom(config, { model: broken });
    const message = expect.stringContaining('generate threw: Reduce of empty array');
    expect(faultsIn(events)).toEqual([{ kind: 'fault', fault: 'server', message }]);
  });

  it('is reported for a reply without text', async () => {
    const empty = wrapUserModel({ generate: () => ({ text: '', faults: ['no-text'] }) }, 'module/mine');
    const { events } = await runExperimentFrom(config, { model: empty });
    expect(faultsIn(events)).toEqual([{ kind: 'fault', fault: 'no-text', message: 'a reply without text' }]);
  });

  it('is not reported if nothing fails', async () => {
    const { events } = await runExperimentFrom(config, { model: seededModel() });
    expect(faultsIn(events)).toEqual([]);
  });

  it.each([{ quiet: true }, {}])('is displayed with the options %j', (mode) => {
    const { context, noted } = recordingContext('.');
    createDisplay(mode, context).show({ kind: 'fault', fault: 'server', message: 'HTTP 500: boom' });
    expect(noted.join('\n')).toContain('HTTP 500: boom (fault server)');
  });
});
