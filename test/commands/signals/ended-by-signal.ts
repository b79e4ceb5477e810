/** What a signal that ends a command at once has to leave. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import type { heldRuns } from '../../support/held-runs.js';
import { goodText } from '../../support/held-server.js';

export const config = (url: string) => `environment: CartPole-v1
model: { provider: openai, name: held, baseUrl: "${url}", timeoutSeconds: 500, maxRetries: 0 }
iterations: 3
warmup: 2
corrections: 2
evaluation: { episodes: 2, maxSteps: 30 }
confirmation: { candidates: 0 }
`;

/** Tests of one signal, against the server and in the directories of `runs`. */
export function describeSignal(
  signal: 'SIGTERM' | 'SIGHUP',
  { at, evaluations, resume, run, seeds, server, sweep }: Awaited<ReturnType<typeof heldRuns>>,
): void {
  /** The evaluations of a run that nothing happens to, where every answer is good. */
  async function undisturbed(...overrides: string[]): Promise<string> {
    server.decide = ({ seed }) => ({ text: goodText(seed) });
    expect(await run('whole', ...overrides).ended).toMatchObject({ code: 0 });
    return evaluations('whole');
  }

  describe(signal, { timeout: 180_000 }, () => {
    it('aborts the call and ends the run cleanly; the call is made again on resume', async () => {
      server.decide = ({ seed }, number) => (number === 2 ? 'hold' : { text: goodText(seed) });
      const command = run('r');
      await server.received(2);
      command.child.kill(signal);
      const { code, stderr } = await command.ended;
      expect(code).toBe(130);
      expect(stderr).toContain(`${signal}: stopping immediately`);
      expect(stderr).not.toMatch(/something does not end|waiting for the model/);
      expect(readManifest(at('r'))).toMatchObject({ status: 'interrupted', iterations: { done: 1 } });
      expect(readdirSync(at('r')).filter((name) => /lock|new|tmp|underway/.test(name))).toEqual([]);
      expect(existsSync(at('r', 'report.html'))).toBe(true);
      expect(readRun(at('r')).calls.at(-1)!.outcome).toMatchObject({ kind: 'error', error: 'aborted' });
      expect(server.requests).toHaveLength(2);
      expect(await resume('r').ended).toMatchObject({ code: 0 });
      expect(seeds()[2]).toBe(seeds()[1]);
      expect(evaluations('r')).toBe(await undisturbed());
    });

    it('ends the runs of a sweep that are executed in parallel', async () => {
      server.decide = () => 'hold';
      const confirmed = ['confirmation.candidates=1', 'confirmation.episodes=2'];
      const command = sweep('g', 'seed=1..2', ...confirmed, '--jobs', '2');
      await server.received(2);
      command.child.kill(signal);
      expect(await command.ended).toMatchObject({ code: 130 });
      for (const name of ['config/seed-1', 'config/seed-2']) {
        expect(readManifest(at('g', name)).status).toBe('interrupted');
        expect(existsSync(at('g', name, 'run.lock'))).toBe(false);
      }
      expect(existsSync(at('g', 'plan.lock'))).toBe(false);
    });

    it("ends a run even if the user's model ignores the signal", async () => {
      writeFileSync(
        at('deaf.js'),
        'export default { name: "deaf", create: () => ({ generate: () => new Promise((r) => { console.error("asked"); setTimeout(r, 3e5); }) }) };\n',
      );
      const command = run('r', 'model={provider: ./deaf.js}');
      await command.wrote(/asked/);
      command.child.kill(signal);
      const { code } = await command.ended;
      expect(code).toBe(130);
      expect(readManifest(at('r')).status).toBe('interrupted');
      expect(existsSync(at('r', 'run.lock'))).toBe(false);
    });
  });
}
